//! Blocks are fetched (made or found, mapped, their pages touched) before they are needed, and
//! given back after, away from the path of a message: 256 MB take the kernel tens of milliseconds.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use crate::queue::block::Block;
use crate::queue::error::QueueError;

/// Most blocks that are held ready ahead of the one in use.
pub const AHEAD_BLOCKS_MAX: usize = 64;

/// The thread that fetches the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// A thread of the queue's own, which sleeps but for a few tens of milliseconds a block. It
    /// runs where the thread that opened the queue was allowed to run at that time, with its
    /// scheduling class: open before pinning, or it takes the time from the pinned thread.
    Thread,
    /// The owner, by calling `prepare_next` when it has time. Where it has not called it, the
    /// message that needs the next block waits for it, and that is counted.
    Caller,
}

/// Makes or finds the block of the first number, mapped and touched, while the block of the second
/// is in use; `None` if it isn't there (yet).
pub(crate) type Fetch = Box<dyn FnMut(u64, u64) -> Result<Option<Block>, QueueError> + Send>;

type Fetched = Result<Option<Block>, QueueError>;

enum Order {
    Fetch(u64),
    GiveBack(Block),
}

/// The blocks that come, and those that were.
pub(crate) struct NextBlocks {
    by: By,
    late: u64,
}

enum By {
    Caller {
        fetch: Fetch,
        ready: VecDeque<Block>,
        /// Unmapping takes milliseconds: these wait for `prepare`.
        used: Vec<Block>,
        /// Whether the owner has prepared since a block was late: if not, nothing waits for it, or
        /// blocks that were removed would keep their memory.
        prepares: bool,
    },
    Thread(Helper),
}

struct Helper {
    /// `None` once it is to end.
    orders: Option<SyncSender<Order>>,
    fetched: Receiver<Fetched>,
    /// The block that was asked for and has not been taken.
    asked: Option<u64>,
    thread: Option<JoinHandle<()>>,
}

impl NextBlocks {
    pub fn new(ahead: Ahead, fetch: Fetch) -> std::io::Result<NextBlocks> {
        let by = match ahead {
            Ahead::Caller => By::Caller {
                fetch,
                ready: VecDeque::new(),
                used: Vec::with_capacity(AHEAD_BLOCKS_MAX),
                prepares: false,
            },
            Ahead::Thread => By::Thread(Helper::start(fetch)?),
        };
        Ok(NextBlocks { by, late: 0 })
    }

    /// How often a block was not ready when it was needed.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Lets the thread, if there is one, fetch this block now.
    pub fn ask(&mut self, number: u64) {
        if let By::Thread(helper) = &mut self.by {
            helper.ask(number);
        }
    }

    /// Fetches one more block now, in this thread: the one after those that are ready, of which
    /// `number` is the first. False if it isn't there, or is another thread's work, or enough are
    /// ready.
    pub fn prepare(&mut self, number: u64) -> Result<bool, QueueError> {
        let By::Caller { fetch, ready, used, prepares } = &mut self.by else { return Ok(false) };
        *prepares = true;
        used.clear();
        if ready.len() == AHEAD_BLOCKS_MAX {
            return Ok(false);
        }
        let block = fetch(number + ready.len() as u64, number.saturating_sub(1))?;
        let is_there = block.is_some();
        ready.extend(block);
        Ok(is_there)
    }

    /// The block of this number, ready or fetched now.
    pub fn take(&mut self, number: u64) -> Fetched {
        match &mut self.by {
            By::Caller { fetch, ready, used, prepares } => {
                let next = ready.pop_front().filter(|block| block.number() == number);
                if next.is_some() {
                    return Ok(next);
                }
                // Not the next one: a reader that fell behind. What was ready is behind it too.
                ready.clear();
                used.clear();
                *prepares = false;
                self.late += 1;
                fetch(number, number.saturating_sub(1))
            }
            By::Thread(helper) => helper.take(number, &mut self.late),
        }
    }

    /// Gives back a block that was read or written to its end.
    pub fn give_back(&mut self, block: Block) {
        match &mut self.by {
            By::Caller { used, prepares: true, .. } if used.len() < AHEAD_BLOCKS_MAX => {
                used.push(block);
            }
            By::Caller { .. } => drop(block),
            By::Thread(helper) => helper.order(Order::GiveBack(block)),
        }
    }
}

impl Helper {
    fn start(mut fetch: Fetch) -> std::io::Result<Helper> {
        // A fetch, and the blocks that fall out of use meanwhile.
        let (orders, to_do) = sync_channel(2 * AHEAD_BLOCKS_MAX);
        let (done, fetched) = sync_channel(1);
        let work = move || {
            for order in to_do {
                match order {
                    Order::GiveBack(block) => drop(block),
                    Order::Fetch(number) => {
                        if done.send(fetch(number, number.saturating_sub(1))).is_err() {
                            return;
                        }
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("queue-ahead".into()).spawn(work)?;
        Ok(Helper { orders: Some(orders), fetched, asked: None, thread: Some(thread) })
    }

    fn order(&mut self, order: Order) {
        if let Some(orders) = &self.orders {
            // The thread ends after the last order, not before.
            let _ = orders.send(order);
        }
    }

    fn ask(&mut self, number: u64) {
        if self.asked.is_none() {
            self.asked = Some(number);
            self.order(Order::Fetch(number));
        }
    }

    fn take(&mut self, number: u64, late: &mut u64) -> Fetched {
        if self.asked == Some(number) {
            match self.fetched.try_recv() {
                Ok(Ok(Some(block))) => {
                    self.asked = None;
                    return Ok(Some(block));
                }
                Err(TryRecvError::Empty) => {
                    *late += 1;
                    return self.receive();
                }
                // It was not there then, or the disk was full then: try again.
                Ok(_) | Err(TryRecvError::Disconnected) => self.asked = None,
            }
        } else if self.asked.is_some() {
            drop(self.receive());
        }
        *late += 1;
        self.ask(number);
        self.receive()
    }

    fn receive(&mut self) -> Fetched {
        self.asked = None;
        self.fetched.recv().expect("the thread ends after the last order, not before")
    }
}

impl Drop for Helper {
    /// Waits for the thread, so that nothing is made after the writer's lock is gone.
    fn drop(&mut self) {
        self.orders = None;
        while self.fetched.recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

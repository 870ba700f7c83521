//! Prepares blocks (made or found, mapped, their pages touched) before they are needed, and unmaps
//! them afterwards, off the path of messages: 256 MB take the kernel tens of milliseconds.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use crate::queue::block::Block;
use crate::queue::error::QueueError;

/// Maximum number of blocks that are ready ahead of the one in use.
pub const AHEAD_BLOCKS_MAX: usize = 64;

/// The thread that prepares the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockMaker {
    /// A thread of the queue, which sleeps except for some tens of milliseconds per block. It
    /// inherits the affinity and scheduling class that the opening thread has at that time: open
    /// the queue before pinning, or the thread takes time from the pinned one.
    Thread,
    /// The owner, by calling `prepare_next` when it has time. Otherwise the message that needs the
    /// next block waits for it, and that is counted.
    Caller,
}

/// Makes or finds the block with the first number, mapped and touched, while the block with the
/// second number is in use; `None` if it does not exist (yet).
pub(crate) type Fetch = Box<dyn FnMut(u64, u64) -> Result<Option<Block>, QueueError> + Send>;

type FetchResult = Result<Option<Block>, QueueError>;

enum Order {
    Fetch(u64),
    GiveBack(Block),
}

/// The next blocks, and the used ones.
pub(crate) struct NextBlocks {
    by: BlockSource,
    late: u64,
}

enum BlockSource {
    Caller {
        fetch: Fetch,
        ready: VecDeque<Block>,
        /// Used blocks wait for `prepare`, because unmapping takes milliseconds.
        used: Vec<Block>,
        /// Whether the owner has called `prepare` since a block was late. If not, used blocks are
        /// not kept, so that removed blocks don't hold their memory.
        prepares: bool,
    },
    Thread(Helper),
}

struct Helper {
    /// `None` once the thread must end.
    orders: Option<SyncSender<Order>>,
    fetched: Receiver<FetchResult>,
    /// The requested block that has not been taken.
    asked: Option<u64>,
    thread: Option<JoinHandle<()>>,
}

impl NextBlocks {
    pub fn new(ahead: BlockMaker, fetch: Fetch) -> std::io::Result<NextBlocks> {
        let by = match ahead {
            BlockMaker::Caller => BlockSource::Caller {
                fetch,
                ready: VecDeque::new(),
                used: Vec::with_capacity(AHEAD_BLOCKS_MAX),
                prepares: false,
            },
            BlockMaker::Thread => BlockSource::Thread(Helper::start(fetch)?),
        };
        Ok(NextBlocks { by, late: 0 })
    }

    /// How often a block was not ready in time.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Tells the thread, if any, to prepare this block now.
    pub fn ask(&mut self, number: u64) {
        if let BlockSource::Thread(helper) = &mut self.by {
            helper.ask(number);
        }
    }

    /// Prepares one more block in this thread: the one after the ready ones, the first of which is
    /// `number`. False if it does not exist, if a thread prepares blocks, or if enough are ready.
    pub fn prepare(&mut self, number: u64) -> Result<bool, QueueError> {
        let BlockSource::Caller { fetch, ready, used, prepares } = &mut self.by else {
            return Ok(false);
        };
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

    /// Takes the block with this number, or prepares it now.
    pub fn take(&mut self, number: u64) -> FetchResult {
        match &mut self.by {
            BlockSource::Caller { fetch, ready, used, prepares } => {
                let next = ready.pop_front().filter(|block| block.number() == number);
                if next.is_some() {
                    return Ok(next);
                }
                // Not the next block: the reader fell behind, so the ready blocks are outdated too.
                ready.clear();
                used.clear();
                *prepares = false;
                self.late += 1;
                fetch(number, number.saturating_sub(1))
            }
            BlockSource::Thread(helper) => helper.take(number, &mut self.late),
        }
    }

    /// Unmaps a block that was read or written to its end.
    pub fn give_back(&mut self, block: Block) {
        match &mut self.by {
            BlockSource::Caller { used, prepares: true, .. } if used.len() < AHEAD_BLOCKS_MAX => {
                used.push(block);
            }
            BlockSource::Caller { .. } => drop(block),
            BlockSource::Thread(helper) => helper.order(Order::GiveBack(block)),
        }
    }
}

impl Helper {
    fn start(mut fetch: Fetch) -> std::io::Result<Helper> {
        // One preparation, and the blocks that go out of use during it.
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
            // The thread ends only after the last order.
            let _ = orders.send(order);
        }
    }

    fn ask(&mut self, number: u64) {
        if self.asked.is_none() {
            self.asked = Some(number);
            self.order(Order::Fetch(number));
        }
    }

    fn take(&mut self, number: u64, late: &mut u64) -> FetchResult {
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
                // It did not exist then, or the disk was full then: try again.
                Ok(_) | Err(TryRecvError::Disconnected) => self.asked = None,
            }
        } else if self.asked.is_some() {
            drop(self.receive());
        }
        *late += 1;
        self.ask(number);
        self.receive()
    }

    fn receive(&mut self) -> FetchResult {
        self.asked = None;
        self.fetched.recv().expect("the thread ends after the last order, not before")
    }
}

impl Drop for Helper {
    /// Waits for the thread, so that it makes nothing after the writer's lock is released.
    fn drop(&mut self) {
        self.orders = None;
        while self.fetched.recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! Bulk flows beside the load: a thread each, none of them on the measuring thread's core if there
//! is another one. The raw echo at their other end is a sink, whose accounts give what arrived.

use crate::load::dialler::{dial, dial_datagrams};
use crate::load::error::TraderError;
use clock::Clock;
use plan::process::orders::BulkPlan;
use plan::tables::network::Protocol;
use record::bulk::{BulkDatagrams, BulkFlow, BulkRun};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::datagram::is_full;
use transport::echo::bulk::{ACCOUNT_BYTES, Account, block};
use transport::echo::datagrams::{EchoStamps, STAMPED, STAMPED_BYTES};
use transport::echo::{EchoMessage, HEADER_BYTES, is_nothing};

/// Bytes of the largest block of a stream, as much as iperf3 writes at a time.
const BLOCK_BYTES: f64 = 128.0 * 1024.0;
/// Bytes of the smallest one.
const BLOCK_BYTES_MIN: f64 = 1024.0;
/// Time that a block takes where the rate is limited.
const BLOCK_SECONDS: f64 = 0.01;
/// The longest wait for a stream's account: what is queued before it has to arrive first.
const ACCOUNT_PATIENCE: Duration = Duration::from_secs(20);
/// Time in which datagrams that are queued on the way arrive, before they are counted.
const SETTLE: Duration = Duration::from_millis(50);
/// Questions for a count of datagrams before the sink is taken to be absent.
const QUESTIONS_MAX: u64 = 20;
/// Time to wait for the answer to one of them.
const QUESTION_PATIENCE: Duration = Duration::from_millis(250);

/// The work of a flow.
#[derive(Clone)]
struct Order {
    clock: Clock,
    warm_up_ns: u64,
    measured_ns: u64,
    datagram_bytes: usize,
    /// Payload of this flow, bytes a nanosecond; 0: as fast as the kernel takes it.
    bytes_per_ns: f64,
    signals: Arc<Signals>,
}

/// Signals to the flows.
#[derive(Default)]
struct Signals {
    /// The load has ended: end after the measured part.
    over: AtomicBool,
    /// There is no result: end now.
    aborted: AtomicBool,
}

/// Flows that run.
pub(crate) struct BulkFlows {
    signals: Arc<Signals>,
    threads: Vec<JoinHandle<io::Result<BulkFlow>>>,
}

impl BulkFlows {
    /// Starts them.
    ///
    /// # Errors
    /// If one can't be connected.
    pub(crate) fn start(
        plan: &BulkPlan,
        warm_up_seconds: f64,
        seconds: f64,
    ) -> Result<BulkFlows, TraderError> {
        let signals = Arc::new(Signals::default());
        let order = Order {
            clock: Clock::calibrate(),
            warm_up_ns: (warm_up_seconds * 1e9) as u64,
            measured_ns: (seconds * 1e9) as u64,
            datagram_bytes: plan.datagram_bytes,
            bytes_per_ns: plan.megabits / 8e3 / plan.flows.max(1) as f64,
            signals: signals.clone(),
        };
        let mut flows = BulkFlows { signals, threads: Vec::new() };
        for flow in 0..plan.flows {
            let failed = |source| TraderError::connect(&plan.target, flow, source);
            let order = order.clone();
            flows.threads.push(match plan.protocol {
                Protocol::Tcp => {
                    let socket = dial(&plan.target).map_err(failed)?;
                    std::thread::spawn(move || stream(socket, &order))
                }
                Protocol::Udp => {
                    let socket = dial_datagrams(&plan.target).map_err(failed)?;
                    std::thread::spawn(move || datagrams(&socket, &order))
                }
            });
        }
        Ok(flows)
    }

    /// Ends them.
    ///
    /// # Errors
    /// Why one has no result, in words.
    pub(crate) fn finish(mut self) -> Result<BulkRun, String> {
        self.signals.over.store(true, Ordering::Relaxed);
        let mut run = BulkRun::default();
        for (index, thread) in self.threads.drain(..).enumerate() {
            let ended = thread.join().map_err(|_| "it panicked; this is a bug".to_owned());
            let flow = ended.and_then(|flow| flow.map_err(|error| error.to_string()));
            run.flows.push(flow.map_err(|why| format!("bulk flow {index}: {why}"))?);
        }
        Ok(run)
    }
}

/// Unless they were ended.
impl Drop for BulkFlows {
    fn drop(&mut self) {
        self.signals.aborted.store(true, Ordering::Relaxed);
    }
}

/// Paces a flow. A late one catches up.
struct Pace<'a> {
    order: &'a Order,
    started_ns: u64,
    bytes: f64,
}

impl Pace<'_> {
    fn new(order: &Order) -> Pace<'_> {
        Pace { order, started_ns: order.clock.now_ns(), bytes: 0.0 }
    }

    /// Waits until as many more bytes are due; gives the time.
    fn wait(&mut self, bytes: usize) -> u64 {
        let now_ns = self.order.clock.now_ns();
        if self.order.bytes_per_ns == 0.0 {
            return now_ns;
        }
        let due_ns = self.started_ns + (self.bytes / self.order.bytes_per_ns) as u64;
        self.bytes += bytes as f64;
        if due_ns > now_ns {
            std::thread::sleep(Duration::from_nanos(due_ns - now_ns));
        }
        self.order.clock.now_ns()
    }
}

impl Order {
    fn is_over(&self) -> bool {
        self.signals.over.load(Ordering::Relaxed) || self.is_aborted()
    }

    fn is_aborted(&self) -> bool {
        self.signals.aborted.load(Ordering::Relaxed)
    }
}

/// Bits a second.
fn bits_per_second(bytes: u64, ns: u64) -> f64 {
    bytes as f64 * 8e9 / ns.max(1) as f64
}

fn interrupted() -> io::Error {
    io::Error::other("the run ended before its measured part")
}

/// A flow over TCP. It asks for an account where the measured part begins and where it ends, and
/// reads both at the end: waiting for them would leave the connection empty.
fn stream(mut socket: TcpStream, order: &Order) -> io::Result<BulkFlow> {
    let limited = order.bytes_per_ns * BLOCK_SECONDS * 1e9;
    let bytes = match order.bytes_per_ns > 0.0 {
        true => limited.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES),
        false => BLOCK_BYTES,
    } as usize;
    let blocks = [false, true].map(|asks| {
        let mut block_bytes = Vec::with_capacity(HEADER_BYTES + bytes);
        block(bytes as u64, asks).encode(&mut block_bytes);
        block_bytes.resize(HEADER_BYTES + bytes, 0);
        block_bytes
    });
    let mut pace = Pace::new(order);
    let mut due_ns = pace.started_ns + order.warm_up_ns;
    // When each account was asked for, and what had been sent by then.
    let mut asked: Vec<(u64, u64)> = Vec::with_capacity(2);
    let mut sent = 0;
    while !(order.is_aborted() || asked.len() == 2 && order.is_over()) {
        let now_ns = pace.wait(bytes);
        let asks = asked.len() < 2 && now_ns >= due_ns;
        socket.write_all(&blocks[usize::from(asks)])?;
        sent += bytes as u64;
        if asks {
            let now_ns = order.clock.now_ns();
            asked.push((now_ns, sent));
            due_ns = now_ns + order.measured_ns;
        }
    }
    let [(from_ns, before), (to_ns, after)] = asked[..] else { return Err(interrupted()) };
    let [first, last] = [account(&mut socket)?, account(&mut socket)?];
    let took_ns = last.received_ns.saturating_sub(first.received_ns);
    Ok(BulkFlow {
        sent_bits_per_second: bits_per_second(after - before, to_ns - from_ns),
        received_bits_per_second: bits_per_second(
            last.bytes - first.bytes.min(last.bytes),
            took_ns,
        ),
        datagrams: None,
    })
}

fn account(socket: &mut TcpStream) -> io::Result<Account> {
    socket.set_read_timeout(Some(ACCOUNT_PATIENCE))?;
    let mut bytes = [0; ACCOUNT_BYTES];
    socket.read_exact(&mut bytes).map_err(|error| match is_nothing(&error) {
        true => io::Error::other(format!(
            "no account within {} s: is a raw echo of this version there?",
            ACCOUNT_PATIENCE.as_secs()
        )),
        false => error,
    })?;
    let wrong = || io::Error::other("the other end answers a block with something else");
    Account::decode(&bytes).ok_or_else(wrong)
}

/// A flow over UDP. The sink counts datagrams by their sender, the questions too.
fn datagrams(socket: &UdpSocket, order: &Order) -> io::Result<BulkFlow> {
    let mut flow = DatagramFlow { socket, order, bytes: Vec::new(), sent: 0 };
    flow.send_until(|now_ns, from_ns| now_ns >= from_ns + order.warm_up_ns)?;
    let received = flow.received()?;
    let before = (flow.sent, received);
    let from_ns = order.clock.now_ns();
    flow.send_until(|now_ns, from_ns| now_ns >= from_ns + order.measured_ns)?;
    let took_ns = order.clock.now_ns() - from_ns;
    let received = flow.received()?;
    let after = (flow.sent, received);
    flow.send_until(|_, _| order.is_over())?;
    Ok(flow.result(before, after, took_ns))
}

struct DatagramFlow<'a> {
    socket: &'a UdpSocket,
    order: &'a Order,
    bytes: Vec<u8>,
    /// Datagrams that the kernel took.
    sent: u64,
}

impl DatagramFlow<'_> {
    /// Sends one. Returns whether the kernel took it.
    fn send(&mut self, reply_bytes: usize) -> io::Result<bool> {
        self.bytes.clear();
        let (length_bytes, reply_bytes) = (self.order.datagram_bytes as u16, reply_bytes as u16);
        let sequence = self.sent;
        EchoMessage { length_bytes, reply_bytes, kind: STAMPED, sequence }.encode(&mut self.bytes);
        match self.socket.send(&self.bytes) {
            Ok(_) => {
                self.sent += 1;
                Ok(true)
            }
            Err(error) if is_full(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends until `ended(now_ns, started_ns)`.
    fn send_until(&mut self, ended: impl Fn(u64, u64) -> bool) -> io::Result<()> {
        let mut pace = Pace::new(self.order);
        let from_ns = pace.started_ns;
        while !self.order.is_aborted() {
            if ended(pace.wait(self.order.datagram_bytes), from_ns) {
                return Ok(());
            }
            while !self.send(0)? && !self.order.is_over() {}
        }
        Err(interrupted())
    }

    /// Datagrams that the sink has received, once those under way have arrived.
    fn received(&mut self) -> io::Result<u64> {
        std::thread::sleep(SETTLE);
        self.socket.set_read_timeout(Some(QUESTION_PATIENCE))?;
        let mut into = [0; STAMPED_BYTES];
        for _ in 0..QUESTIONS_MAX {
            let sequence = self.sent;
            if !self.send(STAMPED_BYTES)? {
                std::thread::sleep(SETTLE);
                continue;
            }
            match self.socket.recv(&mut into) {
                Ok(STAMPED_BYTES) if is_answer(&into, sequence) => {
                    let stamps = EchoStamps::decode(&into[HEADER_BYTES..]);
                    return Ok(stamps.map_or(0, |stamps| stamps.received));
                }
                Ok(_) => {}
                Err(error) if is_nothing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(
            ErrorKind::TimedOut,
            format!(
                "no answer to {QUESTIONS_MAX} questions: start `tickpath exchange --echo \
                 --datagrams` there, and let UDP through to it"
            ),
        ))
    }

    fn result(&self, before: (u64, u64), after: (u64, u64), took_ns: u64) -> BulkFlow {
        let bits =
            |datagrams: u64| bits_per_second(datagrams * self.order.datagram_bytes as u64, took_ns);
        let (sent, received) = (after.0 - before.0, after.1.saturating_sub(before.1));
        BulkFlow {
            sent_bits_per_second: bits(sent),
            received_bits_per_second: bits(received),
            datagrams: Some(BulkDatagrams { sent, lost: sent.saturating_sub(received) }),
        }
    }
}

fn is_answer(bytes: &[u8], sequence: u64) -> bool {
    let message = EchoMessage::decode(bytes).ok().flatten();
    message.is_some_and(|message| message.kind == STAMPED && message.sequence == sequence)
}

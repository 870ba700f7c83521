use super::*;
use crate::datagram::{Datagram, DatagramReceiver, ReceiveOptions, SendOptions};
use crate::serve::{Limits, serve};
use clock::Deadline;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const SETTINGS: TickerSettings = TickerSettings {
    datagram_bytes: 100,
    rate_per_second: 1_000.0,
    arrival: Arrival::Uniform,
    burst: 1,
    seconds: 0.05,
};

/// A ticker under the real loop, over real sockets.
struct Running {
    stream: TcpStream,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<TickerCounts>>,
}

impl Running {
    fn start(settings: TickerSettings, clock: Clock) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let from = "127.0.0.1:0".parse().unwrap();
            let sender = DatagramSender::bind(from, &SendOptions::default()).unwrap();
            let mut ticker = TickerEcho::new(settings, sender, clock).unwrap();
            let mut streams = crate::backend("block").unwrap().open(clock).unwrap();
            streams.listen(listener).unwrap();
            let limits = Limits { connections_max: 4, ..Limits::default() };
            serve(&mut *streams, &mut ticker, limits, clock, &stopped).unwrap();
            ticker.counts()
        });
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        Running { stream, stop, thread: Some(thread) }
    }

    fn send(&mut self, kind: u8, sequence: u64, reply_bytes: u16) {
        let mut bytes = Vec::new();
        EchoMessage { length_bytes: 16, reply_bytes, kind, sequence }.encode(&mut bytes);
        self.stream.write_all(&bytes).unwrap();
    }

    /// The next message, and what follows its header.
    fn receive(&mut self) -> (EchoMessage, Vec<u8>) {
        let mut bytes = vec![0; HEADER_BYTES];
        self.stream.read_exact(&mut bytes).unwrap();
        let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
        bytes.resize(length, 0);
        self.stream.read_exact(&mut bytes[HEADER_BYTES..]).unwrap();
        let message = EchoMessage::decode(&bytes).unwrap().unwrap();
        (message, bytes.split_off(HEADER_BYTES))
    }

    fn ask(&mut self, kind: u8, sequence: u64) -> u64 {
        self.send(kind, sequence, 0);
        let (answer, _) = self.receive();
        assert_eq!(answer.kind, kind);
        answer.sequence
    }

    fn stop(mut self) -> TickerCounts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn receiver(clock: Clock) -> (DatagramReceiver, u64) {
    let options =
        ReceiveOptions { receive_buffer_bytes: 1 << 20, kernel_stamps: false, multicast: None };
    let receiver = DatagramReceiver::bind("127.0.0.1:0".parse().unwrap(), &options, clock).unwrap();
    let SocketAddr::V4(address) = receiver.local_addr().unwrap() else { panic!("IPv4 was asked") };
    (receiver, subscription(address))
}

#[test]
fn every_datagram_of_the_schedule_comes_with_its_stamps() {
    let clock = Clock::calibrate();
    let (mut receiver, subscription) = receiver(clock);
    let mut server = Running::start(SETTINGS, clock);
    assert_eq!(server.ask(START, 0), 0, "nobody has subscribed");
    assert_eq!(server.ask(SUBSCRIBE, subscription), 1);
    let before_ns = clock.now_ns();
    assert_eq!(server.ask(START, 0), 50);
    assert_eq!(server.ask(START, 0), 0, "it runs");
    let (mut ticks, mut into) = (Vec::new(), [0; 2048]);
    let deadline = Deadline::after(Duration::from_secs(10));
    while ticks.len() < 50 && !deadline.left().is_zero() {
        if let Datagram::Bytes { n, read_ns, .. } = receiver.receive(&mut into) {
            assert_eq!(n, SETTINGS.datagram_bytes);
            let tick = Tick::decode(&into[..n]).unwrap();
            assert!(tick.intended_ns <= tick.published_ns && tick.published_ns <= read_ns);
            ticks.push(tick);
        }
    }
    assert!(ticks.iter().map(|tick| tick.number).eq(1..=50));
    assert!(ticks[0].intended_ns >= before_ns);
    assert!(ticks.windows(2).all(|two| two[1].intended_ns == two[0].intended_ns + 1_000_000));
    let (ended, _) = server.receive();
    assert_eq!((ended.kind, ended.sequence), (ENDED, 50));
    assert_eq!(server.stop(), TickerCounts { datagrams: 50, full: 0, failed: 0 });
}

#[test]
fn an_order_comes_back_with_stamps_where_it_has_room() {
    let clock = Clock::calibrate();
    let mut server = Running::start(SETTINGS, clock);
    let before_ns = clock.now_ns();
    server.send(b'O', 7, 291);
    let (reply, body) = server.receive();
    assert_eq!((reply.kind, reply.sequence, reply.length_bytes), (b'O', 7, 291));
    let stamps_of_reply = stamps(&body).unwrap();
    assert!(stamps_of_reply.is_sorted(), "{stamps_of_reply:?}");
    assert!(before_ns <= stamps_of_reply[0] && stamps_of_reply[3] <= clock.now_ns());
    server.send(b'O', 8, STAMPED_REPLY_BYTES as u16 - 1);
    let (_, body) = server.receive();
    assert!(stamps(&body).is_none() && body.iter().all(|byte| *byte == 0));
}

#[test]
fn one_subscriber_at_a_time_and_gone_with_its_stream() {
    let clock = Clock::calibrate();
    let (_receiver, subscription) = receiver(clock);
    let long = TickerSettings { seconds: 1_000.0, rate_per_second: 1.0, ..SETTINGS };
    let mut server = Running::start(long, clock);
    let address = server.stream.peer_addr().unwrap();
    assert_eq!(server.ask(SUBSCRIBE, subscription), 1);
    assert_eq!(server.ask(START, 0), 1_000);
    let first = std::mem::replace(&mut server.stream, TcpStream::connect(address).unwrap());
    assert_eq!(server.ask(SUBSCRIBE, subscription), 0);
    drop(first);
    let deadline = Deadline::after(Duration::from_secs(5));
    while server.ask(SUBSCRIBE, subscription) == 0 {
        assert!(!deadline.left().is_zero());
    }
}

#[test]
fn settings_out_of_range_are_rejected() {
    let rejected = |settings: TickerSettings| settings.check().unwrap_err().name;
    assert_eq!(rejected(TickerSettings { datagram_bytes: 23, ..SETTINGS }), "datagram");
    assert_eq!(rejected(TickerSettings { rate_per_second: f64::NAN, ..SETTINGS }), "rate");
    assert_eq!(rejected(TickerSettings { burst: 0, ..SETTINGS }), "burst");
    assert_eq!(rejected(TickerSettings { seconds: f64::INFINITY, ..SETTINGS }), "length");
    assert_eq!(Tick::decode(&[0; 23]), None);
}

/// The ticks alone come over the stream that asked for them, and all else over the other one.
#[test]
fn ticks_over_a_stream_are_as_many_and_have_their_stamps() {
    let clock = Clock::calibrate();
    let mut running = Running::start(SETTINGS, clock);
    let mut ticks = TcpStream::connect(running.stream.peer_addr().unwrap()).unwrap();
    ticks.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    assert_eq!(running.ask(START, 0), 0, "nobody asked for ticks");
    let mut bytes = Vec::new();
    let kind = SUBSCRIBE_STREAM;
    EchoMessage { length_bytes: 16, reply_bytes: 0, kind, sequence: 0 }.encode(&mut bytes);
    ticks.write_all(&bytes).unwrap();
    ticks.read_exact(&mut bytes).unwrap();
    let answer = EchoMessage::decode(&bytes).unwrap().unwrap();
    assert_eq!((answer.kind, answer.sequence), (SUBSCRIBE_STREAM, 100), "bytes of a tick");
    assert_eq!(running.ask(SUBSCRIBE_STREAM, 0), 0, "another one has them");
    let started_ns = clock.now_ns();
    assert_eq!(running.ask(START, 0), 50);
    let mut tick = [0; SETTINGS.datagram_bytes];
    for number in 1..=50 {
        ticks.read_exact(&mut tick).unwrap();
        let told = Tick::decode(&tick).unwrap();
        assert_eq!(told.number, number);
        assert!(told.intended_ns >= started_ns && told.published_ns >= told.intended_ns);
        assert!(told.published_ns <= clock.now_ns() && tick[TICK_HEADER_BYTES..] == [0; 76]);
    }
    let (ended, _) = running.receive();
    assert_eq!((ended.kind, ended.sequence), (ENDED, 50));
    assert_eq!(running.stop(), TickerCounts { datagrams: 50, full: 0, failed: 0 });
    let mut rest = Vec::new();
    ticks.read_to_end(&mut rest).unwrap();
    assert!(rest.is_empty(), "{rest:?}");
}

/// A schedule ends with the stream that began it, and the ticks with theirs.
#[test]
fn ticks_over_a_stream_end_with_either_connection() {
    let clock = Clock::calibrate();
    let long = TickerSettings { seconds: 1_000.0, rate_per_second: 1.0, ..SETTINGS };
    let mut orders = Running::start(long, clock);
    let address = orders.stream.peer_addr().unwrap();
    let dial = || TcpStream::connect(address).unwrap();
    // `ask` is of the stream in that place.
    let mut ticks = dial();
    std::mem::swap(&mut orders.stream, &mut ticks);
    assert_eq!(orders.ask(SUBSCRIBE_STREAM, 0), 100);
    assert_eq!(orders.ask(START, 0), 0, "its ticks would follow an answer");
    std::mem::swap(&mut orders.stream, &mut ticks);
    assert_eq!(orders.ask(START, 0), 1_000);
    drop(std::mem::replace(&mut orders.stream, dial()));
    let deadline = Deadline::after(Duration::from_secs(5));
    while orders.ask(START, 0) == 0 {
        assert!(!deadline.left().is_zero(), "the schedule outlives who began it");
    }
    drop(ticks);
    while orders.ask(SUBSCRIBE_STREAM, 0) == 0 {
        assert!(!deadline.left().is_zero(), "the ticks outlive their stream");
    }
}

//! The loop over scripted streams and a real socket: stamps that could be wrong, and waits that
//! must not happen.

use super::*;
use crate::risk::Rejection;
use crate::scripted::ScriptedStreams;
use crate::tick::followed_state::FollowedState;
use crate::tick::logic::FloorLogic;
use crate::tick::order_stream::OrderStream;
use crate::tick::samples::Samples;
use crate::tick::session::raw::RawSession;
use crate::tick::stages::{OUT_BYTES_MAX, Stages};
use clock::{Clock, Deadline};
use host::processor::ProcessorMeter;
use plan::process::ticks::RawPlan;
use record::tick::{POINTS, Point};
use std::net::UdpSocket;
use std::time::Duration;
use transport::StreamId;
use transport::datagram::DatagramReceiver;
use transport::datagram::ReceiveOptions;
use transport::echo::{EchoMessage, HEADER_BYTES};

const RAW: RawPlan = RawPlan { datagram_bytes: 24, order_bytes: 100, reply_bytes: 60, bare: false };

struct Bench {
    script: ScriptedStreams,
    socket: UdpSocket,
    ticks: TickLoop<FloorLogic, RawSession>,
}

fn bench() -> Bench {
    let clock = Clock::calibrate();
    let options =
        ReceiveOptions { receive_buffer_bytes: 1 << 20, kernel_stamps: false, multicast: None };
    let receiver = DatagramReceiver::bind("127.0.0.1:0".parse().unwrap(), &options, clock).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(receiver.local_addr().unwrap()).unwrap();
    let receiver = receiver.into();
    let script = ScriptedStreams::default();
    let stages = Stages::new(clock, FloorLogic::new(1), RawSession::new(&RAW));
    let parts = LoopParts {
        is_shared: true,
        clock,
        receiver,
        followed: FollowedState::Orders,
        connection: OrderStream::new(Box::new(script.clone()), StreamId(0)),
        spins: true,
        samples: Samples::with_room(2_000),
        stamped: None,
        releases: None,
        trail: None,
        processor: ProcessorMeter::new(None),
        shown: None,
        addresses: None,
    };
    let ticks = TickLoop::new(stages, None, parts);
    Bench { script, socket, ticks }
}

impl Bench {
    /// Sends a tick with these times.
    fn send(&self, number: u64, intended_ns: u64, published_ns: u64) {
        let words = [number, intended_ns, published_ns].map(u64::to_le_bytes);
        self.socket.send(words.as_flattened()).unwrap();
    }

    /// Turns until `holds`.
    fn turn_until(&mut self, holds: impl Fn(&TickLoop<FloorLogic, RawSession>) -> bool) {
        let deadline = Deadline::after(Duration::from_secs(10));
        while !holds(&self.ticks) {
            assert!(!deadline.left().is_zero(), "{:?}", self.ticks.failure);
            turn(&mut self.ticks);
        }
    }

    fn takes(&self, n: usize, stamp_ns: u64) {
        self.script.0.borrow_mut().writes.push_back((n, stamp_ns));
    }

    /// The reply to an order, with stamps.
    fn reply(&self, number: u64, stamps: [u64; 4], stamp_ns: u64) {
        let mut bytes = Vec::new();
        let length_bytes = RAW.reply_bytes as u16;
        EchoMessage { length_bytes, reply_bytes: 0, kind: b'O', sequence: number }
            .encode(&mut bytes);
        let body = bytes[HEADER_BYTES..].as_chunks_mut::<8>().0;
        body.iter_mut().zip(stamps).for_each(|(place, stamp)| *place = stamp.to_le_bytes());
        self.script.0.borrow_mut().reads.push_back((bytes, stamp_ns));
    }

    fn stamps(&self, place: u32) -> [u64; POINTS] {
        self.ticks.parts.samples.get(place).unwrap().stamps
    }
}

#[test]
fn a_sample_has_the_stamps_of_both_ends() {
    let mut bench = bench();
    bench.takes(100, 777);
    bench.send(9, 3, 5);
    bench.turn_until(|ticks| ticks.stages.counts.sent == 1);
    bench.reply(0, [800, 810, 820, 830], 900);
    bench.turn_until(|ticks| ticks.stages.counts.received == 1);
    let stamps = bench.stamps(0);
    let at = |point: Point| stamps[point as usize];
    assert_eq!([at(Point::Intended), at(Point::Published), at(Point::Sent)], [3, 5, 777]);
    assert_eq!(at(Point::Checked), at(Point::Read), "the floor has no stages in between");
    assert_eq!(stamps[Point::GatewayIn as usize..], [800, 810, 820, 830, 900]);
    assert_eq!(bench.ticks.stages.counts.heard_bytes, 60);
    assert_eq!(bench.ticks.stages.orders.alive(), 0);
}

/// The kernel takes 10 of 100 bytes, then nothing, then the rest: the order leaves with the last of
/// these.
#[test]
fn an_order_leaves_with_the_write_that_takes_its_last_byte() {
    let mut bench = bench();
    [(10, 700), (0, 710), (90, 720)].into_iter().for_each(|(n, at)| bench.takes(n, at));
    bench.send(1, 3, 5);
    bench.turn_until(|ticks| ticks.stages.counts.last_sent_ns == 720);
    assert_eq!(bench.stamps(0)[Point::Sent as usize], 720);
    assert_eq!(bench.script.0.borrow().written.len(), 100);
    assert!(!bench.script.0.borrow().watched);
    // The next one leaves at once.
    bench.takes(100, 800);
    bench.send(2, 3, 5);
    bench.turn_until(|ticks| ticks.stages.counts.sent == 2);
    assert_eq!(bench.stamps(1)[Point::Sent as usize], 800);
}

#[test]
fn a_socket_that_takes_nothing_holds_orders_back_in_the_end() {
    let mut bench = bench();
    bench.takes(0, 1);
    let orders = OUT_BYTES_MAX as u64 / RAW.order_bytes + 3;
    for number in 0..orders {
        bench.send(number, 3, 5);
        bench.turn_until(|ticks| ticks.stages.counts.datagrams == number + 1);
    }
    let counts = bench.ticks.stages.counts;
    assert!(counts.risk_rejections[Rejection::Backlog as usize] > 0, "{counts:?}");
    assert_eq!(counts.sent + counts.risk_rejections[Rejection::Backlog as usize], orders);
    let buffered = bench.ticks.stages.outbox.bytes.len();
    assert!(buffered <= OUT_BYTES_MAX + RAW.order_bytes as usize, "{buffered}");
}

/// A feed without pauses does not delay replies for ever.
#[test]
fn replies_are_looked_for_between_datagrams() {
    let mut bench = bench();
    let burst = 2 * DATAGRAMS_BETWEEN_LOOKS;
    for number in 0..u64::from(burst) {
        bench.takes(100, 700);
        bench.send(number, 3, 5);
    }
    bench.reply(0, [1; 4], 900);
    // All are in the socket: no poll is empty.
    (0..burst).for_each(|_| turn(&mut bench.ticks));
    assert_eq!(bench.ticks.stages.counts.datagrams, u64::from(burst));
    assert_eq!(bench.script.0.borrow().waits, 2);
    assert_eq!(bench.ticks.stages.counts.received, 1);
}

/// While no reply is owed, polling the stream would only delay ticks.
#[test]
fn a_stream_that_owes_nothing_is_seldom_looked_at() {
    let mut bench = bench();
    (0..LOOKS_WITHOUT_DEBT * 3).for_each(|_| turn(&mut bench.ticks));
    assert_eq!(bench.script.0.borrow().waits, 3);
    bench.takes(100, 700);
    bench.send(1, 3, 5);
    bench.turn_until(|ticks| ticks.stages.counts.sent == 1);
    (0..10).for_each(|_| turn(&mut bench.ticks));
    assert!(bench.script.0.borrow().waits >= 13, "it owes a reply");
}

#[test]
fn what_is_no_tick_leads_to_nothing() {
    let mut bench = bench();
    bench.socket.send(b"too short").unwrap();
    bench.takes(100, 700);
    bench.send(1, 3, 5);
    bench.turn_until(|ticks| ticks.stages.counts.sent == 1);
    assert_eq!(bench.ticks.stages.counts.datagrams, 1);
    // A reply to no request.
    bench.reply(77, [1; 4], 900);
    bench.turn_until(|ticks| ticks.stages.counts.duplicated == 1);
    assert_eq!(bench.ticks.stages.counts.received, 0);
}

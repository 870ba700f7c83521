//! Probes of an end's clock: datagrams to its echo, stamped by both kernels where they do.

use between::ends::{ClocksAfter, ClocksBefore};
use between::offsets::Offsets;
use between::ways::{KernelTimes, Ways};
use clock::Clock;
use clock::wall::WallLine;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::StampedSocket;
use transport::echo::datagrams::{EchoStamps, KERNEL_STAMPED_BYTES, STAMPED, ask_for_departure};
use transport::echo::{EchoMessage, HEADER_BYTES};
use transport::stamps::Segments;

/// From a probe to the next one of the same end, with one end and a short run.
const INTERVAL: Duration = Duration::from_millis(2);
/// Probes of a run that are kept.
const PROBES_MAX: u64 = 50_000;
/// How long the answer to a probe is waited for.
const PATIENCE: Duration = Duration::from_millis(50);
/// An end that answers none of so many probes in a row is lost. They take half a second to a whole
/// one.
const LOST_IN_A_ROW: u32 = 10;

/// The probes of one end.
pub(super) struct Prober {
    socket: StampedSocket,
    ends: ClocksBefore,
    clock: Clock,
    interval: Duration,
    ways: Ways,
    times: Vec<KernelTimes>,
    lost: u64,
    request: Vec<u8>,
    reply: Vec<u8>,
}

/// The offsets that they prove.
pub(super) struct ProvenOffsets {
    pub offsets: Offsets,
    /// Identify both clocks.
    pub clocks: [String; 2],
    pub answered: u64,
    pub lost: u64,
}

impl Prober {
    /// Probes over `socket`, beside those of so many ends, in a run of that length.
    ///
    /// # Errors
    /// If the kernel rejects stamps.
    pub(super) fn new(
        socket: UdpSocket,
        ends: ClocksBefore,
        clock: Clock,
        (of, lasts): (usize, Duration),
    ) -> io::Result<Prober> {
        socket.set_read_timeout(Some(PATIENCE))?;
        // All ends together are probed as often as one to four are.
        let others = INTERVAL * (of as u32).div_ceil(4);
        let interval = others.max(lasts * 2 / PROBES_MAX as u32);
        Ok(Prober {
            socket: StampedSocket::new(socket)?,
            ends,
            clock,
            interval,
            ways: Ways::with_room(PROBES_MAX, 1),
            times: Vec::new(),
            lost: 0,
            request: Vec::new(),
            reply: vec![0; KERNEL_STAMPED_BYTES + 1],
        })
    }

    /// Probes until `ended` is set. `None`, at once, if the end is lost.
    pub(super) fn run(mut self, ended: &AtomicBool) -> Option<ProvenOffsets> {
        let mut segments = Segments::new(self.clock);
        let mut in_a_row = 0;
        for sequence in 0.. {
            if ended.load(Ordering::Relaxed) {
                break;
            }
            segments.refresh(self.clock.now_ns());
            if self.probe(sequence, &segments).is_ok() {
                in_a_row = 0;
                std::thread::sleep(self.interval);
                continue;
            }
            self.lost += 1;
            in_a_row += 1;
            if in_a_row == LOST_IN_A_ROW {
                return None;
            }
            // However rarely a long run probes, the next one shows soon whether the end is lost.
            std::thread::sleep(PATIENCE);
        }
        let WallLine { bound_ns, steps } = segments.check();
        let Prober { socket, ends, ways, times, lost, .. } = self;
        let (step_ns, clocks) = (ends.step_ns(), ends.clocks());
        let ClocksAfter { bridge, kernel_error_ns } =
            ends.after(socket.as_ref(), ways.last_echo_ns());
        // A stamp from around a step of the wall clock is wrong by the step.
        let errors_ns = [(steps == 0).then_some(bound_ns), kernel_error_ns];
        let probes = ways.probes(errors_ns, &times, None);
        let answered = probes.own.len() as u64;
        let offsets = Offsets::of(&probes, bridge, step_ns);
        Some(ProvenOffsets { offsets, clocks, answered, lost })
    }

    /// One probe.
    fn probe(&mut self, sequence: u64, segments: &Segments) -> io::Result<()> {
        let length_bytes = KERNEL_STAMPED_BYTES as u16;
        let message =
            EchoMessage { length_bytes, reply_bytes: length_bytes, kind: STAMPED, sequence };
        self.request.clear();
        message.encode(&mut self.request);
        ask_for_departure(&mut self.request);
        let (clock, mut sent_ns) = (self.clock, 0);
        self.socket.send(&self.request, &mut || sent_ns = clock.now_ns())?;
        loop {
            let length = self.socket.receive(&mut self.reply)?;
            let returned_ns = self.clock.now_ns();
            let reply = &self.reply[..length];
            let is_it = EchoMessage::decode(reply)
                .is_ok_and(|found| found.is_some_and(|found| found.sequence == sequence));
            // The answer to an earlier probe, which was given up.
            if !is_it {
                continue;
            }
            let echo = EchoStamps::decode(&reply[HEADER_BYTES..]);
            let echo = echo.ok_or(io::ErrorKind::InvalidData)?;
            let stamps = self.socket.stamps();
            let ours = |wall_ns: u64| segments.wall().clock_ns(wall_ns);
            self.times.push(KernelTimes {
                sequence,
                driver_ns: stamps.driver_ns.map(ours),
                received_ns: stamps.received_ns.map(ours),
                card_ns: [None; 2],
            });
            self.ways.keep(sequence, [sent_ns, sent_ns, returned_ns], Some(echo));
            return Ok(());
        }
    }
}

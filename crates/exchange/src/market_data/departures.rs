//! When datagrams to a subscriber left this host: transmit stamps of the kernel, of one of N.

use clock::Clock;
use clock::wall::{FirstReading, Wall, WallLine};
use feed::Packet;
use std::collections::VecDeque;
use transport::stamps::KernelStamps;
use wire::administration;

/// Departures that are kept for each subscriber, the latest ones: some 50 KB of `DESCRIPTION`.
const KEPT_MAX: usize = 1_024;
/// How often the wall clock is read again.
const REFRESH_NS: u64 = 1_000_000_000;

/// The departures of one subscriber's datagrams.
pub(crate) struct Departures {
    every: u64,
    datagrams: u64,
    kept: VecDeque<[u64; 3]>,
}

impl Departures {
    /// Stamps one of `every` datagrams.
    pub fn new(every: u32) -> Departures {
        let kept = VecDeque::with_capacity(KEPT_MAX);
        Departures { every: every.max(1).into(), datagrams: 0, kept }
    }

    /// Counts a datagram; returns whether it is to be stamped.
    #[inline]
    pub fn has_turn(&mut self) -> bool {
        self.datagrams += 1;
        self.datagrams.is_multiple_of(self.every)
    }

    /// Keeps the stamps of a datagram. One without messages has no number.
    pub fn keep(&mut self, datagram: &[u8], stamps: &KernelStamps, line: &DepartureLine) {
        let Some(wall) = &line.wall else { return };
        let Ok(header) = Packet::decode(datagram).map(|packet| *packet.header()) else { return };
        if header.count == 0 {
            return;
        }
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        let number = header.sequence + u64::from(header.count) - 1;
        let [queued_ns, driver_ns] = [stamps.queued_ns, stamps.driver_ns]
            .map(|stamp| stamp.map_or(0, |wall_ns| wall.clock_ns(wall_ns)));
        self.kept.push_back([number, queued_ns, driver_ns]);
    }

    /// For the answer to `DESCRIBE`.
    pub fn said(&self, line: WallLine) -> administration::Departures {
        let WallLine { bound_ns, steps: clock_steps } = line;
        let datagrams = self.kept.iter().copied().collect();
        administration::Departures { bound_ns, clock_steps, datagrams }
    }
}

/// Lays the kernel's stamps on the exchange's clock. It never sleeps, so that it is ready some
/// sweeps after it began.
pub(crate) struct DepartureLine {
    first: FirstReading,
    wall: Option<Wall>,
    next_ns: u64,
}

impl DepartureLine {
    pub fn begin(clock: Clock) -> DepartureLine {
        DepartureLine { first: FirstReading::take(clock), wall: None, next_ns: 0 }
    }

    pub fn is_ready(&self) -> bool {
        self.wall.is_some()
    }

    /// Off the path, ten times a second.
    pub fn sweep(&mut self, now_ns: u64) {
        if now_ns < self.next_ns {
            return;
        }
        match &mut self.wall {
            Some(wall) => wall.refresh(),
            None => self.wall = self.first.wall(now_ns),
        }
        if self.is_ready() {
            self.next_ns = now_ns + REFRESH_NS;
        }
    }

    /// Reads the wall clock again, so that the latest stamps are within the bound too.
    pub fn check(&mut self) -> WallLine {
        self.wall.as_mut().map_or_else(WallLine::default, |wall| {
            wall.refresh();
            wall.line()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feed::{Channel, PacketHeader, PacketKind, encode_packet};

    fn datagram(sequence: u64, count: u16) -> Vec<u8> {
        let header = PacketHeader {
            session: 1,
            sequence,
            count,
            channel: Channel::Orders,
            kind: PacketKind::Live,
            part: 0,
            parts: 1,
            intended_ns: 0,
            acknowledged_ns: 0,
            published_ns: 0,
        };
        let mut bytes = vec![0; 200];
        let length = encode_packet(&mut bytes, &header, &[]).unwrap();
        bytes.truncate(length);
        bytes
    }

    fn ready() -> DepartureLine {
        let clock = Clock::calibrate();
        let wall = Some(Wall::read(clock));
        DepartureLine { first: FirstReading::take(clock), wall, next_ns: 0 }
    }

    #[test]
    fn one_of_n_datagrams_has_its_turn() {
        let mut departures = Departures::new(3);
        let turns: Vec<bool> = (0..7).map(|_| departures.has_turn()).collect();
        assert_eq!(turns, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn the_latest_are_kept_by_the_number_of_their_last_message() {
        let (mut departures, line) = (Departures::new(1), ready());
        let stamps = KernelStamps { driver_ns: Some(clock::wall_ns()), ..KernelStamps::default() };
        departures.keep(&datagram(7, 0), &stamps, &line);
        departures.keep(b"no packet", &stamps, &line);
        for turn in 0..KEPT_MAX as u64 + 2 {
            departures.keep(&datagram(10 * turn + 1, 4), &stamps, &line);
        }
        let said = departures.said(line.wall.unwrap().line());
        assert_eq!((said.datagrams.len(), said.datagrams[0][0]), (KEPT_MAX, 24));
        let now_ns = line.wall.unwrap().latest().clock_ns;
        assert!(said.datagrams.iter().all(|[_, queued_ns, driver_ns]| {
            *queued_ns == 0 && driver_ns.abs_diff(now_ns) < 60_000_000_000
        }));
        assert!(said.bound_ns > 0, "{said:?}");
    }
}

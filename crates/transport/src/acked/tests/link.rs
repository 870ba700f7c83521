//! A link that loses, repeats, damages and delays datagrams, by a seed, and an application at each
//! end.

use crate::acked::{Datagram, Peer, ReceivedBytes};
use clock::random::SplitMix64;

const CONNECTION: u64 = 0xFACE;

/// Harm in percent of the datagrams, and the longest delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct Harm {
    pub lost: u32,
    pub twice: u32,
    pub damaged: u32,
    /// They take up to a hundred times the delay.
    pub late: u32,
    pub delay_ns: u64,
}

pub struct End {
    pub peer: Peer,
    /// Bytes that it shall receive.
    pub expected: usize,
    pub received: Vec<u8>,
    pub saw_end: bool,
    /// Datagrams that it sent.
    pub sent: u64,
    /// Bytes that it shall send, and has written.
    to_send: usize,
    written: usize,
    finished: bool,
}

pub struct Link {
    pub ends: [End; 2],
    pub harm: Harm,
    /// Whether the applications end their side.
    pub finishes: bool,
    random: SplitMix64,
    pauses: bool,
    now_ns: u64,
    /// When each arrives, at which end.
    on_the_way: Vec<(u64, usize, Vec<u8>)>,
}

/// The byte at this position of the stream to an end.
fn byte(end: usize, position: usize) -> u8 {
    (position * 31 + position / 251 + end * 97) as u8
}

impl Link {
    pub fn new(harm: Harm, seed: u64, to_send: [usize; 2], pauses: bool) -> Link {
        let end = |own: usize| End {
            peer: Peer::new(CONNECTION, 0),
            expected: to_send[1 - own],
            received: Vec::new(),
            saw_end: false,
            sent: 0,
            to_send: to_send[own],
            written: 0,
            finished: false,
        };
        Link {
            ends: [end(0), end(1)],
            harm,
            finishes: true,
            random: SplitMix64::new(seed),
            pauses,
            now_ns: 0,
            on_the_way: Vec::new(),
        }
    }

    /// Whether both sides have all bytes and the end.
    pub fn is_over(&self) -> bool {
        self.ends.iter().all(|end| end.received.len() == end.expected && end.saw_end)
    }

    /// As [`Link::is_over`], or both have a reason. One that has everything may close before the
    /// other has.
    pub fn has_ended(&self) -> bool {
        let ended = |end: &End| end.peer.end().is_some();
        self.is_over() || self.ends.iter().all(ended)
    }

    pub fn state(&self) -> String {
        let of =
            |end: &End| format!("{}/{} {:?}", end.received.len(), end.expected, end.peer.end());
        format!("{} {}", of(&self.ends[0]), of(&self.ends[1]))
    }

    pub fn run_until(&mut self, until_ns: u64, is_over: impl Fn(&Link) -> bool) {
        while self.now_ns < until_ns && !is_over(self) {
            for own in 0..2 {
                self.act(own);
            }
            let next = self.on_the_way.iter().map(|(at_ns, ..)| *at_ns).min();
            let due_ns = self.ends.iter().map(|end| end.peer.due_ns()).min();
            let event_ns = next.into_iter().chain(due_ns).min().unwrap_or(u64::MAX);
            // An application that pauses comes back.
            let event_ns =
                if self.pauses { event_ns.min(self.now_ns + 5_000_000) } else { event_ns };
            self.now_ns = event_ns.max(self.now_ns + 1).min(until_ns);
            self.arrive();
        }
    }

    /// The application of an end writes, reads and ends its side.
    fn act(&mut self, own: usize) {
        if self.pauses && self.random.below(3) == 0 {
            return;
        }
        let now_ns = self.now_ns;
        let mut out = Vec::new();
        let send = &mut |datagram: &[u8]| out.push(datagram.to_vec());
        let End { peer, to_send, written, finished, received, saw_end, .. } = &mut self.ends[own];
        peer.poll(now_ns, send);
        let mut buffer = [0; 700];
        loop {
            match peer.read(&mut buffer, now_ns, send) {
                ReceivedBytes::Bytes { n, .. } => {
                    for got in &buffer[..n] {
                        assert_eq!(*got, byte(own, received.len()), "at {}", received.len());
                        received.push(*got);
                    }
                }
                ReceivedBytes::End => {
                    *saw_end = true;
                    break;
                }
                ReceivedBytes::Nothing => break,
            }
        }
        while *written < *to_send && peer.is_writable() {
            let n = (1 + self.random.below(3_000) as usize).min(*to_send - *written);
            let chunk: Vec<u8> = (*written..*written + n).map(|at| byte(1 - own, at)).collect();
            *written += peer.write(&chunk, now_ns, send).unwrap();
        }
        if self.finishes && *written == *to_send && !*finished {
            *finished = true;
            peer.finish(now_ns, send);
        }
        self.carry(own, out);
    }

    fn carry(&mut self, from: usize, datagrams: Vec<Vec<u8>>) {
        for datagram in datagrams {
            self.ends[from].sent += 1;
            let times = 1 + usize::from(self.happens(self.harm.twice));
            for _ in 0..times {
                if self.happens(self.harm.lost) {
                    continue;
                }
                let mut datagram = datagram.clone();
                if self.happens(self.harm.damaged) {
                    let bit = self.random.below(datagram.len() as u32 * 8) as usize;
                    datagram[bit / 8] ^= 1 << (bit % 8);
                }
                let late = if self.happens(self.harm.late) { 100 } else { 1 };
                let delay_ns = self.harm.delay_ns * late;
                let took_ns = 10_000 + self.random.bits() % (delay_ns + 1);
                self.on_the_way.push((self.now_ns + took_ns, 1 - from, datagram));
            }
        }
    }

    fn arrive(&mut self) {
        let now_ns = self.now_ns;
        let (due, later): (Vec<_>, Vec<_>) =
            self.on_the_way.drain(..).partition(|(at_ns, ..)| *at_ns <= now_ns);
        self.on_the_way = later;
        for (_, to, datagram) in due {
            let Some(Datagram::Connection(header, payload)) = Datagram::decode(&datagram) else {
                continue;
            };
            assert_eq!(header.connection, CONNECTION, "damage was not noticed");
            let mut out = Vec::new();
            let send = &mut |datagram: &[u8]| out.push(datagram.to_vec());
            self.ends[to].peer.receive(&header, payload, now_ns, send);
            self.carry(to, out);
        }
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.random.below(100) < percent
    }
}

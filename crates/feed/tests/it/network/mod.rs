//! A network that loses, delays and damages datagrams as given bytes decide.

#![allow(dead_code, reason = "each test file uses its part")]

/// Fate of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Arrives,
    IsLost,
    ArrivesTwice,
    /// This number of later datagrams overtake it.
    IsLate(usize),
    /// Its end is missing.
    IsCut(usize),
    /// Garbage precedes it.
    BehindGarbage,
}

impl Fate {
    fn of(byte: u8) -> Fate {
        let number = usize::from(byte);
        match byte {
            0..150 => Fate::Arrives,
            150..185 => Fate::IsLost,
            185..200 => Fate::ArrivesTwice,
            200..235 => Fate::IsLate(1 + number % 6),
            235..248 => Fate::IsCut(number * 7),
            248.. => Fate::BehindGarbage,
        }
    }
}

/// The way from the exchange to a follower.
pub struct Network {
    fates: Vec<u8>,
    at: usize,
    /// Delayed datagrams, and how many are still to overtake each.
    late: Vec<(usize, Vec<u8>)>,
}

impl Network {
    /// Repeats these fates. Without any, it is perfect.
    pub fn new(fates: Vec<u8>) -> Network {
        Network { fates, at: 0, late: Vec::new() }
    }

    pub fn become_perfect(&mut self) {
        self.fates.clear();
    }

    /// Whether the exchange answers a request. Requests use TCP and always arrive, but the exchange
    /// may be busy.
    pub fn is_answered(&mut self) -> bool {
        self.fate() != Fate::IsLost
    }

    /// The datagrams that arrive when this one is sent.
    pub fn carry(&mut self, datagram: Vec<u8>) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        match self.fate() {
            Fate::Arrives => out.push(datagram),
            Fate::IsLost => {}
            Fate::ArrivesTwice => out.extend([datagram.clone(), datagram]),
            Fate::IsLate(by) => self.late.push((by, datagram)),
            Fate::IsCut(length) => out.push(datagram[..length % datagram.len()].to_vec()),
            Fate::BehindGarbage => {
                let mut garbage = datagram.clone();
                garbage.reverse();
                out.extend([garbage, datagram]);
            }
        }
        self.late.retain_mut(|(by, late)| {
            *by -= 1;
            if *by == 0 {
                out.push(std::mem::take(late));
            }
            *by > 0
        });
        out
    }

    fn fate(&mut self) -> Fate {
        if self.fates.is_empty() {
            return Fate::Arrives;
        }
        self.at += 1;
        Fate::of(self.fates[self.at % self.fates.len()])
    }
}

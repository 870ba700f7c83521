//! The probes of a run: by the stamps next to the system calls, and narrowed by the kernel's.

use sync::{NearerStamps, Probe};

/// All probes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    /// By the stamps next to the system calls.
    pub own: Vec<Probe>,
    /// The same ones, each by those of its stamps that are nearest to the wire. One with some of
    /// the kernel's stamps is as true, but favours a direction.
    pub narrowed: Vec<Probe>,
    /// Probes with all four of the kernel's stamps, by these: they favour no direction.
    pub whole: Vec<Probe>,
    /// Number of the kernel's stamps: sent, received, replied, returned.
    pub kernel: [u64; 4],
    /// Number of stamps of our card: sent, returned.
    pub card: [u64; 2],
}

impl Probes {
    /// Adds a probe, and what the kernels at both ends and our card stamped of it.
    pub fn add(&mut self, own: Probe, kernel: &NearerStamps, card: &NearerStamps) {
        let stamps = [kernel.sent_ns, kernel.received_ns, kernel.replied_ns, kernel.returned_ns];
        count(&mut self.kernel, stamps);
        count(&mut self.card, [card.sent_ns, card.returned_ns]);
        let narrowed = own.narrowed(kernel);
        if stamps.iter().all(Option::is_some) {
            self.whole.push(narrowed);
        }
        self.own.push(own);
        self.narrowed.push(narrowed.narrowed(card));
    }
}

fn count<const POINTS: usize>(counts: &mut [u64; POINTS], stamps: [Option<i64>; POINTS]) {
    for (count, stamp) in counts.iter_mut().zip(stamps) {
        *count += u64::from(stamp.is_some());
    }
}

/// Probes that no kernel stamped.
impl FromIterator<Probe> for Probes {
    fn from_iter<I: IntoIterator<Item = Probe>>(all: I) -> Probes {
        let mut probes = Probes::default();
        let none = NearerStamps::default();
        all.into_iter().for_each(|own| probes.add(own, &none, &none));
        probes
    }
}

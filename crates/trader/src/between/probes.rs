//! The probes of a run: by the stamps next to the system calls, and narrowed by the kernel's.

use sync::{NearerStamps, Probe};

/// All probes of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Probes {
    /// By the stamps next to the system calls.
    pub(crate) own: Vec<Probe>,
    /// The same ones, each by those of its stamps that are nearest to the wire. One with some of
    /// the kernel's stamps is as true, but favours a direction.
    pub(crate) narrowed: Vec<Probe>,
    /// Those with all four of the kernel's stamps, which favour none.
    pub(crate) whole: Vec<Probe>,
    /// Number of the kernel's stamps: sent, received, replied, returned.
    pub(crate) kernel: [u64; 4],
}

impl Probes {
    /// Adds a probe and what the kernels at both ends stamped of it.
    pub(crate) fn add(&mut self, own: Probe, nearer: &NearerStamps) {
        let stamps = [nearer.sent_ns, nearer.received_ns, nearer.replied_ns, nearer.returned_ns];
        for (count, stamp) in self.kernel.iter_mut().zip(stamps) {
            *count += u64::from(stamp.is_some());
        }
        let narrowed = own.narrowed(nearer);
        if stamps.iter().all(Option::is_some) {
            self.whole.push(narrowed);
        }
        self.own.push(own);
        self.narrowed.push(narrowed);
    }
}

/// Probes that no kernel stamped.
impl FromIterator<Probe> for Probes {
    fn from_iter<I: IntoIterator<Item = Probe>>(all: I) -> Probes {
        let mut probes = Probes::default();
        all.into_iter().for_each(|own| probes.add(own, &NearerStamps::default()));
        probes
    }
}

//! The kernel's tracepoints on the measured cores, with one ring per core, and their records on the
//! meter's timeline.

pub(crate) mod catalog;
#[allow(unsafe_code)]
pub(crate) mod namespace;
#[allow(unsafe_code)]
pub(crate) mod perf;
pub(crate) mod records;
pub(crate) mod spans;
pub(crate) mod tracefs;

use crate::cause::Causes;
use crate::trace::catalog::{Catalog, GROUPS, Tracepoint, tracepoints};
use crate::trace::perf::{Event, PerfTarget, Ring, Timeline};
use crate::trace::spans::{CoreSpans, Setting, spans};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Limit on a core's ring, bytes: a quiet core fills half of it in a minute. Only then is its
/// reader woken.
pub const RING_BYTES_MAX: usize = 16 << 20;
/// Limit on the rings of all cores together, bytes.
pub const RINGS_BYTES_MAX: usize = 256 << 20;
/// Limit on the stored records of one core, bytes; the kernel counts later ones as lost.
pub const RECORDS_BYTES_MAX: usize = 256 << 20;

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The kernel rejects the events.
    #[error(
        "no kernel events: {0}; run as root or with CAP_PERFMON (or set kernel.perf_event_paranoid to -1), \
         and let a container's seccomp filter allow perf_event_open"
    )]
    Events(io::Error),
    /// The tracepoints can't be listed.
    #[error(
        "no tracepoints: tracefs can be neither read nor mounted: {0}; run as root, or \
         `mount -t tracefs tracefs /sys/kernel/tracing` and make it readable"
    )]
    Tracefs(io::Error),
    /// The kernel was built without them.
    #[error("no tracepoints: this kernel was built without sched:sched_switch (CONFIG_FTRACE)")]
    None,
}

struct CoreTrace {
    core: usize,
    /// The first owns the ring.
    events: Vec<Event>,
    ring: Ring,
    /// Contents of the ring so far, in order.
    taken: Vec<Vec<u8>>,
    taken_bytes: usize,
}

/// Open tracepoints of some cores.
pub struct Trace {
    cores: Vec<CoreTrace>,
    catalog: Catalog,
    missing: Vec<String>,
}

impl Trace {
    /// Opens them, switched off.
    ///
    /// # Errors
    /// If that is not permitted. A single missing tracepoint is in [`Trace::missing`].
    pub fn open(cores: &[usize]) -> Result<Trace, TraceError> {
        // The cheapest question first: is anything allowed at all?
        if let Some(&core) = cores.first() {
            Event::open(PerfTarget::Faults { core }, Timeline::MonotonicRaw, u32::MAX)
                .map_err(TraceError::Events)?;
        }
        let mut wanted = tracepoints(&tracefs::read(&GROUPS).map_err(TraceError::Tracefs)?);
        if !wanted.iter().any(|one| one.name == "sched/sched_switch") {
            return Err(TraceError::None);
        }
        let ring_bytes =
            RING_BYTES_MAX.min(previous_power_of_two(RINGS_BYTES_MAX / cores.len().max(1)));
        let mut missing = Vec::new();
        let mut opened = Vec::new();
        for &core in cores {
            let (on_core, denied) = CoreTrace::open(core, &wanted, ring_bytes)?;
            opened.push(on_core);
            // All cores are alike: don't try these again.
            wanted.retain(|one| !denied.contains(&one.name));
            missing.extend(denied);
        }
        Ok(Trace { cores: opened, catalog: Catalog::of(&wanted), missing })
    }

    /// Tracepoints that this kernel has but does not allow.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Switches the events on.
    ///
    /// # Errors
    /// If a core went offline.
    pub fn start(&self) -> io::Result<()> {
        self.events().try_for_each(Event::enable)
    }

    /// Switches them off.
    pub fn stop(&self) {
        // If this fails it just continues; its records are after the last gap.
        self.events().for_each(|event| drop(event.disable()));
    }

    fn events(&self) -> impl Iterator<Item = &Event> {
        self.cores.iter().flat_map(|core| &core.events)
    }

    /// Sleeps until `ended` was told `times`. Wakes up in between only to empty rings that are half
    /// full.
    pub fn take_until(&mut self, ended: &EndSignal, times: usize) {
        let mut told = 0;
        while told < times as u64 {
            let is_open = |core: &&mut CoreTrace| core.taken_bytes < RECORDS_BYTES_MAX;
            let mut waiting: Vec<&mut CoreTrace> = self.cores.iter_mut().filter(is_open).collect();
            let mut descriptors = vec![PollFd::new(&ended.0, PollFlags::IN)];
            let rings = waiting
                .iter()
                .map(|core| PollFd::from_borrowed_fd(core.events[0].as_fd(), PollFlags::IN));
            descriptors.extend(rings);
            if poll(&mut descriptors, None).is_err() {
                continue;
            }
            let ready: Vec<bool> =
                descriptors.iter().map(|one| one.revents().contains(PollFlags::IN)).collect();
            drop(descriptors);
            if ready[0] {
                told += ended.read();
            }
            for (core, _) in waiting.iter_mut().zip(&ready[1..]).filter(|(_, ready)| **ready) {
                core.take();
            }
        }
    }

    /// The spans of each core since the last call, in the given order of cores, on the timeline of
    /// the events, from `start_ns` on. `own` gives the owner of each core.
    pub(crate) fn told(
        &mut self,
        start_ns: u64,
        own: &[i32],
        has_fair_server: bool,
        causes: &mut Causes,
    ) -> Vec<CoreSpans> {
        let catalog = &self.catalog;
        let read = |(core, own): (&mut CoreTrace, &i32)| {
            let is_full = core.take();
            let bytes = core.taken.concat();
            (core.taken, core.taken_bytes) = (Vec::new(), 0);
            let setting = Setting { own: *own, has_fair_server };
            let mut told = spans(&bytes, start_ns, catalog, setting, causes);
            // The kernel reports the last losses only with the next record.
            told.lost = told.lost.max(u64::from(is_full));
            told
        };
        self.cores.iter_mut().zip(own).map(read).collect()
    }

    /// The cores, in order.
    pub fn cores(&self) -> impl Iterator<Item = usize> {
        self.cores.iter().map(|core| core.core)
    }
}

impl CoreTrace {
    /// Returns them with the names of those that are not allowed.
    fn open(
        core: usize,
        wanted: &[Tracepoint],
        ring_bytes: usize,
    ) -> Result<(CoreTrace, Vec<String>), TraceError> {
        let wakeup_bytes = (ring_bytes / 2) as u32;
        let timeline = Timeline::MonotonicRaw;
        let leader = Event::open(PerfTarget::Faults { core }, timeline, wakeup_bytes);
        let leader = leader.map_err(TraceError::Events)?;
        let ring = Ring::of(&leader, ring_bytes).map_err(TraceError::Events)?;
        let mut denied = Vec::new();
        let mut events = vec![leader];
        for tracepoint in wanted {
            let what = PerfTarget::Tracepoint { id: tracepoint.id, core };
            let opened = Event::open(what, timeline, wakeup_bytes)
                .and_then(|event| event.write_to(&events[0]).map(|()| event));
            match opened {
                Ok(event) => events.push(event),
                // Without permission, or descriptors, all of them fail.
                Err(error) if tracepoint.name == "sched/sched_switch" => {
                    return Err(TraceError::Events(error));
                }
                Err(_) => denied.push(tracepoint.name.clone()),
            }
        }
        Ok((CoreTrace { core, events, ring, taken: Vec::new(), taken_bytes: 0 }, denied))
    }

    /// Empties the ring; returns whether it was full.
    fn take(&mut self) -> bool {
        // A new piece each time: growing memory would be moved, which disturbs the cores.
        let mut piece = Vec::with_capacity(self.ring.capacity_bytes());
        let filled = self.ring.drain(&mut piece);
        piece.shrink_to_fit();
        self.taken.push(piece);
        self.taken_bytes += filled;
        self.ring.capacity_bytes() - filled < RECORD_BYTES_MAX
    }
}

/// The longest record of a watched tracepoint.
const RECORD_BYTES_MAX: usize = 256;

fn previous_power_of_two(value: usize) -> usize {
    1 << value.max(1).ilog2()
}

impl AsFd for EndSignal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Threads report their end here, while the waiting thread sleeps.
pub struct EndSignal(OwnedFd);

impl EndSignal {
    /// No thread has ended yet.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn new() -> io::Result<EndSignal> {
        Ok(EndSignal(eventfd(0, EventfdFlags::CLOEXEC)?))
    }

    /// Reports the end of one.
    pub fn tell(&self) {
        // It can't overflow, and nothing else fails.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Number of ends since the last call, at least one.
    fn read(&self) -> u64 {
        let mut count = [0; 8];
        rustix::io::read(&self.0, &mut count).map_or(0, |_| u64::from_ne_bytes(count))
    }
}

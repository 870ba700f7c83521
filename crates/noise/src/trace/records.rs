//! Reads the records that the kernel wrote into a ring: bytes in, values out.

/// `PERF_RECORD_LOST`.
const LOST: u32 = 2;
/// `PERF_RECORD_SAMPLE`.
const SAMPLE: u32 = 9;
/// `PERF_RECORD_LOST_SAMPLES`.
const LOST_SAMPLES: u32 = 13;
/// `PERF_RECORD_SWITCH`.
const SWITCH: u32 = 14;
/// `PERF_RECORD_MISC_SWITCH_OUT`: the thread left its core; without it, it came back.
const MISC_SWITCH_OUT: u16 = 1 << 13;
/// `PERF_RECORD_MISC_SWITCH_OUT_PREEMPT`: it could have continued.
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// `PERF_RECORD_SWITCH_CPU_WIDE`.
const SWITCH_CPU_WIDE: u32 = 15;
/// Type, flags and length of a record.
const HEADER_BYTES: usize = 8;

/// One record. Times are ns on the timeline that the events were opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// An event happened.
    Sample {
        /// Time of the event.
        at_ns: u64,
        /// The tracepoint's data with padding; empty for other events.
        raw: &'a [u8],
    },
    /// The thread left its core.
    Out {
        /// When.
        at_ns: u64,
    },
    /// The thread is back on a core.
    In {
        /// When.
        at_ns: u64,
    },
    /// Records were lost.
    Lost {
        /// Time at which there was room again.
        at_ns: u64,
        /// How many.
        count: u64,
    },
}

/// The records in `bytes`, up to an incomplete one. Other kinds are left out.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        loop {
            let (kind, flags) = (word(bytes, 0)?, half(bytes, 4)?);
            let length = usize::from(half(bytes, 6)?);
            let body = bytes.get(HEADER_BYTES..length)?;
            bytes = &bytes[length..];
            if let Some(record) = record(kind, flags, body) {
                return Some(record);
            }
        }
    })
}

/// A switch of threads on a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    /// A thread starts to run.
    On { process: i32, thread: i32, at_ns: u64 },
    /// It stops; it could have continued if it was preempted.
    Off { process: i32, thread: i32, at_ns: u64, preempted: bool },
    /// It had a page fault.
    Fault { thread: i32, at_ns: u64 },
    /// Records were lost.
    Lost { count: u64 },
}

/// The switches in `bytes`: of all threads of a core, whose records have the thread's number, or of
/// `only` one, whose records have just times.
pub(crate) fn switches(mut bytes: &[u8], only: Option<i32>) -> impl Iterator<Item = Switch> {
    std::iter::from_fn(move || {
        loop {
            let (kind, flags) = (word(bytes, 0)?, half(bytes, 4)?);
            let length = usize::from(half(bytes, 6)?);
            let body = bytes.get(HEADER_BYTES..length)?;
            bytes = &bytes[length..];
            if let Some(switch) = switch(kind, flags, body, only) {
                return Some(switch);
            }
        }
    })
}

fn switch(kind: u32, flags: u16, body: &[u8], only: Option<i32>) -> Option<Switch> {
    // With `sample_id_all` each record except a sample ends with process and thread, unless only
    // one thread is watched, and time.
    let at_ns = long(body, body.len().checked_sub(8)?)?;
    let of_body = |from_end: usize| word(body, body.len().checked_sub(from_end)?);
    let (process, thread) = match only {
        Some(thread) => (thread, thread),
        None => (of_body(16)?.cast_signed(), of_body(12)?.cast_signed()),
    };
    match kind {
        SWITCH | SWITCH_CPU_WIDE if flags & MISC_SWITCH_OUT != 0 => {
            let preempted = flags & MISC_SWITCH_OUT_PREEMPT != 0;
            Some(Switch::Off { process, thread, at_ns, preempted })
        }
        SWITCH | SWITCH_CPU_WIDE => Some(Switch::On { process, thread, at_ns }),
        // Here process and thread precede the time too.
        SAMPLE => Some(Switch::Fault { thread, at_ns }),
        LOST => Some(Switch::Lost { count: long(body, 8)? }),
        LOST_SAMPLES => Some(Switch::Lost { count: long(body, 0)? }),
        _ => None,
    }
}

fn record(kind: u32, flags: u16, body: &[u8]) -> Option<Record<'_>> {
    // With `sample_id_all` every record except a sample ends with what samples have, here the time.
    let last = || long(body, body.len().checked_sub(8)?);
    match kind {
        SAMPLE => {
            let raw = match word(body, 8) {
                None => &[],
                Some(length) => body[12..].get(..length as usize)?,
            };
            Some(Record::Sample { at_ns: long(body, 0)?, raw })
        }
        SWITCH if flags & MISC_SWITCH_OUT != 0 => Some(Record::Out { at_ns: last()? }),
        SWITCH => Some(Record::In { at_ns: last()? }),
        LOST => Some(Record::Lost { at_ns: last()?, count: long(body, 8)? }),
        LOST_SAMPLES => Some(Record::Lost { at_ns: last()?, count: long(body, 0)? }),
        _ => None,
    }
}

pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..)?.get(..8)?.try_into().ok()?))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..)?.get(..4)?.try_into().ok()?))
}

pub(crate) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..)?.get(..2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(kind: u32, flags: u16, body: &[u8]) -> Vec<u8> {
        let length = (HEADER_BYTES + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &flags.to_ne_bytes(), &length.to_ne_bytes(), body].concat()
    }

    fn longs(values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    #[test]
    fn each_kind_is_read() {
        let raw = [&longs(&[7])[..], &4u32.to_ne_bytes(), b"abcd"].concat();
        let bytes = [
            written(SAMPLE, 2, &longs(&[5])),
            written(SAMPLE, 2, &raw),
            written(99, 0, &longs(&[1])),
            written(SWITCH, MISC_SWITCH_OUT, &longs(&[8])),
            written(SWITCH, 0, &longs(&[9])),
            written(LOST, 0, &longs(&[3, 12, 10])),
        ]
        .concat();
        let read: Vec<Record> = records(&bytes).collect();
        let expected = [
            Record::Sample { at_ns: 5, raw: &[] },
            Record::Sample { at_ns: 7, raw: b"abcd" },
            Record::Out { at_ns: 8 },
            Record::In { at_ns: 9 },
            Record::Lost { at_ns: 10, count: 12 },
        ];
        assert_eq!(read, expected);
        for cut in 0..bytes.len() {
            assert!(records(&bytes[..cut]).count() < expected.len());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(records(&bytes).count() <= bytes.len() / HEADER_BYTES);
        }
    }
}

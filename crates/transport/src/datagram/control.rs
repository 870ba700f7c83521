//! The kernel's control messages beside a datagram, laid out as in cmsg(3) on 64-bit Linux.
//!
//! Decoded by hand, because the library decodes them inside the receive call. Here that happens
//! after the order has left.

use nix::libc;

/// Room for all that is asked for: the stamps and the count of drops take 88 bytes.
pub(crate) const CONTROL_BYTES: usize = 128;
/// A length of 8 bytes, which counts these too, a level of 4, a type of 4.
const HEAD_BYTES: usize = 16;
/// Each message begins at a multiple of this.
const ALIGNMENT: usize = 8;

/// Stages of a message at which it is stamped (linux/errqueue.h), which `libc` lacks.
pub(crate) const SCM_TSTAMP_SND: u32 = 0;
pub(crate) const SCM_TSTAMP_SCHED: u32 = 1;

/// Room for control messages. All zeros, it has none.
#[derive(Clone)]
#[repr(align(16))]
pub(crate) struct Control(pub(crate) [u8; CONTROL_BYTES]);

/// The control messages beside a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ControlMessages {
    /// When the kernel had it, by `CLOCK_REALTIME`; 0: not stamped.
    pub(crate) software_ns: u64,
    /// When the network card had it, by the card's own clock; 0: not stamped.
    pub(crate) hardware_ns: u64,
    /// Datagrams that found no room so far.
    pub(crate) dropped: Option<u32>,
    /// In the error queue: the sent message to which the stamps belong.
    pub(crate) sent: Option<SentStamp>,
}

/// Which message was stamped on its way out, and where: a `sock_extended_err` (errqueue.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentStamp {
    /// [`SCM_TSTAMP_SND`] or [`SCM_TSTAMP_SCHED`].
    pub(crate) stage: u32,
    /// The message's number: datagrams are counted from 0, a stream's bytes too.
    pub(crate) number: u32,
}

impl Control {
    /// No messages.
    pub(crate) fn none() -> Control {
        Control([0; CONTROL_BYTES])
    }

    /// So that what comes next is not taken for what came last.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Reads all messages; what is none of those that were asked for says nothing.
    pub(crate) fn said(&self) -> ControlMessages {
        let mut said = ControlMessages::default();
        let mut rest = &self.0[..];
        while let Some((level, kind, data)) = first(rest) {
            if level == libc::SOL_SOCKET && kind == libc::SO_TIMESTAMPING {
                // Three stamps: software, a legacy field, hardware
                // (Documentation/networking/timestamping.rst).
                said.software_ns = timespec_ns(data, 0);
                said.hardware_ns = timespec_ns(data, 2);
            } else if level == libc::SOL_SOCKET && kind == libc::SO_RXQ_OVFL {
                said.dropped = data.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
            } else if is_error(level, kind) {
                said.sent = sent_stamp(data);
            }
            let taken = (HEAD_BYTES + data.len()).next_multiple_of(ALIGNMENT);
            rest = rest.get(taken..).unwrap_or_default();
        }
        said
    }
}

fn is_error(level: i32, kind: i32) -> bool {
    (level == libc::SOL_IP && kind == libc::IP_RECVERR)
        || (level == libc::SOL_IPV6 && kind == libc::IPV6_RECVERR)
}

/// `ee_errno` (4 bytes), `ee_origin`, `ee_type`, `ee_code`, padding, `ee_info`, `ee_data`.
fn sent_stamp(data: &[u8]) -> Option<SentStamp> {
    let word = |at: usize| data.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
    let is_stamp = word(0)? == libc::ENOMSG as u32 && data[4] == libc::SO_EE_ORIGIN_TIMESTAMPING;
    is_stamp.then_some(SentStamp { stage: word(8)?, number: word(12)? })
}

/// Level, type and data of the first message.
fn first(bytes: &[u8]) -> Option<(i32, i32, &[u8])> {
    let length = usize::try_from(u64::from_ne_bytes(*bytes.first_chunk()?)).ok()?;
    let int = |at: usize| bytes.get(at..)?.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes));
    Some((int(8)?, int(12)?, bytes.get(HEAD_BYTES..length)?))
}

/// The `index`-th of several `timespec`s, as one number; 0 where it is not there.
fn timespec_ns(data: &[u8], index: usize) -> u64 {
    let (words, _) = data.as_chunks::<8>();
    let word = |at: usize| words.get(at).map_or(0, |bytes| i64::from_ne_bytes(*bytes));
    let (seconds, ns) = (word(2 * index), word(2 * index + 1));
    let seconds_ns = u64::try_from(seconds).map_or(0, |s| s.saturating_mul(1_000_000_000));
    seconds_ns.saturating_add(u64::try_from(ns).unwrap_or(0).min(999_999_999))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEAD_BYTES + data.len()) as u64).to_ne_bytes().to_vec();
        bytes.extend([level, kind].map(i32::to_ne_bytes).as_flattened());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
        bytes
    }

    fn said(messages: &[Vec<u8>]) -> ControlMessages {
        let mut control = Control([0; CONTROL_BYTES]);
        let bytes = messages.concat();
        control.0[..bytes.len()].copy_from_slice(&bytes);
        control.said()
    }

    #[test]
    fn stamps_and_drops_are_found_wherever_they_stand() {
        let words: [i64; 6] = [1_795_000_000, 5, 0, 0, 12, 999_999_999];
        let stamps = words.map(i64::to_ne_bytes);
        let stamps = message(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps.as_flattened());
        let drops = message(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &7u32.to_ne_bytes());
        let other = message(libc::SOL_IP, libc::SO_RXQ_OVFL, &[1, 2, 3]);
        let all = ControlMessages {
            software_ns: 1_795_000_000_000_000_005,
            hardware_ns: 12_999_999_999,
            dropped: Some(7),
            sent: None,
        };
        assert_eq!(said(&[stamps.clone(), drops.clone()]), all);
        assert_eq!(said(&[drops, other, stamps]), all);
        assert_eq!(said(&[]), ControlMessages::default());
    }

    /// Recorded from the error queue of a UDP and of a TCP socket (Linux 6.18, loopback): which
    /// stamp it is, and of which message. An ICMP error there is no stamp.
    #[test]
    fn a_stamp_of_the_error_queue_has_the_number_of_its_message() {
        let recorded = |hex: &str| -> Vec<u8> {
            let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            (0..hex.len()).step_by(2).map(digits).collect()
        };
        let words = [1_795_000_000, 5, 0, 0, 0, 0].map(i64::to_ne_bytes);
        let stamps = message(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, words.as_flattened());
        let error = |hex: &str| message(libc::SOL_IP, libc::IP_RECVERR, &recorded(hex));
        let zeros = "00000000000000000000000000000000";
        for (hex, stage, number) in [
            ("2a000000040000000100000001000000", SCM_TSTAMP_SCHED, 1),
            ("2a000000040000000000000001000000", SCM_TSTAMP_SND, 1),
            ("2a00000004000000000000002b010000", SCM_TSTAMP_SND, 299),
        ] {
            let both = said(&[stamps.clone(), error(&format!("{hex}{zeros}"))]);
            assert_eq!(both.sent, Some(SentStamp { stage, number }));
            assert_eq!(both.software_ns, 1_795_000_000_000_000_005);
        }
        // Connection refused: ECONNREFUSED, SO_EE_ORIGIN_ICMP, type 3, code 3.
        let refused = error(&format!("6f0000000203030000000000000000000{}", &zeros[..31]));
        assert_eq!(said(&[refused]).sent, None);
        assert_eq!(said(&[error("2a00000004")]).sent, None, "cut off");
    }

    /// The sum of both overflowed: random bytes are hardly ever a message of ours.
    #[test]
    fn a_time_beyond_all_times_is_the_last_one() {
        let stamps = [i64::MAX; 6].map(i64::to_ne_bytes);
        let stamps = message(libc::SOL_SOCKET, libc::SO_TIMESTAMPING, stamps.as_flattened());
        assert_eq!(said(&[stamps]).software_ns, u64::MAX);
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes: [u8; CONTROL_BYTES], length in 0u64..200) {
            let mut control = Control(bytes);
            control.said();
            control.0[..8].copy_from_slice(&length.to_ne_bytes());
            control.said();
        }
    }
}

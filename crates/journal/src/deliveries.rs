//! Records of orders and amendments that named the tick that caused them: what they said, and their
//! part in the race for that tick. So an audit can tell what the order of arrival would have
//! decided.
//!
//! The record comes before the order's client id and input. It has the place of an input, a
//! sequence of its own, and changes nothing in the engine. If the input never follows, the record
//! means nothing. 72 bytes, little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | the order's id |
//! | 8 | kind, 129: above the kinds of the engine's own records |
//! | 9 | the fate: its place in [`Fate::ALL`] |
//! | 10..16 | zeros |
//! | 16..24 | the tick that the order names |
//! | 24..32 | the response time that it claims, ns |
//! | 32..40 | number of the publication; 0: unknown |
//! | 40..48 | time from the publication to the arrival, ns; 0: unknown |
//! | 48..56 | number of the order in the order of arrival, from 1 |
//! | 56..64 | the window, ns |
//! | 64..72 | the feed's session: numbers of publications and arrivals begin anew with each |

use engine::{DecodeError, Input};
use fair::window::{Answer, Claim, Fate};

const KIND: usize = 8;
const FATE: usize = 9;
const ZEROS: std::ops::Range<usize> = 10..16;
pub(crate) const DELIVERY: u8 = 129;

/// An order's part in the race for a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The order.
    pub order_id: u64,
    /// Its claim, and its fate.
    pub answer: Answer,
    /// The window, ns.
    pub window_ns: u64,
    /// The feed's session.
    pub session: u64,
}

impl Delivery {
    pub(crate) fn to_bytes(self) -> [u8; Input::BYTES] {
        let Delivery { order_id, answer, window_ns, session } = self;
        let fate = Fate::ALL.iter().position(|fate| *fate == answer.fate).unwrap_or_default();
        let mut bytes = [0; Input::BYTES];
        let mut write = |at: usize, word: u64| {
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        };
        write(0, order_id);
        write(16, answer.claim.tick);
        write(24, answer.claim.response_ns);
        write(32, answer.publication);
        write(40, answer.elapsed_ns);
        write(48, answer.arrival);
        write(56, window_ns);
        write(64, session);
        (bytes[KIND], bytes[FATE]) = (DELIVERY, fate as u8);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; Input::BYTES]) -> Result<Delivery, DecodeError> {
        let invalid = |byte: usize| DecodeError { field: "delivery", byte, found: bytes[byte] };
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
        let fate = *Fate::ALL.get(usize::from(bytes[FATE])).ok_or_else(|| invalid(FATE))?;
        if let Some(byte) = ZEROS.into_iter().find(|byte| bytes[*byte] != 0) {
            return Err(invalid(byte));
        }
        let claim = Claim { tick: word(16), response_ns: word(24) };
        let (publication, elapsed_ns, arrival) = (word(32), word(40), word(48));
        let answer = Answer { claim, publication, elapsed_ns, arrival, fate };
        Ok(Delivery { order_id: word(0), answer, window_ns: word(56), session: word(64) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_ids::Content;

    #[test]
    fn a_delivery_comes_back_and_other_bytes_are_rejected() {
        for fate in Fate::ALL {
            let claim = Claim { tick: 7, response_ns: 8 };
            let answer = Answer { claim, publication: 9, elapsed_ns: 10, arrival: 11, fate };
            let delivery = Delivery { order_id: 6, answer, window_ns: 12, session: u64::MAX };
            let bytes = delivery.to_bytes();
            assert_eq!(Content::from_bytes(&bytes), Ok(Content::Delivery(delivery)));
            for (byte, found) in [(FATE, Fate::ALL.len() as u8), (10, 1), (15, 255)] {
                let mut wrong = bytes;
                wrong[byte] = found;
                let expected = DecodeError { field: "delivery", byte, found };
                assert_eq!(Content::from_bytes(&wrong), Err(expected));
            }
        }
    }
}

//! How far the exchange's own orders are: a number and a checksum of the orders, amendments and
//! cancels of account 0, which has no client. An exchange that recovers goes on with its flow
//! after them, and sees whether they were of that flow.
//!
//! A replay counts them, so the log has no record of its own. A snapshot has one of 72 bytes,
//! little-endian, if there are any:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | their number |
//! | 8 | kind, 131 |
//! | 9..13 | CRC-32C of their records without the time, in the order of the log |
//! | 13..72 | 0 |

use crc32c::crc32c_append;
use engine::{Command, DecodeError, Input};

const KIND: usize = 8;
const OWN_COMMANDS: u8 = 131;
const CHECK: usize = 9;
/// The account of the exchange itself.
const EXCHANGE: u32 = 0;

/// Number and checksum of the exchange's own orders, amendments and cancels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnCommands {
    count: u64,
    check: u32,
}

impl OwnCommands {
    /// Their number.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Adds a command; leaves out one that is no order, amendment or cancel of account 0.
    #[inline]
    pub fn add(&mut self, command: &Command) {
        let account = match command {
            Command::New(order) => order.account,
            Command::Amend(amend) => amend.account,
            Command::Cancel(cancel) => cancel.account,
            _ => return,
        };
        if account == EXCHANGE {
            let input = Input { time_ns: 0, command: *command };
            self.count += 1;
            self.check = crc32c_append(self.check, &input.to_bytes());
        }
    }

    /// The record of a snapshot; `None` if there are none.
    pub(crate) fn record(&self) -> Option<[u8; Input::BYTES]> {
        let mut bytes = [0; Input::BYTES];
        bytes[..KIND].copy_from_slice(&self.count.to_le_bytes());
        bytes[KIND] = OWN_COMMANDS;
        bytes[CHECK..CHECK + 4].copy_from_slice(&self.check.to_le_bytes());
        (self.count > 0).then_some(bytes)
    }

    /// `None` if it is a record of another kind.
    pub(crate) fn from_record(
        bytes: &[u8; Input::BYTES],
    ) -> Option<Result<OwnCommands, DecodeError>> {
        if bytes[KIND] != OWN_COMMANDS {
            return None;
        }
        let count = u64::from_le_bytes(std::array::from_fn(|byte| bytes[byte]));
        let check = u32::from_le_bytes(std::array::from_fn(|byte| bytes[CHECK + byte]));
        let decoded = OwnCommands { count, check };
        // A value has exactly one record.
        let same = decoded.record().unwrap_or([0; Input::BYTES]);
        let differs = bytes.iter().zip(same).position(|(byte, same)| *byte != same);
        Some(match differs {
            Some(byte) => Err(DecodeError { field: "own commands", byte, found: bytes[byte] }),
            None => Ok(decoded),
        })
    }
}

#[cfg(test)]
mod tests {
    use engine::{Cancel, NewOrder, Side};
    use proptest::prelude::*;

    use super::*;

    fn cancel(order_id: u64, account: u32) -> Command {
        Command::Cancel(Cancel { order_id, account, tag: 0, instrument: 0 })
    }

    fn of(commands: &[Command]) -> OwnCommands {
        let mut own = OwnCommands::default();
        commands.iter().for_each(|command| own.add(command));
        own
    }

    #[test]
    fn only_the_exchanges_own_count_and_each_counts() {
        let order = NewOrder { order_id: 5, ..NewOrder::limit(Side::Buy, 100, 1) };
        let own = [Command::New(order), cancel(5, 0)];
        let others = [Command::New(NewOrder { account: 1, ..order }), cancel(5, 1)];
        let mixed = [own[0], others[0], others[1], own[1]];
        assert_eq!(of(&own), of(&mixed));
        assert_eq!((of(&own).count(), of(&others).count()), (2, 0));
        let other_price = Command::New(NewOrder { price_ticks: 101, ..order });
        for different in [[other_price, own[1]], [own[1], own[0]], [own[0], cancel(6, 0)]] {
            assert_ne!(of(&own), of(&different));
        }
    }

    proptest! {
        #[test]
        fn a_record_comes_back_and_no_other_is_one(
            count in any::<u64>(), check in any::<u32>(),
            byte in 0..Input::BYTES, value in 1..=255_u8,
        ) {
            let own = OwnCommands { count, check };
            let Some(record) = own.record() else { return Ok(()) };
            prop_assert_eq!(OwnCommands::from_record(&record), Some(Ok(own)));
            let mut changed = record;
            changed[byte] ^= value;
            match OwnCommands::from_record(&changed) {
                None => prop_assert_eq!(byte, KIND),
                Some(Ok(other)) => prop_assert!(byte < CHECK + 4 && other != own),
                // Its bytes after the checksum are 0; a record of none is not written.
                Some(Err(_)) => prop_assert!(!(KIND..CHECK + 4).contains(&byte)),
            }
        }
    }
}

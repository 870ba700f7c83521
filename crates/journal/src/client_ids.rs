//! Client ids of orders, which the engine does not keep: their records in the log, the map from
//! open order to client id that a replay gives, and the latest orders that have ended.
//!
//! The record of a client id comes before the input that gives an order that id, so that an order
//! in the log is never without its client id. It counts if the engine accepts that input. It has
//! the place of an input: a sequence of its own, and 72 bytes in the same record, little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | the order's id |
//! | 8 | kind, 128: above the kinds of the engine's own records |
//! | 9..72 | the client id: UTF-8, then zeros |
//!
//! Another record says whether an account's orders are to be cancelled when its connection is lost,
//! so that they are also if the exchange is lost with the connection:
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | the account |
//! | 8 | kind, 130 |
//! | 9 | 1: they are, 0: they are not |
//! | 10..72 | 0 |
//!
//! In a snapshot, these records follow the engine's pieces: client ids by order id, then accounts,
//! then how far the exchange's own orders are (`own_commands.rs`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use engine::{Command, DecodeError, DoneReason, Engine, Event, Input};

use crate::deliveries::{DELIVERY, Delivery};
use crate::own_commands::OwnCommands;

/// The longest client id that a journal keeps, in bytes of UTF-8.
pub const CLIENT_ID_BYTES_MAX: usize = Input::BYTES - TEXT;

const KIND: usize = 8;
const TEXT: usize = 9;
/// Kinds of the engine's own records are below 128.
const CLIENT_ID: u8 = 128;
const CANCEL_ON_DISCONNECT: u8 = 130;
const IS_ON: usize = 9;

/// The text of a client id, padded with zeros: 1 to [`CLIENT_ID_BYTES_MAX`] bytes of UTF-8 without
/// control characters.
pub type ClientIdText = [u8; CLIENT_ID_BYTES_MAX];

/// The content of a record of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Input(Input),
    ClientId(OrderClientId),
    Delivery(Delivery),
    CancelOnDisconnect(CancelOnDisconnect),
}

/// Whether an account's orders are to be cancelled when its connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CancelOnDisconnect {
    pub account: u32,
    pub is_on: bool,
}

/// The client id of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrderClientId {
    pub order_id: u64,
    pub text: ClientIdText,
}

impl Content {
    pub fn from_bytes(bytes: &[u8; Input::BYTES]) -> Result<Content, DecodeError> {
        match bytes[KIND] {
            CLIENT_ID => OrderClientId::from_bytes(bytes).map(Content::ClientId),
            DELIVERY => Delivery::from_bytes(bytes).map(Content::Delivery),
            CANCEL_ON_DISCONNECT => {
                CancelOnDisconnect::from_bytes(bytes).map(Content::CancelOnDisconnect)
            }
            _ => Input::from_bytes(bytes).map(Content::Input),
        }
    }
}

impl CancelOnDisconnect {
    pub fn to_bytes(self) -> [u8; Input::BYTES] {
        let mut bytes = [0; Input::BYTES];
        bytes[..4].copy_from_slice(&self.account.to_le_bytes());
        bytes[KIND] = CANCEL_ON_DISCONNECT;
        bytes[IS_ON] = self.is_on.into();
        bytes
    }

    fn from_bytes(bytes: &[u8; Input::BYTES]) -> Result<CancelOnDisconnect, DecodeError> {
        let account = u32::from_le_bytes(std::array::from_fn(|byte| bytes[byte]));
        let decoded = CancelOnDisconnect { account, is_on: bytes[IS_ON] != 0 };
        // A value has exactly one record.
        let same = decoded.to_bytes();
        match bytes.iter().zip(same).position(|(byte, same)| *byte != same) {
            Some(byte) => {
                Err(DecodeError { field: "cancel on disconnect", byte, found: bytes[byte] })
            }
            None => Ok(decoded),
        }
    }
}

impl OrderClientId {
    pub fn to_bytes(self) -> [u8; Input::BYTES] {
        let mut bytes = [0; Input::BYTES];
        bytes[..KIND].copy_from_slice(&self.order_id.to_le_bytes());
        bytes[KIND] = CLIENT_ID;
        bytes[TEXT..].copy_from_slice(&self.text);
        bytes
    }

    fn from_bytes(bytes: &[u8; Input::BYTES]) -> Result<OrderClientId, DecodeError> {
        let text: ClientIdText = std::array::from_fn(|byte| bytes[TEXT + byte]);
        let invalid = |at: usize| {
            let byte = (TEXT + at).min(Input::BYTES - 1);
            DecodeError { field: "client id", byte, found: bytes[byte] }
        };
        let length = client_id_text(&text).len();
        if let Some(after) = text[length..].iter().position(|byte| *byte != 0) {
            return Err(invalid(length + after));
        }
        let valid = std::str::from_utf8(&text[..length]);
        let valid = valid.map_err(|error| invalid(error.valid_up_to()))?;
        match valid.char_indices().find(|(_, char)| char.is_control()) {
            Some((at, _)) => Err(invalid(at)),
            None if length == 0 => Err(invalid(0)),
            None => {
                let order_id = u64::from_le_bytes(std::array::from_fn(|byte| bytes[byte]));
                Ok(OrderClientId { order_id, text })
            }
        }
    }
}

/// A client id as text. Never `None` for one of the log: only `from_bytes` makes them.
pub(crate) fn as_text(text: &ClientIdText) -> Option<&str> {
    std::str::from_utf8(client_id_text(text)).ok()
}

/// The text without its padding.
fn client_id_text(text: &ClientIdText) -> &[u8] {
    let length = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    &text[..length]
}

/// An order with a client id that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedOrder {
    /// The order's id.
    pub order_id: u64,
    /// Its account.
    pub account: u32,
    /// How it ended.
    pub reason: DoneReason,
    text: ClientIdText,
}

impl EndedOrder {
    /// The client id that the order had last.
    #[must_use]
    pub fn client_id(&self) -> Option<&str> {
        as_text(&self.text)
    }
}

/// The client ids of the open orders of an engine, and of the latest ones that have ended. Also the
/// accounts whose orders are to be cancelled when their connection is lost, and how far the
/// exchange's own orders are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientIds {
    by_order: BTreeMap<u64, ClientIdText>,
    /// Oldest first.
    ended: VecDeque<EndedOrder>,
    ended_max: usize,
    cancel_on_disconnect: BTreeSet<u32>,
    own_commands: OwnCommands,
    /// The last record, until the next input is applied.
    next: Option<OrderClientId>,
}

impl ClientIds {
    /// The client id of an open order; `None` if the log does not have it: an earlier version wrote
    /// the order, or nobody gave it one.
    #[must_use]
    pub fn get(&self, order_id: u64) -> Option<&str> {
        as_text(self.by_order.get(&order_id)?)
    }

    /// Number of open orders with a client id.
    #[must_use]
    pub fn count(&self) -> usize {
        self.by_order.len()
    }

    /// From now on, keeps that many of the latest orders that have ended.
    pub(crate) fn keep_ended(&mut self, ended_max: usize) {
        self.ended_max = ended_max;
    }

    /// The latest orders with a client id that have ended, oldest first: as many as
    /// [`crate::Options::ended_orders_max`] says, and none from before a snapshot.
    pub fn ended(&self) -> impl Iterator<Item = &EndedOrder> {
        self.ended.iter()
    }

    /// The accounts whose orders are to be cancelled when their connection is lost.
    pub fn cancel_on_disconnect(&self) -> impl Iterator<Item = u32> {
        self.cancel_on_disconnect.iter().copied()
    }

    /// Progress of the exchange's own orders.
    #[must_use]
    pub fn own_commands(&self) -> OwnCommands {
        self.own_commands
    }

    pub(crate) fn set_own_commands(&mut self, own_commands: OwnCommands) {
        self.own_commands = own_commands;
    }

    pub(crate) fn set(&mut self, CancelOnDisconnect { account, is_on }: CancelOnDisconnect) {
        match is_on {
            true => self.cancel_on_disconnect.insert(account),
            false => self.cancel_on_disconnect.remove(&account),
        };
    }

    /// Whether the last record was a client id, which the next input needs.
    pub(crate) fn awaits_input(&self) -> bool {
        self.next.is_some()
    }

    /// All records that a snapshot needs.
    pub(crate) fn records(&self) -> impl Iterator<Item = [u8; Input::BYTES]> {
        let accounts = self.cancel_on_disconnect.iter();
        let flags = accounts.map(|account| CancelOnDisconnect { account: *account, is_on: true });
        let flags = flags.map(CancelOnDisconnect::to_bytes);
        self.all().map(OrderClientId::to_bytes).chain(flags).chain(self.own_commands.record())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = OrderClientId> {
        self.by_order
            .iter()
            .map(|(order_id, text)| OrderClientId { order_id: *order_id, text: *text })
    }

    pub(crate) fn insert(&mut self, OrderClientId { order_id, text }: OrderClientId) {
        self.by_order.insert(order_id, text);
    }

    /// Applies a record of the log; an input goes to the engine.
    pub(crate) fn apply(
        &mut self,
        content: &Content,
        engine: &mut Engine,
        mut events: impl FnMut(&Event),
    ) {
        let input = match content {
            Content::ClientId(next) => return self.next = Some(*next),
            // Nothing depends on it.
            Content::Delivery(_) => return,
            Content::CancelOnDisconnect(of_account) => return self.set(*of_account),
            Content::Input(input) => input,
        };
        self.own_commands.add(&input.command);
        let given = self.next.take();
        let mut given = given.filter(|given| named_order(&input.command) == Some(given.order_id));
        engine.apply(input, &mut |event| {
            match event {
                // An order that is not accepted, or an amendment: the order keeps its client id.
                Event::Rejected { .. } => given = None,
                Event::Done { order, reason, .. } => {
                    let before = self.by_order.remove(&order.order_id);
                    let named = given.take_if(|given| given.order_id == order.order_id);
                    let text = named.map(|given| given.text).or(before);
                    if let Some(text) = text.filter(|_| self.ended_max > 0) {
                        if self.ended.len() == self.ended_max {
                            self.ended.pop_front();
                        }
                        let (order_id, account) = (order.order_id, order.account);
                        self.ended.push_back(EndedOrder { order_id, account, reason, text });
                    }
                }
                _ => {}
            }
            events(&event);
        });
        if let Some(given) = given {
            self.insert(given);
        }
    }
}

/// The order that a command may give a client id.
pub(crate) fn named_order(command: &Command) -> Option<u64> {
    match command {
        Command::New(order) => Some(order.order_id),
        Command::Amend(amend) => Some(amend.order_id),
        _ => None,
    }
}

#[cfg(test)]
#[path = "client_ids_tests.rs"]
mod tests;

//! The fields of [`codec`](crate::codec)'s records: their offsets and their encoding.

use std::fmt;

use crate::command::{Amend, Cancel, MassCancel, NewOrder, OrderType, PostOnly, Side, TimeInForce};
use crate::limits::EngineLimits;
use crate::settings::{
    AccountSettings, InstrumentSettings, InstrumentState, Kill, PositionSettings, SelfTrade,
};
use crate::state::saved::SavedItem;

/// Bytes of a record.
pub(crate) const BYTES: usize = 72;

pub(crate) const ORDER: u8 = 1;
pub(crate) const AMEND: u8 = 2;
pub(crate) const CANCEL: u8 = 3;
pub(crate) const MASS_CANCEL: u8 = 4;
pub(crate) const INSTRUMENT: u8 = 5;
pub(crate) const ACCOUNT: u8 = 6;
pub(crate) const POSITION: u8 = 7;
pub(crate) const KILL: u8 = 8;
pub(crate) const ENGINE: u8 = 9;
pub(crate) const JOINED: u8 = 10;

/// Offset of the kind.
pub(crate) const KIND: usize = 8;
/// Offset of the first of the single bytes whose meaning depends on the kind.
const CHOICE: usize = 9;
const ORDER_TYPE: usize = 10;
/// In a saved account.
const KILLED: usize = 10;
/// In a kill switch.
const CANCELS: usize = 10;
const TIME_IN_FORCE: usize = 11;
const POST_ONLY: usize = 12;
const GIVEN: usize = 13;
const INSTRUMENT_NUMBER: usize = 14;
const ACCOUNT_NUMBER: usize = 16;
const TAG: usize = 20;

const ACCOUNT_GIVEN: u8 = 1;
const INSTRUMENT_GIVEN: u8 = 2;
const SIDE_GIVEN: u8 = 4;

/// Offset of a word whose meaning depends on the kind.
const fn word(number: usize) -> usize {
    24 + 8 * number
}

/// An invalid byte of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecodeError {
    /// Its field.
    pub field: &'static str,
    /// Its offset from the record's begin.
    pub byte: usize,
    /// Its value.
    pub found: u8,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodeError { field, byte, found } = self;
        write!(
            f,
            "byte {byte} ({field}) is {found}, which is invalid here: the record is damaged, or a \
             later version's"
        )
    }
}

impl std::error::Error for DecodeError {}

/// A record for encoding or decoding.
pub(crate) struct Record(pub(crate) [u8; BYTES]);

/// Encoding.
impl Record {
    pub(crate) fn put(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn put_half(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn put_instrument(&mut self, value: u16) {
        self.0[INSTRUMENT_NUMBER..INSTRUMENT_NUMBER + 2].copy_from_slice(&value.to_le_bytes());
    }

    /// The common first fields of most kinds.
    fn head(&mut self, kind: u8, instrument: u16, account: u32, tag: u32) {
        self.0[KIND] = kind;
        self.put_instrument(instrument);
        self.put_half(ACCOUNT_NUMBER, account);
        self.put_half(TAG, tag);
    }

    pub(crate) fn order(&mut self, order: &NewOrder) {
        self.head(ORDER, order.instrument, order.account, order.tag);
        self.0[CHOICE] = order.side as u8;
        self.0[ORDER_TYPE] = order.order_type as u8;
        self.0[TIME_IN_FORCE] = order.time_in_force as u8;
        self.0[POST_ONLY] = order.post_only as u8;
        self.put(word(0), order.order_id);
        self.put(word(1), order.price_ticks.cast_unsigned());
        self.put(word(2), order.quantity_lots);
        self.put(word(3), order.display_lots);
        self.put(word(4), order.stop_ticks.cast_unsigned());
        self.put(word(5), order.expires_ns);
    }

    pub(crate) fn amend(&mut self, amend: &Amend) {
        self.head(AMEND, amend.instrument, amend.account, amend.tag);
        self.put(word(0), amend.order_id);
        self.put(word(1), amend.price_ticks.cast_unsigned());
        self.put(word(2), amend.remaining_lots);
    }

    pub(crate) fn cancel(&mut self, cancel: &Cancel) {
        self.head(CANCEL, cancel.instrument, cancel.account, cancel.tag);
        self.put(word(0), cancel.order_id);
    }

    pub(crate) fn mass_cancel(&mut self, cancel: &MassCancel) {
        let MassCancel { account, instrument, side, tag } = *cancel;
        self.head(MASS_CANCEL, instrument.unwrap_or(0), account.unwrap_or(0), tag);
        self.0[CHOICE] = side.map_or(0, |side| side as u8);
        self.0[GIVEN] = account.map_or(0, |_| ACCOUNT_GIVEN)
            | instrument.map_or(0, |_| INSTRUMENT_GIVEN)
            | side.map_or(0, |_| SIDE_GIVEN);
    }

    pub(crate) fn instrument(&mut self, settings: &InstrumentSettings) {
        self.head(INSTRUMENT, settings.instrument, 0, settings.tag);
        self.0[CHOICE] = settings.state as u8;
        self.put(word(0), settings.band_low_ticks.cast_unsigned());
        self.put(word(1), settings.band_high_ticks.cast_unsigned());
        self.put(word(2), settings.reference_ticks.cast_unsigned());
    }

    pub(crate) fn account(&mut self, settings: &AccountSettings) {
        self.head(ACCOUNT, 0, settings.account, settings.tag);
        self.0[CHOICE] = settings.self_trade as u8;
        self.put(word(0), settings.quantity_lots_max);
        self.put(word(1), settings.notional_max);
        self.put(word(2), settings.collar_ticks);
        self.put(word(3), u64::from(settings.open_orders_max));
        self.put(word(4), u64::from(settings.messages_per_second_max));
    }

    /// The state of an account, in addition to its settings.
    pub(crate) fn account_so_far(&mut self, killed: bool, messages: u32) {
        self.0[KILLED] = u8::from(killed);
        self.put(word(5), u64::from(messages));
    }

    pub(crate) fn joined(&mut self, account: u32, order_id: u64) {
        self.head(JOINED, 0, account, 0);
        self.put(word(0), order_id);
    }

    pub(crate) fn position(&mut self, settings: &PositionSettings) {
        self.head(POSITION, settings.instrument, settings.account, settings.tag);
        self.put(word(0), settings.long_lots_max);
        self.put(word(1), settings.short_lots_max);
        self.put(word(2), settings.change_lots.cast_unsigned());
    }

    pub(crate) fn kill(&mut self, kill: &Kill) {
        self.head(KILL, 0, kill.account.unwrap_or(0), kill.tag);
        self.0[CHOICE] = u8::from(kill.on);
        self.0[CANCELS] = u8::from(kill.cancel);
        self.0[GIVEN] = kill.account.map_or(0, |_| ACCOUNT_GIVEN);
    }

    pub(crate) fn engine(&mut self, instruments: u16, limits: &EngineLimits, killed: bool) {
        self.head(ENGINE, instruments, limits.accounts_max, 0);
        self.0[CHOICE] = u8::from(killed);
        self.put(word(0), u64::from(limits.open_orders_max));
        self.put(word(1), u64::from(limits.price_levels_max));
        self.put(word(2), u64::from(limits.stop_levels_max));
        self.put(word(3), u64::from(limits.expiring_orders_max));
    }
}

/// Decoding.
impl Record {
    pub(crate) fn get(&self, at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|byte| self.0[at + byte]))
    }

    fn signed(&self, at: usize) -> i64 {
        self.get(at).cast_signed()
    }

    fn half(&self, at: usize) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|byte| self.0[at + byte]))
    }

    fn instrument_number(&self) -> u16 {
        u16::from_le_bytes([self.0[INSTRUMENT_NUMBER], self.0[INSTRUMENT_NUMBER + 1]])
    }

    /// A word with a value of at most 32 bits.
    fn small(&self, field: &'static str, at: usize) -> Result<u32, DecodeError> {
        match (4..8).find(|byte| self.0[at + byte] != 0) {
            None => Ok(self.half(at)),
            Some(high) => Err(DecodeError { field, byte: at + high, found: self.0[at + high] }),
        }
    }

    /// A byte that is the number of one of these values.
    fn one_of<T: Copy>(
        &self,
        field: &'static str,
        byte: usize,
        all: &[T],
    ) -> Result<T, DecodeError> {
        let found = self.0[byte];
        all.get(usize::from(found)).copied().ok_or(DecodeError { field, byte, found })
    }

    fn switch(&self, field: &'static str, byte: usize) -> Result<bool, DecodeError> {
        self.one_of(field, byte, &[false, true])
    }

    fn side(&self) -> Result<Side, DecodeError> {
        self.one_of("side", CHOICE, &[Side::Buy, Side::Sell])
    }

    fn is_given(&self, criterion: u8) -> bool {
        self.0[GIVEN] & criterion != 0
    }

    pub(crate) fn as_order(&self) -> Result<NewOrder, DecodeError> {
        use {OrderType::*, PostOnly::*, TimeInForce::*};
        let times = [GoodTillCancelled, ImmediateOrCancel, FillOrKill, GoodTillDate];
        Ok(NewOrder {
            order_id: self.get(word(0)),
            account: self.half(ACCOUNT_NUMBER),
            tag: self.half(TAG),
            instrument: self.instrument_number(),
            side: self.side()?,
            order_type: self.one_of("order type", ORDER_TYPE, &[Limit, Market])?,
            time_in_force: self.one_of("time in force", TIME_IN_FORCE, &times)?,
            post_only: self.one_of("post-only", POST_ONLY, &[No, Reject, Reprice])?,
            price_ticks: self.signed(word(1)),
            quantity_lots: self.get(word(2)),
            display_lots: self.get(word(3)),
            stop_ticks: self.signed(word(4)),
            expires_ns: self.get(word(5)),
        })
    }

    pub(crate) fn as_amend(&self) -> Amend {
        Amend {
            order_id: self.get(word(0)),
            account: self.half(ACCOUNT_NUMBER),
            tag: self.half(TAG),
            instrument: self.instrument_number(),
            price_ticks: self.signed(word(1)),
            remaining_lots: self.get(word(2)),
        }
    }

    pub(crate) fn as_cancel(&self) -> Cancel {
        Cancel {
            order_id: self.get(word(0)),
            account: self.half(ACCOUNT_NUMBER),
            tag: self.half(TAG),
            instrument: self.instrument_number(),
        }
    }

    pub(crate) fn as_mass_cancel(&self) -> Result<MassCancel, DecodeError> {
        let side = self.side()?;
        Ok(MassCancel {
            account: self.is_given(ACCOUNT_GIVEN).then(|| self.half(ACCOUNT_NUMBER)),
            instrument: self.is_given(INSTRUMENT_GIVEN).then(|| self.instrument_number()),
            side: self.is_given(SIDE_GIVEN).then_some(side),
            tag: self.half(TAG),
        })
    }

    pub(crate) fn as_instrument(&self) -> Result<InstrumentSettings, DecodeError> {
        use InstrumentState::*;
        Ok(InstrumentSettings {
            instrument: self.instrument_number(),
            tag: self.half(TAG),
            state: self.one_of("instrument's state", CHOICE, &[Open, Halted, Closed])?,
            band_low_ticks: self.signed(word(0)),
            band_high_ticks: self.signed(word(1)),
            reference_ticks: self.signed(word(2)),
        })
    }

    pub(crate) fn as_account(&self) -> Result<AccountSettings, DecodeError> {
        use SelfTrade::*;
        let ways = [Allowed, CancelNewest, CancelOldest, CancelBoth, Decrement];
        Ok(AccountSettings {
            account: self.half(ACCOUNT_NUMBER),
            tag: self.half(TAG),
            quantity_lots_max: self.get(word(0)),
            notional_max: self.get(word(1)),
            collar_ticks: self.get(word(2)),
            open_orders_max: self.small("open orders max", word(3))?,
            messages_per_second_max: self.small("messages max", word(4))?,
            self_trade: self.one_of("self-trade prevention", CHOICE, &ways)?,
        })
    }

    pub(crate) fn as_saved_account(&self, second: u64) -> Result<SavedItem, DecodeError> {
        Ok(SavedItem::Account {
            settings: self.as_account()?,
            killed: self.switch("killed", KILLED)?,
            second,
            messages: self.small("messages", word(5))?,
        })
    }

    pub(crate) fn as_joined(&self) -> SavedItem {
        SavedItem::Joined { account: self.half(ACCOUNT_NUMBER), order_id: self.get(word(0)) }
    }

    pub(crate) fn as_position(&self) -> PositionSettings {
        PositionSettings {
            account: self.half(ACCOUNT_NUMBER),
            tag: self.half(TAG),
            instrument: self.instrument_number(),
            long_lots_max: self.get(word(0)),
            short_lots_max: self.get(word(1)),
            change_lots: self.signed(word(2)),
        }
    }

    pub(crate) fn as_kill(&self) -> Result<Kill, DecodeError> {
        Ok(Kill {
            account: self.is_given(ACCOUNT_GIVEN).then(|| self.half(ACCOUNT_NUMBER)),
            tag: self.half(TAG),
            on: self.switch("on", CHOICE)?,
            cancel: self.switch("cancel", CANCELS)?,
        })
    }

    pub(crate) fn as_engine(&self, time_ns: u64) -> Result<SavedItem, DecodeError> {
        let limits = EngineLimits {
            open_orders_max: self.small("open orders max", word(0))?,
            price_levels_max: self.small("price levels max", word(1))?,
            stop_levels_max: self.small("stop levels max", word(2))?,
            expiring_orders_max: self.small("expiring orders max", word(3))?,
            accounts_max: self.half(ACCOUNT_NUMBER),
        };
        let killed = self.switch("killed", CHOICE)?;
        Ok(SavedItem::Engine { instruments: self.instrument_number(), limits, time_ns, killed })
    }
}

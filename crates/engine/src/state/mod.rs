//! Saves and restores the engine's state, and hashes it.

pub(crate) mod hash;
pub(crate) mod saved;

use crate::book::queue::Order;
use crate::command::{
    NewOrder, OrderType, PRICE_TICKS_MAX, PostOnly, QUANTITY_LOTS_MAX, Side, TimeInForce,
};
use crate::engine::Engine;
use crate::event::Reject;
use crate::limits::LimitsError;
use crate::settings::{AccountSettings, InstrumentSettings, PositionSettings};
use crate::state::hash::StateHash;
use crate::state::saved::SavedItem;
use std::fmt;

/// Why saved pieces can't be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreError {
    /// The first piece is not `Engine`, or there is a second one.
    NoEngine,
    /// The limits are out of range.
    Limits(LimitsError),
    /// A piece refers to an instrument, an account or an order that is missing.
    Unknown(SavedItem),
    /// A piece has an impossible value, or exists twice.
    Impossible(SavedItem),
    /// A piece is missing or misplaced.
    OutOfPlace,
    /// An order is not among the orders of its account.
    NotJoined {
        /// Number of orders that are.
        joined: u32,
        /// Number of open orders.
        open: u32,
    },
}

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::NoEngine => write!(f, "the state does not start with one engine"),
            RestoreError::Limits(error) => write!(f, "in the state, {error}"),
            RestoreError::Unknown(piece) => {
                write!(f, "the state refers to something that it lacks: {piece:?}")
            }
            RestoreError::Impossible(piece) => {
                write!(f, "the state has an impossible piece: {piece:?}")
            }
            RestoreError::OutOfPlace => {
                write!(f, "the state lacks a piece, or a piece is misplaced")
            }
            RestoreError::NotJoined { joined, open } => {
                write!(f, "the state has {open} orders, and {joined} among those of accounts")
            }
        }?;
        write!(f, "; it was not written by this version, or is damaged: use an earlier one")
    }
}

impl std::error::Error for RestoreError {}

impl Engine {
    /// Saves the state, piece by piece, as [`SavedItem`] describes: everything that determines
    /// future events, and nothing else. It visits every open order, so it is not for the hot path.
    pub fn save(&self, pieces: &mut impl FnMut(SavedItem)) {
        pieces(SavedItem::Engine {
            instruments: self.books.len() as u16,
            limits: self.limits,
            time_ns: self.time_ns,
            killed: self.killed,
        });
        for book in &self.books {
            pieces(SavedItem::Instrument(book.settings));
        }
        let accounts = &self.open.accounts;
        for (number, account) in accounts.all() {
            pieces(SavedItem::Account {
                settings: account.settings(number),
                killed: account.killed,
                second: account.second,
                messages: account.messages,
            });
        }
        for (number, _) in accounts.all() {
            for instrument in 0..self.books.len() as u16 {
                let position = accounts.position(number, instrument);
                if let Some(saved) = position.and_then(|p| p.saved(number, instrument)) {
                    pieces(SavedItem::Position(saved));
                }
            }
        }
        self.save_orders(pieces);
        for (number, account) in accounts.all() {
            let mut next = account.newest;
            while let Some(older) = next.and_then(|handle| accounts.older(handle)) {
                next = Some(older);
            }
            while let Some(handle) = next {
                let order_id = self.open.slab.get(handle).order_id;
                pieces(SavedItem::Joined { account: number, order_id });
                next = accounts.newer(handle);
            }
        }
    }

    fn save_orders(&self, pieces: &mut impl FnMut(SavedItem)) {
        for book in &self.books {
            let lanes = [
                book.side(Side::Buy),
                book.side(Side::Sell),
                book.stops(Side::Buy),
                book.stops(Side::Sell),
            ];
            for level in lanes.iter().flat_map(|lane| lane.best_first()) {
                for order in self.open.slab.in_queue(&level.queue) {
                    let expires_ns = self.open.expiries.expires_ns(order.expiry);
                    let visible_lots = if order.waits { 0 } else { order.visible_lots };
                    let order = order.as_new(level.price_ticks, expires_ns);
                    pieces(SavedItem::Order { order, visible_lots });
                }
            }
        }
    }

    /// A hash of the state: see [`crate::StateHash`]. Two engines in the same state have the same
    /// hash, regardless of their history.
    #[must_use]
    pub fn state_hash(&self) -> u64 {
        let mut hash = StateHash::new();
        self.save(&mut |piece| hash.piece(&piece));
        hash.finish()
    }

    /// Restores an engine from the pieces of [`Engine::save`].
    ///
    /// # Errors
    /// If a piece is missing, misplaced, out of range, or doubled: a restored engine saves the same
    /// pieces.
    pub fn restore(pieces: impl IntoIterator<Item = SavedItem>) -> Result<Engine, RestoreError> {
        let mut given = StateHash::new();
        let mut pieces = pieces.into_iter().inspect(|piece| given.piece(piece));
        let Some(SavedItem::Engine { instruments, limits, time_ns, killed }) = pieces.next() else {
            return Err(RestoreError::NoEngine);
        };
        limits.check(instruments).map_err(RestoreError::Limits)?;
        let mut engine = Engine { time_ns, killed, ..Engine::new(instruments, limits) };
        let mut joined = 0;
        for piece in pieces.by_ref() {
            match &piece {
                SavedItem::Engine { .. } => return Err(RestoreError::NoEngine),
                SavedItem::Instrument(settings) => engine.restore_instrument(settings),
                SavedItem::Account { settings, killed, second, messages } => {
                    engine.restore_account(settings, *killed, *second, *messages)
                }
                SavedItem::Position(settings) => engine.restore_position(settings),
                SavedItem::Order { order, visible_lots } => {
                    engine.restore_order(order, *visible_lots)
                }
                SavedItem::Joined { account, order_id } => {
                    joined += 1;
                    engine.restore_joined(*account, *order_id)
                }
            }
            .map_err(|why| match why {
                PieceFault::Unknown => RestoreError::Unknown(piece),
                PieceFault::Impossible => RestoreError::Impossible(piece),
            })?;
        }
        drop(pieces);
        let open = engine.open_orders();
        if joined != open && engine.open.accounts.are_known() {
            return Err(RestoreError::NotJoined { joined, open });
        }
        match engine.state_hash() == given.finish() {
            true => Ok(engine),
            false => Err(RestoreError::OutOfPlace),
        }
    }

    fn restore_instrument(&mut self, settings: &InstrumentSettings) -> Result<(), PieceFault> {
        // A closed one has no orders, which come later.
        self.set_instrument(settings, &mut |_| {}).map_err(PieceFault::from)
    }

    fn restore_account(
        &mut self,
        settings: &AccountSettings,
        killed: bool,
        second: u64,
        messages: u32,
    ) -> Result<(), PieceFault> {
        self.set_account(settings, &mut |_| {})?;
        if let Some(account) = self.open.accounts.get_mut(settings.account) {
            (account.killed, account.second, account.messages) = (killed, second, messages);
        }
        Ok(())
    }

    fn restore_position(&mut self, settings: &PositionSettings) -> Result<(), PieceFault> {
        let position = self.open.accounts.position_mut(settings.account, settings.instrument);
        let position = position.ok_or(PieceFault::Unknown)?;
        match position.lots {
            0 => position.set(settings).map_err(PieceFault::from),
            _ => Err(PieceFault::Impossible),
        }
    }

    fn restore_order(&mut self, order: &NewOrder, visible_lots: u64) -> Result<(), PieceFault> {
        let waits = order.stop_ticks != 0;
        let market = order.order_type == OrderType::Market;
        let may_rest = order.time_in_force.may_rest();
        let dated = order.time_in_force == TimeInForce::GoodTillDate;
        let price_ticks = if waits { order.stop_ticks } else { order.price_ticks };
        let stands = match waits {
            true => {
                let plain = order.post_only == PostOnly::No && order.display_lots == 0;
                visible_lots == 0 && plain && !(market && may_rest)
            }
            false => !market && may_rest && order.can_show(visible_lots),
        };
        let fits = stands
            && dated == (order.expires_ns != 0)
            && (!dated || order.expires_ns > self.time_ns)
            && (1..=PRICE_TICKS_MAX).contains(&price_ticks)
            && market == (order.price_ticks == 0)
            && (0..=PRICE_TICKS_MAX).contains(&order.price_ticks)
            && (1..=QUANTITY_LOTS_MAX).contains(&order.quantity_lots)
            && order.shows_enough();
        let known =
            !self.open.accounts.are_known() || self.open.accounts.get(order.account).is_some();
        if !fits || self.open.find(order.order_id).is_some() {
            return Err(PieceFault::Impossible);
        }
        let Engine { books, open, .. } = self;
        let book = books.get_mut(usize::from(order.instrument)).ok_or(PieceFault::Unknown)?;
        if !known {
            return Err(PieceFault::Unknown);
        }
        if order.expires_ns != 0 && open.expiries.is_full() {
            return Err(PieceFault::Impossible);
        }
        let position = open.accounts.position(order.account, order.instrument);
        if position.is_some_and(|position| !position.can_hold(order.side, order.quantity_lots)) {
            return Err(PieceFault::Impossible);
        }
        let mut resting = Order::of(order, order.quantity_lots);
        if !waits {
            resting.visible_lots = visible_lots;
            resting.hidden_lots = order.quantity_lots - visible_lots;
        }
        open.accounts.opened(order.account, order.instrument, order.side, order.quantity_lots);
        let levels = book.lane_mut(order.side, waits);
        let handle = open.join(levels, price_ticks, resting, order.expires_ns);
        // `Joined` pieces give the order among the account's orders later.
        open.accounts.left(order.account, handle.ok_or(PieceFault::Impossible)?);
        Ok(())
    }

    fn restore_joined(&mut self, account: u32, order_id: u64) -> Result<(), PieceFault> {
        let handle = self.open.find(order_id).ok_or(PieceFault::Unknown)?;
        let accounts = &mut self.open.accounts;
        let known = accounts.get(account).ok_or(PieceFault::Unknown)?;
        let twice = known.newest == Some(handle) || accounts.newer(handle).is_some();
        if twice || self.open.slab.get(handle).account != account {
            return Err(PieceFault::Impossible);
        }
        accounts.joined(account, handle);
        Ok(())
    }
}

/// The fault of a piece.
enum PieceFault {
    Unknown,
    Impossible,
}

impl From<Reject> for PieceFault {
    fn from(reject: Reject) -> PieceFault {
        match reject {
            Reject::UnknownAccount | Reject::UnknownInstrument => PieceFault::Unknown,
            _ => PieceFault::Impossible,
        }
    }
}

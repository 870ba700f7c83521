//! Accounts: their limits and the use of these, their positions, and their orders.

use crate::book::queue::Handle;
use crate::command::Side;
use crate::event::Reject;
use crate::limits::EngineLimits;
use crate::memory::filled;
use crate::prefetch::prefetch;
use crate::settings::{AccountSettings, POSITION_LOTS_MAX, PositionSettings, SelfTrade};

/// One account: a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Account {
    pub quantity_lots_max: u64,
    pub notional_max: u64,
    pub collar_ticks: u64,
    /// The whole second whose messages are counted.
    pub second: u64,
    pub open_orders_max: u32,
    pub messages_per_second_max: u32,
    pub messages: u32,
    pub open_orders: u32,
    /// Its order that joined a queue last.
    pub newest: Option<Handle>,
    pub self_trade: SelfTrade,
    pub killed: bool,
}

const _: () = assert!(size_of::<Account>() == 64);

impl Account {
    fn new() -> Account {
        let mut account = Account {
            quantity_lots_max: 0,
            notional_max: 0,
            collar_ticks: 0,
            second: 0,
            open_orders_max: 0,
            messages_per_second_max: 0,
            messages: 0,
            open_orders: 0,
            newest: None,
            self_trade: SelfTrade::Allowed,
            killed: false,
        };
        account.set(&AccountSettings::unlimited(0));
        account
    }

    pub fn set(&mut self, settings: &AccountSettings) {
        self.quantity_lots_max = settings.quantity_lots_max;
        self.notional_max = settings.notional_max;
        self.collar_ticks = settings.collar_ticks;
        self.open_orders_max = settings.open_orders_max;
        self.messages_per_second_max = settings.messages_per_second_max;
        self.self_trade = settings.self_trade;
    }

    pub fn settings(&self, account: u32) -> AccountSettings {
        AccountSettings {
            account,
            tag: 0,
            quantity_lots_max: self.quantity_lots_max,
            notional_max: self.notional_max,
            collar_ticks: self.collar_ticks,
            open_orders_max: self.open_orders_max,
            messages_per_second_max: self.messages_per_second_max,
            self_trade: self.self_trade,
        }
    }

    /// Counts a message; returns whether it is within the limit. Messages beyond the limit are not
    /// counted.
    #[inline]
    pub fn count_message(&mut self, time_ns: u64) -> bool {
        let second = time_ns / 1_000_000_000;
        if self.second != second {
            (self.second, self.messages) = (second, 0);
        }
        let within = self.messages < self.messages_per_second_max;
        self.messages = self.messages.saturating_add(1);
        within
    }
}

/// An account's position in an instrument, and the effect of its open orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub lots: i64,
    /// By side: remaining quantity of its open orders.
    open_lots: [u64; 2],
    /// By side: limit of the position with all open orders, long and short.
    limit_lots: [u64; 2],
}

impl Position {
    const FLAT: Position =
        Position { lots: 0, open_lots: [0; 2], limit_lots: [POSITION_LOTS_MAX; 2] };

    /// The position, in the direction of a side, if all open orders of that side traded. Every
    /// change keeps its size within `POSITION_LOTS_MAX`, so no sum here can overflow.
    #[inline]
    fn worst_lots(&self, side: Side) -> i64 {
        let towards = match side {
            Side::Buy => self.lots,
            Side::Sell => -self.lots,
        };
        towards + self.open_lots[side as usize] as i64
    }

    /// Whether the limit allows `lots` more open on a side.
    #[inline]
    pub fn has_room_for(&self, side: Side, lots: u64) -> bool {
        self.worst_lots(side) + lots as i64 <= self.limit_lots[side as usize] as i64
    }

    /// Whether the numbers allow `lots` more open on a side, for any limit.
    pub fn can_hold(&self, side: Side, lots: u64) -> bool {
        self.worst_lots(side) + lots as i64 <= POSITION_LOTS_MAX as i64
    }

    pub fn set(&mut self, settings: &PositionSettings) -> Result<(), Reject> {
        let PositionSettings { long_lots_max, short_lots_max, change_lots, .. } = *settings;
        let mut changed = *self;
        changed.lots = self.lots.checked_add(change_lots).ok_or(Reject::BadSetting)?;
        changed.limit_lots = [long_lots_max, short_lots_max];
        let most = POSITION_LOTS_MAX as i64;
        let fits = (-most..=most).contains(&changed.lots)
            && changed.limit_lots.iter().all(|limit| *limit <= POSITION_LOTS_MAX)
            && changed.worst_lots(Side::Buy) <= most
            && changed.worst_lots(Side::Sell) <= most;
        if !fits {
            return Err(Reject::BadSetting);
        }
        *self = changed;
        Ok(())
    }

    /// `None` if it has its initial value.
    pub fn saved(&self, account: u32, instrument: u16) -> Option<PositionSettings> {
        if self.lots == 0 && self.limit_lots == Position::FLAT.limit_lots {
            return None;
        }
        let [long_lots_max, short_lots_max] = self.limit_lots;
        let (tag, change_lots) = (0, self.lots);
        Some(PositionSettings {
            account,
            tag,
            instrument,
            long_lots_max,
            short_lots_max,
            change_lots,
        })
    }
}

/// An order's neighbours among the orders of its account.
#[derive(Debug, Clone, Copy)]
struct Link {
    older: Option<Handle>,
    newer: Option<Handle>,
}

/// All accounts. In an engine without accounts, every query answers like an account without limits,
/// and nothing is counted.
#[derive(Debug)]
pub(crate) struct Accounts {
    accounts: Vec<Account>,
    instruments: usize,
    /// By account, then instrument.
    positions: Vec<Position>,
    /// By order handle.
    links: Vec<Link>,
}

impl Accounts {
    pub fn new(instruments: u16, limits: &EngineLimits) -> Accounts {
        let (accounts, instruments) = (limits.accounts_max as usize, usize::from(instruments));
        let links = if accounts == 0 { 0 } else { limits.open_orders_max as usize + 1 };
        Accounts {
            accounts: filled(accounts, Account::new()),
            instruments,
            positions: filled(accounts * instruments, Position::FLAT),
            links: filled(links, Link { older: None, newer: None }),
        }
    }

    /// Whether the engine has accounts.
    #[inline]
    pub fn are_known(&self) -> bool {
        !self.accounts.is_empty()
    }

    #[inline]
    pub fn get(&self, account: u32) -> Option<&Account> {
        self.accounts.get(account as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, account: u32) -> Option<&mut Account> {
        self.accounts.get_mut(account as usize)
    }

    #[inline]
    pub fn position(&self, account: u32, instrument: u16) -> Option<&Position> {
        self.positions.get(self.index(account, instrument)?)
    }

    #[inline]
    pub fn position_mut(&mut self, account: u32, instrument: u16) -> Option<&mut Position> {
        let index = self.index(account, instrument)?;
        self.positions.get_mut(index)
    }

    #[inline]
    fn index(&self, account: u32, instrument: u16) -> Option<usize> {
        let known =
            (account as usize) < self.accounts.len() && usize::from(instrument) < self.instruments;
        known.then(|| account as usize * self.instruments + usize::from(instrument))
    }

    /// Reserves all of an accepted order, which may trade.
    #[inline]
    pub fn opened(&mut self, account: u32, instrument: u16, side: Side, lots: u64) {
        if let Some(account) = self.get_mut(account) {
            account.open_orders += 1;
        }
        self.reserve(account, instrument, side, lots);
    }

    /// Releases the rest of a done order, which will not trade.
    #[inline]
    pub fn closed(&mut self, account: u32, instrument: u16, side: Side, lots: u64) {
        if let Some(account) = self.get_mut(account) {
            account.open_orders -= 1;
        }
        self.release(account, instrument, side, lots);
    }

    /// Reserves `lots` more, which may trade.
    #[inline]
    pub fn reserve(&mut self, account: u32, instrument: u16, side: Side, lots: u64) {
        if let Some(position) = self.position_mut(account, instrument) {
            position.open_lots[side as usize] += lots;
        }
    }

    /// Releases `lots`, which will not trade.
    #[inline]
    pub fn release(&mut self, account: u32, instrument: u16, side: Side, lots: u64) {
        if let Some(position) = self.position_mut(account, instrument) {
            position.open_lots[side as usize] -= lots;
        }
    }

    /// Moves traded `lots` from the reservation to the position.
    #[inline]
    pub fn traded(&mut self, account: u32, instrument: u16, side: Side, lots: u64) {
        if let Some(position) = self.position_mut(account, instrument) {
            position.open_lots[side as usize] -= lots;
            position.lots += match side {
                Side::Buy => lots as i64,
                Side::Sell => -(lots as i64),
            };
        }
    }

    /// Notes that an order has joined a queue, as its account's newest.
    #[inline]
    pub fn joined(&mut self, account: u32, handle: Handle) {
        let Some(account) = self.accounts.get_mut(account as usize) else { return };
        let older = account.newest.replace(handle);
        self.links[handle.get() as usize] = Link { older, newer: None };
        if let Some(older) = older {
            self.links[older.get() as usize].newer = Some(handle);
        }
    }

    /// Notes that an order has left its queue.
    #[inline]
    pub fn left(&mut self, account: u32, handle: Handle) {
        let Some(account) = self.accounts.get_mut(account as usize) else { return };
        let Link { older, newer } = self.links[handle.get() as usize];
        match newer {
            Some(newer) => self.links[newer.get() as usize].older = older,
            None => account.newest = older,
        }
        if let Some(older) = older {
            self.links[older.get() as usize].newer = newer;
        }
    }

    /// The order of the same account that joined a queue directly before this one.
    pub fn older(&self, handle: Handle) -> Option<Handle> {
        self.links.get(handle.get() as usize)?.older
    }

    /// The order of the same account that joined a queue directly after this one.
    pub fn newer(&self, handle: Handle) -> Option<Handle> {
        self.links.get(handle.get() as usize)?.newer
    }

    /// Prefetches the memory of an account's next order.
    #[inline]
    pub fn prefetch(&self, account: u32, instrument: u16) {
        if let (Some(account), Some(position)) =
            (self.get(account), self.position(account, instrument))
        {
            prefetch(account);
            prefetch(position);
        }
    }

    /// Prefetches the memory for removing an order.
    #[inline]
    pub fn prefetch_order(&self, handle: Handle) {
        if let Some(link) = self.links.get(handle.get() as usize) {
            prefetch(link);
        }
    }

    /// All accounts, by number.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Account)> {
        (0..).zip(&self.accounts)
    }
}

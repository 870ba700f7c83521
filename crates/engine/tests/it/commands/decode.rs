//! Commands from bytes, with few ids, accounts, prices and instruments, so that commands meet.
//! Bytes near the ends of their range give extreme values. Each byte has one meaning in a command,
//! so that a fuzzer can change one thing at a time.

use engine::*;

pub const COMMAND_BYTES: usize = 10;
pub const LIMITS_BYTES: usize = 5;

/// Number of instruments in commands; the engines of most tests have one fewer.
const INSTRUMENTS_NAMED: u16 = 4;
const ACCOUNT_UNKNOWN: u32 = 3;
const IDS_NAMED: u64 = 24;
const RECENT: usize = 12;

/// The first byte of a command selects its kind from here on; below, it is a new order.
const AMEND: u8 = 140;
const CANCEL: u8 = 188;
const MASS_CANCEL: u8 = 216;
const INSTRUMENT: u8 = 220;
const ACCOUNT: u8 = 234;
const POSITION: u8 = 244;
const KILL: u8 = 252;

/// From here on, the byte of the stop price makes a stop.
const STOPS: u8 = 190;

const PRICE_FIRST: i64 = 95;
const PRICES_NAMED: u8 = 11;

const PRICES_EXTREME: [i64; 7] =
    [i64::MAX, i64::MIN, -1, 0, 1, PRICE_TICKS_MAX, PRICE_TICKS_MAX + 1];
const QUANTITIES_EXTREME: [u64; 4] = [u64::MAX, 0, QUANTITY_LOTS_MAX + 1, QUANTITY_LOTS_MAX];
/// Limits in lots or tick-lots.
const LOTS_EXTREME: [u64; 4] = [u64::MAX, POSITION_LOTS_MAX + 1, POSITION_LOTS_MAX, 0];
const CHANGES_EXTREME: [i64; 4] =
    [i64::MAX, i64::MIN, POSITION_LOTS_MAX.cast_signed(), -POSITION_LOTS_MAX.cast_signed()];

const TIME_STEP_NS: u64 = 50_000_000;
/// GTD orders end at multiples of this, so that several end at the same time.
const EXPIRY_STEP_NS: u64 = 4 * TIME_STEP_NS;

pub fn decode_limits(bytes: &[u8; LIMITS_BYTES]) -> EngineLimits {
    let [open_orders, price_levels, stop_levels, expiring_orders, accounts] = *bytes;
    EngineLimits {
        open_orders_max: 1 + u32::from(open_orders % 20),
        price_levels_max: 1 + u32::from(price_levels % 8),
        stop_levels_max: u32::from(stop_levels % 5),
        expiring_orders_max: u32::from(expiring_orders % 5),
        // Sometimes an engine without accounts.
        accounts_max: if accounts < 32 { 0 } else { ACCOUNT_UNKNOWN },
    }
}

pub fn decode_inputs(commands: &[[u8; COMMAND_BYTES]]) -> Vec<Input> {
    let mut told = Told { time_ns: 0, orders: Vec::new() };
    commands.iter().map(|bytes| told.next(bytes)).collect()
}

/// Orders to which later commands refer.
struct Told {
    time_ns: u64,
    orders: Vec<NewOrder>,
}

impl Told {
    fn next(&mut self, bytes: &[u8; COMMAND_BYTES]) -> Input {
        self.time_ns = next_time_ns(self.time_ns, bytes);
        let named = self.named(bytes);
        let command = command(named, self.time_ns, bytes);
        if let Command::New(new) = command {
            self.orders.push(new);
        }
        Input { time_ns: self.time_ns, command }
    }

    fn named(&self, bytes: &[u8; COMMAND_BYTES]) -> Named {
        let [kind, _, id, owner, ways, ..] = *bytes;
        let order_id = if id < 250 { u64::from(id) % IDS_NAMED } else { u64::MAX - u64::from(id) };
        let named = Named {
            order_id,
            account: match owner & 3 {
                // Unknown to most engines.
                3 if id % 16 == 15 => ACCOUNT_UNKNOWN,
                3 => 0,
                account => u32::from(account),
            },
            tag: u32::from(owner),
            instrument: instrument(owner >> 2),
            price_ticks: None,
        };
        // Mostly one of the last few orders is amended or cancelled, by its owner in its
        // instrument.
        let recent = self.orders.iter().rev().take(RECENT).nth(usize::from(id) % RECENT);
        match recent {
            Some(&NewOrder { order_id, account, instrument, price_ticks, .. })
                if (AMEND..MASS_CANCEL).contains(&kind) && ways < 230 =>
            {
                let price_ticks = ways.is_multiple_of(4).then_some(price_ticks);
                Named { order_id, account, instrument, price_ticks, ..named }
            }
            _ => named,
        }
    }
}

/// The time stays, advances a little, or moves to one of the next steps, so that it hits the exact
/// time of a date or a second; sometimes it goes back, and rarely to the largest value.
fn next_time_ns(time_ns: u64, bytes: &[u8; COMMAND_BYTES]) -> u64 {
    match bytes[1] {
        0..190 => time_ns,
        190..200 => time_ns.saturating_add(1),
        steps @ 200..250 => {
            (time_ns / TIME_STEP_NS + u64::from(steps % 8)).saturating_mul(TIME_STEP_NS)
        }
        250..253 => time_ns.saturating_sub(6 * TIME_STEP_NS),
        253..255 => time_ns.saturating_add(20 * TIME_STEP_NS),
        255 if bytes[9] == 255 => u64::MAX,
        255 => time_ns,
    }
}

fn command(named: Named, time_ns: u64, bytes: &[u8; COMMAND_BYTES]) -> Command {
    match bytes[0] {
        0..AMEND => Command::New(new_order(named, time_ns, bytes)),
        AMEND..CANCEL => Command::Amend(amend(named, bytes)),
        CANCEL..MASS_CANCEL => {
            let Named { order_id, account, tag, instrument, .. } = named;
            Command::Cancel(Cancel { order_id, account, tag, instrument })
        }
        MASS_CANCEL..INSTRUMENT => Command::MassCancel(mass_cancel(named, bytes)),
        INSTRUMENT..ACCOUNT => Command::Instrument(instrument_settings(named, bytes)),
        ACCOUNT..POSITION => Command::Account(account_settings(named, bytes)),
        POSITION..KILL => Command::Position(position_settings(named, bytes)),
        KILL..=255 => Command::Kill(Kill {
            account: (!bytes[2].is_multiple_of(4)).then_some(named.account),
            tag: named.tag,
            on: bytes[4].is_multiple_of(6),
            cancel: bytes[5].is_multiple_of(2),
        }),
    }
}

/// Fields common to most commands.
#[derive(Clone, Copy)]
struct Named {
    order_id: u64,
    account: u32,
    tag: u32,
    instrument: u16,
    /// The present price of the order, if an amendment should keep it.
    price_ticks: Option<i64>,
}

/// Mostly the first, so that its book fills; the last one is unknown to most engines.
fn instrument(byte: u8) -> u16 {
    match byte % 64 {
        0..44 => 0,
        44..62 => u16::from(byte) % (INSTRUMENTS_NAMED - 1),
        62 => INSTRUMENTS_NAMED - 1,
        _ => u16::MAX,
    }
}

fn price_ticks(byte: u8) -> i64 {
    match PRICES_EXTREME.get(usize::from(255 - byte)) {
        Some(&extreme) => extreme,
        None => PRICE_FIRST + i64::from(byte % PRICES_NAMED),
    }
}

fn quantity_lots(byte: u8) -> u64 {
    match QUANTITIES_EXTREME.get(usize::from(255 - byte)) {
        Some(&extreme) => extreme,
        None => 1 + u64::from(byte % 12),
    }
}

fn lots_max(byte: u8) -> u64 {
    match LOTS_EXTREME.get(usize::from(255 - byte)) {
        Some(&extreme) => extreme,
        None => u64::from(byte % 32),
    }
}

fn new_order(named: Named, time_ns: u64, bytes: &[u8; COMMAND_BYTES]) -> NewOrder {
    let [.., ways, price, quantity, display, stop, expires] = *bytes;
    let Named { order_id, account, tag, instrument, .. } = named;
    // 0 to 8 of the four bits is GTC.
    let time_in_force = match (ways >> 1) & 15 {
        0..9 => TimeInForce::GoodTillCancelled,
        9 | 10 => TimeInForce::ImmediateOrCancel,
        11 | 12 => TimeInForce::FillOrKill,
        _ => TimeInForce::GoodTillDate,
    };
    let order_type = match ways >> 5 {
        0 if !time_in_force.may_rest() => OrderType::Market,
        // Mostly an invalid combination.
        1 if expires == 255 => OrderType::Market,
        _ => OrderType::Limit,
    };
    let is_plain = order_type == OrderType::Limit && time_in_force.may_rest() && stop < STOPS;
    let expiry_ns =
        (time_ns / EXPIRY_STEP_NS + u64::from(expires % 8)).saturating_mul(EXPIRY_STEP_NS);
    NewOrder {
        order_id,
        account,
        tag,
        instrument,
        side: if ways & 1 == 0 { Side::Buy } else { Side::Sell },
        order_type,
        time_in_force,
        post_only: match ways >> 5 {
            2 if is_plain || expires == 254 => PostOnly::Reject,
            3 if is_plain || expires == 253 => PostOnly::Reprice,
            _ => PostOnly::No,
        },
        price_ticks: match order_type {
            OrderType::Market if price < 250 => 0,
            _ => price_ticks(price),
        },
        quantity_lots: quantity_lots(quantity),
        display_lots: match display {
            0..150 => 0,
            150..250 if is_plain => 1 + u64::from(display % 3),
            150..250 => 0,
            _ => quantity_lots(display),
        },
        stop_ticks: match stop {
            0..STOPS => 0,
            _ => price_ticks(stop),
        },
        expires_ns: if time_in_force == TimeInForce::GoodTillDate {
            expiry_ns
        } else if expires == 252 {
            1
        } else {
            0
        },
    }
}

fn amend(named: Named, bytes: &[u8; COMMAND_BYTES]) -> Amend {
    let [.., price, quantity, _, _, _] = *bytes;
    let Named { order_id, account, tag, instrument, .. } = named;
    let price_ticks = named.price_ticks.unwrap_or(price_ticks(price));
    let remaining_lots = quantity_lots(quantity);
    Amend { order_id, account, tag, instrument, price_ticks, remaining_lots }
}

fn mass_cancel(named: Named, bytes: &[u8; COMMAND_BYTES]) -> MassCancel {
    let ways = bytes[4];
    MassCancel {
        account: (ways & 1 == 0).then_some(named.account),
        instrument: (ways & 2 == 0).then_some(named.instrument),
        side: match ways >> 2 & 3 {
            0 => Some(Side::Buy),
            1 => Some(Side::Sell),
            _ => None,
        },
        tag: named.tag,
    }
}

fn instrument_settings(named: Named, bytes: &[u8; COMMAND_BYTES]) -> InstrumentSettings {
    let [.., ways, low, high, reference, _, _] = *bytes;
    InstrumentSettings {
        instrument: named.instrument,
        tag: named.tag,
        state: match ways & 15 {
            0..14 => InstrumentState::Open,
            14 => InstrumentState::Halted,
            _ => InstrumentState::Closed,
        },
        band_low_ticks: if low < 230 { 1 } else { price_ticks(low) },
        band_high_ticks: if high < 230 { PRICE_TICKS_MAX } else { price_ticks(high) },
        reference_ticks: if reference < 100 { 0 } else { price_ticks(reference) },
    }
}

/// One limit at a time, and a self-trade mode.
fn account_settings(named: Named, bytes: &[u8; COMMAND_BYTES]) -> AccountSettings {
    let [.., ways, which, value, _, _, _] = *bytes;
    let unlimited = AccountSettings { tag: named.tag, ..AccountSettings::unlimited(named.account) };
    let settings = AccountSettings {
        self_trade: match ways % 5 {
            0 => SelfTrade::Allowed,
            1 => SelfTrade::CancelNewest,
            2 => SelfTrade::CancelOldest,
            3 => SelfTrade::CancelBoth,
            _ => SelfTrade::Decrement,
        },
        ..unlimited
    };
    let small = u32::from(value % 8);
    match which % 12 {
        0 => AccountSettings { quantity_lots_max: quantity_lots(value), ..settings },
        1 => AccountSettings { notional_max: 100 * u64::from(value % 16), ..settings },
        2 => AccountSettings { notional_max: lots_max(value), ..settings },
        3 => AccountSettings { collar_ticks: u64::from(small), ..settings },
        4 => AccountSettings { collar_ticks: quantity_lots(value), ..settings },
        5 => AccountSettings { open_orders_max: small, ..settings },
        6 => AccountSettings { messages_per_second_max: 2 * small, ..settings },
        _ => settings,
    }
}

fn position_settings(named: Named, bytes: &[u8; COMMAND_BYTES]) -> PositionSettings {
    let [.., ways, long, short, change, _, _] = *bytes;
    let limit = |byte| if ways % 4 != 3 { POSITION_LOTS_MAX } else { lots_max(byte) };
    PositionSettings {
        account: named.account,
        tag: named.tag,
        instrument: named.instrument,
        long_lots_max: limit(long),
        short_lots_max: limit(short),
        change_lots: match CHANGES_EXTREME.get(usize::from(255 - change)) {
            Some(&extreme) => extreme,
            None if ways & 2 == 0 => 0,
            None => i64::from(change % 21) - 10,
        },
    }
}

//! Inputs of all kinds, the same at every call.

use engine::*;

pub const INSTRUMENTS: u16 = 2;

pub const LIMITS: EngineLimits = EngineLimits {
    open_orders_max: 64,
    price_levels_max: 16,
    stop_levels_max: 8,
    expiring_orders_max: 8,
    accounts_max: 4,
};

/// splitmix64.
struct Random {
    state: u64,
    /// Orders so far: id, account, instrument.
    orders: Vec<(u64, u32, u16)>,
}

impl Random {
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    fn order(&mut self, order_id: u64, time_ns: u64) -> NewOrder {
        let price_ticks = 95 + self.below(10) as i64;
        let plain = NewOrder {
            order_id,
            account: self.below(4) as u32,
            tag: order_id as u32,
            instrument: self.below(2) as u16,
            ..NewOrder::limit(
                self.one_of(&[Side::Buy, Side::Sell]),
                price_ticks,
                1 + self.below(20),
            )
        };
        match self.below(10) {
            0 => NewOrder { display_lots: 1 + plain.quantity_lots / 3, ..plain },
            1 => NewOrder { stop_ticks: 95 + self.below(10) as i64, ..plain },
            2 => NewOrder {
                time_in_force: TimeInForce::GoodTillDate,
                expires_ns: time_ns + 5_000,
                ..plain
            },
            3 => NewOrder { post_only: PostOnly::Reprice, ..plain },
            4 => NewOrder { time_in_force: TimeInForce::FillOrKill, ..plain },
            5 => NewOrder {
                order_type: OrderType::Market,
                time_in_force: TimeInForce::ImmediateOrCancel,
                price_ticks: 0,
                ..plain
            },
            _ => plain,
        }
    }

    fn setting(&mut self, number: u64) -> Command {
        let account = self.below(4) as u32;
        let tag = number as u32;
        match self.below(4) {
            0 => limits(account, tag),
            1 => Command::Position(PositionSettings {
                tag,
                long_lots_max: 1_000,
                change_lots: 5,
                ..PositionSettings::unlimited(account, self.below(2) as u16)
            }),
            2 => Command::Instrument(InstrumentSettings {
                instrument: self.below(2) as u16,
                tag,
                state: InstrumentState::Open,
                band_low_ticks: 90,
                band_high_ticks: 110,
                reference_ticks: 100,
            }),
            _ => Command::Kill(Kill {
                account: Some(3),
                tag,
                on: number.is_multiple_of(2),
                cancel: true,
            }),
        }
    }

    fn command(&mut self, number: u64, time_ns: u64) -> Command {
        let tag = number as u32;
        // One of the latest, because earlier ones are mostly done.
        let nth = self.below(8) as usize;
        let order = self.orders.iter().rev().nth(nth).copied();
        let (order_id, owner, instrument) = order.unwrap_or((1, 0, 0));
        let account = if self.below(8) == 0 { self.below(4) as u32 } else { owner };
        match self.below(20) {
            _ if number <= 2 => limits(number as u32 - 1, tag),
            0..4 => Command::Cancel(Cancel { order_id, account, tag, instrument }),
            4..7 => Command::Amend(Amend {
                order_id,
                account,
                tag,
                instrument,
                price_ticks: 95 + self.below(10) as i64,
                remaining_lots: 1 + self.below(20),
            }),
            7 => Command::MassCancel(MassCancel {
                account: Some(account),
                instrument: None,
                side: None,
                tag,
            }),
            8 | 9 => self.setting(number),
            _ => {
                let order = self.order(number, time_ns);
                self.orders.push((number, order.account, order.instrument));
                Command::New(order)
            }
        }
    }
}

fn limits(account: u32, tag: u32) -> Command {
    let self_trade = if account < 2 { SelfTrade::Decrement } else { SelfTrade::CancelOldest };
    Command::Account(AccountSettings {
        tag,
        quantity_lots_max: 15,
        self_trade,
        ..AccountSettings::unlimited(account)
    })
}

/// The first inputs of the flow, a microsecond apart. An order's id is its input's number, from 1.
pub fn inputs(count: usize) -> Vec<Input> {
    let mut random = Random { state: 36, orders: Vec::new() };
    let of = |number: u64| {
        let time_ns = 1_700_000_000_000_000_000 + 1_000 * number;
        Input { time_ns, command: random.command(number, time_ns) }
    };
    (1..=count as u64).map(of).collect()
}

//! Every value has exactly one record.

use proptest::prelude::*;

use super::*;
use crate::command::{Amend, Cancel, MassCancel, NewOrder, OrderType, PostOnly, Side, TimeInForce};
use crate::limits::EngineLimits;
use crate::settings::{
    AccountSettings, InstrumentSettings, InstrumentState, Kill, PositionSettings, SelfTrade,
};

fn side() -> impl Strategy<Value = Side> + Clone {
    prop_oneof![Just(Side::Buy), Just(Side::Sell)]
}

fn order() -> impl Strategy<Value = NewOrder> {
    let times = prop_oneof![
        Just(TimeInForce::GoodTillCancelled),
        Just(TimeInForce::ImmediateOrCancel),
        Just(TimeInForce::FillOrKill),
        Just(TimeInForce::GoodTillDate),
    ];
    let types = prop_oneof![Just(OrderType::Limit), Just(OrderType::Market)];
    let post_only =
        prop_oneof![Just(PostOnly::No), Just(PostOnly::Reject), Just(PostOnly::Reprice)];
    let who = any::<(u64, u32, u32, u16)>();
    let what = any::<(i64, u64, u64, i64, u64)>();
    (who, (side(), types, times, post_only), what).prop_map(|(who, how, what)| NewOrder {
        order_id: who.0,
        account: who.1,
        tag: who.2,
        instrument: who.3,
        side: how.0,
        order_type: how.1,
        time_in_force: how.2,
        post_only: how.3,
        price_ticks: what.0,
        quantity_lots: what.1,
        display_lots: what.2,
        stop_ticks: what.3,
        expires_ns: what.4,
    })
}

fn instrument() -> impl Strategy<Value = InstrumentSettings> {
    let states = prop_oneof![
        Just(InstrumentState::Open),
        Just(InstrumentState::Halted),
        Just(InstrumentState::Closed),
    ];
    (any::<(u16, u32, i64, i64, i64)>(), states).prop_map(|(of, state)| InstrumentSettings {
        instrument: of.0,
        tag: of.1,
        state,
        band_low_ticks: of.2,
        band_high_ticks: of.3,
        reference_ticks: of.4,
    })
}

fn account() -> impl Strategy<Value = AccountSettings> {
    let ways = prop_oneof![
        Just(SelfTrade::Allowed),
        Just(SelfTrade::CancelNewest),
        Just(SelfTrade::CancelOldest),
        Just(SelfTrade::CancelBoth),
        Just(SelfTrade::Decrement),
    ];
    (any::<(u32, u32, u64, u64, u64, u32, u32)>(), ways).prop_map(|(of, self_trade)| {
        AccountSettings {
            account: of.0,
            tag: of.1,
            quantity_lots_max: of.2,
            notional_max: of.3,
            collar_ticks: of.4,
            open_orders_max: of.5,
            messages_per_second_max: of.6,
            self_trade,
        }
    })
}

fn position() -> impl Strategy<Value = PositionSettings> {
    any::<(u32, u32, u16, u64, u64, i64)>().prop_map(|of| PositionSettings {
        account: of.0,
        tag: of.1,
        instrument: of.2,
        long_lots_max: of.3,
        short_lots_max: of.4,
        change_lots: of.5,
    })
}

fn input() -> impl Strategy<Value = Input> {
    let amend = any::<(u64, u32, u32, u16, i64, u64)>().prop_map(|of| Amend {
        order_id: of.0,
        account: of.1,
        tag: of.2,
        instrument: of.3,
        price_ticks: of.4,
        remaining_lots: of.5,
    });
    let cancel = any::<(u64, u32, u32, u16)>().prop_map(|of| Cancel {
        order_id: of.0,
        account: of.1,
        tag: of.2,
        instrument: of.3,
    });
    let criteria = (any::<(Option<u32>, Option<u16>, u32)>(), proptest::option::of(side()));
    let mass_cancel = criteria.prop_map(|((account, instrument, tag), side)| MassCancel {
        account,
        instrument,
        side,
        tag,
    });
    let kill = any::<(Option<u32>, u32, bool, bool)>()
        .prop_map(|(account, tag, on, cancel)| Kill { account, tag, on, cancel });
    let command = prop_oneof![
        order().prop_map(Command::New),
        amend.prop_map(Command::Amend),
        cancel.prop_map(Command::Cancel),
        mass_cancel.prop_map(Command::MassCancel),
        instrument().prop_map(Command::Instrument),
        account().prop_map(Command::Account),
        position().prop_map(Command::Position),
        kill.prop_map(Command::Kill),
    ];
    (any::<u64>(), command).prop_map(|(time_ns, command)| Input { time_ns, command })
}

fn saved() -> impl Strategy<Value = SavedItem> {
    let engine = any::<(u16, [u32; 5], u64, bool)>().prop_map(|of| SavedItem::Engine {
        instruments: of.0,
        limits: EngineLimits {
            open_orders_max: of.1[0],
            price_levels_max: of.1[1],
            stop_levels_max: of.1[2],
            expiring_orders_max: of.1[3],
            accounts_max: of.1[4],
        },
        time_ns: of.2,
        killed: of.3,
    });
    let account = (account(), any::<(bool, u64, u32)>()).prop_map(|(settings, of)| {
        SavedItem::Account { settings, killed: of.0, second: of.1, messages: of.2 }
    });
    prop_oneof![
        engine,
        instrument().prop_map(SavedItem::Instrument),
        account,
        position().prop_map(SavedItem::Position),
        (order(), any::<u64>())
            .prop_map(|(order, visible_lots)| SavedItem::Order { order, visible_lots }),
        any::<(u32, u64)>().prop_map(|(account, order_id)| SavedItem::Joined { account, order_id }),
    ]
}

/// Each byte of a record, changed to every other value, gives an error or another value.
fn every_byte_changed<T: PartialEq + std::fmt::Debug>(
    record: [u8; BYTES],
    value: &T,
    decode: impl Fn(&[u8; BYTES]) -> Result<T, DecodeError>,
    encode: impl Fn(&T) -> [u8; BYTES],
) {
    for at in 0..BYTES {
        for byte in (0..=u8::MAX).filter(|byte| *byte != record[at]) {
            let mut changed = record;
            changed[at] = byte;
            match decode(&changed) {
                Ok(other) => {
                    assert_ne!(&other, value, "byte {at} says nothing");
                    assert_eq!(encode(&other), changed, "byte {at}");
                }
                Err(error) => {
                    assert_eq!(changed[error.byte], error.found, "{error}");
                    assert!(!error.field.is_empty());
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]

    #[test]
    fn an_input_comes_back(input in input()) {
        prop_assert_eq!(Input::from_bytes(&input.to_bytes()), Ok(input));
    }

    #[test]
    fn what_is_saved_comes_back(saved in saved()) {
        prop_assert_eq!(SavedItem::from_bytes(&saved.to_bytes()), Ok(saved));
    }

    /// Random bytes are seldom a record, so kinds and choices are small numbers.
    #[test]
    fn any_bytes_are_rejected_or_are_one_value(
        mut bytes in any::<[u8; BYTES]>(),
        small in proptest::array::uniform6(0_u8..12),
        zero_from in 24_usize..=BYTES,
    ) {
        bytes[KIND..KIND + 6].copy_from_slice(&small);
        bytes[zero_from..].fill(0);
        if let Ok(input) = Input::from_bytes(&bytes) {
            prop_assert_eq!(input.to_bytes(), bytes);
        }
        if let Ok(saved) = SavedItem::from_bytes(&bytes) {
            prop_assert_eq!(saved.to_bytes(), bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(16)))]

    #[test]
    fn a_changed_byte_of_an_input_is_never_overlooked(input in input()) {
        every_byte_changed(input.to_bytes(), &input, Input::from_bytes, Input::to_bytes);
    }

    #[test]
    fn a_changed_byte_of_what_is_saved_is_never_overlooked(saved in saved()) {
        every_byte_changed(saved.to_bytes(), &saved, SavedItem::from_bytes, SavedItem::to_bytes);
    }
}

/// Journals of earlier builds must stay readable: these bytes may change only with the version in
/// the header.
#[test]
fn golden_bytes() {
    let order = NewOrder {
        order_id: 0x0102_0304_0506_0708,
        account: 0x1112_1314,
        tag: 0x2122_2324,
        instrument: 0x3132,
        side: Side::Sell,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::GoodTillDate,
        post_only: PostOnly::Reprice,
        price_ticks: -2,
        quantity_lots: 0x4142_4344_4546_4748,
        display_lots: 5,
        stop_ticks: 6,
        expires_ns: 7,
    };
    let body = "01010003020032311413121124232221\
                0807060504030201feffffffffffffff48474645444342410500000000000000\
                06000000000000000700000000000000";
    let input = Input { time_ns: 0x5152, command: Command::New(order) };
    assert_eq!(hex(&input.to_bytes()), format!("5251000000000000{body}"));
    let saved = SavedItem::Order { order, visible_lots: 9 };
    assert_eq!(hex(&saved.to_bytes()), format!("0900000000000000{body}"));

    let cancel = MassCancel { account: Some(0), instrument: None, side: Some(Side::Buy), tag: 3 };
    let input = Input { time_ns: 1, command: Command::MassCancel(cancel) };
    let expected =
        format!("0100000000000000{}{}", "04000000000500000000000003000000", "00".repeat(48));
    assert_eq!(hex(&input.to_bytes()), expected);

    let settings = AccountSettings {
        messages_per_second_max: 8,
        self_trade: SelfTrade::Decrement,
        ..AccountSettings::unlimited(1)
    };
    let saved = SavedItem::Account { settings, killed: true, second: 2, messages: 3 };
    let expected = "0200000000000000060401000000000001000000000000000010a5d4e8000000\
                    ffffffffffffffff0000000000000000ffffffff0000000008000000000000000300000000000000";
    assert_eq!(hex(&saved.to_bytes()), expected);
    let limits = EngineLimits { accounts_max: 6, ..EngineLimits::matching_only(4, 5) };
    let saved = SavedItem::Engine { instruments: 7, limits, time_ns: 8, killed: true };
    let expected = format!(
        "08000000000000000901000000000700060000000000000004000000000000000500000000000000{}",
        "00".repeat(32)
    );
    assert_eq!(hex(&saved.to_bytes()), expected);
}

#[test]
fn nothing_is_no_record() {
    let nothing = DecodeError { field: "kind", byte: KIND, found: 0 };
    assert_eq!(Input::from_bytes(&[0; BYTES]), Err(nothing));
    assert_eq!(SavedItem::from_bytes(&[0; BYTES]), Err(nothing));
    assert!(nothing.to_string().starts_with("byte 8 (kind) is 0, which is invalid here: "));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

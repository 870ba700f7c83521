//! Decimals, client ids, order ids.

use proptest::prelude::*;
use std::collections::HashSet;
use wire::client_id::ClientIdError;
use wire::decimal::{DecimalError, UnitError};
use wire::{ClientId, Decimal, OrderId};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn decimals_are_read_exactly_and_written_canonically() {
    let canonical = [
        ("1", "1"),
        ("0.00100", "0.001"),
        ("-5", "-5"),
        ("-0.0", "0"),
        ("007", "7"),
        ("10.0", "10"),
        ("100", "100"),
        ("999999999999999999", "999999999999999999"),
        ("0.000000000000000001", "0.000000000000000001"),
        ("-123456789.123456789", "-123456789.123456789"),
        ("000000000000000000000000000001.50", "1.5"),
    ];
    for (text, expected) in canonical {
        let mut out = Vec::new();
        decimal(text).write_to(&mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
        assert_eq!(decimal(text).to_string(), expected);
    }
    assert_eq!(decimal("1.50"), decimal("1.5"));
    assert_eq!((decimal("0.00100").mantissa(), decimal("0.00100").scale()), (1, 3));
}

#[test]
fn other_texts_are_rejected_as_decimals() {
    for text in [
        "", "-", ".", "1.", ".5", "+1", "1e3", "1E3", " 1", "1 ", "1.2.3", "1,5", "--1", "NaN",
        "0x1", "١", "1.-5", "1.0x",
    ] {
        assert_eq!(Decimal::parse(text), Err(DecimalError::NotANumber), "{text:?}");
    }
    for text in ["1000000000000000000", "0.0000000000000000001", "123456789.1234567891"] {
        assert_eq!(Decimal::parse(text), Err(DecimalError::TooManyDigits), "{text:?}");
    }
    assert_eq!(Decimal::parse(&"0".repeat(41)), Err(DecimalError::TooLong));
    assert_eq!(Decimal::new(1, 19), None);
    assert_eq!(Decimal::new(i64::MIN, 0), None);
    assert_eq!(Decimal::new(0, 255), Some(Decimal::ZERO));
}

#[test]
fn prices_become_ticks_or_are_rejected() {
    let ticks = |price, tick| decimal(price).in_units_of(decimal(tick));
    assert_eq!(ticks("64250.5", "0.5"), Ok(128_501));
    assert_eq!(ticks("1", "0.01"), Ok(100));
    assert_eq!(ticks("-5", "0.25"), Ok(-20));
    assert_eq!(ticks("30", "10"), Ok(3));
    assert_eq!(ticks("0", "0.01"), Ok(0));
    assert_eq!(ticks("0.001", "0.01"), Err(UnitError::NotAMultiple));
    assert_eq!(ticks("1.3", "0.25"), Err(UnitError::NotAMultiple));
    assert_eq!(ticks("100000000000", "0.000000000000000001"), Err(UnitError::Overflow));
    assert_eq!(ticks("9", "0.000000000000000001"), Ok(9_000_000_000_000_000_000));
    assert_eq!(ticks("1", "0"), Err(UnitError::UnitNotPositive));
    assert_eq!(ticks("1", "-1"), Err(UnitError::UnitNotPositive));
    assert_eq!(Decimal::from_units(i64::MAX, decimal("1")), Err(UnitError::Overflow));
    assert_eq!(Decimal::from_units(i64::MAX, decimal("0.25")), Err(UnitError::Overflow));
    assert_eq!(Decimal::from_units(1, Decimal::ZERO), Err(UnitError::UnitNotPositive));
    let no_unit = Decimal::write_units(&mut Vec::new(), 1, Decimal::ZERO);
    assert_eq!(no_unit, Err(UnitError::UnitNotPositive));
}

#[test]
fn a_configuration_gives_decimals_in_quotes() {
    #[derive(serde::Deserialize)]
    struct Instrument {
        tick: Decimal,
    }
    assert_eq!(toml::from_str::<Instrument>("tick = \"0.010\"").unwrap().tick, decimal("0.01"));
    let error = toml::from_str::<Instrument>("tick = 0.01").err().unwrap().to_string();
    assert!(error.contains("in quotes"), "{error}");
    assert!(toml::from_str::<Instrument>("tick = \"1e3\"").is_err());
}

#[test]
fn client_ids_have_1_to_63_printable_bytes() {
    for text in ["a", "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60", "zażółć \"quoted\"", &"x".repeat(63)]
    {
        let id = ClientId::new(text).unwrap();
        assert_eq!((id.as_str(), id.as_bytes()), (text, text.as_bytes()));
    }
    assert_eq!(ClientId::new(""), Err(ClientIdError::Empty));
    assert_eq!(ClientId::new(&"x".repeat(64)), Err(ClientIdError::TooLong));
    for text in ["a\nb", "a\0", "\u{7f}", "\u{85}"] {
        assert_eq!(ClientId::new(text), Err(ClientIdError::NotPrintable));
    }
    assert_eq!(size_of::<ClientId>(), 64);
}

/// Ids as clients make them: counters, counters with a prefix, UUIDs that differ in a few digits.
/// In a half-full table there must be no more collisions than by chance, by the low and by the high
/// bits.
#[test]
fn hashes_spread_over_a_table() {
    const IDS: u64 = 1 << 15;
    let kinds: [fn(u64) -> String; 4] = [
        |n| n.to_string(),
        |n| format!("order-{n:08}"),
        |n| format!("{n:08x}-0000-4000-8000-000000000000"),
        |n| format!("00000000-0000-4000-8000-{n:012x}"),
    ];
    for kind in kinds {
        let hashes: Vec<u64> =
            (0..IDS).map(|n| ClientId::new(&kind(n)).unwrap().hash64()).collect();
        assert_eq!(
            hashes.iter().collect::<HashSet<_>>().len() as u64,
            IDS,
            "no collisions of 64 bits"
        );
        for shift in [0, 48] {
            let taken: HashSet<u64> = hashes.iter().map(|hash| hash >> shift & 0xffff).collect();
            // By chance: (1 - e^-0.5) * 65 536 = 25 786 slots, standard deviation 75.
            assert!((25_400..26_200).contains(&taken.len()), "{} {}", kind(1), taken.len());
        }
    }
}

#[test]
fn an_order_id_is_a_uuid_that_a_person_can_read() {
    assert_eq!(OrderId::from_u64(42).to_string(), "00000000-0000-8000-8000-00000000002a");
    assert_eq!(OrderId::from_u64(u64::MAX).to_string(), "00000000-ffff-8000-8000-ffffffffffff");
    let theirs = "6F1C2A9E-0d4b-4c3f-9a57-1b2c3d4e5f60";
    let parsed = OrderId::parse(theirs).unwrap();
    assert_eq!((parsed.to_string(), parsed.to_u64()), (theirs.to_lowercase(), None));
    for text in [
        "",
        "6f1c2a9e0d4b4c3f9a571b2c3d4e5f60",
        "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f6",
        "6f1c2a9e-0d4b-4c3f-9a57+1b2c3d4e5f60",
        "6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5fg0",
    ] {
        assert_eq!(OrderId::parse(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn decimals_survive_their_text(mantissa in -999_999_999_999_999_999i64..1_000_000_000_000_000_000, shift in 0u32..60, scale in 0u8..=18) {
        let decimal = Decimal::new(mantissa >> shift, scale).unwrap();
        let mut out = Vec::new();
        decimal.write_to(&mut out);
        let text = String::from_utf8(out).unwrap();
        prop_assert_eq!(&text, &decimal.to_string());
        prop_assert_eq!(Decimal::parse(&text), Ok(decimal));
        prop_assert!(!text.contains('.') || !text.ends_with('0'));
    }

    #[test]
    fn decimals_order_as_their_difference_says(a in -10_000i64..10_000, b in -10_000i64..10_000, s in 0u8..5, t in 0u8..5) {
        let (left, right) = (a * 10i64.pow(4 - u32::from(s)), b * 10i64.pow(4 - u32::from(t)));
        prop_assert_eq!(Decimal::new(a, s).cmp(&Decimal::new(b, t)), left.cmp(&right));
    }

    #[test]
    fn units_and_back(n in any::<i64>(), shift in 0u32..63, unit in 1i64..100_000, scale in 0u8..=18) {
        let (n, unit) = (n >> shift, Decimal::new(unit, scale).unwrap());
        let mut out = Vec::new();
        let written = Decimal::write_units(&mut out, n, unit);
        prop_assert_eq!(written, Decimal::from_units(n, unit).map(|_| ()));
        let text = Decimal::from_units(n, unit).map_or(String::new(), |decimal| decimal.to_string());
        prop_assert_eq!(String::from_utf8(out), Ok(text));
        match Decimal::from_units(n, unit) {
            Ok(decimal) => prop_assert_eq!(decimal.in_units_of(unit), Ok(n)),
            Err(error) => {
                prop_assert_eq!(error, UnitError::Overflow);
                prop_assert!(i128::from(n).abs() * 100_000 >= 10i128.pow(18));
            }
        }
    }

    #[test]
    fn order_numbers_survive(n in any::<u64>()) {
        let id = OrderId::from_u64(n);
        prop_assert_eq!(id.to_u64(), Some(n));
        prop_assert_eq!(OrderId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn equal_texts_are_equal_ids(a in "[ab]{1,3}", b in "[ab]{1,3}") {
        let (left, right) = (ClientId::new(&a).unwrap(), ClientId::new(&b).unwrap());
        prop_assert_eq!(left == right, a == b);
        prop_assert_eq!(left.hash64() == right.hash64(), a == b);
    }
}

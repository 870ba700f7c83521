//! Valid and invalid files, and the prices and amounts that an instrument takes.

use super::*;
use expect_test::expect;
use proptest::prelude::*;

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

/// The incumbent's clients send price 1 and amount 1 to all four, and expect to be booked.
#[test]
fn those_that_ship_take_price_1_and_amount_1() {
    let instruments = Instruments::shipped();
    for code in ["BTC_USDT", "BTC_CHF", "BTC_EUR", "BTC_USDC"] {
        let instrument = instruments.get(instruments.number(code).unwrap());
        assert_eq!(instrument.code, code);
        assert_eq!(instrument.price_ticks(decimal("1")), Ok(100));
        assert_eq!(instrument.quantity_lots(decimal("1")), Ok(100_000));
    }
    assert_eq!(instruments.count(), 4);
    let unknown = instruments.number("XRP_USD").unwrap_err();
    expect!["unknown instrument; there are BTC_USDT, BTC_CHF, BTC_EUR, BTC_USDC"]
        .assert_eq(unknown.reason);
}

const ONE: &str = r#"
[[instrument]]
code = "A"
tick = "0.25"
lot = "2"
amount_min = "4"
amount_max = "10"
price_max = "7"
"#;

#[test]
fn bounds_are_those_of_the_file() {
    let instruments = Instruments::parse("file", ONE).unwrap();
    let a = instruments.get(0);
    let price = |text: &str| a.price_ticks(decimal(text)).map_err(|why| why.reason);
    let amount = |text: &str| a.quantity_lots(decimal(text)).map_err(|why| why.reason);
    assert_eq!(price("0.25"), Ok(1));
    assert_eq!(price("7"), Ok(28));
    let out_of_range = Err("price is out of range: A takes 0.25 to 7");
    assert_eq!([price("7.25"), price("0"), price("-0.25")], [out_of_range; 3]);
    assert_eq!(price("-0.1"), out_of_range);
    assert_eq!(price("0.3"), Err("price is not a multiple of the tick 0.25 of A"));
    assert_eq!([amount("4"), amount("10")], [Ok(2), Ok(5)]);
    let out_of_range = Err("amount is out of range: A takes 4 to 10");
    assert_eq!([amount("2"), amount("12"), amount("0"), amount("-4")], [out_of_range; 4]);
    assert_eq!(amount("999999999999999999"), Err("amount is not a multiple of the lot 2 of A"));
    assert_eq!(amount("5"), Err("amount is not a multiple of the lot 2 of A"));
}

#[test]
fn errors_of_a_file_name_the_fault() {
    let instrument = |more: &str| format!("[[instrument]]\ncode = \"A\"\n{more}");
    let units = "tick = \"0.01\"\nlot = \"1\"\n";
    let errors: Vec<String> = [
        String::new(),
        "[[instrument]]".into(),
        instrument("tick = 0.01\nlot = \"1\""),
        instrument("tick = \"0\"\nlot = \"1\""),
        instrument("tick = \"1\"\nlot = \"-1\""),
        instrument(&format!("{units}price_max = \"0.005\"")),
        instrument(&format!("{units}price_max = \"10000000001\"")),
        instrument(&format!("{units}amount_min = \"2\"\namount_max = \"1\"")),
        instrument(&format!("{units}start_price = \"0\"")),
        instrument(&format!("{units}band_low = \"2\"\nband_high = \"1\"")),
        instrument(&format!("{units}state = \"shut\"")),
        instrument(&format!("{units}color = \"red\"")),
        format!("{ONE}{ONE}"),
        format!("[[instrument]]\ncode = \"{}\"\n{units}", "x".repeat(33)),
    ]
    .iter()
    .map(|text| Instruments::parse("my.toml", text).unwrap_err().to_string())
    .collect();
    expect![[r#"
        my.toml: 0 instruments; write 1 to 1024 (limit instruments_max)
        my.toml: TOML parse error at line 1, column 1
          |
        1 | [[instrument]]
          | ^^^^^^^^^^^^^^
        missing field `code`

        my.toml: TOML parse error at line 3, column 8
          |
        3 | tick = 0.01
          |        ^^^^
        invalid type: floating point `0.01`, expected a decimal number in quotes, such as "0.01"

        my.toml: instrument 1 ("A"): tick is 0; write a number above 0, such as "0.01"
        my.toml: instrument 1 ("A"): lot is -1; write a number above 0, such as "0.01"
        my.toml: instrument 1 ("A"): price_max is 0.005, with tick 0.01: not a multiple of the unit
        my.toml: instrument 1 ("A"): price_max is 10000000001; it must be from 1 to 1000000000000 times the tick
        my.toml: instrument 1 ("A"): amount_min is above amount_max; no order could be sent
        my.toml: instrument 1 ("A"): start_price is 0; it must be from 1 to 1000000000000 times the tick
        my.toml: instrument 1 ("A"): band_low is above band_high; no order could be sent
        my.toml: TOML parse error at line 5, column 9
          |
        5 | state = "shut"
          |         ^^^^^^
        unknown variant `shut`, expected one of `open`, `halted`, `closed`

        my.toml: TOML parse error at line 5, column 1
          |
        5 | color = "red"
          | ^^^^^
        unknown field `color`, expected one of `code`, `tick`, `lot`, `amount_min`, `amount_max`, `price_max`, `start_price`, `band_low`, `band_high`, `reference_price`, `state`

        my.toml: instrument 2 ("A"): code stands twice; remove one
        my.toml: instrument 1 ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"): code has 33 bytes, not 1 to 32"#]].assert_eq(&errors.join("\n"));
    let missing = Instruments::read(Path::new("/no/such.toml")).unwrap_err().to_string();
    assert!(missing.starts_with("can't read the instruments from /no/such.toml: "), "{missing}");
}

proptest! {
    /// Every count within the bounds becomes a decimal that converts back to the same count.
    #[test]
    fn counts_can_be_written(
        tick in (1..1_000_000_000_000_000_000i64, 0..19u8),
        share in 0.0..=1.0f64,
    ) {
        let tick = Decimal::new(tick.0, tick.1).unwrap();
        let text = format!("[[instrument]]\ncode = \"A\"\ntick = \"{tick}\"\nlot = \"{tick}\"");
        let instruments = match Instruments::parse("file", &text) {
            Ok(instruments) => instruments,
            // The start price of a huge tick can't be written.
            Err(error) => {
                prop_assert!(error.to_string().contains("start_price"), "{error}");
                return Ok(());
            }
        };
        let a = instruments.get(0);
        let ticks = 1 + ((a.price_ticks_max - 1) as f64 * share) as i64;
        prop_assert_eq!(a.price_ticks(a.price(ticks)), Ok(ticks));
        prop_assert_eq!(a.quantity_lots(a.amount(ticks as u64)), Ok(ticks as u64));
    }
}

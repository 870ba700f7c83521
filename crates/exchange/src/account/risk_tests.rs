//! Valid and invalid files of risk settings.

use super::*;
use expect_test::expect;

/// Two instruments with the same units, and one with others.
fn instruments(other: bool) -> Instruments {
    let mut text = String::new();
    for (code, tick, lot) in [("A", "0.01", "0.001"), ("B", "0.01", "0.001"), ("C", "0.5", "10")] {
        if other || code != "C" {
            text +=
                &format!("[[instrument]]\ncode = \"{code}\"\ntick = \"{tick}\"\nlot = \"{lot}\"\n");
        }
    }
    Instruments::parse("file", &text).unwrap()
}

const FILE: &str = r#"
[default]
amount_max = "2.5"
notional_max = "1000"
collar = "0.25"
open_orders_max = 7
self_trade = "cancel-oldest"
position.A = { long_max = "10", short_max = "0", start = "2" }

[account.maker]
open_orders_max = 1000
messages_per_second_max = 50
self_trade = "decrement"
position.B = { start = "-0.5" }
"#;

#[test]
fn decimals_become_ticks_and_lots_and_missing_keys_are_the_defaults() {
    let risk = Risk::parse("file", FILE, &instruments(false)).unwrap();
    let default = AccountSettings {
        quantity_lots_max: 2_500,
        // 1000 / (0.01 * 0.001)
        notional_max: 100_000_000,
        collar_ticks: 25,
        open_orders_max: 7,
        self_trade: SelfTrade::CancelOldest,
        ..AccountSettings::unlimited(3)
    };
    let position_a = PositionSettings {
        account: 3,
        tag: 0,
        instrument: 0,
        long_lots_max: 10_000,
        short_lots_max: 0,
        change_lots: 2_000,
    };
    let commands = risk.commands("somebody", 3, &KnownAccount::default());
    assert_eq!(commands, [Command::Account(default), Command::Position(position_a)]);
    let maker = AccountSettings {
        account: 4,
        open_orders_max: 1000,
        messages_per_second_max: 50,
        self_trade: SelfTrade::Decrement,
        ..default
    };
    let position_b = PositionSettings {
        account: 4,
        instrument: 1,
        long_lots_max: POSITION_LOTS_MAX,
        short_lots_max: POSITION_LOTS_MAX,
        change_lots: -500,
        ..position_a
    };
    let commands = risk.commands("maker", 4, &KnownAccount::default());
    let position_a = PositionSettings { account: 4, ..position_a };
    assert_eq!(
        commands,
        [Command::Account(maker), Command::Position(position_a), Command::Position(position_b)]
    );
}

/// Each of a position's three keys has its default.
#[test]
fn missing_keys_of_a_position_are_the_defaults() {
    let text = "
        [default]
        position.A = { short_max = \"0\", start = \"2\" }
        [account.x]
        position.A = { long_max = \"10\" }";
    let risk = Risk::parse("file", text, &instruments(false)).unwrap();
    let Some(Command::Position(position)) = risk.commands("x", 1, &KnownAccount::default()).pop()
    else {
        panic!()
    };
    assert_eq!((position.long_lots_max, position.short_lots_max), (10_000, 0));
    assert_eq!(position.change_lots, 2_000);
}

/// The journal holds the starting position, and unchanged limits are not sent again.
#[test]
fn a_recovered_account_gets_only_changed_settings() {
    let risk = Risk::parse("file", FILE, &instruments(false)).unwrap();
    let nothing = KnownAccount { all: true, ..KnownAccount::default() };
    let told = risk.commands("maker", 4, &nothing);
    let Command::Account(settings) = told[0] else { panic!("{told:?}") };
    let Command::Position(position) = told[1] else { panic!("{told:?}") };
    assert_eq!((told.len(), position.instrument, position.change_lots), (2, 0, 0));
    // The exchange was killed after half of the settings.
    let positions = BTreeMap::from([(0, PositionSettings { change_lots: 2_000, ..position })]);
    let half = KnownAccount { all: false, settings: Some(settings), positions };
    let told = risk.commands("maker", 4, &half);
    let [Command::Position(rest)] = told[..] else { panic!("{told:?}") };
    assert_eq!((rest.instrument, rest.change_lots), (1, -500));
    // The file has no limits any more.
    let told = Risk::default().commands("maker", 4, &KnownAccount { all: true, ..half });
    let unlimited = PositionSettings {
        long_lots_max: POSITION_LOTS_MAX,
        short_lots_max: POSITION_LOTS_MAX,
        ..position
    };
    assert_eq!(
        told,
        [Command::Account(AccountSettings::unlimited(4)), Command::Position(unlimited)]
    );
}

#[test]
fn without_limits_the_engine_gets_no_settings() {
    for text in ["", "[default]\nself_trade = \"allowed\"", "[account.a]"] {
        let risk = Risk::parse("file", text, &instruments(true)).unwrap();
        assert_eq!(risk.commands("a", 1, &KnownAccount::default()).len(), 0, "{text}");
    }
    assert_eq!(Risk::default().commands("a", 1, &KnownAccount::default()).len(), 0);
}

#[test]
fn errors_of_a_file_name_the_fault() {
    let errors: Vec<String> = [
        "[default]\namount_max = \"0\"",
        "[default]\namount_max = \"0.0005\"",
        "[default]\namount_max = \"1000000000.001\"",
        "[default]\nnotional_max = \"-1\"",
        "[account.a]\ncollar = \"0.001\"",
        "[account.a]\nposition.X = { long_max = \"1\" }",
        "[account.a]\nposition.A = { long_max = \"-1\" }",
        "[account.a]\nposition.A = { start = \"0.0001\" }",
    ]
    .iter()
    .map(|text| Risk::parse("risk.toml", text, &instruments(false)).unwrap_err().to_string())
    .collect();
    expect![[r#"
        risk.toml: [default] amount_max is 0; it must be from 1 to 1000000000000 times the lot, 0.001
        risk.toml: [default] amount_max is 0.0005, with a lot of 0.001: not a multiple of the unit
        risk.toml: [default] amount_max is 1000000000.001; it must be from 1 to 1000000000000 times the lot, 0.001
        risk.toml: [default] notional_max is -1; it must be from 1 to 9223372036854775807 times the product of tick and lot, 0.00001
        risk.toml: [account.a] collar is 0.001, with a tick of 0.01: not a multiple of the unit
        risk.toml: [account.a] position.X is an unknown instrument; there are A, B
        risk.toml: [account.a] position.A.long_max is -1, which is out of range
        risk.toml: [account.a] position.A.start is 0.0001, with lot 0.001: not a multiple of the unit"#]].assert_eq(&errors.join("\n"));
    for (text, part) in [
        ("[default]\nopen_orders_max = -1", "open_orders_max"),
        ("[default]\namount_max = 1.5", "in quotes"),
        ("[default]\nself_trade = \"never\"", "cancel-newest"),
        ("[account.a]\nsize_max = \"1\"", "size_max"),
        ("[accounts.a]\namount_max = \"1\"", "accounts"),
    ] {
        let error = Risk::parse("risk.toml", text, &instruments(false)).unwrap_err().to_string();
        assert!(error.starts_with("risk.toml: ") && error.contains(part), "{error}");
    }
    let missing = Risk::read(Path::new("/no/such.toml"), &instruments(false)).unwrap_err();
    assert!(missing.to_string().starts_with("can't read the risk settings from /no/such.toml: "));
}

/// The engine counts an account's limits over all its instruments, so they must share the unit.
/// Positions belong to one instrument.
#[test]
fn limits_over_all_instruments_need_common_units() {
    for (key, what) in
        [("amount_max", "lot"), ("collar", "tick"), ("notional_max", "product of tick and lot")]
    {
        let text = format!("[default]\n{key} = \"10\"");
        let error = Risk::parse("file", &text, &instruments(true)).unwrap_err().to_string();
        assert!(error.contains(&format!("do not have the same {what}")), "{error}");
    }
    let text = "[default]\nposition.C = { long_max = \"20\" }";
    let risk = Risk::parse("file", text, &instruments(true)).unwrap();
    let Some(Command::Position(position)) = risk.commands("a", 1, &KnownAccount::default()).pop()
    else {
        panic!()
    };
    assert_eq!((position.instrument, position.long_lots_max), (2, 2));
}

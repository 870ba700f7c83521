//! Limits of accounts, and self-trade prevention.

use crate::dialogue::Dialogue;
use crate::driven::{config, set_time};
use exchange::{Config, Risk};
use expect_test::expect;

fn with_risk(text: &str) -> Config {
    let config = config();
    let risk = Risk::parse("risk.toml", text, &config.instruments).unwrap();
    Config { risk, ..config }
}

#[test]
fn each_limit_rejects_by_its_name() {
    let mut d = Dialogue::new(with_risk(
        r#"
        [default]
        amount_max = "2"
        notional_max = "150"
        collar = "5"
        [account.b]
        position.BTC_USDT = { long_max = "1", short_max = "0", start = "0.5" }
        "#,
    ));
    d.order_with(0, "no-reference", "BUY", "-", "1", "'time_in_force':'IMMEDIATE_OR_CANCELLED'");
    d.order(0, "s", "SELL", "100", "1");
    d.order(2, "b", "BUY", "100", "1");
    d.order(0, "amount", "BUY", "1", "3");
    d.order(0, "notional", "BUY", "100", "1.6");
    d.order(0, "collar-buy", "BUY", "105.01", "1");
    d.order(0, "collar-sell", "SELL", "94.99", "1");
    d.order(0, "collar-far", "SELL", "105.01", "1");
    d.order(1, "long", "BUY", "90", "0.6");
    d.order(1, "long-enough", "BUY", "90", "0.5");
    d.order(1, "short", "SELL", "104", "0.6");
    d.order(1, "short-enough", "SELL", "104", "0.5");
    d.amend(1, "long-enough", "'price':'90','amount':'0.75'");
    d.amend(1, "long-enough", "'price':'90','amount':'0.25'");
    expect![[r#"
        0 a REJECTED client_id=no-reference reason=a market order can't be held against the account's notional_max: the instrument has not traded yet
        0 a BOOKED client_id=s price=100 amount=1 sequence=1
        0 a FILL client_id=s price=100 amount=1 remaining=0 sequence=2
        0 a DONE client_id=s status=FILLED sequence=3
        2 c FILL client_id=b price=100 amount=1 remaining=0 sequence=2
        2 c DONE client_id=b status=FILLED sequence=4
        0 a REJECTED client_id=amount reason=amount is larger than the account may send (risk limit amount_max)
        0 a REJECTED client_id=notional reason=price times amount is more than the account may send (risk limit notional_max)
        0 a REJECTED client_id=collar-buy reason=price is further past the reference price than the account may go (risk limit collar)
        0 a REJECTED client_id=collar-sell reason=price is further past the reference price than the account may go (risk limit collar)
        0 a BOOKED client_id=collar-far price=105.01 amount=1 sequence=5
        1 b REJECTED client_id=long reason=with this order the account's position could go past what it may be (risk limits long_max and short_max)
        1 b BOOKED client_id=long-enough price=90 amount=0.5 sequence=6
        1 b REJECTED client_id=short reason=with this order the account's position could go past what it may be (risk limits long_max and short_max)
        1 b BOOKED client_id=short-enough price=104 amount=0.5 sequence=7
        1 b REJECTED client_id=long-enough reason=with this order the account's position could go past what it may be (risk limits long_max and short_max)
        1 b AMENDED client_id=long-enough price=90 amount=0.25 place_kept=true sequence=8"#]].assert_eq(&d.told());
    let limits = d.driven.exchange.counts().limits;
    expect![[
        r#"{"risk_amount_max": 1, "risk_collar": 2, "risk_notional_max": 1, "risk_position": 3}"#
    ]]
    .assert_eq(&format!("{limits:?}"));
    assert_eq!(d.driven.exchange.engine().position_lots(2, 0), 50_000);
}

/// Counted within a second of the exchange's time; a cancel is never rejected for it.
#[test]
fn messages_per_second() {
    set_time(0);
    let mut d = Dialogue::new(with_risk("[account.a]\nmessages_per_second_max = 3"));
    for id in ["1", "2", "3", "4"] {
        d.order(0, id, "BUY", "1", "1");
    }
    d.amend(0, "3", "'price':'2','amount':'1'");
    d.cancel(0, "1");
    d.say(0, "{'type':'MASS_CANCEL'}");
    set_time(1_000);
    d.order(0, "5", "BUY", "1", "1");
    expect![[r#"
        0 a BOOKED client_id=1 price=1 amount=1 sequence=1
        0 a BOOKED client_id=2 price=1 amount=1 sequence=2
        0 a BOOKED client_id=3 price=1 amount=1 sequence=3
        0 a REJECTED client_id=4 reason=too many messages of this account in this second (risk limit messages_per_second_max)
        0 a REJECTED client_id=3 reason=too many messages of this account in this second (risk limit messages_per_second_max)
        0 a DONE client_id=1 status=CANCELLED sequence=4
        0 a DONE client_id=3 status=CANCELLED sequence=5
        0 a DONE client_id=2 status=CANCELLED sequence=6
        0 a MASS_CANCELLED count=2
        0 a BOOKED client_id=5 price=1 amount=1 sequence=7"#]].assert_eq(&d.told());
    set_time(0);
}

#[test]
fn self_trades_are_prevented_as_the_account_says() {
    for (self_trade, expected) in [
        (
            "allowed",
            expect![[r#"
            0 a BOOKED client_id=rests price=100 amount=1 sequence=1
            1 b BOOKED client_id=others price=101 amount=1 sequence=2
            0 a FILL client_id=comes price=100 amount=1 remaining=0.5 sequence=3
            0 a FILL client_id=rests price=100 amount=1 remaining=0 sequence=3
            0 a DONE client_id=rests status=FILLED sequence=4
            0 a FILL client_id=comes price=101 amount=0.5 remaining=0 sequence=5
            0 a DONE client_id=comes status=FILLED sequence=6
            1 b FILL client_id=others price=101 amount=0.5 remaining=0.5 sequence=5"#]],
        ),
        (
            "cancel-newest",
            expect![[r#"
            0 a BOOKED client_id=rests price=100 amount=1 sequence=1
            1 b BOOKED client_id=others price=101 amount=1 sequence=2
            0 a DONE client_id=comes status=SELF_TRADE_PREVENTED sequence=3"#]],
        ),
        (
            "cancel-oldest",
            expect![[r#"
            0 a BOOKED client_id=rests price=100 amount=1 sequence=1
            1 b BOOKED client_id=others price=101 amount=1 sequence=2
            0 a DONE client_id=rests status=SELF_TRADE_PREVENTED sequence=3
            0 a FILL client_id=comes price=101 amount=1 remaining=0.5 sequence=4
            0 a BOOKED client_id=comes price=101 amount=1.5 sequence=6
            1 b FILL client_id=others price=101 amount=1 remaining=0 sequence=4
            1 b DONE client_id=others status=FILLED sequence=5"#]],
        ),
        (
            "cancel-both",
            expect![[r#"
            0 a BOOKED client_id=rests price=100 amount=1 sequence=1
            1 b BOOKED client_id=others price=101 amount=1 sequence=2
            0 a DONE client_id=rests status=SELF_TRADE_PREVENTED sequence=3
            0 a DONE client_id=comes status=SELF_TRADE_PREVENTED sequence=4"#]],
        ),
        (
            "decrement",
            expect![[r#"
            0 a BOOKED client_id=rests price=100 amount=1 sequence=1
            1 b BOOKED client_id=others price=101 amount=1 sequence=2
            0 a DECREMENTED client_id=comes price=100 amount=1 remaining=0.5 sequence=3
            0 a DECREMENTED client_id=rests price=100 amount=1 remaining=0 sequence=3
            0 a DONE client_id=rests status=SELF_TRADE_PREVENTED sequence=4
            0 a FILL client_id=comes price=101 amount=0.5 remaining=0 sequence=5
            0 a DONE client_id=comes status=FILLED sequence=6
            1 b FILL client_id=others price=101 amount=0.5 remaining=0.5 sequence=5"#]],
        ),
    ] {
        let mut d = Dialogue::new(with_risk(&format!("[account.a]\nself_trade = '{self_trade}'")));
        d.order(0, "rests", "SELL", "100", "1");
        d.order(1, "others", "SELL", "101", "1");
        d.order(0, "comes", "BUY", "101", "1.5");
        expected.assert_eq(&d.told());
    }
}

/// Resting orders may exceed a limit that arrives with the account's first message; no other
/// account is touched.
#[test]
fn an_accounts_settings_are_sequenced_when_it_comes() {
    let mut d = Dialogue::new(with_risk("[account.late]\namount_max = '1'"));
    d.say(3, "{'type':'AUTHENTICATE','api_token':'late'}");
    d.order(3, "l", "BUY", "1", "2");
    d.order(0, "a", "BUY", "1", "2");
    expect![[r#"
        3 - AUTHENTICATED
        3 late REJECTED client_id=l reason=amount is larger than the account may send (risk limit amount_max)
        0 a BOOKED client_id=a price=1 amount=2 sequence=1"#]].assert_eq(&d.told());
}

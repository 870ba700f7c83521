//! An exchange with a journal: acknowledged inputs are in it, and the next exchange begins from
//! them.

use crate::dialogue::Dialogue;
use crate::driven::{Driven, config};
use crate::running::Running;
use clock::{Clock, Deadline};
use exchange::{Config, ConfigError, Exchange, Feed, Instruments, Journal, Risk, StartBook};
use expect_test::expect;
use journal::{Inputs, Mode, Options};
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::serve::serve;

fn options(mode: Mode) -> Options {
    let wait = ipc::wait::Wait::Futex { spins: 10 };
    Options { mode, segment_bytes: 1 << 20, reserve_inputs: 100, wait, ..Options::default() }
}

fn journaled(config: Config, directory: &Path, mode: Mode) -> Config {
    let journal = Journal { directory: directory.to_owned(), options: options(mode) };
    Config { journal: Some(journal), ..config }
}

/// Stops the exchange and compares it with its journal.
fn close(mut exchange: Exchange, directory: &Path) {
    exchange.close_journal().unwrap();
    let replayed = journal::replay(directory).unwrap();
    assert_eq!(replayed.state_hash, exchange.state_hash());
}

/// Over real sockets, where replies wait: when a reply arrives, its input is in the journal.
#[test]
fn what_is_acknowledged_is_in_the_journal() {
    for (backend, mode) in [("block", Mode::Sync), ("spin", Mode::Sync), ("spin", Mode::Async)] {
        let place = tempfile::tempdir().unwrap();
        let running =
            Running::start_on(backend, journaled(crate::running::config(), place.path(), mode));
        let mut client = running.login("3001");
        for n in 1..=50 {
            let text = match n % 2 {
                1 => crate::running::order("o", "BUY", "1", "1"),
                _ => crate::running::cancel("o"),
            };
            let kind = if n % 2 == 1 { "BOOKED" } else { "CANCELLED" };
            assert!(client.ask(&text).contains(kind));
            let inputs = Inputs::open(place.path()).unwrap().take_while(Result::is_ok).count();
            assert!(mode == Mode::Async || inputs >= n, "{inputs} inputs after {n} answers");
        }
        // Many at once, and a reply without an input.
        for n in 0..100 {
            client.send(&crate::running::order(&format!("m{n}"), "BUY", "1", "1"));
        }
        for _ in 0..100 {
            assert!(client.read().contains("BOOKED"));
        }
        client.nothing_more();
        let (exchange, _) = running.stop();
        assert_eq!(exchange.replay_check().equal, Some(true));
        close(exchange, place.path());
    }
}

/// The turn that finds an input durable releases its replies; the next turn publishes it.
#[test]
fn what_is_durable_is_answered_before_it_is_published() {
    let place = tempfile::tempdir().unwrap();
    let config =
        Config { feed: Some(Feed::default()), clock: Some(Clock::calibrate()), ..config() };
    let mut d = Driven::new(journaled(config, place.path(), Mode::Sync));
    d.connect(0);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    d.ask(0, r#"{"type":"AUTHENTICATE","api_token":"1"}"#);
    let channel = format!(r#"{{"name":"FEED","address":"{}"}}"#, socket.local_addr().unwrap());
    d.ask(0, &format!(r#"{{"type":"SUBSCRIBE","channels":[{channel}]}}"#));
    let is_published = || socket.recv(&mut [0; 2048]).is_ok();
    let watch = d.exchange.journal_watch().unwrap();
    for n in 0..10 {
        let durable = watch.durable();
        d.ask(0, &crate::running::order(&format!("o{n}"), "BUY", "1", "1"));
        let deadline = Deadline::after(Duration::from_secs(10));
        while watch.durable() == durable {
            assert!(!deadline.left().is_zero());
            std::thread::sleep(Duration::from_millis(1));
        }
        d.turn();
        assert!(!is_published(), "{n}");
        d.turn();
        assert!(is_published(), "{n}");
    }
}

/// Accounts keep their numbers, orders their client ids, and no number comes twice.
#[test]
fn an_exchange_begins_where_its_journal_leads() {
    let place = tempfile::tempdir().unwrap();
    let with_book = || {
        let limits = exchange::Limits { open_orders_max: 20_000, ..config().limits };
        let limits = exchange::Limits { price_levels_max: 2_000, ..limits };
        let config = Config { start_book: StartBook::Synthetic, limits, ..config() };
        journaled(config, place.path(), Mode::Async)
    };
    let mut first = Dialogue::new(with_book());
    assert_eq!(first.driven.exchange.recovery().unwrap().inputs, 0);
    first.order(1, "b", "BUY", "10", "1");
    first.order_with(
        0,
        "stop",
        "SELL",
        "-",
        "1",
        "'stop_price':'9','time_in_force':'FILL_OR_KILL'",
    );
    first.order(0, "a", "BUY", "11", "2");
    first.order(2, "c", "SELL", "11", "0.5");
    expect![[r#"
        1 b BOOKED client_id=b price=10 amount=1 sequence=1
        0 a WAITING client_id=stop stop_price=9 amount=1 sequence=2
        0 a BOOKED client_id=a price=11 amount=2 sequence=3
        2 c FILL client_id=c price=64999.97 amount=0.5 remaining=0 sequence=4
        2 c DONE client_id=c status=FILLED sequence=5"#]]
    .assert_eq(&first.told());
    let before = first.driven.exchange.state_hash();
    close(first.driven.exchange, place.path());

    // A journal that has begun ignores another start book.
    let config = Config { start_book: StartBook::Empty, ..with_book() };
    let mut second = Dialogue::new(config);
    assert_eq!(second.driven.exchange.state_hash(), before);
    let recovery = second.driven.exchange.recovery().unwrap();
    assert_eq!((recovery.client_orders, &recovery.cut), (3, &None));
    assert_eq!(recovery.orders_without_client_id, 0);
    second.say(2, "{'type':'ORDER_STATUS','client_id':'c'}");
    second.say(0, "{'type':'ORDER_STATUS','client_id':'c'}");
    second.cancel(1, "a");
    second.cancel(0, "a");
    second.order(1, "b", "BUY", "10", "1");
    second.order(2, "c", "SELL", "10", "1.5");
    second.say(0, "{'type':'MASS_CANCEL'}");
    let told = second.told_unchecked();
    expect![[r#"
        2 c ENDED client_id=c status=FILLED
        0 a REJECTED client_id=c reason=unknown order: this account has no open order with this client_id
        1 b REJECTED client_id=a reason=unknown order: this account has no open order with this client_id
        0 a DONE client_id=a status=CANCELLED sequence=244662140929
        1 b REJECTED client_id=b reason=duplicate client_id: an order with it is open
        2 c FILL client_id=c price=64999.97 amount=0.06 remaining=1.44 sequence=244662140930
        2 c FILL client_id=c price=64999.97 amount=0.69 remaining=0.75 sequence=244662140932
        2 c FILL client_id=c price=64999.96 amount=0.44 remaining=0.31 sequence=244662140934
        2 c FILL client_id=c price=64999.96 amount=0.31 remaining=0 sequence=244662140936
        2 c DONE client_id=c status=FILLED sequence=244662140937
        0 a DONE client_id=stop status=CANCELLED sequence=244662140938
        0 a MASS_CANCELLED count=1"#]].assert_eq(&told);
    assert_eq!(second.driven.exchange.replay_check().equal, None);
    close(second.driven.exchange, place.path());
}

#[test]
fn a_journal_of_other_instruments_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let of = |config| Exchange::new(journaled(config, place.path(), Mode::Async)).err();
    assert!(of(config()).is_none());
    let other_limits =
        Config { limits: exchange::Limits { open_orders_max: 99, ..config().limits }, ..config() };
    assert!(matches!(of(other_limits), Some(ConfigError::Journal(_))));
    let text = include_str!("../../src/setup/instruments.toml")
        .replace("tick = \"0.01\"", "tick = \"0.05\"");
    let instruments = Instruments::parse("file", &text).unwrap();
    let error = of(Config { instruments, ..config() }).unwrap();
    assert!(matches!(error, ConfigError::Register(_)), "{error}");
    assert!(error.to_string().contains("BTC_USDT / 0.01 / 0.00001"), "{error}");
    // Two at the same time.
    let _one = Exchange::new(journaled(config(), place.path(), Mode::Async)).unwrap();
    assert!(matches!(of(config()), Some(ConfigError::Journal(_))));
}

/// An account gets its starting position once; its limits always follow the file.
#[test]
fn risk_settings_are_told_again_and_balances_are_not() {
    let place = tempfile::tempdir().unwrap();
    let with_risk = |long_max: &str| {
        let text = format!(
            "[account.a]\nposition.BTC_USDT = {{ long_max = '{long_max}', short_max = '0', start = '2' }}"
        );
        let risk = Risk::parse("risk.toml", &text, &config().instruments).unwrap();
        journaled(Config { risk, ..config() }, place.path(), Mode::Async)
    };
    for long_max in ["5", "3"] {
        let mut d = Dialogue::new(with_risk(long_max));
        assert_eq!(d.driven.exchange.engine().position_lots(1, 0), 200_000);
        d.order(0, "over", "BUY", "1", "2");
        let told = d.told_unchecked();
        assert_eq!(told.contains("BOOKED"), long_max == "5", "{told}");
        d.say(0, "{'type':'MASS_CANCEL'}");
        close(d.driven.exchange, place.path());
    }
}

/// Sizes of a segment's header and of each record after it.
const HEADER_BYTES: usize = 128;
const RECORD_BYTES: usize = 96;

fn with_risk(text: &str, directory: &Path) -> Config {
    let risk = Risk::parse("risk.toml", text, &config().instruments).unwrap();
    journaled(Config { risk, ..config() }, directory, Mode::Async)
}

/// The exchange is killed when the account is in the register and none or a part of its inputs in
/// the journal: the account gets its starting position once.
#[test]
fn what_an_account_starts_with_is_neither_lost_nor_given_twice() {
    let text = "[default]\nopen_orders_max = 10\n\
        position.BTC_USDT = { short_max = '0', start = '2' }\nposition.BTC_EUR = { start = '3' }";
    let whole = tempfile::tempdir().unwrap();
    close(Dialogue::new(with_risk(text, whole.path())).driven.exchange, whole.path());
    let files = || std::fs::read_dir(whole.path()).unwrap().map(|file| file.unwrap().path());
    let segment = files().filter(|path| path.extension().is_some()).min().unwrap();
    // The settings of the first account take three inputs.
    for inputs in 0..=3 {
        let place = tempfile::tempdir().unwrap();
        let place = place.path();
        std::fs::copy(whole.path().join("register"), place.join("register")).unwrap();
        let mut log = std::fs::read(&segment).unwrap();
        log[HEADER_BYTES + inputs * RECORD_BYTES..].fill(0);
        std::fs::write(place.join(segment.file_name().unwrap()), log).unwrap();
        // Another account authenticates before it does.
        let mut other = crate::driven::Driven::new(with_risk(text, place));
        other.connect(0);
        other.ask(0, r#"{"type":"AUTHENTICATE","api_token":"other"}"#);
        (0..20).for_each(|n| {
            drop(other.ask(0, &crate::running::order(&format!("o{n}"), "BUY", "1", "1")))
        });
        close(other.exchange, place);
        for _ in 0..2 {
            let mut d = Dialogue::new(with_risk(text, place));
            let position = |instrument| d.driven.exchange.engine().position_lots(1, instrument);
            assert_eq!((position(0), position(2)), (200_000, 300_000), "{inputs} inputs");
            d.order(0, "own", "SELL", "10", "2");
            assert!(d.told_unchecked().contains("BOOKED"), "{inputs} inputs");
            d.say(0, "{'type':'MASS_CANCEL'}");
            close(d.driven.exchange, place);
        }
    }
}

#[test]
fn limits_that_the_file_has_no_more_are_none_any_more() {
    let place = tempfile::tempdir().unwrap();
    let limits = "[account.a]\nopen_orders_max = 1\nposition.BTC_USDT = { long_max = '1' }";
    for (text, booked) in [(limits, 1), ("[default]", 3), (limits, 1), ("", 3)] {
        let mut d = Dialogue::new(with_risk(text, place.path()));
        (0..3).for_each(|n| d.order(0, &format!("o{n}"), "BUY", "1", "1"));
        assert_eq!(d.told_unchecked().matches("BOOKED").count(), booked, "{text}");
        d.say(0, "{'type':'MASS_CANCEL'}");
        close(d.driven.exchange, place.path());
    }
}

/// The price band comes from today's file, the trading state from the journal; a difference is
/// reported.
#[test]
fn changes_of_the_instruments_file_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let of = |more: &str| {
        let text = include_str!("../../src/setup/instruments.toml");
        let text = text.replacen("code =", &format!("{more}\ncode ="), 1);
        let instruments = Instruments::parse("file", &text).unwrap();
        journaled(Config { instruments, ..config() }, place.path(), Mode::Async)
    };
    let told = |more: &str| {
        let mut d = Dialogue::new(of(more));
        d.order(0, "o", "BUY", "50", "1");
        let told = d.told_unchecked();
        d.say(0, "{'type':'MASS_CANCEL'}");
        let instruments = d.driven.exchange.recovery().unwrap().instruments.join("\n");
        close(d.driven.exchange, place.path());
        (told.contains("BOOKED"), instruments)
    };
    assert_eq!(told("band_low = '60'"), (false, String::new()));
    let (booked, said) = told("");
    assert!(booked && said == "BTC_USDT has a new price band, from its file", "{said}");
    let (booked, said) = told("state = 'halted'");
    assert!(booked && said.starts_with("BTC_USDT stays Open"), "{said}");
    assert_eq!(told(""), (true, String::new()));
}

/// Written on a machine whose clock was ahead of this one's.
#[test]
fn a_journal_that_is_ahead_of_the_clock_is_told() {
    let place = tempfile::tempdir().unwrap();
    for (ms, ahead_ms) in [(10_000, 0), (7_000, 3_000), (11_000, 0)] {
        crate::driven::set_time(ms);
        let mut d = Dialogue::new(journaled(config(), place.path(), Mode::Async));
        assert_eq!(d.driven.exchange.recovery().unwrap().ahead_ns, ahead_ms * 1_000_000);
        d.order(0, "a", "BUY", "1", "1");
        close(d.driven.exchange, place.path());
    }
}

#[test]
fn a_register_that_is_gone_is_missed() {
    let place = tempfile::tempdir().unwrap();
    let mut d = Dialogue::new(journaled(config(), place.path(), Mode::Async));
    d.order(0, "a", "BUY", "1", "1");
    drop(d);
    std::fs::remove_file(place.path().join("register")).unwrap();
    let error = Exchange::new(journaled(config(), place.path(), Mode::Async)).err().unwrap();
    assert!(error.to_string().contains("register is missing"), "{error}");
}

/// The exchange stops with the reason, and no client waits for a reply that never comes.
#[test]
fn an_exchange_ends_with_its_journal() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("journal");
    let (segment_bytes, reserve_inputs) = (journal::SEGMENT_BYTES_MIN, 10);
    let options = Options { segment_bytes, reserve_inputs, ..options(Mode::Sync) };
    let journal = Some(Journal { directory: directory.clone(), options });
    let mut exchange = Exchange::new(Config { journal, ..crate::running::config() }).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let url = format!("ws://{address}/");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let clock = Clock::calibrate();
            let mut streams = transport::backend("block").unwrap().open(clock).unwrap();
            streams.listen(listener).unwrap();
            serve(
                &mut *streams,
                &mut exchange,
                crate::running::config().limits.serve(),
                clock,
                &stop,
            )
        });
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut client =
            crate::running::Client { socket: tungstenite::client(&url, stream).unwrap().0 };
        client.authenticate("3001");
        // No segment after the first can be made.
        std::fs::rename(&directory, place.path().join("moved")).unwrap();
        let mut n = 0;
        let ended = loop {
            n += 1;
            let order = crate::running::order(&format!("o{n}"), "BUY", "1", "1");
            let asked = client.socket.send(tungstenite::Message::text(order));
            if let Err(error) = asked.and_then(|()| client.socket.read()) {
                break error;
            }
        };
        let timed_out = matches!(&ended, tungstenite::Error::Io(error) if error.kind() == ErrorKind::WouldBlock);
        stop.store(timed_out, Ordering::Relaxed);
        let failure = served.join().unwrap().unwrap_err().to_string();
        assert!(failure.starts_with("the journal has failed"), "{failure}");
    });
    assert!(exchange.close_journal().is_err());
}

//! Traders race for each tick of one flow, as whole processes over ways that take different times:
//! with a hold of ticks, with a delivery window, and without either.

use crate::support::far::{Takes, Way};
use crate::support::websocket::Client;
use crate::support::*;
use ::audit::{Reader, Record};
use engine::Command as Input;
use fair::window::Fate;
use journal::{Delivery, History};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;
use testing::unless;

/// All times are multiples of this: ten times what a busy machine takes away from most ticks.
const STEP: Duration = Duration::from_millis(25);
/// A trader can be slower by 100 ms at most, and a longer flow outlasts a client's patience.
const FACTOR_MAX: u32 = 2;
/// From a tick to the next one, in steps.
const APART: u32 = 8;
const TICKS: u32 = 12;
const ASSUMPTION: &str = "no process waits for a core for 25 ms in most of the ticks";

/// A trader that answers each tick with an order.
#[derive(Clone, Copy, Default)]
struct Entrant {
    takes: Takes,
    /// From having a tick to sending the order.
    response: Duration,
    hold: Duration,
}

impl Entrant {
    /// Starts it. Its number is its account's.
    fn start(&self, way: &Way, number: usize, place: &Path) -> Child {
        let path = |what: &str| place.join(format!("{number}.{what}")).display().to_string();
        let plan = json!({
            "subject": number.to_string(), "target": way.address, "backend": "block",
            "core": null, "instrument": "BTC_USDT", "first_token": number, "warm_up_seconds": 0,
            "seconds": 60, "hlog": path("hlog"), "samples": path("samples"), "samples_max": 1_000,
            "feed": {"hold_ns": self.hold.as_nanos() as u64}, "audit": {"file": path("audit")},
            "inject": {"delay_us": self.response.as_micros() as u64},
        });
        let said = File::create(path("said")).unwrap();
        let mut command = tickpath();
        command.args(["trade", "--plan", "-"]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).stderr(said).spawn().unwrap();
        child.stdin.take().unwrap().write_all(plan.to_string().as_bytes()).unwrap();
        way.wait_for_trader();
        child
    }
}

/// Runs a flow once, which all of them follow. Their logs, by number, and the journal are in
/// `place` then. Returns their results.
fn race(entrants: &[Entrant], more: &[&str], factor: u32, place: &Path) -> Vec<Value> {
    let apart = (STEP * factor * APART).as_secs_f64();
    let [rate, seconds] = [1.0 / apart, apart * f64::from(TICKS)].map(|number| number.to_string());
    let flow = ["--flow", "synthetic", "--flow-rate", &rate, "--flow-seconds", &seconds];
    let path = place.join("log").display().to_string();
    let journaled = ["--journal", &path, "--journal-mode", "async"];
    let feed = ["--any-token", "--book", "empty", "--feed", "unicast"];
    let exchange = Exchange::start(&[&feed[..], &flow, &journaled, more].concat());
    let start = |(number, entrant): (usize, &Entrant)| {
        let way = Way::open(&exchange.address, entrant.takes);
        let child = entrant.start(&way, number, place);
        (way, child)
    };
    let started: Vec<(Way, Child)> = entrants.iter().enumerate().map(start).collect();
    let mut operator = Client::connect(&exchange.address);
    operator.send(1, br#"{"type":"AUTHENTICATE","api_token":"operator"}"#);
    operator.send(1, br#"{"type":"FLOW","action":"START"}"#);
    let said = || Some(operator.next_text());
    let ended = std::iter::from_fn(said).find(|text| text.contains("FLOW_ENDED")).unwrap();
    let end = |(way, child): (Way, Child)| {
        way.end_flow(&ended);
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", text_of(&done));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let results = started.into_iter().map(end).collect();
    exchange.end();
    results
}

/// The traders of each race, in the order in which the exchange sequenced their answers. Each
/// answers each tick with one order, so the orders of each are as many as there are ticks.
fn sequenced(place: &Path) -> Vec<Vec<usize>> {
    let (mut races, mut orders) = (Vec::<Vec<usize>>::new(), HashMap::<u32, usize>::new());
    for (_, input) in journal::Inputs::open(&place.join("log")).unwrap().map_while(Result::ok) {
        let Input::New(order) = input.command else { continue };
        // The exchange has number 0 itself.
        let Some(trader) = order.account.checked_sub(1) else { continue };
        let race = orders.entry(trader).or_default();
        races.resize(races.len().max(*race + 1), Vec::new());
        races[*race].push(trader as usize);
        *race += 1;
    }
    races
}

/// Response times of three traders, in steps.
const RESPONSES: [u32; 3] = [0, 1, 2];
/// The fastest trader's ticks take longer by this, in steps: by their arrival it is the last one.
const WAY: u32 = 3;
/// The hold, in steps: all have a tick by then.
const HOLD: u32 = 4;

/// Races of the three traders, which hold ticks for `hold` steps, and the record of each hold.
fn held(hold: u32, factor: u32) -> (Vec<Vec<usize>>, Vec<Value>) {
    let place = tempfile::tempdir().unwrap();
    let step = STEP * factor;
    let entrants = RESPONSES.map(|response| {
        let ticks = if response == 0 { step * WAY } else { Duration::ZERO };
        let takes = Takes { ticks, ..Takes::default() };
        Entrant { takes, response: step * response, hold: step * hold }
    });
    let results = race(&entrants, &[], factor, place.path());
    let holds = results.iter().map(|result| result["load"]["tick"][0]["hold"].clone()).collect();
    (sequenced(place.path()), holds)
}

/// The share of pairs that are in the order of response times. An error, if traders had other
/// ticks.
fn right(races: &[Vec<usize>]) -> Result<f64, String> {
    let is_whole = races.iter().all(|race| race.len() == RESPONSES.len());
    unless!(is_whole && races.len() * 10 >= TICKS as usize * 9, "{races:?}");
    let pairs = |race: &Vec<usize>| {
        let later = |at: usize| race[at + 1..].iter().filter(move |one| **one > race[at]);
        (0..race.len()).flat_map(later).count()
    };
    let right: usize = races.iter().map(pairs).sum();
    Ok(right as f64 / (races.len() * RESPONSES.len()) as f64)
}

#[test]
fn a_hold_of_ticks_puts_answers_in_the_order_of_response_times() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let factor = factor.min(FACTOR_MAX);
        let (races, holds) = held(0, factor);
        // One pair of three is right: the two traders whose ways are equal.
        unless!((right(&races)? - 1.0 / 3.0).abs() < 0.1, "without a hold: {races:?}");
        assert_eq!(holds, [Value::Null, Value::Null, Value::Null]);
        let (races, holds) = held(HOLD, factor);
        unless!(right(&races)? > 0.9, "with a hold: {races:?}");
        costs(&holds, factor)
    });
}

/// Each trader's record has what the hold costs it: the time from a tick's arrival to its release.
fn costs(holds: &[Value], factor: u32) -> Result<(), String> {
    let step_ns = (STEP * factor).as_nanos() as u64;
    for (hold, way) in holds.iter().zip([WAY, 0, 0]) {
        let least = |series: &str| hold[series]["min"].as_u64().unwrap();
        let (arrival_ns, release_ns) = (least("arrival"), least("release"));
        let (way_ns, hold_ns) = (u64::from(way) * step_ns, u64::from(HOLD) * step_ns);
        // A histogram's value is that of its bucket.
        assert!(arrival_ns >= way_ns - way_ns / 500, "{hold}");
        assert!(release_ns >= hold_ns - hold_ns / 500, "{hold}");
        unless!(arrival_ns < way_ns + step_ns / 2, "{hold}");
        unless!(release_ns < hold_ns + step_ns / 2, "{hold}");
        unless!(hold["late"] == 0, "{hold}");
    }
    Ok(())
}

/// The far trader's ticks and orders each take so many steps.
const FAR: u32 = 2;
/// The delivery window, in steps: a far order arrives after four.
const WINDOW: u32 = 7;

/// The least and the most that a trader's response to each tick can have taken, ns, by its own log:
/// from the read to the risk check, and to the write.
fn responses(log: &Path) -> HashMap<u64, [u64; 2]> {
    let (mut read, mut checked, mut found) = (HashMap::new(), HashMap::new(), HashMap::new());
    for record in Reader::new(BufReader::new(File::open(log).unwrap())).unwrap() {
        match record.unwrap() {
            Record::Tick { number, read_ns, .. } => drop(read.insert(number, read_ns)),
            Record::Decision { tick, checked_ns, .. } => drop(checked.insert(tick, checked_ns)),
            Record::Order { tick, sent_ns, .. } if tick > 0 => {
                found.insert(tick, [checked[&tick], sent_ns].map(|ns| ns - read[&tick]));
            }
            _ => {}
        }
    }
    found
}

/// Two traders without a planted response time: the exchange sequences their answers as their own
/// logs say, which it has not seen, though the near one's order always arrives first.
#[test]
fn a_delivery_window_sequences_answers_as_the_traders_own_logs_say() {
    testing::quiet::or_doubled(ASSUMPTION, |factor| {
        let factor = factor.min(FACTOR_MAX);
        let place = tempfile::tempdir().unwrap();
        let step = STEP * factor;
        let far = Takes { ticks: step * FAR, orders: step * FAR };
        let entrants = [Takes::default(), far].map(|takes| Entrant { takes, ..Entrant::default() });
        let window_us = (step * WINDOW).as_micros().to_string();
        race(&entrants, &["--delivery-window-us", &window_us], factor, place.path());
        let logs = [0, 1].map(|number| responses(&place.path().join(format!("{number}.audit"))));
        let mut history = History::open(&place.path().join("log")).unwrap();
        let mut races = BTreeMap::<u64, Vec<(usize, Delivery)>>::new();
        while let Some(recorded) = history.next_input().unwrap() {
            let (Input::New(order), Some(delivery)) = (recorded.input.command, recorded.delivery)
            else {
                continue;
            };
            let (trader, answer) = (order.account as usize - 1, delivery.answer);
            unless!(answer.fate == Fate::Held, "{answer:?}");
            let [least, most] = logs[trader][&answer.claim.tick];
            assert!((least..=most).contains(&answer.claim.response_ns), "{answer:?}");
            races.entry(answer.publication).or_default().push((trader, delivery));
        }
        unless!(races.len() * 10 >= TICKS as usize * 9, "{races:?}");
        for race in races.values() {
            let [(first, one), (second, other)] = race[..] else {
                return Err(format!("not two: {race:?}"));
            };
            let response_ns = |delivery: &Delivery| delivery.answer.claim.response_ns;
            assert!(first != second && response_ns(&one) <= response_ns(&other), "{race:?}");
            // The same by logs alone.
            let [[least, _], [_, most]] =
                [first, second].map(|trader| logs[trader][&one.answer.claim.tick]);
            assert!(least <= most, "{race:?}");
            let near = if first == 0 { one } else { other };
            unless!(
                near.answer.arrival == one.answer.arrival.min(other.answer.arrival),
                "{race:?}"
            );
            // The cost: without the window the near one's answer would be executed at once.
            let wait = Duration::from_nanos(near.window_ns - near.answer.elapsed_ns);
            unless!(wait >= step * (WINDOW - 1), "{race:?}");
        }
        Ok::<(), String>(())
    });
}

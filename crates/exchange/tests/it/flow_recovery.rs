//! An exchange that recovers goes on with its own flow where the journal ends.

use crate::following::{Following, config_with_flow};
use crate::running::Running;
use clock::schedule::Arrival;
use engine::Side;
use exchange::{Config, FlowConfig, Journal};
use flow::{Pace, Source};
use journal::Options;
use serde_json::Value;
use std::path::Path;

const INPUTS: u64 = 600;
const START: &str = r#"{"type":"FLOW","action":"START"}"#;

fn at_rate(rate_per_second: f64) -> FlowConfig {
    let pace = Pace::Fixed { rate_per_second, arrival: Arrival::Uniform, burst: 1 };
    // Between two inputs: their times are rounded differently at each rate.
    let seconds = (INPUTS as f64 - 0.5) / rate_per_second;
    FlowConfig { source: Source::Synthetic, pace, seconds }
}

fn config(place: &Path, flow: FlowConfig) -> Config {
    let options = Options { segment_bytes: 1 << 20, reserve_inputs: 100, ..Options::default() };
    let journal = Some(Journal { directory: place.to_owned(), options });
    Config { journal, ..config_with_flow(flow) }
}

/// Executes some of the flow's inputs, or all that are left. Returns the inputs so far, and the
/// book's levels.
fn play(place: &Path, rate_per_second: f64, is_whole: bool) -> (u64, Vec<(i64, u64, u32)>) {
    let running = Running::start_on("block", config(place, at_rate(rate_per_second)));
    let mut following = Following::new(&running, "1", "ORDERS");
    following.reach(0);
    let before = following.follower.sequence();
    assert_eq!(following.client.ask(START), r#"{"type":"FLOW_STARTED"}"#);
    if is_whole {
        let socket = &mut following.client.socket;
        let ended: Value = serde_json::from_str(&socket.read().unwrap().to_string()).unwrap();
        assert_eq!(ended["type"], "FLOW_ENDED", "{ended}");
        following.reach(ended["feed_sequence"].as_u64().unwrap());
        following.same_books();
    } else {
        following.reach(before + 50);
    }
    let (mut exchange, _) = running.stop();
    exchange.close_journal().unwrap();
    let counts = exchange.flow_counts().unwrap();
    assert_eq!(counts.scheduled, INPUTS);
    assert_eq!(exchange.recovery().unwrap().flow_inputs as u64, counts.recovered);
    let levels = [Side::Buy, Side::Sell].map(|side| exchange.engine().levels(0, side));
    (counts.recovered + counts.inputs, levels.into_iter().flatten().collect())
}

/// Twice interrupted, once with a snapshot: each input is executed once, and the book at the end is
/// that of a flow without interruptions.
#[test]
fn each_input_of_an_interrupted_flow_is_executed_once() {
    let whole = tempfile::tempdir().unwrap();
    let (inputs, book) = play(whole.path(), 10_000.0, true);
    assert_eq!(inputs, INPUTS);
    let place = tempfile::tempdir().unwrap();
    let (first, _) = play(place.path(), 60.0, false);
    let (second, _) = play(place.path(), 60.0, false);
    assert!(0 < first && first < second && second < INPUTS, "{first}, {second}");
    journal::replay_and_save(place.path()).unwrap();
    assert_eq!(play(place.path(), 1_000.0, true), (INPUTS, book));
    // Nothing is left.
    let (inputs, _) = play(place.path(), 1_000.0, true);
    assert_eq!(inputs, INPUTS);
}

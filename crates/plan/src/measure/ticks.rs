//! `tick`: ticks of an exchange, and the orders that follow from them.

use crate::backend;
use crate::measure::checks;
use crate::measure::measurement::{Measurement, Words};
use crate::range::{OutOfRange, require, within};
use crate::scenario::{Scenario, ScenarioError};
use crate::segments::{FEED_SEGMENTS, SEGMENTS};
use crate::tables::load::Model;
use crate::tables::strategy::StrategyName;
use crate::tables::subject::Subject;
use crate::tables::ticks::{FeedDialect, Pace, TRACE_MAX, price_limit};
use clock::schedule::Arrival;
use record::tick::{INTERVALS, STAGES};

/// The kind.
pub(crate) struct Ticks;

impl Measurement for Ticks {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "floor_seconds",
            "bare_seconds",
            "tls",
            "exchange",
            "flow",
            "feed",
            "strategy",
            "risk",
            "audit",
            "network",
            "one_way",
            "trace",
            "load.stamp_every",
            "subject.scheduling",
            "subject.backend",
            "subject.queue",
            "subject.tls",
            "subject.feed",
            "subject.inject",
        ]
    }

    /// The interval that judges a trader.
    fn replies(&self) -> &'static [&'static str] {
        const TICK_TO_GATEWAY: &str = INTERVALS[0].name;
        &[TICK_TO_GATEWAY]
    }

    fn series(&self) -> Vec<&'static str> {
        let intervals = INTERVALS.iter().map(|interval| interval.name);
        let stages = STAGES.iter().map(|stage| stage.name);
        intervals.chain(stages).chain(FEED_SEGMENTS).chain(SEGMENTS).collect()
    }

    fn has_series(&self, scenario: &Scenario, series: &str) -> bool {
        let is_segment = FEED_SEGMENTS.contains(&series) || SEGMENTS.contains(&series);
        scenario.load.stamp_every > 0 || !is_segment
    }

    /// The trader's own interval: one between two machines may be unknown.
    fn recorded(&self) -> &'static [&'static str] {
        const TICK_TO_TRADE: &str = INTERVALS[2].name;
        &[TICK_TO_TRADE]
    }

    fn has_exchange(&self) -> bool {
        true
    }

    /// Both ends look at two sockets in turn, and no read call can sleep on both.
    fn has_bare(&self, scenario: &Scenario) -> bool {
        let spins = |subject: &Subject| backend::spins(&subject.backend);
        // The bare loop has sockets of the kernel.
        let has_sockets = !checks::is_below(scenario);
        scenario.exchange.start && has_sockets && scenario.subject.iter().all(spins)
    }

    fn has_schedule(&self, scenario: &Scenario) -> bool {
        scenario.flow.pace == Pace::Fixed
    }

    fn rate_key(&self) -> &'static str {
        "flow.rate_per_second"
    }

    fn rate(&self, scenario: &Scenario) -> f64 {
        scenario.flow.rate_per_second
    }

    fn set_rate(&self, scenario: &mut Scenario, rate_per_second: f64) {
        scenario.flow.rate_per_second = rate_per_second;
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        checks::exchange(scenario)?;
        check_instrument(scenario)?;
        scenario.flow.check()?;
        let apart = seconds_between_bursts(scenario);
        let why = format!("bursts of ticks are {apart} s apart, and a run must see one");
        require(scenario.seconds >= apart, "seconds", scenario.seconds, why)?;
        scenario.feed.check()?;
        scenario.audit.check()?;
        scenario.strategy.check()?;
        Ok(within("trace", scenario.trace, 0..=TRACE_MAX, "{} of the worst ticks are kept")?)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::client(scenario, subject)?;
        checks::stamps(scenario, subject)?;
        let (every, name) = (scenario.load.stamp_every, &scenario.exchange.backend);
        let stamps = every == 0 || !scenario.exchange.start || !backend::is_below(name);
        let why = format!(
            "the exchange's kernel stamps the datagrams that pass it, and {name} goes past it: set 0, \
             or exchange.backend=spin"
        );
        require(stamps, "load.stamp_every", every, why)?;
        if subject.feed == FeedDialect::Sbe {
            let backends = [name.as_str(), &subject.backend];
            let bytes = scenario.feed.datagram_bytes as u64;
            checks::one_frame(scenario, &backends, ("feed.datagram_bytes", bytes), "")?;
        }
        check_prices(scenario, subject)?;
        check_fix(scenario, subject)
    }

    fn words(&self) -> Words {
        Words {
            messages: "orders",
            floor: "a raw datagram (raw bytes over TCP for JSON and FIX) in and raw bytes out and \
                    back, as long as the real ones, on the same cores",
            cores: "exchange and trader on",
            percentiles: &["p50", "p90", "p99", "p99_9", "p99_99"],
            ..Words::of_messages(&[
                "TLS: the connection is plain.",
                "Ticks that led to no order: they are counted, checked and in the book, but have no way to the exchange.",
                "Time that the hypervisor took: the kernel does not know of it, so it stands in the stage that it met.",
            ])
        }
    }
}

/// Checks that a subject that follows JSON or FIX is asked for what it can do.
fn check_prices(scenario: &Scenario, subject: &Subject) -> Result<(), OutOfRange> {
    if subject.feed == FeedDialect::Sbe {
        return Ok(());
    }
    let limit = price_limit([
        scenario.feed.hold_us > 0,
        scenario.feed.harm().is_some(),
        scenario.strategy.name == StrategyName::MarketMaking,
        scenario.audit.enabled,
        scenario.load.stamp_every > 0,
        scenario.exchange.delivery_window_us > 0,
        backend::is_below(&subject.backend),
    ]);
    let (key, name) = (checks::key_of(subject, "feed"), subject.feed.name());
    require(limit.is_none(), &key, name, limit.unwrap_or_default())
}

/// FIX has a port of its own, over sockets of the kernel.
fn check_fix(scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
    if subject.feed != FeedDialect::Fix {
        return Ok(());
    }
    let (key, name) = (checks::key_of(subject, "feed"), subject.feed.name());
    let Scenario { exchange, feed, .. } = scenario;
    let why = "an exchange accepts fix over sockets of the kernel; set exchange.backend to spin";
    require(!backend::is_below(&exchange.backend), &key, name, why)?;
    let why = "an exchange that runs already does not say its FIX port; name it with \
               feed.fix_address";
    Ok(require(exchange.start || !feed.fix_address.is_empty(), &key, name, why)?)
}

/// The time between two bursts of ticks; 0 where ticks don't arrive in bursts.
pub(crate) fn seconds_between_bursts(scenario: &Scenario) -> f64 {
    let flow = &scenario.flow;
    match flow.pace == Pace::Fixed && flow.arrival == Arrival::Burst {
        true => flow.burst as f64 / flow.rate_per_second,
        false => 0.0,
    }
}

/// The flow supplies the first instrument's book, and changes only that.
fn check_instrument(scenario: &Scenario) -> Result<(), ScenarioError> {
    let (asked, exchange) = (&scenario.flow.instrument, &scenario.exchange);
    if let Some(first) = scenario.flow_instrument() {
        let why = format!("the flow is in the exchange's first instrument, which is {first}");
        require(first == *asked, "flow.instrument", asked, why)?;
    }
    let is_plain = !exchange.start || ["synthetic", "empty"].contains(&exchange.book.as_str());
    let why = "of ticks it is that of the other instruments, synthetic or empty; a file is named \
               with flow.source";
    Ok(require(is_plain, "exchange.book", &exchange.book, why)?)
}

//! The output of `tickpath race --json`: what participants of a simulated market earned, and what
//! their latency is worth.
//!
//! Money is in the race's currency, latencies are in nanoseconds, prices in ticks, quantities in
//! lots. `null` is unknown: no order was sent, nothing was filled, or there are too few seeds.

use serde::{Deserialize, Serialize};

/// Version of [`RaceRecord`].
pub const SCHEMA: u32 = 1;

/// Result of a race over all of its seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RaceRecord {
    /// Version of this schema.
    pub schema: u32,
    /// The program that raced, with its version.
    pub tool: String,
    /// The race's name.
    pub race: String,
    /// The currency of all money, as the user named it.
    pub currency: String,
    /// The race as resolved, with all defaults.
    pub resolved: serde_json::Value,
    /// The first seed; the others follow it one by one.
    pub first_seed: u64,
    /// Number of seeds, each a market of its own.
    pub seeds: u32,
    /// Simulated time of each market, seconds.
    pub seconds: f64,
    /// Inputs of the matching engine, over all seeds.
    pub inputs: u64,
    /// Hash of the engines' states at the end, 16 hexadecimal digits: equal for equal races on
    /// every machine.
    pub state_hash: String,
    /// The participants, in the order of the file.
    pub participants: Vec<RaceParticipant>,
    /// The worth of the subject's latency; absent if that was not asked.
    pub worth: Option<Worth>,
    /// Measured effects in the order of their worth, the best first.
    pub what_if: Vec<RaceEffect>,
    /// One contest of the first seed's market; absent if no two participants traded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// Limits of the result, as sentences.
    pub warnings: Vec<String>,
}

/// Messages around one trade between two participants.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Replay {
    /// The market's seed.
    pub seed: u64,
    /// Time of the trade, ns after the market's start.
    pub at_ns: u64,
    /// In the order in which they arrived at the engine.
    pub messages: Vec<ReplayedMessage>,
}

/// A message, and what became of it at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ReplayedMessage {
    /// When it arrived, ns after the trade; negative before it.
    pub after_ns: i64,
    /// The participant, `noise`, or `others`.
    pub who: String,
    /// Where.
    pub venue: u16,
    /// `order`, `change` or `cancel`.
    pub kind: String,
    /// `buy` or `sell`; `null` for the cancel of an order that had ended.
    pub side: Option<String>,
    /// The order's price; `null` if unknown.
    pub price_ticks: Option<i64>,
    /// The order's quantity; `null` for a cancel.
    pub lots: Option<u64>,
    /// Its trades.
    pub trades: Vec<ReplayedTrade>,
    /// `rests`, `filled`, `expired` (nothing more to take), `cancelled`, `rejected` or `ended`.
    pub end: String,
}

/// A trade of a message with a resting order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ReplayedTrade {
    /// Owner of the resting order.
    pub with: String,
    /// Quantity.
    pub lots: u64,
    /// Price.
    pub price_ticks: i64,
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Estimate {
    /// The mean of the seeds that have a value.
    pub mean: Option<f64>,
    /// Its confidence interval, 95 %, by Student's t distribution; needs six seeds.
    pub interval: Option<[f64; 2]>,
    /// Number of seeds that have a value.
    pub seeds: u32,
}

impl Estimate {
    /// The estimate from one value per seed; `None` is a seed without one.
    pub fn of(values: impl IntoIterator<Item = Option<f64>>) -> Estimate {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        let mean = stats::mean::mean(&values);
        Estimate { mean, interval: stats::mean::mean_interval(&values), seeds: values.len() as u32 }
    }

    /// 1 if all of the interval is above 0, -1 if all is below, otherwise 0; `None` without one.
    pub fn sign(&self) -> Option<i8> {
        let [low, high] = self.interval?;
        Some(i8::from(low > 0.0) - i8::from(high < 0.0))
    }
}

/// One participant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RaceParticipant {
    /// Its name.
    pub name: String,
    /// `maker`, `sniper` or `arbitrageur`.
    pub kind: String,
    /// Percentiles of its latency; `null` for one that needs none.
    pub latency: Option<RaceLatency>,
    /// Orders that reached the engine, per seed.
    pub orders: Estimate,
    /// Share of the lots in its orders that traded.
    pub fill_rate: Estimate,
    /// Share of its lots, filled while they rested, whose price the fair value had already passed.
    pub picked_off: Estimate,
    /// Value of a fill some time later, per lot in ticks: positive is good for the participant.
    pub mark_out: Vec<MarkOut>,
    /// Lots ahead of an order when it joined its queue, over the fills of resting orders.
    pub lots_ahead: Estimate,
    /// Time from joining the queue to the fill, ns.
    pub resting_ns: Estimate,
    /// Money per hour: cash, and the inventory at the fair value of the end, less fees.
    pub pnl_per_hour: Estimate,
    /// Money per hour if each fill were closed at the fair value after the race's `worth_at`, less
    /// fees: the same without the luck of the inventory.
    pub edge_per_hour: Estimate,
    /// Root of the mean squared inventory over time, lots.
    pub inventory_lots: Estimate,
}

/// Percentiles of a latency: from what a participant sees to its order at the matching engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RaceLatency {
    /// Its source, as a person reads it.
    pub source: String,
    /// Median, ns.
    pub p50_ns: u64,
    /// ns.
    pub p99_ns: u64,
    /// ns.
    pub p99_9_ns: u64,
}

/// A mark-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MarkOut {
    /// Time after the fill, ns.
    pub after_ns: u64,
    /// Ticks per lot.
    pub ticks: Estimate,
}

/// The worth of one participant's latency. All differences are between the same seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Worth {
    /// The participant.
    pub subject: String,
    /// How much faster the slopes are taken, ns.
    pub step_ns: u64,
    /// Money per hour for each microsecond less, for all latencies.
    pub per_us: Estimate,
    /// The same if only latencies up to the p99 get shorter.
    pub per_us_body: Estimate,
    /// The same if only latencies above the p99 get shorter.
    pub per_us_tail: Estimate,
    /// Money per hour if no latency were above the p99.
    pub without_tail: Estimate,
    /// The subject with a part of its latency, slowest first.
    pub ladder: Vec<Rung>,
    /// Median latency of the rung beyond which no further rung is seen to pay, ns; `null` if the
    /// last one still does.
    pub stops_paying_ns: Option<u64>,
}

/// The subject with all of its latencies multiplied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rung {
    /// The factor.
    pub times: f64,
    /// Its median latency, ns.
    pub p50_ns: u64,
    /// Its edge, money per hour.
    pub edge_per_hour: Estimate,
    /// Its gain over the rung before, money per hour; without a value for the first.
    pub gain: Estimate,
}

/// One measured effect, as money.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RaceEffect {
    /// Its name: file, candidate, and series.
    pub name: String,
    /// Latency that it adds to the p50 and below the p99, ns, with the interval of the measurement.
    pub body_ns: i64,
    /// Interval of `body_ns`.
    pub body_ns_interval: [i64; 2],
    /// Latency that it adds above the p99, ns; `null` if the comparison has no p99: then `body_ns`
    /// is added to all.
    pub tail_ns: Option<i64>,
    /// Money per hour at the measured effect.
    pub gain: Estimate,
    /// From the least to the most money per hour at the ends of the effect's interval, each with
    /// its own interval over seeds.
    pub range: Option<[f64; 2]>,
}

/// The output of `tickpath race --fit --json`: processes fitted to a recorded day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MarketFit {
    /// The file.
    pub day: String,
    /// Length of its inputs, seconds.
    pub seconds: f64,
    /// Changes of the middle of the book.
    pub news: Arrivals,
    /// Orders that traded on arrival.
    pub noise: Arrivals,
    /// Mean size of a change of the middle, ticks; `null` without one.
    pub jump_ticks: Option<f64>,
    /// Mean size of orders that traded on arrival, in lots: buys, sells.
    pub lots_by_side: [Option<f64>; 2],
    /// How long its orders rested; `null` if none left.
    pub lifetimes: Option<Lifetimes>,
}

/// How long the orders of a day rested that joined its book after the start and left it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lifetimes {
    /// Their number.
    pub orders: u64,
    /// The same per second.
    pub per_second: f64,
    /// Share that left within 100 us.
    pub within_100us: f64,
    /// Share that left within 1 ms, those within 100 us included.
    pub within_1ms: f64,
    /// Mean of how much longer than 1 ms the others rested, ms; `null` without others.
    pub longer_ms: Option<f64>,
}

/// One kind of events of a day, and the process fitted to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrivals {
    /// Number of distinct times.
    pub events: u64,
    /// Mean rate.
    pub per_second: f64,
    /// The most likely Hawkes process with one kernel; `null` if there is none.
    pub process: Option<FittedProcess>,
    /// Why there is none.
    pub why_none: Option<String>,
    /// That with two kernels; `null` if it is not seen to fit better.
    pub two_kernels: Option<FittedProcess>,
    /// Why there is none.
    pub why_one_kernel: Option<String>,
}

/// A Hawkes process with exponential kernels. Intervals are 95 %.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FittedProcess {
    /// Events per second that no other event caused.
    pub base_per_second: f64,
    /// Its interval.
    pub base_interval: [f64; 2],
    /// Its kernels, the fastest first.
    pub kernels: Vec<FittedKernel>,
    /// Time rescaling: the largest distance from an exponential distribution, by the test of
    /// Kolmogorov and Smirnov.
    pub distance: f64,
    /// Probability of such a distance if the process were true.
    pub p: f64,
}

/// How an event excites later ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FittedKernel {
    /// Number of events that an event causes directly; all kernels together: the share of events
    /// that earlier ones caused.
    pub branching: f64,
    /// Its interval.
    pub branching_interval: [f64; 2],
    /// How long an event excites others, us.
    pub decay_us: f64,
    /// Its interval.
    pub decay_us_interval: [f64; 2],
}

/// The output of `tickpath race --queue --json`: how well an order's place in its queue can be
/// estimated from the totals at its price, against the orders of a recorded day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueCheck {
    /// The file.
    pub day: String,
    /// Length of its inputs, seconds.
    pub seconds: f64,
    /// Orders of the day that joined the best price.
    pub orders: u64,
    /// Such orders that traded, at least in part.
    pub traded: u64,
    /// Mean of the lots ahead of them when they joined; `null` without orders.
    pub lots_ahead: Option<f64>,
    /// The estimators.
    pub estimators: Vec<QueueEstimator>,
}

/// An estimator of places in queues, and its errors.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueEstimator {
    /// Where it puts lots that leave the queue without a trade: `behind` the order as long as that
    /// is possible, `anywhere` with the same probability, or `ahead`.
    pub name: String,
    /// Orders that traded in the day, but not yet by the estimator.
    pub missed: u64,
    /// Orders that traded by the estimator, and not in the day.
    pub invented: u64,
    /// Orders that traded in both, but by the estimator earlier.
    pub early: u64,
    /// Mean of the estimated less the true lots ahead, at an order's first trade or, without one,
    /// at its end.
    pub bias_lots: Option<f64>,
    /// Median size of that error.
    pub error_lots_p50: Option<f64>,
    /// Its 90th percentile.
    pub error_lots_p90: Option<f64>,
}

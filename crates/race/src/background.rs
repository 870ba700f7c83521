//! A recorded day as the market around the participants.

use crate::error::RaceError;
use crate::hawkes;
use crate::lifetimes::SHORT_NS;
use crate::queue;
use engine::{Command, Engine, EngineLimits, Event, Input, Side};
use flow::{Script, Settings};
use record::race::{Arrivals, FittedKernel, FittedProcess, Lifetimes, MarketFit, QueueCheck};
use std::collections::HashMap;
use std::path::Path;

/// A day's inputs, and the middle of its own book after each.
#[derive(Debug)]
pub struct Background {
    script: Script,
    /// After the start and after each input: best bid plus best ask, half ticks. Where a side is
    /// empty, the last one that was known.
    middles: Vec<i64>,
    /// Whether each input traded.
    traded: Vec<bool>,
    /// How long each order rested that joined the book after the start and left it, ns.
    lifetimes_ns: Vec<u64>,
    /// The most open orders, and prices of a side, at any time.
    open_orders_most: u32,
    levels_most: u32,
}

impl Background {
    /// Reads a Databento MBO file, at most `seconds` of it.
    ///
    /// # Errors
    /// If the file can't be read, or its book never had two sides.
    pub fn read(path: &Path, seconds: f64) -> Result<Background, RaceError> {
        let limits = Settings::limits_of_day();
        let script = Script::new(&Settings::of_day(path, seconds, limits))
            .map_err(|error| RaceError::Day(error.to_string()))?;
        let mut seen = Background {
            middles: Vec::with_capacity(script.len() + 1),
            traded: Vec::with_capacity(script.len()),
            lifetimes_ns: Vec::new(),
            script,
            open_orders_most: 0,
            levels_most: 0,
        };
        seen.look(limits);
        match seen.middles.iter().find(|middle| **middle > 0) {
            Some(first) => {
                let first = *first;
                let before = seen.middles.iter_mut().take_while(|middle| **middle == 0);
                before.for_each(|middle| *middle = first);
                Ok(seen)
            }
            None => {
                let path = path.display();
                Err(RaceError::Day(format!("the book of {path} never has a bid and an ask")))
            }
        }
    }

    /// Runs an engine through the day.
    fn look(&mut self, limits: EngineLimits) {
        let mut engine = Engine::new(1, limits);
        for order in self.script.start() {
            engine.apply(&Input { time_ns: 0, command: Command::New(*order) }, &mut |_| {});
        }
        self.note(&engine);
        let mut resting = HashMap::new();
        for index in 0..self.script.len() {
            let time_ns = self.script.offset_ns(index).unwrap_or(0);
            let mut has_traded = false;
            engine.apply(&Input { time_ns, command: self.script.command(index) }, &mut |event| {
                has_traded |= matches!(event, Event::Trade { .. });
                match event {
                    // An amended order that enters again has been there before.
                    Event::Booked { order, .. } => {
                        resting.entry(order.order_id).or_insert(time_ns);
                    }
                    Event::Done { order, .. } => {
                        let since_ns = resting.remove(&order.order_id);
                        self.lifetimes_ns.extend(since_ns.map(|since_ns| time_ns - since_ns));
                    }
                    _ => {}
                }
            });
            self.traded.push(has_traded);
            self.note(&engine);
        }
    }

    fn note(&mut self, engine: &Engine) {
        let top = engine.top(0);
        let middle = top.bid.zip(top.ask).map(|(bid, ask)| bid.price_ticks + ask.price_ticks);
        self.middles.push(middle.or(self.middles.last().copied()).unwrap_or(0));
        self.open_orders_most = self.open_orders_most.max(engine.open_orders());
        // Each level has an order; counting levels at every input would cost more than it saves.
        self.levels_most = self.levels_most.max(engine.open_orders());
    }

    /// Its inputs and their times.
    pub(crate) fn script(&self) -> &Script {
        &self.script
    }

    /// The middle of the day's own book after the first `inputs` inputs, half ticks.
    pub(crate) fn middle(&self, inputs: usize) -> i64 {
        self.middles[inputs]
    }

    /// Open orders and levels that an engine needs for it. A participant's trade can leave an order
    /// open that the day had filled, so there is room for twice as many.
    pub(crate) fn limits(&self) -> (u32, u32) {
        (2 * self.open_orders_most, 2 * self.levels_most)
    }

    /// Duration of its inputs, ns.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.script.duration_ns()
    }

    /// Checks how well places in the day's queues can be estimated from totals.
    #[must_use]
    pub fn queue_check(&self, name: &str) -> QueueCheck {
        queue::check(self, name)
    }

    /// Fits processes to the day: changes of the middle as news, and orders that trade on arrival
    /// as noise. Several at the same nanosecond are one event.
    #[must_use]
    pub fn fit(&self, name: &str) -> MarketFit {
        let times = |is_event: &dyn Fn(usize) -> bool| -> Vec<f64> {
            let indices = (0..self.script.len()).filter(|index| is_event(*index));
            let mut times: Vec<u64> =
                indices.filter_map(|index| self.script.offset_ns(index)).collect();
            times.dedup();
            times.into_iter().map(|ns| ns as f64 / 1e9).collect()
        };
        let change = |index: usize| self.middles[index + 1] - self.middles[index];
        let news = times(&|index| change(index) != 0);
        let trades = times(&|index| self.traded[index]);
        let sizes: Vec<f64> = (0..self.script.len())
            .map(|index| change(index).unsigned_abs() as f64 / 2.0)
            .filter(|ticks| *ticks > 0.0)
            .collect();
        let seconds = self.duration_ns() as f64 / 1e9;
        MarketFit {
            day: name.to_owned(),
            seconds,
            news: arrivals(&news, seconds),
            noise: arrivals(&trades, seconds),
            jump_ticks: stats::mean::mean(&sizes),
            lots_by_side: self.lots_by_side(),
            lifetimes: self.lifetimes(seconds),
        }
    }

    /// How long orders rested; `None` if none left.
    fn lifetimes(&self, seconds: f64) -> Option<Lifetimes> {
        let orders = self.lifetimes_ns.len();
        let within = |ns: u64| {
            self.lifetimes_ns.iter().filter(|life_ns| **life_ns <= ns).count() as f64
                / orders as f64
        };
        let longer = self.lifetimes_ns.iter().filter(|ns| **ns > SHORT_NS[1]);
        let longer_ms: Vec<f64> = longer.map(|ns| (ns - SHORT_NS[1]) as f64 / 1e6).collect();
        (orders > 0).then(|| Lifetimes {
            orders: orders as u64,
            per_second: orders as f64 / seconds,
            within_100us: within(SHORT_NS[0]),
            within_1ms: within(SHORT_NS[1]),
            longer_ms: stats::mean::mean(&longer_ms),
        })
    }

    /// Mean size of immediate orders, buys and sells; `None` without any.
    fn lots_by_side(&self) -> [Option<f64>; 2] {
        [Side::Buy, Side::Sell].map(|side| {
            let taken = (0..self.script.len()).filter(|index| self.traded[*index]);
            let lots = taken.filter_map(|index| match self.script.command(index) {
                Command::New(new) if new.side == side => Some(new.quantity_lots as f64),
                _ => None,
            });
            stats::mean::mean(&lots.collect::<Vec<f64>>())
        })
    }
}

fn arrivals(times: &[f64], seconds: f64) -> Arrivals {
    let one = hawkes::fit(times, seconds);
    let two = one.as_ref().ok().map(|one| hawkes::fit_two(times, seconds, one));
    Arrivals {
        events: times.len() as u64,
        per_second: times.len() as f64 / seconds,
        process: one.as_ref().ok().map(fitted),
        why_none: one.err().map(|error| error.to_string()),
        two_kernels: two.as_ref().and_then(|two| two.as_ref().ok()).map(fitted),
        why_one_kernel: two.and_then(|two| two.err()).map(|error| error.to_string()),
    }
}

fn fitted(fit: &hawkes::Fit) -> FittedProcess {
    let kernel = |(kernel, intervals): (&hawkes::Kernel, &hawkes::FittedKernel)| FittedKernel {
        branching: kernel.branching(),
        branching_interval: intervals.branching,
        decay_us: 1e6 / kernel.decay,
        decay_us_interval: [1e6 / intervals.decay[1], 1e6 / intervals.decay[0]],
    };
    FittedProcess {
        base_per_second: fit.process.base,
        base_interval: fit.base,
        kernels: fit.process.kernels.iter().zip(&fit.kernels).map(kernel).collect(),
        distance: fit.rescaled.distance,
        p: fit.rescaled.p,
    }
}

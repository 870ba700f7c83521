//! The kinds of measurement, one file or folder each: how their processes run, and which rules
//! judge them.

mod cores;
mod endpoint;
mod engine;
mod failure;
mod fan_out;
mod ipc;
mod network;
mod orders;
mod rules;
mod runner;
pub(crate) mod ticks;

pub(crate) use self::runner::Runner;

use plan::Measure;

/// How that kind is carried out.
pub(crate) fn runner(measure: Measure) -> &'static dyn Runner {
    match measure {
        Measure::Orders => &orders::Orders,
        Measure::Ticks => &ticks::Ticks,
        Measure::Ipc => &ipc::Ipc,
        Measure::Cores => &cores::Cores,
        Measure::Engine | Measure::Journal => &engine::Engine,
        Measure::Soak => &engine::Soak,
        Measure::Endpoint => &endpoint::Endpoint,
        Measure::Network => &network::Network,
        Measure::FanOut => &fan_out::FanOut,
    }
}

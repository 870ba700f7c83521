//! The kinds of measurement, one file or folder each: how their processes run, and which rules
//! judge them.

mod cores;
mod endpoint;
mod engine;
mod failure;
pub(crate) mod fan_out;
mod feed;
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
        Measure::Feed => &feed::Feed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conduct::Entrant;
    use crate::conduct::tests::entrant;
    use plan::Scenario;
    use plan::backend::{self, Backend};
    use plan::tables::ticks::FeedDialect;

    /// A name says nothing about it: `af_xdp` and `dpdk` spin, too.
    #[test]
    fn a_thread_sleeps_by_the_table_of_backends() {
        let may_sleep = |kind, own: Backend, other: Backend| {
            let mut scenario = Scenario::find("order-to-ack", &[]).unwrap();
            scenario.kind = kind;
            scenario.exchange.start = true;
            scenario.exchange.backend = other.name.to_owned();
            let entrant =
                Entrant { backend: own.name.to_owned(), ..entrant(0, FeedDialect::Sbe, false) };
            runner(kind).may_sleep(&scenario, &entrant)
        };
        for kind in [Measure::Orders, Measure::Ticks, Measure::Network] {
            for (own, other) in backend::all().flat_map(|own| backend::all().map(move |b| (own, b)))
            {
                let spin = own.spins && other.spins;
                assert_eq!(may_sleep(kind, own, other), !spin, "{kind:?} {own:?} {other:?}");
            }
        }
        for own in [backend::SPIN, backend::BLOCK] {
            assert_eq!(may_sleep(Measure::Endpoint, own, own), !own.spins, "{own:?}");
            for way in backend::REPLICATORS {
                let spin = own.spins && way.spins;
                assert_eq!(may_sleep(Measure::FanOut, own, way), !spin, "{own:?} {way:?}");
            }
        }
        assert!(!may_sleep(Measure::Ticks, backend::AF_XDP, backend::DPDK));
        assert!(may_sleep(Measure::FanOut, backend::SPIN, backend::XDP));
    }
}

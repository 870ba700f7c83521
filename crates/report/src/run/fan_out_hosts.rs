//! A fan-out between hosts: what the clocks leave open of its figures.

use crate::run::fan_out::{NAME_WIDTH, share};
use crate::text::grid::{Grid, cells};
use crate::text::number::latency;
use crate::text::terminal::shortened;
use record::fan_out::{FanOutEnd, FanOutHosts, FanOutRun};
use record::{RunRecord, Subject};

/// Both grids; without rows on one host.
pub(super) fn grids(record: &RunRecord) -> [Grid; 2] {
    [spreads(record), ends(record)]
}

/// The runs of a subject whose subscribers have clocks of their own.
fn runs(subject: &Subject) -> Vec<(&FanOutRun, &FanOutHosts)> {
    subject.load.fan_out.iter().filter_map(|run| Some((run, run.hosts.as_ref()?))).collect()
}

/// The certain part of spreads and ranks.
fn spreads(record: &RunRecord) -> Grid {
    let row = |subject: &Subject| {
        let runs = runs(subject);
        let sum = |of: fn(&(&FanOutRun, &FanOutHosts)) -> u64| runs.iter().map(of).sum::<u64>();
        let whole = sum(|(run, _)| run.whole);
        let reaches = |of: fn(&FanOutHosts) -> Option<[u64; 2]>| {
            let all = runs.iter().filter_map(|(_, hosts)| of(hosts));
            let around =
                |[low, high]: [u64; 2], [least, most]: [u64; 2]| [low.min(least), high.max(most)];
            all.reduce(around).map_or("not known".to_owned(), |[least, most]| {
                format!("{} to {}", latency(least), latency(most))
            })
        };
        let error_ns = runs.iter().filter_map(|(_, hosts)| hosts.spread_error_ns).max();
        (!runs.is_empty()).then(|| {
            vec![
                shortened(&subject.name, NAME_WIDTH),
                reaches(|hosts| hosts.spread_ns_p50),
                reaches(|hosts| hosts.spread_ns_p99),
                error_ns.map_or("not known".to_owned(), latency),
                share(sum(|(_, hosts)| hosts.resolved), whole),
                share(sum(|(_, hosts)| hosts.first_not_judged), whole),
                share(sum(|(_, hosts)| hosts.last_not_judged), whole),
            ]
        })
    };
    Grid {
        title: "Between hosts: what is certain of spreads and ranks".to_owned(),
        head: cells([
            "",
            "spread p50 is",
            "p99 is",
            "error",
            "resolved",
            "first unknown",
            "last unknown",
        ]),
        rows: record.subjects.iter().filter_map(row).collect(),
        notes: vec![
            "Each subscriber's host has a clock of its own, so that an arrival is known to within \
             an error. The figures above are by the middle of what is possible. Resolved: messages \
             of which two copies certainly arrived at different times; the spread of all others \
             may be 0. First and last unknown: messages of which nobody was certainly first or \
             last. They count for no subscriber."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

/// The clock of each end.
fn ends(record: &RunRecord) -> Grid {
    let rows = record.subjects.iter().flat_map(|subject| {
        let runs = runs(subject);
        let ends = runs.first().map_or(0, |(_, hosts)| hosts.ends.len());
        (0..ends).filter_map(move |at| {
            let all: Vec<&FanOutEnd> =
                runs.iter().filter_map(|(_, hosts)| hosts.ends.get(at)).collect();
            let before: u64 = runs[0].1.ends[..at].iter().map(|end| end.subscribers).sum();
            let first = all.first()?;
            let name = if at == 0 { shortened(&subject.name, NAME_WIDTH) } else { String::new() };
            let errors: Option<Vec<u64>> = all.iter().map(|end| end.arrival_error_ns).collect();
            let round_trips = all
                .iter()
                .filter_map(|end| end.between.bracket.as_ref()?.round_trip_ns_min?.try_into().ok());
            Some(vec![
                name,
                first.host.clone(),
                match first.subscribers {
                    0 => "replicator".to_owned(),
                    1 => format!("{}", before + 1),
                    many => format!("{} to {}", before + 1, before + many),
                },
                errors
                    .and_then(|all| all.into_iter().max())
                    .map_or("not known".to_owned(), latency),
                round_trips.min().map_or("-".to_owned(), latency),
                first.between.stamps.clone(),
                all.iter().map(|end| end.clock_steps).sum::<u64>().to_string(),
            ])
        })
    });
    Grid {
        title: "Between hosts: the clock of each end".to_owned(),
        head: cells(["", "host", "subscribers", "error", "round trip", "stamps", "set"]),
        rows: rows.collect(),
        notes: vec![
            "Error: the largest one of an arrival there, either way. Round trip: the shortest one \
             of the probes of its clock; the error is about half of it. Set: how often its wall \
             clock was set."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

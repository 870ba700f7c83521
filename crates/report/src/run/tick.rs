//! Figures of a feed and a strategy beside latencies: ticks, the book, the audit, the time, the
//! worst ticks, and what a market maker came to.

use crate::run::stages;
use crate::text::grid::{Grid, cells};
use crate::text::number::{count, latency, mebibytes, one_or, percent};
use crate::text::terminal::{Terminal, clip, shortened, wrap};
use crate::text::words::{self, US};
use clock::utc::Time;
use maud::{Markup, html};
use record::measure::Measure;
use record::tick::{Audit, CoreLoss, MarketMaking, Tick, TickHold, TracedTick};
use record::{RunRecord, Subject};
use stats::Percentiles;

/// Columns of a name.
const NAME_WIDTH: usize = 13;
/// Columns of the threads and causes that took the cores, in the terminal.
const TAKEN_WIDTH: usize = 50;

/// Appends stages, feed, strategy, the worst ticks and what to know about them.
pub(crate) fn text(out: &mut Terminal, record: &RunRecord) {
    if words::measure(record) != Some(Measure::Ticks) {
        return;
    }
    stages::grids(record).iter().for_each(|grid| grid.text(out));
    grids(record, TAKEN_WIDTH).iter().for_each(|grid| grid.text(out));
    for line in lines(record) {
        wrap(out, "  ", &line);
    }
}

/// The same for the page, with the stages as bars.
pub(crate) fn section(record: &RunRecord) -> Markup {
    if words::measure(record) != Some(Measure::Ticks) {
        return html! {};
    }
    html! {
        (stages::figures(record))
        @for grid in stages::grids(record) { (Grid { notes: Vec::new(), ..grid }.section()) }
        @for grid in grids(record, usize::MAX) { (grid.section()) }
        @for line in lines(record) { p class="quiet" { (line) } }
    }
}

fn grids(record: &RunRecord, taken_width: usize) -> Vec<Grid> {
    let subjects = || record.subjects.iter();
    let mut grids = vec![feed(record)];
    grids.push(hold(record));
    grids.extend(subjects().filter_map(market_making));
    grids.extend(subjects().filter_map(|subject| worst(subject, taken_width)));
    grids.into_iter().filter(|grid| !grid.rows.is_empty()).collect()
}

/// Received ticks, over all runs.
fn feed(record: &RunRecord) -> Grid {
    let row = |subject: &Subject| {
        let ticks = &subject.load.tick;
        let sum = |of: fn(&Tick) -> u64| count(ticks.iter().map(of).fold(0, u64::saturating_add));
        let first = ticks.first()?;
        Some(vec![
            shortened(&subject.name, NAME_WIDTH),
            sum(|tick| tick.datagrams),
            sum(|tick| tick.messages),
            first.datagram_bytes.to_string(),
            sum(|tick| tick.gaps),
            sum(|tick| tick.messages_replayed),
            sum(|tick| tick.faults.values().fold(0, |sum, count| sum.saturating_add(*count))),
            sum(|tick| tick.kernel_drops),
            sum(|tick| tick.samples),
            sum(|tick| tick.refused.values().fold(0, |sum, count| sum.saturating_add(*count))),
            book(ticks).to_owned(),
        ])
    };
    let head = [
        "",
        "datagrams",
        "messages",
        "bytes",
        "gaps",
        "replayed",
        "faulty",
        "dropped",
        "samples",
        "refused",
        "book",
    ];
    Grid {
        title: "Feed".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: record.subjects.iter().filter_map(row).collect(),
        notes: vec![
            "Bytes: a datagram's mean length. Samples: ticks that led to an order and are known from end to end. \
             Refused: orders that the trader's own risk held back."
                .to_owned(),
        ],
        ..Grid::default()
    }
}

/// Ticks that were held until their release, run by run.
fn hold(record: &RunRecord) -> Grid {
    let figures = |found: Option<Percentiles>| {
        let us = |ns: Option<u64>| ns.map_or("-".to_owned(), US.show);
        let Percentiles { p50, p99, .. } = found.unwrap_or_default();
        [us(p50), us(p99), us(found.map(|found| found.max))]
    };
    let row = |subject: &Subject, run: usize, hold: &TickHold| {
        let mut row = vec![shortened(&subject.name, NAME_WIDTH), (run + 1).to_string()];
        row.extend([(US.show)(hold.hold_ns), count(hold.released)]);
        row.push(hold.late.map_or("?".to_owned(), count));
        row.extend([hold.arrival, hold.release, hold.late_by].into_iter().flat_map(figures));
        row
    };
    let rows = record.subjects.iter().flat_map(|subject| {
        let runs = subject.load.tick.iter().enumerate();
        runs.filter_map(move |(run, tick)| Some(row(subject, run, tick.hold.as_ref()?)))
    });
    let head = [
        US.name,
        "run",
        "hold",
        "ticks",
        "late",
        "arrival p50",
        "p99",
        "max",
        "release p50",
        "p99",
        "max",
        "late by p50",
        "p99",
        "max",
    ];
    Grid {
        title: "Hold and release: from publication to arrival, and to the hand-over".to_owned(),
        head: cells(head),
        rows: rows.collect(),
        notes: vec![
            "A late tick arrived after its release, by the kernel's stamp, and was handed on at once; \
             ?: the kernel did not stamp each. The stage `ingest` ends with the release."
                .to_owned(),
        ],
        more_names: 1,
    }
}

/// Whether the trader's book was the exchange's in all runs.
fn book(ticks: &[Tick]) -> &'static str {
    let told = || ticks.iter().filter(|tick| !tick.exchange_book_hash.is_empty());
    match (told().count(), told().all(|tick| tick.book_hash == tick.exchange_book_hash)) {
        (0, _) => "-",
        (_, true) => "equal",
        (_, false) => "UNEQUAL",
    }
}

/// A market maker's results, run by run: a mean over different days means nothing.
fn market_making(subject: &Subject) -> Option<Grid> {
    let share = |share: f64| format!("{:.1} %", share * 100.0);
    let row = |(number, of): (usize, &MarketMaking)| {
        let filled = of.quotes_filled as f64 / of.quotes.max(1) as f64;
        let life = of.flow_lifetime_ns.map(|ns| ns.map_or("-".to_owned(), latency));
        vec![
            format!("run {}", number + 1),
            of.position_lots.to_string(),
            format!("{:+.1}", of.pnl_tick_lots),
            count(of.quotes),
            share(filled),
            count(of.filled_lots),
            share(of.share_at_top[0]),
            share(of.share_at_top[1]),
            of.queue_ahead_lots_p50.map_or("-".to_owned(), count),
            life.join(" "),
        ]
    };
    let outcomes = subject.load.tick.iter().enumerate();
    let rows: Vec<Vec<String>> = outcomes
        .filter_map(|(number, tick)| Some(row((number, tick.market_making.as_ref()?))))
        .collect();
    let head = [
        "",
        "position",
        "made",
        "quotes",
        "filled",
        "lots",
        "at bid",
        "at ask",
        "ahead p50",
        "flow's orders live",
    ];
    (!rows.is_empty()).then(|| Grid {
        title: format!("Result of the market maker {}", shortened(&subject.name, 40)),
        head: head.map(str::to_owned).to_vec(),
        rows,
        notes: vec![
            "Position in lots; made in ticks times lots, the position at the last mid price, without fees. Filled: quotes \
             that traded at least in part. At bid, at ask: share of the time in which a quote was at the best price. Ahead: \
             lots before a quote when it joined its queue. How long the flow's orders lived: p10, p50, p90."
                .to_owned(),
        ],
        ..Grid::default()
    })
}

/// The worst ticks, each with its longest stage.
fn worst(subject: &Subject, width: usize) -> Option<Grid> {
    let row = |traced: &TracedTick| {
        let longest = traced.stages.iter().max_by_key(|(_, ns)| *ns);
        let longest = longest.map_or(String::new(), |(name, ns)| {
            format!("{name} {}", latency(u64::try_from(*ns).unwrap_or(0)))
        });
        vec![
            latency(traced.total_ns),
            traced.run.to_string(),
            traced.number.to_string(),
            longest,
            clip(&taken(&traced.noise), width),
        ]
    };
    let rows: Vec<Vec<String>> = subject.traced.iter().map(row).collect();
    let of = subject.traced.first().map_or("", |traced| traced.of.as_str());
    let head = ["", "run", "message", "most of it in", "cores taken"];
    (!rows.is_empty()).then(|| Grid {
        title: format!("The worst of {}, {of}", shortened(&subject.name, 40)),
        head: head.map(str::to_owned).to_vec(),
        rows,
        notes: vec!["run.json has all their stages (traced).".to_owned()],
        ..Grid::default()
    })
}

/// Threads and causes that took the cores while a tick was in flight: how often and how long.
fn taken(noise: &[CoreLoss]) -> String {
    let mut sums: Vec<(&str, &str, u64, u64)> = Vec::new();
    for one in noise {
        match sums.iter_mut().find(|(of, cause, ..)| (*of, *cause) == (&one.of, &one.cause)) {
            Some((.., times, length_ns)) => {
                *times += 1;
                *length_ns = length_ns.saturating_add(one.length_ns);
            }
            None => sums.push((&one.of, &one.cause, 1, one.length_ns)),
        }
    }
    let said = sums.into_iter().map(|(of, cause, times, length_ns)| {
        let times = if times > 1 { format!(" {times}x") } else { String::new() };
        let length =
            if length_ns > 0 { format!(", {}", latency(length_ns)) } else { String::new() };
        let cause = if cause == "switched out" { "off" } else { cause };
        format!("{of} {cause}{times}{length}")
    });
    said.collect::<Vec<_>>().join("; ")
}

/// Basis of the figures: buffers, clocks, the audit.
fn lines(record: &RunRecord) -> Vec<String> {
    let mut lines = Vec::new();
    for subject in record.subjects.iter().filter(|subject| !subject.is_reference()) {
        let ticks = &subject.load.tick;
        let Some(first) = ticks.first() else { continue };
        let name = &subject.name;
        let stamps = match first.kernel_stamps.as_str() {
            "" => "the kernel stamped nothing: network_in and ingest are one stage".to_owned(),
            how => format!("the kernel's receive stamps are {how}"),
        };
        let buffer = match first.receive_buffer_bytes {
            None => "no receive buffer of the kernel".to_owned(),
            Some(bytes) => format!("receive buffer {} MiB", mebibytes(bytes)),
        };
        lines.push(format!("{name}: {buffer}; {stamps}; {}", time(&worst_time(ticks))));
        let audits: Vec<&Audit> = ticks.iter().filter_map(|tick| tick.audit.as_ref()).collect();
        lines.extend(audit(name, &audits, ticks.iter().map(|tick| tick.samples).sum()));
    }
    lines
}

/// Over all runs: the widest bounds, and all that was not given or done to the clock.
fn worst_time(ticks: &[Tick]) -> Time {
    let mut all = ticks.iter().map(|tick| tick.time.clone());
    let mut worst = all.next().unwrap_or_default();
    for time in all {
        worst.same_clock &= time.same_clock;
        worst.kernel_bound_ns = worst.kernel_bound_ns.max(time.kernel_bound_ns);
        let bounds = worst.exchange_bound_ns.zip(time.exchange_bound_ns);
        worst.exchange_bound_ns = bounds.map(|(one, other)| one.max(other));
        worst.refused.extend(time.refused);
        worst.wall_steps = worst.wall_steps.saturating_add(time.wall_steps);
    }
    worst
}

fn time(time: &Time) -> String {
    let mut kernel = match time.kernel_bound_ns {
        None | Some(0) => String::new(),
        Some(ns) => format!(", the kernel's stamps within {}", latency(ns)),
    };
    if time.wall_steps > 0 {
        let times = count(time.wall_steps);
        kernel += &format!(
            "; SOMEBODY SET THE WALL CLOCK meanwhile, {times} x: the kernel's stamps around it are wrong by as much"
        );
    }
    let refused = match time.refused.len() {
        0 => String::new(),
        _ => {
            let names: Vec<&str> = time.refused.keys().map(String::as_str).collect();
            format!("; not given, as a tenth of them is less: {}", names.join(", "))
        }
    };
    match (time.same_clock, time.exchange_bound_ns) {
        (true, _) => format!("both ends stamp by one clock{kernel}"),
        (false, Some(ns)) => format!(
            "the exchange's clock is within {} by {}{kernel}{refused}",
            latency(ns),
            time.bound_from
        ),
        (false, None) => format!(
            "the offset of the exchange's clock is unknown: no figure from one machine to the other is given{kernel}"
        ),
    }
}

/// Size of the audit log, and the cost of writing it.
fn audit(name: &str, audits: &[&Audit], samples: u64) -> Option<String> {
    let first = audits.first()?;
    let sum =
        |of: fn(&Audit) -> u64| audits.iter().map(|audit| of(audit)).fold(0, u64::saturating_add);
    let place = match (first.core, first.shares_core_with.as_str()) {
        (None, _) => "not pinned".to_owned(),
        (Some(core), "") => format!("on core {core}, which nothing else uses"),
        (Some(core), whose) => format!("on core {core}, which is the {whose}'s too"),
    };
    let (in_windows, all) = (sum(|audit| audit.samples_in_windows), samples.max(1));
    Some(format!(
        "{name}'s audit: {}, {} lost; its logger ran {place}, woke {} and took {} in all; {} of the samples lie \
         in those windows",
        one_or(sum(|audit| audit.records), "record"),
        sum(|audit| audit.lost),
        one_or(sum(|audit| audit.windows), "time"),
        latency(sum(|audit| audit.windows_ns)),
        percent(in_windows as f64 / all as f64)
    ))
}

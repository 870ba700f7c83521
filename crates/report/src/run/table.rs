//! The table for a terminal.

use crate::run::between;
use crate::run::between_zones;
use crate::run::core_matrix;
use crate::run::engine;
use crate::run::fan_out;
use crate::run::feed;
use crate::run::figures::percentile_name;
use crate::run::intensity;
use crate::run::noise;
use crate::run::outages;
use crate::run::over_floor::{self, AddedSeries};
use crate::run::tick;
use crate::run::{bulk, codec};
use crate::text::grid::{Grid, cells};
use crate::text::number::{count, rate, short_ns};
use crate::text::terminal::{Terminal, shortened, wrap};
use crate::text::words::{self, cell, interval, not_checked, shown, title};
use record::{Percentiles, RunRecord, Unavailable};
use stats::PERCENTILES;

/// Columns of a subject's name.
const NAME_WIDTH: usize = 20;

/// The record as text: verdict, latencies, time above the floor, notes.
///
/// `columns` is the terminal's width; [`COLUMNS`] where there is none.
///
/// [`COLUMNS`]: crate::COLUMNS
pub fn table(record: &RunRecord, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    headline(&mut out, record);
    match core_matrix::matrices(record).is_empty() {
        true => latencies(&mut out, record),
        false => core_matrix::text(&mut out, record),
    }
    engine::text(&mut out, record);
    if let Some(codecs) = codec::grid(record) {
        codecs.text(&mut out);
    }
    if let Some(bulk) = bulk::grid(record) {
        bulk.text(&mut out);
    }
    if let Some(losses) = outages::grid(record) {
        losses.text(&mut out);
    }
    if let Some(packets) = between_zones::grid(record) {
        packets.text(&mut out);
    }
    fan_out::text(&mut out, record);
    if let Some(books) = feed::grid(record) {
        books.text(&mut out);
    }
    size_fit(&mut out, record);
    over_the_floor(&mut out, record);
    if let Some(orders) = intensity::grid(record) {
        orders.text(&mut out);
    }
    between::text(&mut out, record);
    tick::text(&mut out, record);
    noise::text(&mut out, record);
    notes(&mut out, record);
    out.into_text()
}

fn headline(out: &mut Terminal, record: &RunRecord) {
    let injected = match record.injected.is_empty() {
        true => String::new(),
        false => format!(" · faults injected: {}", record.injected.join("; ")),
    };
    let line = format!(
        "{} · {} · {}{injected}",
        record.scenario,
        words::verdict(record),
        words::runs(record)
    );
    wrap(out, "", &line);
    match record.void_because.as_slice() {
        [] | [_] => {}
        [_, others @ ..] => others.iter().for_each(|reason| wrap(out, "  ! ", reason)),
    }
    if let Some(meaning) = words::meaning(record) {
        wrap(out, "  ", meaning);
    }
    if let Some(disturber) = words::disturber(record).filter(|_| !record.is_void()) {
        wrap(out, "  ", &disturber);
    }
    if let Some(found) = words::rate_search(record) {
        wrap(out, "  ", &found);
    }
    merged_from(out, record);
    if let Some(flow) = words::flow(record) {
        wrap(out, "  ", &flow);
    }
    let messages = words::of_kind(record).messages;
    for subject in &record.subjects {
        let load = &subject.load;
        if load.model.is_empty() {
            continue;
        }
        let sent = match load.rate_per_second_offered {
            Some(offered) => format!(
                "{} of {} {messages}/s, {} sent",
                rate(load.rate_per_second_achieved),
                rate(offered),
                count(load.sent)
            ),
            None => format!(
                "{} {messages}/s, {} sent",
                rate(load.rate_per_second_achieved),
                count(load.sent)
            ),
        };
        let duplicated = match load.duplicated {
            0 => String::new(),
            n => format!(", {n} duplicated"),
        };
        let gateways =
            words::gateways(record).map_or(String::new(), |some| format!(", exchange with {some}"));
        let late = load
            .lateness_ns_p99
            .map_or(String::new(), |ns| format!(", late p99 {}", short_ns(ns as f64)));
        let line = format!(
            "{}: {}, {}, {}{gateways}, {sent}, {} lost{duplicated}{late}",
            words::subject(record, &subject.name),
            load.model,
            subject.backend,
            words::cores(&subject.cores),
            load.lost,
        );
        wrap(out, "  ", &line);
    }
}

fn merged_from(out: &mut Terminal, record: &RunRecord) {
    if let Some(sources) = words::merged_from(record) {
        wrap(out, "  ", &sources);
    }
}

fn size_fit(out: &mut Terminal, record: &RunRecord) {
    let Some(fit) = &record.size_fit else { return };
    let further = fit.per_further_packet_ns.map_or(String::new(), |ns| {
        format!("; each packet beyond the first adds {}", short_ns(ns))
    });
    let line = format!(
        "a round trip takes {} and {:.2} ns a byte (p50, messages of one packet, within {:.0} % of \
         each){further}",
        short_ns(fit.per_message_ns),
        fit.per_byte_ns,
        fit.deviation * 100.0
    );
    wrap(out, "  ", &line);
}

/// The percentile of that name.
fn percentile(percentiles: &Percentiles, name: &str) -> Option<u64> {
    let index = PERCENTILES.iter().position(|(known, _)| *known == name)?;
    percentiles.values()[index]
}

fn latencies(out: &mut Terminal, record: &RunRecord) {
    // In a record of noise alone the lengths of gaps stand by cause below.
    if words::is_noise(record) {
        return;
    }
    let (unit, percentiles) = (words::unit(record), words::of_kind(record).percentiles);
    let mut head = cells([unit.name, ""]);
    head.extend(percentiles.iter().map(|name| percentile_name(name)));
    head.extend(cells(["max", "n", "p50 interval"]));
    let mut rows = Vec::new();
    for subject in &record.subjects {
        for (index, series) in shown(subject).enumerate() {
            let name =
                if index == 0 { words::subject(record, &subject.name) } else { String::new() };
            let mut row = vec![shortened(&name, NAME_WIDTH), title(series)];
            let value = |name: &&str| cell(series, name, percentile(&series.pooled, name), unit);
            row.extend(percentiles.iter().map(value));
            row.push((unit.show)(series.pooled.max));
            row.extend([count(series.pooled.count), interval(series, "p50", unit)]);
            rows.push(row);
        }
    }
    let mut notes: Vec<String> =
        words::marks(record.subjects.iter().flat_map(words::shown)).into_iter().collect();
    for Unavailable { subject, why } in &record.unavailable {
        let mut row = vec![shortened(subject, NAME_WIDTH), words::UNAVAILABLE.to_owned()];
        row.resize(head.len(), "-".to_owned());
        rows.push(row);
        notes.push(format!("{subject} {}: {why}.", words::UNAVAILABLE));
    }
    Grid { head, rows, notes, more_names: 1, ..Grid::default() }.text(out);
}

/// Time that each subject adds to the raw echo of the same bytes on the same cores.
fn over_the_floor(out: &mut Terminal, record: &RunRecord) {
    let added = over_floor::added(record);
    if added.is_empty() {
        return;
    }
    let unit = words::unit(record);
    let row = |row: &AddedSeries<'_>| {
        let name = words::subject(record, row.subject);
        let mut line = vec![shortened(&name, NAME_WIDTH), title(row.series)];
        line.extend(row.cells(unit));
        line
    };
    let mut head = cells([unit.name, "over the floor"]);
    head.extend(cells(over_floor::HEAD));
    let mut notes = vec![over_floor::notes(&added)];
    if added.iter().any(|row| row.subject.starts_with("floor")) {
        notes.push(format!("The floor's rows are over bare: {}.", words::BARE));
    }
    let rows = added.iter().map(row).collect();
    Grid { head, rows, notes, more_names: 1, ..Grid::default() }.text(out);
}

fn notes(out: &mut Terminal, record: &RunRecord) {
    let rules = not_checked(record)
        .filter(|rule| !["floor", "bare"].iter().any(|own| rule.rule.starts_with(own)));
    let skipped: Vec<String> = words::not_checked_because(rules)
        .into_iter()
        .map(|(names, why)| format!("{names} ({why})"))
        .collect();
    if !skipped.is_empty() || !record.warnings.is_empty() {
        out.push('\n');
    }
    if !skipped.is_empty() {
        wrap(out, "  not checked: ", &skipped.join("; "));
    }
    for warning in &record.warnings {
        wrap(out, "  * ", warning);
    }
}

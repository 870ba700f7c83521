//! `report.html`: one record as a page, the verdict first.

use crate::page;
use crate::plot::{curves, ladder, over_time};
use crate::run::{
    between, between_zones, bulk, codec, context, core_matrix, engine, fan_out, feed, figures,
    holds, intensity, noise, outages, tick,
};
use crate::text::words;
use maud::{Markup, html};
use record::machine::Machine;
use record::measure::Measure;
use record::timeline::Timeline;
use record::{Rule, RunRecord, Verdict};

/// Files beside a record's run.json; for one that can't be read, the reason.
#[derive(Clone, Copy, Debug)]
pub struct RecordFiles<'a> {
    /// The fingerprints of machine.json.
    pub machine: Result<&'a Machine, &'a str>,
    /// The logs of its runs.
    pub timeline: Result<&'a Timeline, &'a str>,
}

/// The page of `record`, with `json`, the text of its run.json, in it for programs.
pub fn record_page(record: &RunRecord, json: &str, beside: RecordFiles<'_>) -> String {
    let body = html! {
        (headline(record, beside.machine.ok()))
        (damage(beside))
        (core_matrix::section(record))
        @if !words::is_noise(record) { (figures::latencies(record)) }
        (holds::section(record))
        (engine::section(record))
        @if let Some(codecs) = codec::grid(record) { (codecs.section()) }
        @if let Some(bulk) = bulk::grid(record) { (bulk.section()) }
        @if let Some(losses) = outages::grid(record) { (losses.section()) }
        @if let Some(packets) = between_zones::grid(record) { (packets.section()) }
        (fan_out::section(record))
        @if let Some(books) = feed::grid(record) { (books.section()) }
        (figures::over_the_floor(record))
        @if let Some(orders) = intensity::grid(record) { (orders.section()) }
        (between::section(record))
        (tick::section(record))
        @if draws_logs(record) {
            (curves::section(record, beside.timeline.ok()))
            (over_time::section(record, beside.timeline.ok()))
        }
        (noise::section(record))
        (figures::load(record))
        (context::machine(beside.machine))
        (context::scenario(record))
        (context::not_measured(record))
        @if words::measure(record) == Some(Measure::Orders) { (ladder::section(record)) }
        footer {
            p {
                "Written by " (record.tool) " from run.json and the .hlog files beside it. The record is embedded "
                "in this page as JSON (" code { "script#record" } "); the page fetches nothing and runs nothing."
            }
        }
        (page::embedded("record", json))
    };
    page::frame(&format!("{} · {}", record.scenario, words::verdict(record)), &body)
}

/// Whether the page of `record` draws its logs. A machine of 32 cores has 496 pairs:
/// the map shows them.
pub fn draws_logs(record: &RunRecord) -> bool {
    words::measure(record) != Some(Measure::Cores)
}

fn headline(record: &RunRecord, machine: Option<&Machine>) -> Markup {
    let class = match record.holds(0.5) {
        true if record.smoke_test => "verdict warn",
        true => "verdict good",
        false => "verdict bad",
    };
    let of = |verdict: Verdict| {
        record.rules.iter().filter(move |rule| rule.verdict == verdict).collect::<Vec<&Rule>>()
    };
    let (held, skipped) = (of(Verdict::Held), of(Verdict::NotApplicable));
    html! {
        h1 { (record.scenario) " · " span class=(class) { (words::verdict(record)) } }
        p class="quiet" {
            (record.started) " · " (words::runs(record)) " · " (record.tool)
            @if !record.clock.source.is_empty() {
                " · clock " (record.clock.source) ", " (record.clock.cost_ns) " ns a reading"
            }
        }
        @if let Some(place) = place(record, machine) { p class="quiet" { (place) } }
        @if let Some(flow) = words::flow(record) { p { (flow) "." } }
        @if let Some(found) = words::rate_search(record) { p { (found) } }
        @if let Some(sources) = words::merged_from(record) { p class="quiet" { (sources) } }
        @if !record.injected.is_empty() {
            p class="warn" { strong { "Faults were injected on purpose: " } (record.injected.join("; ")) "." }
        }
        @if record.is_void() {
            p { "The record is void and no result, because:" }
            ul class="broken" { @for reason in &record.void_because { li { (reason) } } }
        }
        @if let Some(meaning) = words::meaning(record) { p { (meaning) } }
        @if !record.is_void() {
            @if let Some(disturber) = words::disturber(record) { p { (disturber) } }
        }
        @if !record.warnings.is_empty() {
            ul class="warn" { @for warning in &record.warnings { li { (warning) } } }
        }
        (rules("Rules of integrity that held", &held))
        (rules("Rules that could not be applied", &skipped))
    }
}

/// The machine, its kernel, and the cores that were measured on.
fn place(record: &RunRecord, machine: Option<&Machine>) -> Option<String> {
    let fixed = machine.map(|machine| &machine.before.fixed);
    let mut cores: Vec<usize> = record.subjects.iter().flat_map(|one| one.cores.clone()).collect();
    cores.sort_unstable();
    cores.dedup();
    let parts = [
        fixed.and_then(|fixed| fixed.dmi_product.clone()),
        fixed.and_then(|fixed| fixed.cpu_model.clone()),
        fixed.and_then(|fixed| {
            fixed.kernel_release.as_ref().map(|kernel| format!("Linux {kernel}"))
        }),
        (!cores.is_empty()).then(|| words::cores(&cores)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn rules(title: &str, rules: &[&Rule]) -> Markup {
    html! {
        @if !rules.is_empty() {
            details {
                summary { (title) ": " (rules.len()) }
                div class="box" {
                    table {
                        @for rule in rules {
                            tr { th scope="row" { (rule.rule) } td class="text" { (rule.detail) } }
                        }
                    }
                }
            }
        }
    }
}

fn damage(beside: RecordFiles<'_>) -> Markup {
    let lines = match beside.timeline {
        Ok(timeline) => timeline.damage.clone(),
        Err(why) => vec![format!(
            "the logs of this record can't be read: {why}; what needs them is left out"
        )],
    };
    html! {
        @if !lines.is_empty() {
            p class="warn" { strong { "The logs are not whole." } }
            ul class="warn" { @for line in lines { li { (line) } } }
        }
    }
}

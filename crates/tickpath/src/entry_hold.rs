//! `tickpath exchange --entry-hold-us`: what it needs, and its figures.

use crate::cli::ExchangeArguments;
use anyhow::bail;
use fair::entry::ENTRY_HOLD_NS_MAX;
use serde_json::{Value, json};
use transport::gateway::HoldOnEntry;

/// The hold that the arguments ask for.
pub(crate) fn of(arguments: &ExchangeArguments) -> anyhow::Result<Option<HoldOnEntry>> {
    let Some(hold_us) = arguments.entry_hold_us else { return Ok(None) };
    let most_us = ENTRY_HOLD_NS_MAX / 1_000;
    if !(1..=most_us).contains(&hold_us) {
        bail!("--entry-hold-us {hold_us}: use 1 to {most_us}, or leave it out and none wait");
    }
    if arguments.gateways == 0 {
        bail!(
            "--entry-hold-us {hold_us} holds what gateway threads have stamped, and there are none: \
             add --gateways N"
        );
    }
    Ok(Some(HoldOnEntry::new(hold_us * 1_000)))
}

/// Its counts, after the streams have ended.
pub(crate) fn counts(hold: &HoldOnEntry) -> Value {
    let figures = hold.figures();
    let counts = figures.counts;
    let (transit, _) = stats::percentiles(&figures.transit_ns);
    json!({
        "released": counts.released,
        "overtaken": counts.overtaken,
        "overtaken_ns_max": counts.overtaken_ns_max,
        "transit_ns": transit,
    })
}

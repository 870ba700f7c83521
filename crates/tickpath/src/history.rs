//! `tickpath report` of a directory that holds records.

use crate::cli::ReportArguments;
use crate::print::show;
use anyhow::Context;
use measure::directory::hlogs;
use std::path::Path;

/// Whether `path` is a directory of records and not itself one, nor what is left of one.
pub(crate) fn holds_records(path: &Path) -> bool {
    path.is_dir()
        && !path.join("run.json").exists()
        && hlogs(path).is_ok_and(|logs| logs.is_empty())
}

pub(crate) fn history(path: &Path, arguments: &ReportArguments) -> anyhow::Result<()> {
    let mut history = measure::history::read(path)
        .with_context(|| format!("cannot list the records in {}", path.display()))?;
    if let Some(scenario) = &arguments.scenario {
        history = history.of_scenario(scenario);
    }
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&history)?))
    } else {
        show(&report::history(&history))
    }
}

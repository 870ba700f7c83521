//! `tickpath report` of a directory that holds records.

use crate::cli::ReportArguments;
use crate::print::show;
use anyhow::Context;
use measure::directory;
use std::path::Path;

/// Whether `path` is a directory of records and not itself one, nor what is left of one.
pub(crate) fn holds_records(path: &Path) -> bool {
    path.is_dir()
        && !path.join("run.json").exists()
        && directory::hlogs(path).is_ok_and(|logs| logs.is_empty())
}

pub(crate) fn history(path: &Path, arguments: &ReportArguments) -> anyhow::Result<()> {
    let mut history = measure::history::read(path)
        .with_context(|| format!("cannot list the records in {}", path.display()))?;
    if let Some(scenario) = &arguments.scenario {
        history = history.of_scenario(scenario);
    }
    if let Some(file) = &arguments.html {
        let page = report::history_page(&history, &serde_json::to_string(&history)?);
        directory::write_whole(file, &page).with_context(|| {
            format!("cannot write {}: free some space, or choose another file", file.display())
        })
    } else if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&history)?))
    } else {
        show(&report::history(&history))
    }
}

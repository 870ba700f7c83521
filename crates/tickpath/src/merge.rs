//! `tickpath report --merge`: a record like any other, with the logs that its figures come from.

use crate::cli::ReportArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::page::write_page;
use crate::print::{print_record, show};
use crate::project::Project;
use crate::tool::command_line;
use anyhow::{Context, bail};
use record::directory;
use record::merge::{MergeError, MergePart, MergeResult, VoidParts};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) fn merge(arguments: &ReportArguments) -> anyhow::Result<u8> {
    if arguments.runs.len() < 2 {
        bail!("--merge needs two records or more; name two or more");
    }
    let parts = arguments.runs.iter().map(|path| part(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let void_parts = if arguments.force { VoidParts::Merge } else { VoidParts::Reject };
    let mut merged = match record::merge::merge(&parts, void_parts) {
        Ok(merged) => merged,
        Err(error @ MergeError::Void(_)) => {
            eprintln!("error: {error}");
            return Ok(NO_RESULT);
        }
        Err(error) => return Err(error).context("not merged"),
    };
    merged.record.command = command_line();
    let path = write(arguments, &merged)?;
    // The record counts; a page that can't be written is no reason to fail.
    let beside = path.join("report.html");
    for file in arguments.html.iter().chain([&beside]) {
        if let Err(error) = write_page(&path, &merged.record, file) {
            eprintln!("warning: {}", crate::errors::one_line(&error));
        }
    }
    print_record(&merged.record, arguments.json)?;
    if !arguments.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    Ok(if merged.record.holds(0.5) { DONE } else { NO_RESULT })
}

fn part(path: &Path) -> anyhow::Result<MergePart> {
    let record = directory::load_record(path)
        .with_context(|| format!("cannot read a record in {}", path.display()))?;
    let machine = match directory::load_machine(path) {
        Ok(machine) => Some(machine),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error).context("not merged"),
    };
    let runs = directory::load_runs(path)
        .with_context(|| format!("not merged: the logs of {}", path.display()))?;
    // `.` has no name of its own.
    let whole = directory::of(path).canonicalize()?;
    let name = whole.file_name().unwrap_or(whole.as_os_str()).to_string_lossy().into_owned();
    Ok(MergePart { name, record, machine, runs })
}

/// Writes the merged record whole, or leaves nothing.
fn write(arguments: &ReportArguments, merged: &MergeResult) -> anyhow::Result<PathBuf> {
    let out = Project::find()?.directory(arguments.out.as_deref());
    let path = crate::errors::make_directory(&out, &merged.record.scenario)?;
    let written = fill(&path, arguments, merged);
    if written.is_err() {
        let _ = std::fs::remove_dir_all(&path);
    }
    written.map_err(|error| crate::errors::not_written(&path, &error))?;
    Ok(path)
}

fn fill(path: &Path, arguments: &ReportArguments, merged: &MergeResult) -> std::io::Result<()> {
    let logs = arguments
        .runs
        .iter()
        .map(|run| directory::hlogs(&directory::of(run)))
        .collect::<std::io::Result<Vec<_>>>()?;
    for (number, (part, run)) in (1..).zip(&merged.runs) {
        let log = logs[*part].get(*run).ok_or(ErrorKind::NotFound)?;
        std::fs::copy(log, directory::hlog(path, number))?;
    }
    directory::save_record(path, &merged.record, &merged.machine)
}

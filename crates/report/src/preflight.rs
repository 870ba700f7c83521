//! Output of `run --dry-run`.

use crate::text::grid::{Grid, cells};
use crate::text::number::{duration, mebibytes};
use crate::text::terminal::{Terminal, wrap};
use record::Preflight;
use record::text::counted;

/// The plan of a run as text: duration, cores, errors and warnings, the resolved scenario.
pub fn preflight(plan: &Preflight, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let name = plan.scenario["name"].as_str().unwrap_or_default();
    let runs = plan.scenario["runs"].as_u64().unwrap_or(0);
    let runs = counted(runs, "run");
    let can = if plan.refusals.is_empty() { "can run" } else { "CANNOT RUN" };
    let head = format!(
        "{name} · {can} · {runs}, {} by plan · up to {} MiB on disk",
        duration(plan.seconds),
        mebibytes(plan.bytes)
    );
    wrap(&mut out, "", &head);
    plan.refusals.iter().for_each(|refusal| wrap(&mut out, "  ! ", refusal));
    plan.warnings.iter().for_each(|warning| wrap(&mut out, "  * ", warning));
    let list = |cores: &[usize]| {
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        if cores.is_empty() { "not pinned".to_owned() } else { cores.join(" ") }
    };
    let row = |(name, cores): &(String, Vec<usize>)| vec![name.clone(), list(cores)];
    let rows = plan.subjects.iter().map(row).collect();
    Grid { head: cells(["measured", "cores"]), rows, ..Grid::default() }.text(&mut out);
    out.push_str("\nscenario as resolved\n");
    out.push_str(&serde_json::to_string_pretty(&plan.scenario).unwrap_or_default());
    out.push('\n');
    out.into_text()
}

//! Findings of doctor, the worst first.

use crate::text::number::seconds;
use crate::text::terminal::{Terminal, wrap};
use crate::text::words::cores;
use record::doctor::{Finding, Findings, Grade};
use std::fmt::Write;

/// Column in which ids begin.
const ID: usize = 9;
/// Column in which a finding's text begins.
const FOUND: usize = 32;

/// The findings as text: bad ones and warnings with reason and remedy, the others in a line each.
pub fn doctor(findings: &Findings, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    headline(&mut out, findings);
    for grade in Grade::ALL {
        let of_grade: Vec<&Finding> =
            findings.findings.iter().filter(|finding| finding.grade == grade).collect();
        if !of_grade.is_empty() {
            out.push('\n');
        }
        for one in of_grade {
            row(&mut out, one);
        }
    }
    out.into_text()
}

fn headline(out: &mut Terminal, findings: &Findings) {
    let verdict = if findings.fit { "fit to measure on" } else { "NOT FIT to measure on" };
    let but = match (findings.fit, findings.count(Grade::Warn), findings.count(Grade::Unknown)) {
        (false, ..) | (true, 0, 0) => "",
        (true, _, 0) => ", with a wider tail than it has to be",
        (true, 0, _) => ", as far as can be read",
        (true, ..) => ", as far as can be read, with a wider tail than it has to be",
    };
    let counts: Vec<String> = Grade::ALL
        .iter()
        .map(|&grade| (findings.count(grade), grade.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    wrap(out, "", &format!("doctor · {verdict}{but} · {}", counts.join(", ")));
    let line = format!(
        "{} · machine {} · watched for {} s",
        cores(&findings.cores),
        findings.machine,
        seconds(findings.watched_seconds)
    );
    wrap(out, "  ", &line);
}

fn row(out: &mut Terminal, finding: &Finding) {
    let mut lead = format!("{:<ID$}{} ", finding.grade.name(), finding.id);
    if lead.chars().count() > FOUND {
        let _ = writeln!(out, "{}", lead.trim_end());
        lead.clear();
    }
    wrap(out, &format!("{lead:<FOUND$}"), &finding.found);
    if matches!(finding.grade, Grade::Bad | Grade::Warn) {
        wrap(out, &format!("{:<ID$}why  ", ""), &finding.why);
        wrap(out, &format!("{:<ID$}do   ", ""), &finding.what_to_do);
    }
}

//! What doctor found, the worst first.

use crate::number::seconds;
use crate::table::wrap;
use crate::words::cores;
use measure::doctor::{Finding, Findings, Grade};
use std::fmt::Write;

/// Where ids begin.
const ID: usize = 9;
/// Where the text begins.
const TEXT: usize = 32;

/// The findings as text: what is bad or worth a warning with why and what to do, the rest a line each.
pub fn doctor(findings: &Findings) -> String {
    let mut out = String::new();
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
    out
}

fn headline(out: &mut String, findings: &Findings) {
    let verdict = match (findings.fit, findings.count(Grade::Warn)) {
        (false, _) => "NOT FIT to measure on",
        (true, 0) => "fit to measure on",
        (true, _) => "fit to measure on, with a wider tail than it has to be",
    };
    let counts: Vec<String> = Grade::ALL
        .iter()
        .map(|&grade| (findings.count(grade), grade.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    let line = format!(
        "doctor · {verdict} · {} · {}, machine {}, watched for {} s",
        counts.join(", "),
        cores(&findings.cores),
        findings.machine,
        seconds(findings.watched_seconds)
    );
    wrap(out, "", &line);
}

fn row(out: &mut String, finding: &Finding) {
    let grade = finding.grade.name();
    let mut lead = format!("{grade:<ID$}{} ", finding.id);
    if lead.chars().count() > TEXT {
        let _ = writeln!(out, "{}", lead.trim_end());
        lead.clear();
    }
    wrap(out, &format!("{lead:<TEXT$}"), &finding.found);
    if matches!(finding.grade, Grade::Bad | Grade::Warn) {
        wrap(out, &format!("{:<TEXT$}why ", ""), &finding.why);
        wrap(out, &format!("{:<TEXT$}do  ", ""), &finding.what_to_do);
    }
}

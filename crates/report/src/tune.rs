//! Settings of the operating system: findings, plans and results of `tickpath tune`.

use crate::text::terminal::{Terminal, clip, wrap};
use crate::text::words::cores;
use record::Unit;
use record::text::counted;
use record::tune::{
    SettingState, State, Step, Survey, Trial, TriedSetting, TuneReport, UntriedSetting,
};
use stats::compare::Effect;
use stats::verdict::Outcome;
use std::fmt::Write;

/// Column in which ids begin.
const ID: usize = 4;
/// Column in which a finding's text begins.
const FOUND: usize = 44;
/// Longest line of the topology.
const DRAWN: usize = 96;

/// All settings, or a plan.
pub fn survey(survey: &Survey, is_plan: bool, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let verb = if is_plan { "plan" } else { "inspect" };
    let count = |state| survey.settings.iter().filter(|one| one.state == state).count();
    let counts: Vec<String> = State::ALL
        .iter()
        .map(|&state| (count(state), state.name()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    wrap(&mut out, "", &format!("tune {verb} · for {} · {}", survey.profile, counts.join(", ")));
    let nics = if survey.nics.is_empty() { "none".to_owned() } else { survey.nics.join(", ") };
    wrap(
        &mut out,
        "  ",
        &format!(
            "measured {} · everything else {} · NIC {nics} · machine {}",
            cores(&survey.cores),
            cores(&survey.housekeeping),
            survey.machine
        ),
    );
    if is_plan {
        wrap(&mut out, "  ", &summary(survey));
        let counted = "a plan counts the settings of its profile or of --setting; `tickpath tune inspect` counts all";
        wrap(&mut out, "  ", counted);
    }
    out.push('\n');
    for line in &survey.topology {
        let _ = writeln!(out, "  {}", clip(line, DRAWN));
    }
    for state in State::ALL {
        let of_state: Vec<&SettingState> =
            survey.settings.iter().filter(|one| one.state == state).collect();
        if of_state.is_empty() || (is_plan && state != State::Better) {
            continue;
        }
        let _ = writeln!(out, "\n{}", state.name());
        for one in of_state {
            row(&mut out, one, is_plan);
        }
    }
    if is_plan {
        persistence(&mut out, survey);
    }
    out.into_text()
}

/// How much `apply` would change.
fn summary(survey: &Survey) -> String {
    let better = survey.settings.iter().filter(|one| one.state == State::Better);
    let (mut settings, mut values, mut reboots) = (0, 0, 0);
    for one in better {
        settings += usize::from(!one.steps.is_empty() || !one.boot_words.is_empty());
        values += one.steps.len();
        reboots += usize::from(!one.boot_words.is_empty());
    }
    let files = survey.persistence.iter().filter(|step| step.place.starts_with("file:")).count();
    format!(
        "apply would change: settings {settings}, of these after a reboot {reboots}; \
         values now {values}; files for the next boot {files}"
    )
}

fn row(out: &mut Terminal, one: &SettingState, is_plan: bool) {
    let mut lead = format!("{:<ID$}{} ", one.tier, one.id);
    if lead.chars().count() > FOUND {
        let _ = writeln!(out, "{}", lead.trim_end());
        lead.clear();
    }
    wrap(out, &format!("{lead:<FOUND$}"), &one.found);
    if one.state != State::Better {
        return;
    }
    let indent = " ".repeat(ID);
    wrap(out, &format!("{indent}want  "), &one.wanted);
    wrap(out, &format!("{indent}why   "), &one.why);
    wrap(out, &format!("{indent}cost  "), &format!("{} Risk {}.", one.cost, one.risk));
    if !one.needs.is_empty() {
        wrap(out, &format!("{indent}needs "), &one.needs.join(", "));
    }
    if one.steps.is_empty() && one.boot_words.is_empty() {
        wrap(out, &format!("{indent}do    "), &one.what_to_do);
    }
    if is_plan {
        for step in &one.steps {
            steps(out, step);
        }
        if !one.boot_words.is_empty() {
            wrap(out, &format!("{indent}boot  "), &one.boot_words.join(" "));
        }
    }
}

/// A place with its value before and after; of a text, the lines that differ. Never cut: they are
/// copied, and a unit's command line is read to its end.
fn steps(out: &mut Terminal, step: &Step) {
    let indent = " ".repeat(ID);
    let before = step.before.as_deref().unwrap_or_default();
    let after = step.after.as_deref().unwrap_or_default();
    let is_text = step.place.starts_with("file:");
    if !is_text {
        let line = format!("{indent}{}: {} -> {}", step.place, before.trim(), after.trim());
        let _ = writeln!(out, "{line}");
        return;
    }
    let _ = writeln!(out, "{indent}{}", step.place);
    let old: Vec<&str> = before.lines().collect();
    let new: Vec<&str> = after.lines().collect();
    for line in old.iter().filter(|line| !new.contains(line)) {
        let _ = writeln!(out, "{indent}  - {line}");
    }
    for line in new.iter().filter(|line| !old.contains(line)) {
        let _ = writeln!(out, "{indent}  + {line}");
    }
}

fn persistence(out: &mut Terminal, survey: &Survey) {
    if survey.persistence.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nafter a reboot");
    for step in &survey.persistence {
        steps(out, step);
    }
}

/// The outcome of each step, or its present state.
pub fn account(account: &TuneReport, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let mut words: Vec<(&str, usize)> = Vec::new();
    for one in &account.results {
        match words.iter_mut().find(|(word, _)| *word == one.outcome) {
            Some((_, count)) => *count += 1,
            None => words.push((&one.outcome, 1)),
        }
    }
    let plain = |word: &str| word.replace('_', " ");
    let counts: Vec<String> =
        words.iter().map(|(word, count)| format!("{count} {}", plain(word))).collect();
    let counts = match counts.is_empty() {
        true => "nothing to do".to_owned(),
        false => counts.join(", "),
    };
    wrap(&mut out, "", &format!("tune {} · {counts}", account.verb));
    for one in &account.results {
        let place = one.place.split_once(':').map_or(one.place.as_str(), |(_, place)| place);
        let lead = format!("{:<14}{} ", plain(&one.outcome), one.setting);
        let detail = match one.detail.is_empty() {
            true => place.to_owned(),
            false => format!("{place}: {}", one.detail),
        };
        wrap(&mut out, &format!("{lead:<FOUND$}"), &detail);
    }
    if account.reboot {
        wrap(&mut out, "", "the kernel's command line takes effect with the next start");
    }
    out.into_text()
}

/// The order in which settings are listed.
const OUTCOMES: [Outcome; 5] = [
    Outcome::Worse,
    Outcome::Better,
    Outcome::NotKnown,
    Outcome::NoDifference,
    Outcome::Inconclusive,
];

/// Each setting's effect, those that make it worse first; then what was chosen.
pub fn trial(trial: &Trial, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let headline = format!(
        "tune trial · {} · {}, {} each · {:.0} s of {:.0} s · machine {}",
        trial.scenario,
        counted(trial.tried.len(), "setting"),
        counted(trial.pairs, "pair"),
        trial.took_seconds,
        trial.budget_seconds,
        trial.machine
    );
    wrap(&mut out, "", &headline);
    for outcome in OUTCOMES {
        for one in trial.tried.iter().filter(|one| one.outcome == outcome) {
            out.push('\n');
            tried(&mut out, one);
        }
    }
    not_tried(&mut out, &trial.not_tried);
    out.push('\n');
    match &trial.confirmation {
        None if trial.chosen.is_empty() => {
            wrap(&mut out, "", "no setting was shown to help: none is chosen");
        }
        None if trial.restarted => {
            wrap(&mut out, "", &format!("helps after a restart: {}", trial.chosen.join(", ")));
        }
        None => wrap(&mut out, "", &format!("helps, not confirmed: {}", trial.chosen.join(", "))),
        Some(one) => {
            wrap(&mut out, "", "all that help, together, on fresh runs:");
            tried(&mut out, one);
        }
    }
    if let Some(why) = &trial.ended_because {
        wrap(&mut out, "", &format!("ended early: {why}"));
    }
    out.into_text()
}

/// One line for each reason.
fn not_tried(out: &mut Terminal, settings: &[UntriedSetting]) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for UntriedSetting { id, why } in settings {
        match reasons.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((why, vec![id])),
        }
    }
    for (why, ids) in reasons {
        out.push('\n');
        wrap(out, &format!("{:<14}", "not tried"), &ids.join(", "));
        wrap(out, &format!("{:<14}", ""), why);
    }
}

fn tried(out: &mut Terminal, one: &TriedSetting) {
    let pairs = counted(one.pairs, "pair");
    let note = if one.why.is_empty() { pairs } else { format!("{pairs} · {}", one.why) };
    wrap(out, &format!("{:<13} {} ", one.outcome.name(), one.id), &format!("({note})"));
    for figure in &one.figures {
        let lead = format!("{:14}{:<12}", "", figure.figure);
        let Some(effect) = &figure.effect else {
            wrap(out, &format!("{lead}unknown: "), &figure.why);
            continue;
        };
        let (values, change) = changed(figure.unit, effect);
        let _ = writeln!(out, "{lead}{values}  {change}  {}", figure.outcome.name());
        if !figure.why.is_empty() {
            wrap(out, &format!("{:26}", ""), &figure.why);
        }
    }
}

/// The medians of both sides, and the change with its interval.
fn changed(unit: Unit, effect: &Effect) -> (String, String) {
    match unit {
        Unit::Ns => {
            let share = |share: f64| format!("{:+.1} %", share * 100.0);
            let [low, high] = effect.interval.map(share);
            let us = crate::text::number::us;
            let change = format!("{:>9}  [{low}, {high}]", share(effect.change));
            (format!("{:>9} -> {:>9}", us(effect.a), us(effect.b)), change)
        }
        Unit::Ppm => {
            let percent = |ppm: f64| format!("{:.2} %", ppm / 1e4);
            let points = |ppm: i64| format!("{:+.2}", ppm as f64 / 1e4);
            let [low, high] = effect.added_ns_interval.map(points);
            let values =
                format!("{:>9} -> {:>9}", percent(effect.a as f64), percent(effect.b as f64));
            (values, format!("{:>9}  [{low}, {high}] points", points(effect.added_ns)))
        }
    }
}

//! `tickpath trade`: one client, one run.

use crate::cli::TradeArguments;
use crate::process::{die_with, keep_off, raise_descriptors, tell};
use crate::progress::Screen;
use crate::{DONE, INVALID, signals};
use anyhow::{Context, bail};
use measure::progress::Second;
use scenario::Scenario;
use scenario::progress::{Part, Progress};
use std::io::Read;
use std::path::Path;
use trader::plan::{Model, Plan, Wire};

pub(crate) fn trade(arguments: &TradeArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let mut plan = match &arguments.plan {
        Some(path) => read_plan(&path.display().to_string())?,
        None => plan(arguments)?,
    };
    raise_descriptors(plan.load.connections as u64);
    let holds_a_run = |log: &Path| log.metadata().is_ok_and(|metadata| metadata.len() > 0);
    if arguments.plan.is_none() && holds_a_run(&arguments.hlog) {
        // Two runs in one log would be one result that nobody measured.
        bail!(
            "{} holds a run already; choose another --hlog, or remove it",
            arguments.hlog.display()
        );
    }
    let stop = signals::stop_flag()?;
    let by_hand = arguments.plan.is_none();
    let mut screen = by_hand.then(|| Screen::new(arguments.quiet)).flatten();
    if let Some(screen) = &mut screen {
        plan.progress = true;
        screen.show(Progress::Part(part(&plan)));
    }
    keep_off(plan.core);
    let mut show = |second: &Second| match &mut screen {
        Some(screen) => screen.show(Progress::Second(second)),
        None => tell(second),
    };
    let result = trader::run(&plan, &stop, &mut show);
    drop(screen);
    let result = result?;
    println!("{}", serde_json::to_string(&result)?);
    Ok(if result.complete { DONE } else { INVALID })
}

/// The one part of a run by hand.
fn part(plan: &Plan) -> Part<'_> {
    let open = plan.load.model == Model::Open;
    Part {
        run: 1,
        runs: 1,
        name: &plan.subject,
        warm_up_seconds: plan.warm_up_seconds,
        seconds: plan.seconds,
        rate_per_second_offered: open.then_some(plan.load.rate_per_second),
        seconds_left: plan.warm_up_seconds + plan.seconds,
    }
}

fn read_plan(path: &str) -> anyhow::Result<Plan> {
    let text = match path {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read the plan on stdin")?;
            text
        }
        path => std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?,
    };
    serde_json::from_str(&text).with_context(|| format!("{path} is no plan; see CONTRACT.md"))
}

fn plan(arguments: &TradeArguments) -> anyhow::Result<Plan> {
    let scenario = arguments.scenario.as_deref().unwrap_or_default();
    let scenario = Scenario::find(scenario, &arguments.set)?;
    let subject = match &arguments.subject {
        None => &scenario.subject[0],
        Some(name) => match scenario.subject.iter().find(|subject| subject.name == *name) {
            Some(subject) => subject,
            None => bail!("{} has no subject {name:?}", scenario.name),
        },
    };
    let core = match &subject.cores {
        host::Cores::Auto => None,
        host::Cores::List(cores) => cores.first().copied(),
    };
    Ok(Plan {
        subject: subject.name.clone(),
        target: arguments.connect.clone().unwrap_or_default(),
        wire: Wire::WebsocketJson,
        backend: subject.backend.clone(),
        core,
        scheduling: subject.scheduling,
        load: scenario.load.clone(),
        warm_up_seconds: scenario.warm_up_seconds,
        seconds: scenario.seconds,
        inject: subject.inject.clone(),
        hlog: arguments.hlog.display().to_string(),
        progress: false,
    })
}

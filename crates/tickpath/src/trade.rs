//! `tickpath trade`: one client, one run.

use crate::cli::TradeArguments;
use crate::exit::{DONE, NO_RESULT};
use crate::print::show;
use crate::process::{die_with, keep_off, raise_descriptors, tell};
use crate::progress::Screen;
use crate::signals;
use anyhow::{Context, bail};
use host::Cores;
use plan::Scenario;
use plan::process::orders::OrdersPlan;
use plan::process::ticks::AuditPlan;
use plan::process::ticks::TickPlan;
use plan::scenario::Measure;
use plan::tables::load::Model;
use record::progress::Second;
use scenario::progress::{Progress, RunPart};
use serde_json::Value;
use std::io::Read;
use std::path::Path;

pub(crate) fn trade(arguments: &TradeArguments) -> anyhow::Result<u8> {
    die_with(arguments.die_with_parent)?;
    let mut job = match &arguments.plan {
        Some(path) => read_plan(&path.display().to_string())?,
        None => by_hand(arguments)?,
    };
    raise_descriptors(job.connections() as u64);
    let holds_a_run = |log: &Path| log.metadata().is_ok_and(|metadata| metadata.len() > 0);
    if arguments.plan.is_none() && holds_a_run(&arguments.hlog) {
        // Two runs in one log would look like one run.
        bail!(
            "{} holds a run already; choose another --hlog, or remove it",
            arguments.hlog.display()
        );
    }
    let stop = signals::stop_flag()?;
    let is_by_hand = arguments.plan.is_none();
    let mut screen = is_by_hand.then(|| Screen::new(arguments.quiet)).flatten();
    if let Some(screen) = &mut screen {
        job.tell_progress();
        screen.show(Progress::Part(job.part()));
    }
    keep_off(job.core());
    let mut show_second = |second: &Second| match &mut screen {
        Some(screen) => screen.show(Progress::Second(second)),
        None => tell(second),
    };
    let result = match &job {
        Job::Load(plan) => trader::run(plan, &stop, &mut show_second),
        Job::Ticks(plan) => trader::follow(plan, &stop, &mut show_second),
    };
    drop(screen);
    let result = result?;
    show(&format!("{}\n", serde_json::to_string(&result)?))?;
    Ok(if result.complete { DONE } else { NO_RESULT })
}

/// The work of one client in one run.
enum Job {
    /// Sends a load.
    Load(Box<OrdersPlan>),
    /// Follows a feed.
    Ticks(Box<TickPlan>),
}

impl Job {
    fn connections(&self) -> usize {
        if let Job::Load(plan) = self { plan.load.connections } else { 1 }
    }

    fn core(&self) -> Option<usize> {
        match self {
            Job::Load(plan) => plan.core,
            Job::Ticks(plan) => plan.core,
        }
    }

    fn tell_progress(&mut self) {
        match self {
            Job::Load(plan) => plan.progress = true,
            Job::Ticks(plan) => plan.progress = true,
        }
    }

    /// The one part of a run by hand.
    fn part(&self) -> RunPart<'_> {
        let (name, warm_up_seconds, seconds) = match self {
            Job::Load(plan) => (&plan.subject, plan.warm_up_seconds, plan.seconds),
            Job::Ticks(plan) => (&plan.subject, plan.warm_up_seconds, plan.seconds),
        };
        let rate_per_second_offered = match self {
            Job::Load(plan) if plan.load.model == Model::Open => Some(plan.load.rate_per_second),
            // An exchange's flow has the rate that it was started with.
            Job::Load(_) | Job::Ticks(_) => None,
        };
        RunPart {
            run: 1,
            runs: 1,
            name,
            warm_up_seconds,
            seconds,
            rate_per_second_offered,
            seconds_left: warm_up_seconds + seconds,
        }
    }
}

fn read_plan(path: &str) -> anyhow::Result<Job> {
    let text = match path {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read the plan on stdin")?;
            text
        }
        path => std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?,
    };
    let no_plan = || format!("{path} is no plan; see CONTRACT.md");
    let value: Value = serde_json::from_str(&text).with_context(no_plan)?;
    let job = match value.get("feed") {
        Some(_) => serde_json::from_value(value).map(|plan| Job::Ticks(Box::new(plan))),
        None => serde_json::from_value(value).map(|plan| Job::Load(Box::new(plan))),
    };
    job.with_context(no_plan)
}

fn by_hand(arguments: &TradeArguments) -> anyhow::Result<Job> {
    let scenario = arguments.scenario.as_deref().unwrap_or_default();
    let scenario = Scenario::find(scenario, &arguments.set)?;
    let index = match &arguments.subject {
        None => 0,
        Some(name) => match scenario.subject.iter().position(|subject| subject.name == *name) {
            Some(index) => index,
            None => bail!("{} has no subject {name:?}", scenario.name),
        },
    };
    let subject = &scenario.subject[index];
    if !subject.command.is_empty() {
        bail!(
            "{} is measured by its own command ({}): run that command with a plan (clients/CONTRACT.md)",
            subject.name,
            subject.command.join(" ")
        );
    }
    let target = arguments.connect.clone().unwrap_or_default();
    let hlog = arguments.hlog.display().to_string();
    let named = |cores: &Cores| match cores {
        Cores::Auto => None,
        Cores::List(cores) => cores.first().copied(),
    };
    let core = named(&subject.cores);
    if scenario.kind == Measure::Ticks {
        let beside = |what: &str| arguments.hlog.with_extension(what).display().to_string();
        let audit = AuditPlan { file: beside("audit"), core: named(&scenario.audit.core) };
        return Ok(Job::Ticks(Box::new(TickPlan {
            core,
            hlog,
            samples: beside("samples"),
            audit: scenario.audit.enabled.then_some(audit),
            ..scenario::tick_plan(&scenario, index, target)
        })));
    }
    Ok(Job::Load(Box::new(OrdersPlan {
        subject: subject.name.clone(),
        target,
        wire: subject.dialect.into(),
        backend: subject.backend.clone(),
        queue: subject.queue,
        core,
        scheduling: subject.scheduling,
        load: scenario.load.clone(),
        warm_up_seconds: scenario.warm_up_seconds,
        seconds: scenario.seconds,
        tls: scenario.trust(index),
        inject: subject.inject.clone(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog,
        progress: false,
    })))
}

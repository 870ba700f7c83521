//! What a scenario must be like to be carried out.

use crate::file::{CORES_PAIRED_MAX, FLOOR, Kind, RUNS_MAX, Scenario, ScenarioError, Subject};
use crate::matching::journal_mode;
use crate::tick::TRACE_MAX;
use host::placement::Cores;
use trader::plan::{CONNECTIONS_MAX, Load, SECONDS_MAX};
use transport::gateways::GATEWAYS_MAX;
use transport::inject::Inject;
use workload::plan::JOURNAL_MODES;

/// Names that are tickpath's own.
const RESERVED: [&str; 2] = [FLOOR, noise::hiccup::SUBJECT];

impl Scenario {
    /// Checks every key against its range, and against the others.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        let require = |holds: bool, key: &str, value: String, why: &str| match holds {
            true => Ok(()),
            false => Err(ScenarioError::Range { key: key.to_owned(), value, why: why.to_owned() }),
        };
        let plain = "a name has 1 to 40 letters, digits, - and _";
        require(is_plain(&self.name), "name", self.name.clone(), plain)?;
        require(
            (1..=RUNS_MAX).contains(&self.runs),
            "runs",
            self.runs.to_string(),
            "there must be 1 to 1000",
        )?;
        for (key, seconds, least) in [
            ("warm_up_seconds", self.warm_up_seconds, 0.0),
            ("seconds", self.seconds, 0.001),
            ("floor_seconds", self.floor_seconds, 0.0),
            ("hiccup_seconds", self.hiccup_seconds, 0.0),
        ] {
            require(
                (least..=SECONDS_MAX).contains(&seconds),
                key,
                seconds.to_string(),
                &format!("from {least} to 30 days"),
            )?;
        }
        self.check_load()?;
        transport::backend(&self.exchange.backend)?;
        let count = self.exchange.gateways;
        let why = format!("0 (its own thread has the sockets) to {GATEWAYS_MAX}");
        require(count as usize <= GATEWAYS_MAX, "exchange.gateways", count.to_string(), &why)?;
        let able = self.exchange.start;
        check_inject("exchange", &self.exchange.inject, able, "an exchange that it starts")?;
        let faults = [self.ipc.fault(), self.flow.fault(), self.feed.fault(), self.audit.fault()];
        if let Some((key, value, why)) = faults.into_iter().flatten().next() {
            return Err(ScenarioError::Range { key: key.to_owned(), value, why });
        }
        self.strategy.check()?;
        let why = format!("0 (none) to {TRACE_MAX} of the worst ticks are kept");
        require(self.trace <= TRACE_MAX, "trace", self.trace.to_string(), &why)?;
        require(!self.subject.is_empty(), "subject", "[]".to_owned(), "there must be one")?;
        for (index, subject) in self.subject.iter().enumerate() {
            let key = format!("subject.{index}.name");
            require(is_plain(&subject.name), &key, subject.name.clone(), plain)?;
            require(
                !RESERVED.iter().any(|own| subject.name.starts_with(own)),
                &key,
                subject.name.clone(),
                "floor… and hiccup… are tickpath's own names",
            )?;
            require(
                self.subject[..index].iter().all(|other| other.name != subject.name),
                &key,
                subject.name.clone(),
                "two subjects have this name; give each its own",
            )?;
            self.check_subject(index, subject)?;
        }
        Ok(())
    }

    /// What depends on the kind.
    fn check_subject(&self, index: usize, subject: &Subject) -> Result<(), ScenarioError> {
        let range = |key: &str, value: String, why: String| {
            let key = format!("subject.{index}.{key}");
            Err(ScenarioError::Range { key, value, why })
        };
        let cores = match &subject.cores {
            Cores::Auto => None,
            Cores::List(cores) => Some(cores.len()),
        };
        match self.kind {
            Kind::OrderEntry | Kind::Tick if cores.is_some_and(|count| count != 1) => {
                let why = "it has one thread: name one core".to_owned();
                range("cores", subject.cores.to_string(), why)
            }
            Kind::OrderEntry | Kind::Tick => {
                transport::backend(&subject.backend)?;
                let able = subject.command.is_empty();
                check_inject(&format!("subject.{index}"), &subject.inject, able, "its own client")
            }
            Kind::Journal if cores.is_some_and(|count| count != 2) => {
                let why = "name the engine's core and the journal's".to_owned();
                range("cores", subject.cores.to_string(), why)
            }
            Kind::Journal if journal_mode(&subject.backend).is_none() => {
                let modes: Vec<&str> = JOURNAL_MODES.iter().map(|(name, _)| *name).collect();
                range(
                    "backend",
                    subject.backend.clone(),
                    format!("it is one of {}", modes.join(", ")),
                )
            }
            Kind::Ipc if cores.is_some_and(|count| count != 2) => {
                let why = "name the producer's core and the consumer's".to_owned();
                range("cores", subject.cores.to_string(), why)
            }
            Kind::Ipc if !(1..=2).contains(&subject.processes) => {
                let why = "its ends are in 1 process, or in 2".to_owned();
                range("processes", subject.processes.to_string(), why)
            }
            Kind::Ipc if subject.processes == 2 && !subject.command.is_empty() => {
                let why = "only tickpath's own client can be two processes".to_owned();
                range("processes", subject.processes.to_string(), why)
            }
            Kind::Ipc if subject.command.is_empty() => {
                match relay::structure::find_for(&subject.backend, subject.ends()[0]) {
                    Ok(_) => Ok(()),
                    Err(error) => range("backend", error.value, error.why),
                }
            }
            Kind::CoreToCore
                if cores.is_some_and(|count| !(2..=CORES_PAIRED_MAX).contains(&count)) =>
            {
                let why =
                    format!("a pair takes two cores, and {CORES_PAIRED_MAX} are paired at most");
                range("cores", subject.cores.to_string(), why)
            }
            Kind::Ipc | Kind::CoreToCore => Ok(()),
            Kind::Engine | Kind::Soak if cores.is_some_and(|count| count != 1) => {
                let why = "it has one thread: name one core".to_owned();
                range("cores", subject.cores.to_string(), why)
            }
            Kind::Engine | Kind::Soak | Kind::Journal => self.check_workload(index, subject),
        }
    }

    /// Where there are no connections, there are enough for any number of accounts.
    fn check_load(&self) -> Result<(), ScenarioError> {
        match self.kind {
            Kind::Engine | Kind::Soak | Kind::Journal => {
                let connections = self.load.accounts.clamp(1, CONNECTIONS_MAX);
                Ok(Load { connections, ..self.load.clone() }.check()?)
            }
            Kind::OrderEntry | Kind::Ipc | Kind::CoreToCore => Ok(self.load.check()?),
            Kind::Tick => self.check_flow(),
        }
    }

    /// The flow brings the first instrument's book, and moves that alone.
    fn check_flow(&self) -> Result<(), ScenarioError> {
        let range = |key: &str, value: &str, why: String| {
            let (key, value) = (key.to_owned(), value.to_owned());
            Err(ScenarioError::Range { key, value, why })
        };
        let (asked, book) = (&self.flow.instrument, &self.exchange.book);
        if let Some(first) = self.flow_instrument().filter(|first| first != asked) {
            let why = format!("the flow is in the exchange's first instrument, which is {first}");
            return range("flow.instrument", asked, why);
        }
        if self.exchange.start && !["synthetic", "empty"].contains(&book.as_str()) {
            let why = "of ticks it is that of the other instruments, synthetic or empty; a file is named with \
                       flow.source";
            return range("exchange.book", book, why.to_owned());
        }
        Ok(())
    }

    /// What the client of an engine would say, in the words of the scenario.
    fn check_workload(&self, index: usize, subject: &Subject) -> Result<(), ScenarioError> {
        let is_open = self.rate_per_second_offered().is_some();
        self.workload_plan(subject).check().map(|_| ()).map_err(|bad| {
            let key = match (bad.key, is_open) {
                ("row", _) => format!("subject.{index}.backend"),
                ("accounts", _) => "load.accounts".to_owned(),
                ("warm_up_operations", _) => "warm_up_seconds, in operations".to_owned(),
                ("operations", true) => "seconds and warm_up_seconds, in operations".to_owned(),
                ("operations" | "passes", _) => format!("engine.{}", bad.key),
                (key, _) => key.to_owned(),
            };
            ScenarioError::Range { key, value: bad.value, why: bad.why }
        })
    }
}

fn check_inject(key: &str, inject: &Inject, able: bool, whom: &str) -> Result<(), ScenarioError> {
    let bad = |name: &str, value: String, why: String| ScenarioError::Range {
        key: format!("{key}.{name}"),
        value,
        why,
    };
    inject.check().map_err(|error| bad(&error.key, error.value, error.why))?;
    if !able && !inject.is_none() {
        let why = format!("tickpath can inject faults into {whom} only");
        return Err(bad("inject", inject.to_string(), why));
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=40).contains(&name.len()) && name.chars().all(plain)
}

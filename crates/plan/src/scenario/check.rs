//! Checks a scenario before it is carried out.

use crate::backend::{self, GATEWAYS_MAX};
use crate::faults::Inject;
use crate::load::{CONNECTIONS_MAX, Load, SECONDS_MAX};
use crate::measure::engine::{JOURNAL_MODES, journal_mode};
use crate::measure::ticks::TRACE_MAX;
use crate::measure::{CORES_PAIRED_MAX, Kind, ipc};
use crate::scenario::{
    BARE, FLOOR, HICCUP, RUNS_MAX, Scenario, ScenarioError, Subject, engine_plan,
};
use clock::range::{OutOfRange, require, within};
use host::placement::Cores;

/// Subject names that tickpath uses itself.
const RESERVED: [&str; 3] = [FLOOR, BARE, HICCUP];

impl Scenario {
    /// Checks every key against its range, and against the others.
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        let plain = "a name has 1 to 40 letters, digits, - and _";
        require(is_plain(&self.name), "name", &self.name, plain)?;
        within("runs", self.runs, 1..=RUNS_MAX, "there must be {}")?;
        for (key, seconds, least) in [
            ("warm_up_seconds", self.warm_up_seconds, 0.0),
            ("seconds", self.seconds, 0.001),
            ("floor_seconds", self.floor_seconds, 0.0),
            ("bare_seconds", self.bare_seconds, 0.0),
            ("hiccup_seconds", self.hiccup_seconds, 0.0),
        ] {
            let why = format!("from {least} to 30 days");
            require((least..=SECONDS_MAX).contains(&seconds), key, seconds, why)?;
        }
        self.check_load()?;
        backend::find(&self.exchange.backend)?;
        let gateways = self.exchange.gateways as usize;
        let why = "{}; with 0 the exchange thread has the sockets";
        within("exchange.gateways", gateways, 0..=GATEWAYS_MAX, why)?;
        let able = self.exchange.start;
        check_inject("exchange", &self.exchange.inject, able, "an exchange that it starts")?;
        self.ipc.check()?;
        self.endpoint.check()?;
        self.request.check()?;
        self.flow.check()?;
        let apart = self.seconds_between_bursts();
        let why = format!("bursts of ticks are {apart} s apart, and a run must see one");
        require(self.seconds >= apart, "seconds", self.seconds, why)?;
        self.feed.check()?;
        self.audit.check()?;
        self.strategy.check()?;
        within("trace", self.trace, 0..=TRACE_MAX, "{} of the worst ticks are kept")?;
        require(!self.subject.is_empty(), "subject", "[]", "there must be one")?;
        for (index, subject) in self.subject.iter().enumerate() {
            let (key, name) = (format!("subject.{index}.name"), &subject.name);
            require(is_plain(name), &key, name, plain)?;
            let is_free = !RESERVED.iter().any(|own| name.starts_with(own));
            require(is_free, &key, name, "floor…, bare… and hiccup… are tickpath's own names")?;
            let is_new = self.subject[..index].iter().all(|other| other.name != *name);
            require(is_new, &key, name, "two subjects have this name; give each its own")?;
            self.check_subject(subject)?;
        }
        Ok(())
    }

    /// Checks what depends on the kind.
    fn check_subject(&self, subject: &Subject) -> Result<(), ScenarioError> {
        let at = |key: &str| format!("subject.{}.{key}", subject.name);
        let (counts, why) = match self.kind {
            Kind::Ipc => (2..=2, "name the producer's core and the consumer's".to_owned()),
            Kind::Journal => (2..=2, "name the engine's core and the journal's".to_owned()),
            Kind::CoreToCore => {
                let why =
                    format!("a pair takes two cores, and {CORES_PAIRED_MAX} are paired at most");
                (2..=CORES_PAIRED_MAX, why)
            }
            _ => (1..=1, "it has one thread: name one core".to_owned()),
        };
        let cores = &subject.cores;
        let fits = !matches!(cores, Cores::List(list) if !counts.contains(&list.len()));
        require(fits, &at("cores"), cores, why)?;
        let is_own = subject.command.is_empty();
        match self.kind {
            Kind::OrderEntry | Kind::Tick | Kind::Network => {
                backend::find(&subject.backend)?;
                check_inject(
                    &format!("subject.{}", subject.name),
                    &subject.inject,
                    is_own,
                    "its own client",
                )?;
            }
            Kind::Ipc => {
                let (key, processes) = (at("processes"), subject.processes);
                let why = "its ends are in 1 process, or in 2";
                require((1..=2).contains(&processes), &key, processes, why)?;
                let why = "only tickpath's own client can be two processes";
                require(processes == 1 || is_own, &key, processes, why)?;
                if is_own {
                    let found = ipc::find_for(&subject.backend, subject.ends()[0]);
                    found.map_err(|error| OutOfRange { key: at("backend"), ..error })?;
                }
            }
            Kind::CoreToCore => {}
            Kind::Endpoint => {
                let has = ["spin", "block"].contains(&subject.backend.as_str());
                let why = "it polls a plain socket or sleeps on it: spin or block";
                require(has, &at("backend"), &subject.backend, why)?;
            }
            Kind::Engine | Kind::Soak | Kind::Journal => {
                if self.kind == Kind::Journal {
                    let modes: Vec<&str> = JOURNAL_MODES.iter().map(|(name, _)| *name).collect();
                    let why = format!("it is one of {}", modes.join(", "));
                    let mode = journal_mode(&subject.backend);
                    require(mode.is_some(), &at("backend"), &subject.backend, why)?;
                }
                self.check_workload(subject)?;
            }
        }
        Ok(())
    }

    /// A kind without connections has room for any number of accounts.
    fn check_load(&self) -> Result<(), ScenarioError> {
        match self.kind {
            Kind::Engine | Kind::Soak | Kind::Journal => {
                let connections = self.load.accounts.clamp(1, CONNECTIONS_MAX);
                Ok(Load { connections, ..self.load.clone() }.check()?)
            }
            Kind::OrderEntry | Kind::Ipc | Kind::CoreToCore | Kind::Endpoint | Kind::Network => {
                Ok(self.load.check()?)
            }
            Kind::Tick => self.check_flow(),
        }
    }

    /// The flow supplies the first instrument's book, and changes only that.
    fn check_flow(&self) -> Result<(), ScenarioError> {
        let (asked, book) = (&self.flow.instrument, &self.exchange.book);
        if let Some(first) = self.flow_instrument() {
            let why = format!("the flow is in the exchange's first instrument, which is {first}");
            require(first == *asked, "flow.instrument", asked, why)?;
        }
        let is_plain = !self.exchange.start || ["synthetic", "empty"].contains(&book.as_str());
        let why = "of ticks it is that of the other instruments, synthetic or empty; a file is named \
                   with flow.source";
        Ok(require(is_plain, "exchange.book", book, why)?)
    }

    /// Applies the checks of the engine's client, with the scenario's names of keys.
    fn check_workload(&self, subject: &Subject) -> Result<(), OutOfRange> {
        let is_open = self.rate_per_second_offered().is_some();
        engine_plan(self, subject).check().map(|_| ()).map_err(|bad| {
            let key = match (bad.key.as_str(), is_open) {
                ("row", _) => format!("subject.{}.backend", subject.name),
                ("accounts", _) => "load.accounts".to_owned(),
                ("warm_up_operations", _) => "warm_up_seconds, in operations".to_owned(),
                ("operations", true) => "seconds and warm_up_seconds, in operations".to_owned(),
                ("operations" | "passes", _) => format!("engine.{}", bad.key),
                (key, _) => key.to_owned(),
            };
            OutOfRange { key, ..bad }
        })
    }
}

fn check_inject(path: &str, inject: &Inject, able: bool, whom: &str) -> Result<(), OutOfRange> {
    inject.check().map_err(|error| error.below(path))?;
    let why = format!("tickpath can inject faults into {whom} only");
    require(able || inject.is_none(), &format!("{path}.inject"), inject, why)
}

fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=40).contains(&name.len()) && name.chars().all(plain)
}

//! `feed`: a feed on a schedule, into a book on one core. The rows are stacks below the book.

use crate::backend;
use crate::measure::checks::{self, key_of};
use crate::measure::measurement::{Measurement, Words};
use crate::process::feed::{BOOK, NORMALISE};
use crate::range::{OutOfRange, require};
use crate::scenario::{Scenario, ScenarioError};
use crate::tables::load::Model;
use crate::tables::subject::Subject;

/// The kind.
pub(crate) struct Feed;

/// Checks that the backend spins and takes datagrams, over this network and of this length.
fn check_backend(scenario: &Scenario, subject: &Subject) -> Result<(), OutOfRange> {
    let (key, name) = (key_of(subject, "backend"), &subject.backend);
    let takes = backend::spins(name) && backend::takes_datagrams(name);
    require(takes, &key, name, "the book's thread does nothing else: spin, af_xdp or dpdk")?;
    checks::interface(scenario, name)?;
    let bytes = scenario.feed.datagram_bytes as u64;
    checks::one_frame(scenario, &[name], ("feed.datagram_bytes", bytes), "")
}

impl Measurement for Feed {
    fn keys(&self, _model: Model) -> &'static [&'static str] {
        &[
            "warm_up_seconds",
            "seconds",
            "network",
            "load.rate_per_second",
            "load.seed",
            "feed.datagram_bytes",
            "feed.receive_buffer_bytes",
            "subject.scheduling",
            "subject.backend",
            "subject.queue",
        ]
    }

    fn replies(&self) -> &'static [&'static str] {
        &[BOOK]
    }

    fn series(&self) -> Vec<&'static str> {
        vec![BOOK, NORMALISE, "send"]
    }

    fn threads(&self) -> Option<usize> {
        Some(2)
    }

    fn has_schedule(&self, _scenario: &Scenario) -> bool {
        true
    }

    fn check(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.load.check()?;
        Ok(scenario.feed.check()?)
    }

    fn check_subject(&self, scenario: &Scenario, subject: &Subject) -> Result<(), ScenarioError> {
        checks::cores(subject, 2..=2, "name the source's core and the book's")?;
        checks::queue(&key_of(subject, "queue"), subject.queue, true, &subject.backend)?;
        Ok(check_backend(scenario, subject)?)
    }

    fn words(&self) -> Words {
        Words {
            messages: "messages",
            cores: "source and book on",
            ..Words::of_messages(&[
                "Recovery: a lost datagram ends the book, and each after it counts as 1 s.",
                "A strategy: the book is where a message ends.",
            ])
        }
    }
}

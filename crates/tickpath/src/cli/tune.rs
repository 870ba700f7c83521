//! The command line of `tickpath tune`, as data.

use crate::cli::shared::{Output, Settings};
use crate::cli::values::duration;
use ::tune::goal::Profile;
use ::tune::journal::STATE_DEFAULT;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Subcommand)]
pub(crate) enum TuneCommand {
    /// Show every setting: what it is and what would be better. Changes nothing, needs no root
    Inspect(InspectArguments),
    /// Show what `apply` would change, with reason and cost. Changes nothing
    Plan(PlanArguments),
    /// Change settings; a journal keeps the way back
    ///
    /// Writes a journal before each change, so that `revert` works after a crash and after a
    /// reboot. Merges into the boot loader's command line and never replaces it. Exits with 1 if
    /// a setting could not be changed.
    Apply(ApplyArguments),
    /// Check that what was applied holds, and that the kernel acts on it
    ///
    /// Compares each value, then watches the measured cores for a second: interrupts, idle states,
    /// the tick. Exits with 1 if something has drifted or has no effect.
    Verify(StateArguments),
    /// Take everything back to its exact previous bytes, from the journal
    Revert(RevertArguments),
    /// Show what was applied and what has drifted since. Exits with 1 if something has
    Status(StateArguments),
    /// Try each setting against none, in turns A B B A, and keep what helps
    ///
    /// Settings that can be switched while the machine runs are tried in order. Compares p50, p99
    /// and p99.9 of the main series, where they hold, and its noise share. Verdicts are corrected
    /// for all settings; those that help are confirmed together on fresh runs. The machine is as
    /// before afterwards. Exits with 4 if the confirmation shows nothing, 3 if the trial ended
    /// early.
    Trial(TrialArguments),
    /// Hold /dev/cpu_dma_latency open until the process ends
    #[command(hide = true)]
    Hold(HoldArguments),
}

#[derive(Args, Clone)]
pub(crate) struct GoalArguments {
    /// Purpose of the machine
    #[arg(long, value_name = "PROFILE", default_value_t = Profile::TickToTrade)]
    pub profile: Profile,
    /// Cores to keep free for the measured threads, such as 2,4-5; auto: two on the network
    /// interface's node
    #[arg(long, value_name = "LIST", default_value = "auto")]
    pub cores: host::Cores,
    /// Network interface that messages go through; can be repeated [default: all with hardware]
    #[arg(long, value_name = "NAME")]
    pub nic: Vec<String>,
}

#[derive(Args)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    pub goal: GoalArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub goal: GoalArguments,
    #[command(flatten)]
    pub choice: ChoiceArguments,
    /// Plan for the machine that this file describes (`inspect --json`)
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Clone, Default)]
pub(crate) struct ChoiceArguments {
    /// Only this setting, in the profile or not; can be repeated
    #[arg(long, value_name = "ID")]
    pub setting: Vec<String>,
    /// Touch no file on disk: everything is gone after a reboot
    #[arg(long, conflicts_with = "persist_only")]
    pub live_only: bool,
    /// Write only what takes effect with the next start, for an image
    #[arg(long)]
    pub persist_only: bool,
}

#[derive(Args)]
pub(crate) struct ApplyArguments {
    #[command(flatten)]
    pub goal: GoalArguments,
    #[command(flatten)]
    pub choice: ChoiceArguments,
    /// Apply the settings that this trial confirmed
    #[arg(long, value_name = "FILE", conflicts_with = "setting")]
    pub from_trial: Option<PathBuf>,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
    /// Action when a setting can't be changed
    #[arg(long, value_name = "WHAT", default_value = "go-on")]
    pub on_failure: FailureAction,
    /// Directory for the journal and the lock
    #[arg(long, value_name = "DIR", default_value = STATE_DEFAULT)]
    pub state: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum FailureAction {
    /// Report it and go on with the next
    GoOn,
    /// Take back what this apply has changed
    RollBack,
}

#[derive(Args)]
pub(crate) struct StateArguments {
    #[command(flatten)]
    pub goal: GoalArguments,
    /// Directory for the journal and the lock
    #[arg(long, value_name = "DIR", default_value = STATE_DEFAULT)]
    pub state: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct RevertArguments {
    /// Only this setting; can be repeated
    #[arg(long, value_name = "ID")]
    pub setting: Vec<String>,
    /// Also replace files that somebody has changed since
    #[arg(long)]
    pub force: bool,
    /// Directory for the journal and the lock
    #[arg(long, value_name = "DIR", default_value = STATE_DEFAULT)]
    pub state: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub(crate) struct TrialArguments {
    #[command(flatten)]
    pub goal: GoalArguments,
    /// A scenario that ships, or the path of a scenario file
    #[arg(long, value_name = "NAME", default_value = "order-to-ack")]
    pub scenario: String,
    #[command(flatten)]
    pub settings: Settings,
    /// Only this setting, in the profile or not; can be repeated
    #[arg(long, value_name = "ID")]
    pub setting: Vec<String>,
    /// Time for all settings and the confirmation, such as 90s, 10m or 2h
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "1h")]
    pub budget: Duration,
    /// Try the settings that need a reboot, all at once: measure, write the boot loader's files,
    /// and continue with --resume when the machine has been restarted
    #[arg(long, requires = "yes")]
    pub reboot: bool,
    /// Agree that --reboot changes files on disk
    #[arg(long, short)]
    pub yes: bool,
    /// Continue a trial with --reboot: measure again and compare
    #[arg(long, conflicts_with_all = ["reboot", "setting", "plant"])]
    pub resume: bool,
    /// A directory in place of the machine's files, for tests
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<PathBuf>,
    /// A setting of a test, and no other
    #[arg(long, value_name = "ID=FILE=VALUE", hide = true)]
    pub plant: Vec<String>,
    /// Directory for the journal and the lock
    #[arg(long, value_name = "DIR", default_value = STATE_DEFAULT)]
    pub state: PathBuf,
    #[command(flatten)]
    pub output: Output,
}

impl TrialArguments {
    /// No file on disk changes during a trial.
    pub(crate) fn choice(&self) -> ChoiceArguments {
        ChoiceArguments { setting: self.setting.clone(), live_only: true, persist_only: false }
    }
}

#[derive(Args)]
pub(crate) struct HoldArguments {
    /// Latency, us
    pub latency_us: u32,
}

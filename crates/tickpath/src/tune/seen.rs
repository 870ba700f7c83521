//! A machine as it was read, and the plan for it.

use crate::cli::{ChoiceArguments, GoalArguments};
use crate::tool::TOOL;
use ::tune::Inspection;
use ::tune::goal::Goal;
use ::tune::persist::{self, BootUnit};
use ::tune::survey::{Choice, Persistence, Surveyor};
use ::tune::system::Machine;
use anyhow::{Context, bail};
use clock::Clock;
use host::thread::allowed;
use host::{Root, capture};
use record::tune::{Step, Survey};

/// A machine as it was read.
pub(super) struct MachineReading {
    pub root: Root,
    pub machine: Machine,
    pub inspection: Inspection,
    pub goal: Goal,
}

impl MachineReading {
    /// This machine, or one that a snapshot shows.
    pub(super) fn read(root: Root, arguments: &GoalArguments) -> anyhow::Result<MachineReading> {
        let clock = Clock::calibrate();
        let usable = match root.is_system() {
            true => allowed()?,
            false => host::Topology::read(&root).online.unwrap_or_default(),
        };
        let fingerprint = capture(&root, &clock, None);
        let mut inspection = Inspection::read(&root, fingerprint, &[], &usable);
        let goal = Goal::find(&inspection, arguments.profile, &arguments.cores, &arguments.nic);
        let goal = goal.map_err(|why| anyhow::anyhow!("{why}"))?;
        inspection.cores.clone_from(&goal.cores);
        Ok(MachineReading { machine: Machine::new(root.clone()), root, inspection, goal })
    }

    pub(super) fn surveyor(&self) -> Surveyor<'_> {
        Surveyor {
            system: &self.machine,
            root: &self.root,
            seen: &self.inspection,
            goal: &self.goal,
            tool: TOOL,
        }
    }
}

/// The changes that the choice asks for.
pub(super) fn planned(seen: &MachineReading, choice: &ChoiceArguments) -> anyhow::Result<Survey> {
    let program = std::env::current_exe().context("cannot find the tickpath binary")?;
    if !choice.live_only && !persist::is_program(&program) {
        bail!("{} can't stand in a systemd unit; move it, or --live-only", program.display());
    }
    let is_built_here = program.parent().is_some_and(|folder| folder.join(".fingerprint").is_dir());
    let choice = Choice {
        ids: choice.setting.clone(),
        lasting: match (choice.live_only, choice.persist_only) {
            (true, _) => Persistence::LiveOnly,
            (_, true) => Persistence::PersistOnly,
            _ => Persistence::Always,
        },
        start: BootUnit { program: program.display().to_string(), ids: choice.setting.clone() },
    };
    let plan = seen.surveyor().plan(&choice).map_err(|why| anyhow::anyhow!("{why}"))?;
    let runs_at_boot = |step: &Step| step.place.ends_with("/tickpath-tune.service");
    if is_built_here && plan.persistence.iter().any(runs_at_boot) {
        eprintln!(
            "warning: after a reboot the unit runs {}, which the next `cargo clean` removes: copy the \
             program to /usr/local/bin and plan with that one",
            program.display()
        );
    }
    Ok(plan)
}

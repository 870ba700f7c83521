//! Moves the interrupts of a network interface for one run, and back. `tune`'s journal keeps the
//! way back, so that `tickpath tune revert` finds it if this process is killed.

use host::Root;
use host::topology::format_core_list;
use record::tune::{SettingState, Step, Survey};
use std::path::Path;
use tune::apply::{OnFailure, apply};
use tune::journal::Journal;
use tune::revert::{StepSelection, revert};
use tune::system::Machine;

/// The setting in the journal.
const ID: &str = "irq-topology";

/// Moved interrupts; they go back when this is dropped.
pub(crate) struct SteeredInterrupts {
    root: Root,
    journal: Journal,
}

impl SteeredInterrupts {
    /// Gives each interrupt one of `cores`, in turn.
    pub(crate) fn steer(
        root: &Root,
        state: &Path,
        interrupts: &[String],
        cores: &[usize],
    ) -> Result<SteeredInterrupts, String> {
        let journal = Journal::open(state).map_err(|error| error.to_string())?;
        let mut steered = SteeredInterrupts { root: root.clone(), journal };
        let step = |(turn, id): (usize, &String)| {
            let path = format!("/proc/irq/{id}/smp_affinity_list");
            let core = cores.get(turn % cores.len().max(1)).copied();
            Step {
                before: root.read_text(&path),
                after: Some(format_core_list(core.as_slice())),
                place: format!("kernel:{path}"),
            }
        };
        let steps = interrupts.iter().enumerate().map(step).collect();
        let settings = vec![SettingState { id: ID.to_owned(), steps, ..SettingState::default() }];
        let plan = Survey { settings, ..Survey::default() };
        let mut machine = Machine::new(root.clone());
        let outcomes = apply(&mut machine, root, &mut steered.journal, &plan, OnFailure::RollBack)
            .map_err(|error| error.to_string())?;
        match outcomes.iter().find(|one| one.outcome == "failed") {
            None => Ok(steered),
            Some(one) => Err(format!("{} can't be moved: {}", one.place, one.detail)),
        }
    }
}

impl Drop for SteeredInterrupts {
    fn drop(&mut self) {
        let mut machine = Machine::new(self.root.clone());
        let ours = StepSelection::Settings(vec![ID.to_owned()]);
        // A step that can't go back stays in the journal, and `tune status` shows it.
        let _ = revert(&mut machine, &self.root, &mut self.journal, &ours, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn interrupts_go_there_and_back() {
        let at = tempfile::tempdir().unwrap();
        let root = Root::at(at.path().join("root"));
        let file = |id: &str| root.path(format!("proc/irq/{id}/smp_affinity_list"));
        for id in ["40", "41", "42"] {
            fs::create_dir_all(file(id).parent().unwrap()).unwrap();
            fs::write(file(id), "4-7\n").unwrap();
        }
        let read = |id: &str| fs::read_to_string(file(id)).unwrap().trim().to_owned();
        let ids = ["40", "41", "42"].map(str::to_owned);
        let state = at.path().join("state");
        let steered = SteeredInterrupts::steer(&root, &state, &ids, &[1, 2]).unwrap();
        assert_eq!(ids.each_ref().map(|id| read(id)), ["1", "2", "1"]);
        drop(steered);
        assert_eq!(ids.each_ref().map(|id| read(id)), ["4-7", "4-7", "4-7"]);
        let missing = ["99".to_owned()];
        assert!(SteeredInterrupts::steer(&root, &state, &missing, &[1]).is_err());
    }
}

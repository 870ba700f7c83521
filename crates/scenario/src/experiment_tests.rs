use super::*;
use record::Subject;

/// A command that writes a mark to a log and prints a record.
fn treatment(directory: &Path, name: &str, valid: &str) -> Treatment {
    let record = serde_json::json!({"schema": 2, "tool": "test", "scenario": name,
        "complete": true, "void_because": "WHY", "runs": 1, "warnings": [], "subjects": [Subject::default()]});
    let because = if valid == "true" { "[]" } else { "[\"noise\"]" };
    let text = record.to_string().replace("\"WHY\"", because);
    let log = directory.join("log");
    let line = format!("printf {name} >> '{}'; echo '{text}'", log.display());
    Treatment::Command { line, sets: Vec::new() }
}

fn made<const N: usize>(rounds: u32, valid: [&str; N], takes_void: bool) -> (Rounds, String) {
    let directory = tempfile::tempdir().unwrap();
    let treatments: Vec<Treatment> = Side::all(N)
        .zip(valid)
        .map(|(side, valid)| treatment(directory.path(), side.name(), valid))
        .collect();
    let experiment = Experiment {
        treatments: &treatments.iter().collect::<Vec<_>>(),
        rounds,
        directory: directory.path(),
        takes_void,
        deadline: None,
        switch: None,
    };
    let made = experiment.carry_out(&Interrupt::default(), None).unwrap();
    (made, std::fs::read_to_string(directory.path().join("log")).unwrap())
}

#[test]
fn runs_come_in_turns() {
    let (rounds, order) = made(4, ["true", "true"], false);
    assert_eq!(order, "abbaabba");
    let names = |rounds: &Rounds, side: Side| -> String {
        rounds.of(side).iter().map(|one| one.record.scenario.as_str()).collect()
    };
    assert_eq!(Side::all(2).map(|side| names(&rounds, side)).collect::<Vec<_>>(), ["aaaa", "bbbb"]);
    let (rounds, order) = made(3, ["true", "true", "true"], false);
    assert_eq!(order, "abccbaabc");
    assert_eq!(
        Side::all(3).map(|side| names(&rounds, side)).collect::<Vec<_>>(),
        ["aaa", "bbb", "ccc"]
    );
}

/// The environment brings the settings, and every record ends up beside the others.
#[test]
fn a_command_gets_its_settings_and_its_record_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let record = serde_json::json!({"schema": 2, "tool": "test", "scenario": "NAME",
        "complete": true, "void_because": [], "runs": 1, "warnings": [], "subjects": []});
    let line = format!("echo '{record}' | sed \"s/NAME/$(echo $TICKPATH_SET | tr ' =.' '---')/\"");
    let command = Treatment::Command { line, sets: vec!["load.x=2".to_owned()] };
    let experiment = Experiment {
        treatments: &[&command, &command],
        rounds: 1,
        directory: directory.path(),
        takes_void: false,
        deadline: None,
        switch: None,
    };
    let made = experiment.carry_out(&Interrupt::default(), None).unwrap();
    assert_eq!(made.of(Side::A)[0].record.scenario, "runs-1-load-x-2");
    assert!(made.of(Side::A)[0].path.starts_with(directory.path().join("a")));
    assert!(made.of(Side::B)[0].path.join("run.json").is_file());
}

#[test]
fn no_round_begins_after_the_deadline() {
    let directory = tempfile::tempdir().unwrap();
    let treatment = treatment(directory.path(), "a", "true");
    let made = |seconds: u64| {
        let deadline = Deadline::after(Duration::from_secs(seconds));
        let experiment = Experiment {
            treatments: &[&treatment, &treatment],
            rounds: 2,
            directory: directory.path(),
            takes_void: false,
            deadline: Some(&deadline),
            switch: None,
        };
        experiment.carry_out(&Interrupt::default(), None).unwrap().count()
    };
    assert_eq!((made(0), made(3_600)), (0, 2));
}

#[test]
fn void_rounds_are_made_again_but_not_for_ever() {
    let (rounds, order) = made(3, ["true", "false"], false);
    assert_eq!((rounds.count(), rounds.void_because.len()), (0, 3));
    let void = Side::all(2).map(|side| rounds.void_of(side).len());
    assert_eq!(void.collect::<Vec<_>>(), [3, 3]);
    assert_eq!(order.len(), 6);
    assert!(rounds.void_because[0].contains("pair 1, b: noise"));
    assert_eq!(made(3, ["true", "false"], true).0.count(), 3);
    let three = made(1, ["true", "true", "false"], false).0.void_because;
    assert_eq!(three, ["round 1, c: noise"]);
}

/// A command that fails in its second run: the first round and the error are kept.
#[test]
fn what_was_made_before_something_broke_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let good = treatment(directory.path(), "a", "true");
    let Treatment::Command { line, sets } = treatment(directory.path(), "b", "true") else {
        unreachable!()
    };
    let once = directory.path().join("once");
    let once = once.display();
    let breaks = Treatment::Command {
        line: format!("test -e '{once}' && exit 9; touch '{once}'; {line}"),
        sets,
    };
    let experiment = Experiment {
        treatments: &[&good, &breaks],
        rounds: 5,
        directory: directory.path(),
        takes_void: false,
        deadline: None,
        switch: None,
    };
    let made = experiment.carry_out(&Interrupt::default(), None).unwrap();
    assert_eq!(made.count(), 1);
    assert!(made.failure.unwrap().contains("exit status: 9"));
}

#[test]
fn a_command_that_prints_no_record_is_told_what_to_print() {
    let directory = tempfile::tempdir().unwrap();
    let line = "echo hello; echo why >&2; exit 7".to_owned();
    let broken = Treatment::Command { line, sets: Vec::new() };
    let experiment = Experiment {
        treatments: &[&broken, &broken],
        rounds: 1,
        directory: directory.path(),
        takes_void: false,
        deadline: None,
        switch: None,
    };
    let error = experiment.carry_out(&Interrupt::default(), None).err().unwrap();
    let error = error.to_string();
    for word in ["tickpath run --json", "exit status: 7", "why"] {
        assert!(error.contains(word), "no {word:?} in {error}");
    }
}

//! Colour: where a terminal or the user asks for it, and never in JSON.

use crate::support::*;

const ESCAPE: char = '\u{1b}';

/// Output of a dry run with these arguments and variables.
fn shown(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = tickpath();
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM"] {
        command.env_remove(name);
    }
    command.envs(environment.iter().copied()).args(["run", "--dry-run"]).args(arguments);
    text(&command.output().unwrap().stdout)
}

#[test]
fn colour_is_for_terminals_or_those_who_ask() {
    let has = |arguments: &[&str], environment: &[(&str, &str)]| {
        shown(arguments, environment).contains(ESCAPE)
    };
    assert!(!has(&[], &[]), "a pipe has no colour");
    assert!(has(&["--color", "always"], &[]));
    assert!(has(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!has(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(has(&["--color", "always"], &[("NO_COLOR", "1")]), "the command line wins");
    let json = shown(&["--color", "always", "--json"], &[]);
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

#[test]
fn an_error_is_red_where_asked() {
    let mut command = tickpath();
    command.args(["run", "--dry-run", "no-such-scenario", "--color"]);
    let always = text(&command.arg("always").output().unwrap().stderr);
    assert!(always.contains(ESCAPE) && always.contains("error:"), "{always:?}");
    let plain = text(&output(&["run", "--dry-run", "no-such-scenario"]).stderr);
    assert!(plain.starts_with("error: "), "{plain:?}");
}

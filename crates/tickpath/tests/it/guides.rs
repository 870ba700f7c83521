//! The commands that README and the guides show are commands of this tickpath: a user copies them.

use crate::support::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command lines in the fenced blocks of `page`, from `tickpath` on, without the words that
/// explain them.
fn commands(page: &str) -> Vec<String> {
    let (mut is_fenced, mut begun, mut commands) = (false, String::new(), Vec::new());
    for line in page.lines().map(str::trim) {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            continue;
        }
        let line = format!("{begun}{}", line.trim_start_matches("$ "));
        begun.clear();
        if !is_fenced {
            continue;
        }
        if let Some(start) = line.strip_suffix('\\') {
            begun = format!("{} ", start.trim_end());
            continue;
        }
        let line = line.strip_prefix("sudo ").unwrap_or(&line);
        let Some(words) = line.strip_prefix("tickpath ") else { continue };
        // A key of a configuration file.
        if words.starts_with("= ") {
            continue;
        }
        let ends = ["  ", " #", " |", " >", " &"].map(|end| words.find(end)).into_iter().flatten();
        commands.push(words[..ends.min().unwrap_or(words.len())].to_owned());
    }
    commands
}

#[test]
fn a_page_has_the_commands_of_its_blocks() {
    let page = "tickpath not here\n```\n$ sudo tickpath run  said\ntickpath compare \\\n  a b # c\n\
                other tickpath\ntickpath report 'a b' > x\n```\ntickpath nor here\n";
    assert_eq!(commands(page), ["run", "compare a b", "report 'a b'"]);
}

/// `--help` at the end is obeyed only if all that stands before it is known.
#[test]
fn every_command_in_a_guide_is_accepted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guides = std::fs::read_dir(root.join("docs/guide")).unwrap();
    let mut pages: Vec<PathBuf> = guides.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.push(root.join("README.md"));
    let (mut seen, mut wrong) = (0, Vec::new());
    for page in pages {
        let read = std::fs::read_to_string(&page).unwrap();
        // `tickpath cloud` is another program, with tests of its own.
        for words in commands(&read).iter().filter(|words| !words.starts_with("cloud")) {
            let line = format!("exec {} {words} --help", env!("CARGO_BIN_EXE_tickpath"));
            let mut shell = Command::new("sh");
            // The name of a file that a CI system sets.
            shell.args(["-c", &line]).env("GITHUB_STEP_SUMMARY", "summary.md");
            let done = shell.output().unwrap();
            seen += 1;
            if !done.status.success() {
                wrong.push(format!("{}: {words}: {}", page.display(), text(&done.stderr)));
            }
        }
    }
    assert!(seen > 50, "only {seen} commands were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Manual pages, completions and the command reference, all from the definition of the command
//! line.

use crate::cli::{Cli, CompletionsArguments, ManArguments};
use crate::exit::DONE;
use anyhow::Context;
use clap::CommandFactory;
use std::fs;
use std::io;

/// Writes a page per command, those in `--help` only.
///
/// # Errors
/// If the directory can't be made or a page not be written.
pub(crate) fn man(arguments: &ManArguments) -> anyhow::Result<u8> {
    let out = &arguments.out;
    fs::create_dir_all(out)
        .with_context(|| format!("cannot create {}; choose another --out", out.display()))?;
    clap_mangen::generate_to(Cli::command(), out)
        .with_context(|| format!("cannot write to {}; choose another --out", out.display()))?;
    eprintln!("man pages are in {0}: try `man -l {0}/tickpath.1`", out.display());
    Ok(DONE)
}

/// Prints a script that the shell reads.
pub(crate) fn completions(arguments: &CompletionsArguments) -> u8 {
    clap_complete::generate(arguments.shell, &mut Cli::command(), "tickpath", &mut io::stdout());
    DONE
}

/// `docs/guide/commands.md`: the help of every command that `--help` lists.
#[cfg(test)]
fn reference() -> String {
    use std::fmt::Write;
    let mut page = "# Commands\n\nGenerated from the command line's definition by \
        `UPDATE_EXPECT=1 cargo test -p tickpath manual`.\n"
        .to_owned();
    let mut cli = Cli::command().term_width(98);
    cli.build();
    let _ = write!(page, "\n```\n{}```\n", trimmed(&cli.render_long_help().to_string()));
    for command in cli.get_subcommands_mut() {
        if command.is_hide_set() || command.get_name() == "help" {
            continue;
        }
        let help = trimmed(&command.render_long_help().to_string());
        let _ = write!(page, "\n## tickpath {}\n\n```\n{help}```\n", command.get_name());
    }
    page
}

/// Without spaces at the ends of lines.
#[cfg(test)]
fn trimmed(help: &str) -> String {
    help.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    #[test]
    fn the_command_reference_is_current() {
        expect_file!["../../../docs/guide/commands.md"].assert_eq(&reference());
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_manual_page_is_written_for_each_command() {
        let out = tempfile::tempdir().unwrap();
        man(&ManArguments { out: out.path().to_owned() }).unwrap();
        let page = fs::read_to_string(out.path().join("tickpath-run.1")).unwrap();
        assert!(page.contains("Measure a scenario and write a run record"), "{page}");
        assert!(out.path().join("tickpath.1").exists());
    }
}

//! The command lines in one file or group of files, as their loader composes them.
//!
//! - GRUB's defaults: `/etc/default/grub`, then `/etc/default/grub.d/*.cfg`, read by a shell.
//! - Boot Loader Specification (GRUB with `blscfg`, systemd-boot): `options` lines of an entry,
//!   combined in order.
//! - A generated `grub.cfg`: the lines `linux …`, so that no generator has to run.
//! - `/etc/kernel/cmdline`, for entries that kernel-install will write.

use std::collections::BTreeMap;

use super::MARK;
use super::line::{CommandLine, Insertion, Letter, plain};
use super::shell::{Script, Variables};

const DEFAULTS: &str = "GRUB_CMDLINE_LINUX_DEFAULT";
const ALWAYS: &str = "GRUB_CMDLINE_LINUX";
/// Our file in `/etc/default/grub.d`: cloud images overwrite the line in `/etc/default/grub`.
pub(super) const DROP_IN: &str = "etc/default/grub.d/99-tickpath.cfg";

/// How files become command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loader {
    /// Shell files with GRUB's variables.
    GrubDefaults {
        /// Whether the shell has `+=`: bash has, dash does not.
        has_append: bool,
    },
    /// A generated `grub.cfg`.
    GrubConfig,
    /// An entry of the Boot Loader Specification.
    Entry,
    /// The whole file, without its comments.
    Plain,
}

/// A file of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootFile {
    /// Its path without the leading `/`.
    pub path: String,
    /// Its text; `None` if it does not exist yet.
    pub text: Option<String>,
}

impl Loader {
    /// The command lines in the files.
    ///
    /// # Errors
    /// Why they can't be told, with file and line.
    pub(crate) fn command_lines(
        self,
        files: &[BootFile],
        environment: &BTreeMap<String, String>,
    ) -> Result<Vec<CommandLine>, String> {
        let text = files.first().and_then(|file| file.text.as_deref()).unwrap_or_default();
        Ok(match self {
            Loader::GrubDefaults { has_append } => vec![grub_defaults(files, has_append)?],
            Loader::GrubConfig => grub_config(text, environment),
            Loader::Entry => entry(text, environment).into_iter().collect(),
            Loader::Plain => vec![whole(text)],
        })
    }
}

fn insertion(at: usize, before: &str, after: &str) -> Insertion {
    Insertion { file: 0, open: None, at, before: before.to_owned(), after: after.to_owned() }
}

/// A space in front of new words, unless there is one or nothing stands there.
fn space(letters: &[Letter]) -> &'static str {
    match letters.last() {
        None => "",
        Some(last) if last.char.is_ascii_whitespace() => "",
        Some(_) => " ",
    }
}

/// GRUB starts a kernel with `$GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT` (10_linux).
fn grub_defaults(files: &[BootFile], has_append: bool) -> Result<CommandLine, String> {
    let names: Vec<String> = files.iter().map(|file| format!("/{}", file.path)).collect();
    let scripts: Vec<Script<'_>> = files
        .iter()
        .zip(&names)
        .map(|(file, name)| Script { name, text: file.text.as_deref().unwrap_or_default() })
        .collect();
    let variables = Variables::of(&scripts, has_append, &[DEFAULTS, ALWAYS]);
    let (defaults, always) = (variables.get(DEFAULTS)?, variables.get(ALWAYS)?);
    let value = |variable: Option<&super::shell::Variable>| {
        variable.and_then(|variable| variable.value.clone().ok()).unwrap_or_default()
    };
    let (name, target) = match (defaults, always) {
        (None, Some(always)) => (ALWAYS, Some(always)),
        (defaults, _) => (DEFAULTS, defaults),
    };
    let drop_in = files.iter().position(|file| file.path == DROP_IN && file.text.is_none());
    let lead = space(&value(target)).to_owned();
    let insertion = match (drop_in, target) {
        // A later file that sets the variable again would win: then the words go there.
        (Some(file), target) if target.is_none_or(|target| target.insertion.file < file) => {
            let before = format!("{MARK}\n{name}=\"${name}{lead}");
            Insertion { file, ..insertion(0, &before, "\"\n") }
        }
        (_, Some(target)) => {
            let Insertion { before, .. } = &target.insertion;
            Insertion { before: format!("{before}{lead}"), ..target.insertion.clone() }
        }
        (_, None) => {
            let text = scripts.first().map_or("", |script| script.text);
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            insertion(text.len(), &format!("{newline}{name}=\""), "\"\n")
        }
    };
    let between = Letter { char: ' ', spot: None };
    let letters = [value(always), vec![between], value(defaults)].concat();
    Ok(CommandLine { letters, insertion })
}

/// Lines of a file with the offset of each, without line ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |whole| {
        let at = start;
        start += whole.len();
        (at, whole.trim_end_matches(['\n', '\r']))
    })
}

/// A value in a file, with GRUB's variables expanded as far as its environment has them.
fn expanded(text: &str, start: usize, environment: &BTreeMap<String, String>) -> Vec<Letter> {
    let mut letters = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let at = start + text.len() - rest.len();
        let name = rest.strip_prefix('$').map(|behind| {
            let behind = behind.strip_prefix('{').unwrap_or(behind);
            let is_end = |one: char| !(one.is_ascii_alphanumeric() || one == '_');
            &behind[..behind.find(is_end).unwrap_or(behind.len())]
        });
        let length = match name.and_then(|name| Some((name, environment.get(name)?))) {
            Some((name, value)) => {
                letters.extend(value.chars().map(|char| Letter { char, spot: None }));
                if rest[1..].starts_with('{') { name.len() + 3 } else { name.len() + 1 }
            }
            None => {
                letters.extend(plain(&rest[..first.len_utf8()], 0, at));
                first.len_utf8()
            }
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    letters
}

/// An entry whose `options` have the value in place of a variable; `None` if they don't use it.
pub(super) fn with_variable(text: &str, name: &str, value: &str) -> Option<String> {
    let mut written = String::with_capacity(text.len() + value.len());
    let mut is_used = false;
    for line in text.split_inclusive('\n') {
        if entry_value(line, "options").is_none() {
            written.push_str(line);
            continue;
        }
        let mut rest = line;
        while let Some(at) = rest.find('$') {
            let (before, variable) = rest.split_at(at);
            written.push_str(before);
            let is_end = |one: char| !(one.is_ascii_alphanumeric() || one == '_');
            let braced = format!("${{{name}}}");
            let plain = variable[1..].find(is_end).map_or(variable, |end| &variable[..=end]);
            let length = match variable.starts_with(&braced) {
                true => braced.len(),
                false if &plain[1..] == name => plain.len(),
                false => 0,
            };
            is_used |= length > 0;
            written.push_str(if length > 0 { value } else { "$" });
            rest = &variable[length.max(1)..];
        }
        written.push_str(rest);
    }
    is_used.then_some(written)
}

/// Lines that start a kernel normally: rescue entries stay as they are.
fn grub_config(text: &str, environment: &BTreeMap<String, String>) -> Vec<CommandLine> {
    let of_line = |(start, line): (usize, &str)| {
        let mut words = line.split_whitespace();
        let is_kernel = matches!(words.next(), Some("linux" | "linux16" | "linuxefi"));
        let kernel = words.next().filter(|_| is_kernel)?;
        if words.any(|word| matches!(word, "single" | "recovery" | "rescue")) {
            return None;
        }
        let arguments = line.find(kernel)? + kernel.len();
        let letters = expanded(&line[arguments..], start + arguments, environment);
        let end = start + line.trim_end().len();
        Some(CommandLine { letters, insertion: insertion(end, " ", "") })
    };
    lines(text).filter_map(of_line).collect()
}

/// The value of a line with this key: the first word, which white space ends.
fn entry_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let value = line.trim_start().strip_prefix(key)?;
    (value.is_empty() || value.starts_with([' ', '\t'])).then(|| value.trim_start())
}

/// `None` if the entry starts no Linux kernel.
fn entry(text: &str, environment: &BTreeMap<String, String>) -> Option<CommandLine> {
    let mut letters: Vec<Letter> = Vec::new();
    let mut last = None;
    let mut kernel = None;
    for (start, line) in lines(text) {
        if let Some(value) = entry_value(line, "options") {
            let value = value.trim_end();
            let at = start + line.trim_end().len() - value.len();
            if !letters.is_empty() {
                letters.push(Letter { char: ' ', spot: None });
            }
            letters.extend(expanded(value, at, environment));
            last = Some((at + value.len(), space(&letters)));
        }
        if entry_value(line, "linux").is_some() {
            kernel = Some(start + line.len());
        }
    }
    let insertion = match (last, kernel) {
        (Some((at, _)), _) if text[..at].ends_with("options") => insertion(at, " ", ""),
        (Some((at, space)), _) => insertion(at, space, ""),
        (None, Some(at)) => insertion(at, "\noptions ", ""),
        (None, None) => return None,
    };
    Some(CommandLine { letters, insertion })
}

/// All lines that are no comments.
fn whole(text: &str) -> CommandLine {
    let mut letters: Vec<Letter> = Vec::new();
    let mut end = None;
    for (start, line) in lines(text).filter(|(_, line)| !line.trim_start().starts_with('#')) {
        if !letters.is_empty() {
            letters.push(Letter { char: ' ', spot: None });
        }
        letters.extend(plain(line, 0, start));
        if !line.trim().is_empty() || end.is_none() {
            end = Some((start + line.trim_end().len(), line.trim().is_empty()));
        }
    }
    let insertion = match end {
        Some((at, true)) => insertion(at, "", ""),
        Some((at, false)) => insertion(at, " ", ""),
        None if text.is_empty() || text.ends_with('\n') => insertion(text.len(), "", "\n"),
        None => insertion(text.len(), "\n", "\n"),
    };
    CommandLine { letters, insertion }
}

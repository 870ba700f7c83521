//! The kernel's command line in the configuration of boot loaders: merges words into it, and keeps
//! everything else byte for byte.
//!
//! - GRUB: `/etc/default/grub`, or a file of ours in `/etc/default/grub.d` (cloud images overwrite
//!   the line there); and the generated `grub.cfg`, so that no generator has to run.
//! - Boot Loader Specification (GRUB with `blscfg`, systemd-boot): `loader/entries/*.conf`, and
//!   `/etc/kernel/cmdline` for kernels that are installed later.

use host::Root;
use host::topology::{format_core_list, parse_core_list};

use crate::place::Place;

/// The format of a file with the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loader {
    /// `GRUB_CMDLINE_LINUX_DEFAULT="…"`, a shell's assignment.
    GrubDefaults,
    /// A file of ours that is read after others and appends to the same variable.
    GrubDropIn,
    /// Lines `linux /vmlinuz…` of a generated `grub.cfg`.
    GrubConfig,
    /// The line `options …`.
    Entry,
    /// The whole file.
    Plain,
}

/// The first line of all of our files.
pub const MARK: &str = "# Written by tickpath tune. `tickpath tune revert` takes it back.";
const DEFAULTS: &str = "GRUB_CMDLINE_LINUX_DEFAULT";
const ALWAYS: &str = "GRUB_CMDLINE_LINUX";
const DROP_IN: &str = "etc/default/grub.d/99-tickpath.cfg";

/// Every file from which this machine's loaders may read the command line; empty if none is known.
pub fn files(root: &Root) -> Vec<(Place, Loader)> {
    let text = |path: &str| Place::Text(format!("/{path}"));
    let mut found = Vec::new();
    for directory in ["boot/loader/entries", "efi/loader/entries", "boot/efi/loader/entries"] {
        let names = root.names(directory).unwrap_or_default();
        let names = names.iter().filter(|name| name.ends_with(".conf"));
        found.extend(
            names
                .filter(|name| !name.contains("rescue"))
                .map(|name| (text(&format!("{directory}/{name}")), Loader::Entry)),
        );
    }
    for path in ["boot/grub/grub.cfg", "boot/grub2/grub.cfg"] {
        let holds_kernels = |config: String| config.lines().any(is_kernel);
        if root.read(path).is_some_and(holds_kernels) {
            found.push((text(path), Loader::GrubConfig));
        }
    }
    if found.is_empty() {
        return found;
    }
    // For kernels that are installed later.
    match (root.exists("etc/default/grub.d"), root.exists("etc/default/grub")) {
        (true, true) => found.push((text(DROP_IN), Loader::GrubDropIn)),
        (false, true) => found.push((text("etc/default/grub"), Loader::GrubDefaults)),
        (_, false) => {}
    }
    if root.exists("etc/kernel/cmdline") {
        found.push((text("etc/kernel/cmdline"), Loader::Plain));
    }
    found
}

impl Loader {
    /// A file's text with `words` in its command lines. Merging again changes nothing.
    pub fn merge(self, text: &str, words: &[String]) -> String {
        match self {
            Loader::Plain => merged(text, words),
            Loader::Entry => {
                each_line(text, |line| self.options(line).map(|at| (at, words.to_vec())))
            }
            Loader::GrubConfig => {
                each_line(text, |line| is_kernel(line).then(|| (line.len(), words.to_vec())))
            }
            Loader::GrubDefaults => grub_defaults(text, words),
            Loader::GrubDropIn if text.is_empty() => {
                let empty = format!("{MARK}\n{DEFAULTS}=\"${DEFAULTS}\"\n");
                grub_defaults(&empty, words)
            }
            Loader::GrubDropIn => grub_defaults(text, words),
        }
    }

    fn options(self, line: &str) -> Option<usize> {
        let rest = line.trim_start().strip_prefix("options")?;
        rest.starts_with([' ', '\t']).then_some(line.len())
    }
}

/// Whether a line starts a kernel normally: rescue entries stay as they are.
fn is_kernel(line: &str) -> bool {
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("linux" | "linux16" | "linuxefi"))
        && !words.any(|word| matches!(word, "single" | "recovery" | "rescue"))
}

/// Merges into the lines for which `of` returns the end of the command line and the words.
fn each_line(text: &str, of: impl Fn(&str) -> Option<(usize, Vec<String>)>) -> String {
    let merge = |whole: &str| {
        let line = whole.trim_end_matches(['\n', '\r']);
        match of(line) {
            Some((end, words)) => {
                format!("{}{}", merged(&whole[..end], &words), &whole[end..])
            }
            None => whole.to_owned(),
        }
    };
    text.split_inclusive('\n').map(merge).collect()
}

/// A word whose key exists is merged there; the others go to the variable for normal starts.
fn grub_defaults(text: &str, words: &[String]) -> String {
    let quoted = |line: &str, name: &str| -> Option<(usize, usize)> {
        let rest = line.strip_prefix(name)?.strip_prefix('=')?;
        let quote = rest.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let start = line.len() - rest.len() + 1;
        let end = line.rfind(quote).filter(|end| *end >= start)?;
        Some((start, end))
    };
    let holds = |name: &str, key: &str| {
        text.lines().any(|line| {
            quoted(line, name)
                .is_some_and(|(start, end)| last_word(&line[start..end], key).is_some())
        })
    };
    let has_defaults = text.lines().any(|line| quoted(line, DEFAULTS).is_some());
    let has_always = text.lines().any(|line| quoted(line, ALWAYS).is_some());
    let target = if has_defaults || !has_always { DEFAULTS } else { ALWAYS };
    let place = |word: &&String| match holds(ALWAYS, key(word)) {
        true => ALWAYS,
        false => target,
    };
    let of_line = |whole: &str| -> Option<String> {
        let name = [DEFAULTS, ALWAYS].into_iter().find(|name| quoted(whole, name).is_some())?;
        let (start, end) = quoted(whole, name)?;
        let words: Vec<String> = words.iter().filter(|word| place(word) == name).cloned().collect();
        Some(format!("{}{}{}", &whole[..start], merged(&whole[start..end], &words), &whole[end..]))
    };
    let mut out: String = text
        .split_inclusive('\n')
        .map(|line| of_line(line).unwrap_or_else(|| line.to_owned()))
        .collect();
    if !has_defaults && !has_always && !words.is_empty() {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out += &format!("{DEFAULTS}=\"{}\"\n", words.join(" "));
    }
    out
}

fn key(word: &str) -> &str {
    word.split_once('=').map_or(word, |(key, _)| key)
}

/// Position of the last word with this key; words end at spaces outside of quotes.
fn last_word(line: &str, wanted: &str) -> Option<(usize, usize)> {
    let mut found = None;
    let (mut start, mut is_quoted) = (None, false);
    // A quote without a partner is no quote.
    let has_pairs = line.matches('"').count().is_multiple_of(2);
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        if c == '"' && has_pairs {
            is_quoted = !is_quoted;
        }
        match (start, c.is_whitespace() && (!is_quoted || at == line.len())) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                if key(&line[from..at]) == wanted {
                    found = Some((from, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// The line with the words merged: in place of the same key, or after everything else.
fn merged(line: &str, words: &[String]) -> String {
    let mut line = line.to_owned();
    for word in words {
        match last_word(&line, key(word)) {
            Some((start, end)) => {
                let united = united(&line[start..end], word);
                line.replace_range(start..end, &united);
            }
            None => {
                let end = line.trim_end_matches(['\n', '\r', ' ', '\t']).len();
                let space = if end == 0 { "" } else { " " };
                line.insert_str(end, &format!("{space}{word}"));
            }
        }
    }
    line
}

/// Lists of cores are united, so that all cores stay in them; other values are replaced.
fn united(old: &str, new: &str) -> String {
    let lists = ["isolcpus", "nohz_full", "rcu_nocbs"];
    let name = key(new);
    let (Some((_, old_value)), Some((_, new_value))) = (old.split_once('='), new.split_once('='))
    else {
        return new.to_owned();
    };
    if !lists.contains(&name) {
        return new.to_owned();
    }
    let is_flag = |part: &&str| part.starts_with(|c: char| c.is_ascii_alphabetic());
    let mut flags: Vec<&str> = Vec::new();
    let mut cores = Vec::new();
    for value in [old_value, new_value] {
        for part in value.split(',') {
            if is_flag(&part) {
                if !flags.contains(&part) {
                    flags.push(part);
                }
            } else if let Some(list) = parse_core_list(part) {
                cores.extend(list);
            } else {
                // Keep a value that we can't parse.
                return old.to_owned();
            }
        }
    }
    if flags.contains(&"all") {
        return format!("{name}=all");
    }
    flags.push("");
    flags.retain(|flag| !flag.is_empty());
    let cores = format_core_list(&cores);
    let parts: Vec<&str> = flags.into_iter().chain([cores.as_str()]).collect();
    format!("{name}={}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn words_are_added_united_or_replaced() {
        let line = "root=UUID=1 ro isolcpus=managed_irq,1 foo=\"a b\" skew_tick=0 quiet\n";
        let new = words("isolcpus=domain,managed_irq,2-3 nohz_full=2-3 skew_tick=1");
        assert_eq!(
            merged(line, &new),
            "root=UUID=1 ro isolcpus=managed_irq,domain,1-3 foo=\"a b\" skew_tick=1 quiet \
             nohz_full=2-3\n"
        );
        assert_eq!(merged("rcu_nocbs=all", &words("rcu_nocbs=2")), "rcu_nocbs=all");
        assert_eq!(merged("isolcpus=0-N", &words("isolcpus=2")), "isolcpus=0-N");
        assert_eq!(merged("", &words("a b=1")), "a b=1");
    }

    #[test]
    fn grub_has_three_files() {
        let defaults = "GRUB_TIMEOUT=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash\"\n\
                        GRUB_CMDLINE_LINUX='nohz_full=1 console=ttyS0' # mine\n";
        assert_eq!(
            Loader::GrubDefaults.merge(defaults, &words("nohz_full=2 skew_tick=1")),
            "GRUB_TIMEOUT=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet splash skew_tick=1\"\n\
             GRUB_CMDLINE_LINUX='nohz_full=1-2 console=ttyS0' # mine\n"
        );
        assert_eq!(
            Loader::GrubDefaults.merge("GRUB_TIMEOUT=1", &words("a=1")),
            "GRUB_TIMEOUT=1\nGRUB_CMDLINE_LINUX_DEFAULT=\"a=1\"\n"
        );
        let drop_in = Loader::GrubDropIn.merge("", &words("a=1"));
        let line = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT a=1\"";
        assert_eq!(drop_in, format!("{MARK}\n{line}\n"));
        let config = "menuentry x {\n\tlinux\t/vmlinuz root=1 ro\n\tinitrd /i\n}\n\
                      menuentry y {\n\tlinux /vmlinuz root=1 ro single\n}\n";
        assert_eq!(
            Loader::GrubConfig.merge(config, &words("a=1")),
            config.replace("root=1 ro\n\t", "root=1 ro a=1\n\t")
        );
    }

    #[test]
    fn an_entry_has_options() {
        let entry = "title Linux\r\noptions root=1 $kernelopts\r\noptionsx y\r\n";
        assert_eq!(
            Loader::Entry.merge(entry, &words("a=1")),
            "title Linux\r\noptions root=1 $kernelopts a=1\r\noptionsx y\r\n"
        );
    }

    const LOADERS: [Loader; 5] = [
        Loader::GrubDefaults,
        Loader::GrubDropIn,
        Loader::GrubConfig,
        Loader::Entry,
        Loader::Plain,
    ];

    proptest! {
        #[test]
        fn merging_twice_is_merging_once_and_keeps_other_words(
            text in "(?s)(options |linux |GRUB_CMDLINE_LINUX(_DEFAULT)?=\")?[a-z0-9=,\" \n\r\t-]{0,60}",
            which in 0_usize..5,
        ) {
            let words = words("isolcpus=domain,2-3 skew_tick=1 nowatchdog");
            let once = LOADERS[which].merge(&text, &words);
            prop_assert_eq!(LOADERS[which].merge(&once, &words), once.clone());
            for kept in text.split_whitespace().filter(|word| !word.contains(['"', '='])) {
                prop_assert!(once.contains(kept), "{kept:?} is gone from {once:?}");
            }
        }
    }
}

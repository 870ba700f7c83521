//! The kernel's command line in the configuration of boot loaders: reads it by the grammar of the
//! program that reads it, merges words into it, and keeps everything else byte for byte.

mod line;
mod loader;
mod parameter;
mod shell;

use std::collections::BTreeMap;

use host::Root;

use crate::place::SettingPlace;
use crate::system::System;
use line::{CommandLine, edited, key};
pub(crate) use line::{Word, words_of};
pub use loader::{BootFile, Loader};
pub(crate) use parameter::is_set;

/// The first line of all of our files.
pub const MARK: &str = "# Written by tickpath tune. `tickpath tune revert` takes it back.";

/// Files that one program reads together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootGroup {
    /// How it reads them.
    pub loader: Loader,
    /// The files, in its order.
    pub files: Vec<BootFile>,
    /// Variables that the loader expands, from files that we don't write.
    pub environment: BTreeMap<String, String>,
    /// Why the files can't be read.
    pub unreadable: Option<String>,
}

/// Everything from which this machine's loaders may take a command line; empty if none is known.
pub fn groups(system: &dyn System, root: &Root) -> Vec<BootGroup> {
    let environment = grub_environment(root);
    let group = |loader: Loader, paths: Vec<String>| {
        let mut group = BootGroup {
            loader,
            files: Vec::new(),
            environment: environment.clone(),
            unreadable: None,
        };
        for path in paths {
            let text =
                system.read(&SettingPlace::Text(format!("/{path}"))).unwrap_or_else(|error| {
                    group.unreadable = Some(format!("/{path} can't be read: {error}"));
                    None
                });
            group.files.push(BootFile { path, text });
        }
        group
    };
    let mut found = Vec::new();
    for directory in ["boot/loader/entries", "efi/loader/entries", "boot/efi/loader/entries"] {
        match root.names(directory) {
            Some(names) => {
                let names = names.iter().filter(|name| name.ends_with(".conf"));
                let names = names.filter(|name| !name.contains("rescue"));
                found.extend(
                    names.map(|name| group(Loader::Entry, vec![format!("{directory}/{name}")])),
                );
            }
            None if root.exists(directory) => {
                let why = format!("/{directory} can't be listed: run as root");
                let unlisted = group(Loader::Entry, Vec::new());
                found.push(BootGroup { unreadable: Some(why), ..unlisted });
            }
            None => {}
        }
    }
    for path in ["boot/grub/grub.cfg", "boot/grub2/grub.cfg"] {
        if root.exists(path) {
            found.push(group(Loader::GrubConfig, vec![path.to_owned()]));
        }
    }
    // Entries of other systems, and a grub.cfg that only includes entries.
    found.retain(|group| {
        group.command_lines().is_ok_and(|lines| !lines.is_empty()) || group.unreadable.is_some()
    });
    if found.is_empty() {
        return found;
    }
    // For kernels that are installed later.
    if root.exists("etc/default/grub") {
        let has_append = !["bin/sh", "usr/bin/sh"]
            .iter()
            .any(|sh| root.link_name(sh).is_some_and(|name| name == "dash"));
        found.push(group(Loader::GrubDefaults { has_append }, grub_files(root)));
    }
    if root.exists("etc/kernel/cmdline") {
        found.push(group(Loader::Plain, vec!["etc/kernel/cmdline".to_owned()]));
    }
    found
}

/// `/etc/default/grub`, and the drop-ins of distributions that have them, in the shell's order.
fn grub_files(root: &Root) -> Vec<String> {
    const DIRECTORY: &str = "etc/default/grub.d";
    let mut files = vec!["etc/default/grub".to_owned()];
    if let Some(names) = root.names(DIRECTORY) {
        let names = names.into_iter().filter(|name| name.ends_with(".cfg"));
        let mut drop_ins: Vec<String> = names.map(|name| format!("{DIRECTORY}/{name}")).collect();
        if !drop_ins.iter().any(|path| path == loader::DROP_IN) {
            drop_ins.push(loader::DROP_IN.to_owned());
        }
        drop_ins.sort();
        files.extend(drop_ins);
    }
    files
}

/// Variables of GRUB's environment block, such as `kernelopts`.
fn grub_environment(root: &Root) -> BTreeMap<String, String> {
    let block = ["boot/grub2/grubenv", "boot/grub/grubenv"].iter().find_map(|path| root.read(path));
    let block = block.unwrap_or_default();
    let lines = block.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.replace("\\\\", "\\"))).collect()
}

impl BootGroup {
    fn command_lines(&self) -> Result<Vec<CommandLine>, String> {
        match &self.unreadable {
            Some(why) => Err(why.clone()),
            None => self.loader.command_lines(&self.files, &self.environment),
        }
    }

    fn named(&self, why: String) -> String {
        match self.files.first().filter(|_| why.starts_with("has ")) {
            Some(file) => format!("/{} {why}", file.path),
            None => why,
        }
    }

    /// Whether every command line has the word. If not, it can be merged.
    ///
    /// # Errors
    /// Why that can't be told or changed, with the file.
    pub fn has(&self, word: &str, last: Option<usize>) -> Result<bool, String> {
        let mut has = true;
        for line in self.command_lines().map_err(|why| self.named(why))? {
            let words = line.words().map_err(|why| self.named(why))?;
            has &= is_set(&words, word, last).map_err(|why| self.named(why))?;
        }
        if !has {
            self.merged(&[word.to_owned()], last)?;
        }
        Ok(has)
    }

    /// The files with the words in every command line; those that change, with their new text.
    ///
    /// # Errors
    /// Why a word can't be merged, with the file.
    pub fn merged(
        &self,
        words: &[String],
        last: Option<usize>,
    ) -> Result<Vec<(BootFile, String)>, String> {
        let merged = self.edited(words, last).map_err(|why| self.named(why))?;
        // Read back: the edits must mean what was wanted.
        for line in merged.command_lines()? {
            let there = line.words().map_err(|why| self.named(why))?;
            for word in words {
                if !is_set(&there, word, last).map_err(|why| self.named(why))? {
                    let name = self.files.first().map_or("", |file| &file.path);
                    return Err(format!("/{name} does not take {word}: change it by hand"));
                }
            }
        }
        let pairs = self.files.iter().cloned().zip(merged.files);
        let changed = pairs.filter_map(|(old, new)| {
            let text = new.text.filter(|text| *text != old.text.clone().unwrap_or_default())?;
            Some((old, text))
        });
        Ok(changed.collect())
    }

    /// A sentence, if variables of GRUB's environment block must be written out in the entry.
    pub(crate) fn written_out(&self, words: &[String], last: Option<usize>) -> Option<String> {
        let file = self.files.first()?;
        let inlined = self.inlined(words).filter(|_| self.edited_here(words, last).is_err())?;
        let names: Vec<String> = self
            .environment
            .keys()
            .filter(|name| !inlined.environment.contains_key(*name))
            .map(|name| format!("${name}"))
            .collect();
        Some(format!(
            "/{} gets the words of {} written out, as grubby does it: later changes of it in grubenv don't reach this \
             entry",
            file.path,
            names.join(" and ")
        ))
    }

    /// An entry with the text of those variables that have one of the words' keys: only so can a
    /// list in them become the union with ours. `None` if there are none.
    fn inlined(&self, words: &[String]) -> Option<BootGroup> {
        let (Loader::Entry, [file]) = (self.loader, self.files.as_slice()) else { return None };
        let keys: Vec<String> = words.iter().map(|word| key(word)).collect();
        let mut inlined = self.clone();
        let mut text = file.text.clone()?;
        for (name, value) in &self.environment {
            if words_of(value).iter().any(|word| keys.contains(&word.key()))
                && let Some(with) = loader::with_variable(&text, name, value)
            {
                text = with;
                inlined.environment.remove(name);
            }
        }
        let is_other = file.text.as_ref() != Some(&text);
        inlined.files[0].text = Some(text);
        is_other.then_some(inlined)
    }

    fn edited(&self, words: &[String], last: Option<usize>) -> Result<BootGroup, String> {
        self.edited_here(words, last).or_else(|why| match self.inlined(words) {
            Some(inlined) => inlined.edited_here(words, last),
            None => Err(why),
        })
    }

    fn edited_here(&self, words: &[String], last: Option<usize>) -> Result<BootGroup, String> {
        let mut edits = Vec::new();
        for line in self.command_lines()? {
            let there = line.words()?;
            let mut new = Vec::new();
            for word in words {
                if is_set(&there, word, last)? {
                    continue;
                }
                let same = parameter::with_key(&there, &key(word));
                let text = parameter::united(&same, word, last)?;
                match same.is_empty() {
                    true => new.push(text),
                    false => edits.extend(line.replace(&same, &text)?),
                }
            }
            if !new.is_empty() {
                edits.extend(line.add(&new)?);
            }
        }
        let mut texts: Vec<String> =
            self.files.iter().map(|file| file.text.clone().unwrap_or_default()).collect();
        edited(&mut texts, edits)?;
        let files = self.files.iter().zip(texts).map(|(file, text)| {
            let text = if file.text.is_none() && text.is_empty() { None } else { Some(text) };
            BootFile { path: file.path.clone(), text }
        });
        Ok(BootGroup { files: files.collect(), ..self.clone() })
    }
}

#[cfg(test)]
mod tests;

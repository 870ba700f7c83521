//! Variables that a shell has after it has read files such as `/etc/default/grub`, each character
//! with its place in the files.
//!
//! Reads assignments: quoting, comments, `+=`, `export`, continuation lines, words without quotes,
//! `$NAME` and `${NAME}`. A variable is unknown, with the line, if its value depends on anything
//! else: a condition, a command, another expansion.

mod word;

use std::collections::BTreeMap;

use super::line::{Insertion, Letter};

/// A file for the shell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Script<'a> {
    /// Its path, for messages.
    pub name: &'a str,
    pub text: &'a str,
}

/// A variable: its value, or why it is unknown, and where more text can be added.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub value: Result<Vec<Letter>, String>,
    pub insertion: Insertion,
}

/// Variables by name.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    all: BTreeMap<String, Variable>,
    /// Why every variable is unknown.
    unknown: Option<String>,
    /// Variables that are empty unless the files set them.
    empty: Vec<&'static str>,
}

impl Variables {
    /// Reads the files in order. `has_append` is false for a shell without `+=`; `empty` names
    /// variables that no one else sets.
    pub(crate) fn of(
        scripts: &[Script<'_>],
        has_append: bool,
        empty: &[&'static str],
    ) -> Variables {
        let mut variables = Variables { empty: empty.to_vec(), ..Variables::default() };
        for (file, script) in scripts.iter().enumerate() {
            let mut reader = Reader {
                script: *script,
                file,
                has_append,
                at: 0,
                closers: Vec::new(),
                is_conditional: false,
                variables: &mut variables,
            };
            if let Err(why) = reader.read() {
                let why = format!("{} line {} {why}", script.name, reader.line());
                variables.unknown.get_or_insert(why);
            }
        }
        variables
    }

    /// The variable; `None` if no file sets it.
    ///
    /// # Errors
    /// Why it is unknown, with file and line.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&Variable>, String> {
        match (&self.unknown, self.all.get(name)) {
            (Some(why), _) => Err(why.clone()),
            (None, Some(Variable { value: Err(why), .. })) => Err(why.clone()),
            (None, found) => Ok(found),
        }
    }
}

/// A value as it is read, before it is stored.
struct Assignment {
    name: String,
    appends: bool,
    variable: Variable,
}

struct Reader<'a, 'b> {
    script: Script<'a>,
    file: usize,
    has_append: bool,
    at: usize,
    /// Words that end the compound commands around this place.
    closers: Vec<&'static str>,
    /// Whether the next command depends on the one before.
    is_conditional: bool,
    variables: &'b mut Variables,
}

const BLANK: [char; 2] = [' ', '\t'];
/// Characters that end a word outside of quotes.
const OPERATORS: [char; 6] = [';', '&', '|', '<', '>', '('];

fn is_name(text: &str) -> bool {
    let is_start = |first: char| first.is_ascii_alphabetic() || first == '_';
    text.starts_with(is_start) && text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
}

impl Reader<'_, '_> {
    fn rest(&self) -> &str {
        &self.script.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.rest().starts_with(text);
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    fn line(&self) -> usize {
        let behind = self.script.text[..self.at].trim_end_matches('\n');
        behind.matches('\n').count() + 1
    }

    fn skip_blanks(&mut self) {
        while self.takes("\\\n") || self.rest().starts_with(BLANK) {
            if self.rest().starts_with(BLANK) {
                self.take();
            }
        }
    }

    fn at_word_end(&self) -> bool {
        self.peek().is_none_or(|next| {
            BLANK.contains(&next) || OPERATORS.contains(&next) || matches!(next, '\n' | ')')
        })
    }

    /// Command by command. An error makes everything unknown from there.
    fn read(&mut self) -> Result<(), String> {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => break,
                Some('#') => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                Some('\n' | ';') => {
                    self.take();
                    self.is_conditional = false;
                }
                Some('&' | '|') => {
                    self.take();
                    self.is_conditional = true;
                }
                Some('(') => {
                    self.take();
                    self.closers.push(")");
                }
                Some(')') => {
                    self.take();
                    self.closes(")");
                }
                Some(_) => self.command()?,
            }
        }
        match self.closers.last() {
            Some(closer) => Err(format!("lacks {closer:?}")),
            None => Ok(()),
        }
    }

    fn closes(&mut self, word: &str) {
        if self.closers.last() == Some(&word) {
            self.closers.pop();
        }
    }

    /// Assignments, `export` with assignments, or a command that may set anything.
    fn command(&mut self) -> Result<(), String> {
        let start = self.at;
        let before = self.variables.all.clone();
        let mut has_assigned = false;
        let mut exports = false;
        loop {
            self.skip_blanks();
            if self.at_word_end() || self.rest().starts_with('#') {
                break;
            }
            if let Some(one) = self.assignment(exports)? {
                // The next one of the same command sees it.
                self.store(one);
                has_assigned = true;
                continue;
            }
            let word_start = self.at;
            self.raw_word()?;
            let word = self.script.text[word_start..self.at].to_owned();
            match word.as_str() {
                "export" | "readonly" if !has_assigned => exports = true,
                name if exports && is_name(name) => {}
                _ if !has_assigned && !exports && self.is_reserved(&word) => return Ok(()),
                _ => {
                    // Assignments in front of a command are the command's alone.
                    if !exports {
                        self.variables.all = before;
                    }
                    return self.unread_command(&word, start);
                }
            }
        }
        let is_list = self.rest().starts_with("&&") || self.rest().starts_with("||");
        if has_assigned && !is_list && self.rest().starts_with(['|', '&', '<', '>', '(']) {
            return Err("is more than an assignment".to_owned());
        }
        if self.rest().starts_with(['<', '>']) {
            return self.unread_command("", start);
        }
        Ok(())
    }

    /// Keywords open and close compound commands; a command may follow them.
    fn is_reserved(&mut self, word: &str) -> bool {
        let closer = match word {
            "if" => "fi",
            "case" => "esac",
            "for" | "while" | "until" | "select" => "done",
            "{" => "}",
            "fi" | "esac" | "done" | "}" => {
                self.closes(word);
                return true;
            }
            "then" | "else" | "elif" | "do" | "!" | "function" => return true,
            _ => return false,
        };
        self.closers.push(closer);
        true
    }

    /// A command that is not read: the variables that it names are unknown, and all of them if it
    /// reads other text as commands.
    fn unread_command(&mut self, word: &str, start: usize) -> Result<(), String> {
        while !matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | '(' | ')')) {
            if self.takes("<<") {
                return Err("has a here-document".to_owned());
            }
            match self.rest().starts_with(['<', '>']) || self.rest().starts_with(BLANK) {
                true => {
                    self.take();
                }
                false
                    if self.rest().starts_with('#')
                        && self.script.text[..self.at].ends_with(BLANK) =>
                {
                    break;
                }
                false => self.raw_word()?,
            }
        }
        if word.contains(['"', '\'', '\\', '$', '`']) {
            return Err(format!("runs a command that can't be told from {word:?}"));
        }
        if [".", "source", "eval", "exit", "return", "exec"].contains(&word) {
            return Err(format!("runs {word:?}"));
        }
        let text = &self.script.text[start..self.at];
        let names: Vec<String> = self
            .variables
            .all
            .keys()
            .cloned()
            .chain(self.variables.empty.iter().map(|&one| one.to_owned()))
            .collect();
        let named: Vec<String> =
            names.into_iter().filter(|name| text.contains(name.as_str())).collect();
        for name in named {
            let reads = [format!("${name}"), format!("${{{name}}}")];
            let rest = reads.iter().fold(text.to_owned(), |text, read| text.replace(read, ""));
            if rest.contains(&name) {
                let why = format!(
                    "{} line {} may set {name} by a command",
                    self.script.name,
                    self.line()
                );
                self.forget(&name, why);
            }
        }
        Ok(())
    }

    fn forget(&mut self, name: &str, why: String) {
        let insertion = Insertion {
            file: self.file,
            open: None,
            at: self.at,
            before: String::new(),
            after: String::new(),
        };
        self.variables.all.insert(name.to_owned(), Variable { value: Err(why), insertion });
    }

    fn store(&mut self, one: Assignment) {
        let Assignment { name, appends, mut variable } = one;
        let place = format!("{} line {}", self.script.name, self.line());
        if self.is_conditional || !self.closers.is_empty() {
            return self.forget(&name, format!("{place} sets {name} only under a condition"));
        }
        if appends && !self.has_append {
            let why = format!("{place} has {name}+=, which this machine's sh does not know");
            return self.forget(&name, why);
        }
        if appends && let Some(old) = self.variables.all.get(&name) {
            variable.value = match (old.value.clone(), variable.value) {
                (Ok(old), Ok(new)) => Ok([old, new].concat()),
                (Err(why), _) | (_, Err(why)) => Err(why),
            };
        }
        self.variables.all.insert(name, variable);
    }

    fn assignment(&mut self, exports: bool) -> Result<Option<Assignment>, String> {
        let length = self.rest().find(|one: char| !(one.is_ascii_alphanumeric() || one == '_'));
        let length = length.unwrap_or(self.rest().len());
        let name = self.rest()[..length].to_owned();
        let behind = &self.rest()[length..];
        let appends = behind.starts_with("+=");
        if !is_name(&name) || !(appends || behind.starts_with('=')) {
            return Ok(None);
        }
        self.at += length + if appends { 2 } else { 1 };
        let variable = self.value(exports)?;
        Ok(Some(Assignment { name, appends, variable }))
    }

    /// Skips a word: quotes and substitutions are not split.
    fn raw_word(&mut self) -> Result<(), String> {
        let before = self.at;
        self.value(false)?;
        if self.at == before {
            self.take();
        }
        Ok(())
    }
}

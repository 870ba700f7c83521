//! Words of a shell: quotes, backslashes and expansions.

use super::{Reader, Variable};
use crate::boot::line::{Insertion, Letter, Spot};

impl Reader<'_, '_> {
    fn letter(&self, char: char, start: usize, is_bare: bool) -> Letter {
        Letter { char, spot: Some(Spot { file: self.file, start, end: self.at, is_bare }) }
    }

    /// The word behind `=`.
    pub(super) fn value(&mut self, exports: bool) -> Result<Variable, String> {
        let start = self.at;
        let mut value = Ok(Vec::new());
        let mut closing = None;
        let mut is_plain = true;
        while !self.at_word_end() {
            let from = self.at;
            let next = self.take().unwrap_or_default();
            closing = None;
            match next {
                '\'' | '"' => {
                    is_plain = false;
                    self.quoted(next, &mut value)?;
                    closing = Some(self.at - 1);
                }
                '\\' => {
                    is_plain = false;
                    match self.take() {
                        Some('\n') => {}
                        Some(char) => push(&mut value, self.letter(char, from, true)),
                        None => return Err("ends with a backslash".to_owned()),
                    }
                }
                '$' | '`' => {
                    is_plain = false;
                    self.expansion(next, true, exports, &mut value)?;
                }
                '~' if from == start || self.script.text[..from].ends_with(':') => {
                    self.is_unknown("expands ~", &mut value);
                }
                '*' | '?' | '[' if exports => self.is_unknown("expands file names", &mut value),
                char => push(&mut value, self.letter(char, from, true)),
            }
        }
        let (open, at, before, after) = match closing {
            Some(quote) => (None, quote, "", ""),
            None if is_plain && self.at > start => (Some(start), self.at, "", "\""),
            None => (None, self.at, "\"", "\""),
        };
        let insertion = Insertion {
            file: self.file,
            open,
            at,
            before: before.to_owned(),
            after: after.to_owned(),
        };
        Ok(Variable { value, insertion })
    }

    fn is_unknown(&self, why: &str, value: &mut Result<Vec<Letter>, String>) {
        if value.is_ok() {
            *value = Err(format!("{} line {} {why}", self.script.name, self.line()));
        }
    }

    fn quoted(
        &mut self,
        quote: char,
        value: &mut Result<Vec<Letter>, String>,
    ) -> Result<(), String> {
        loop {
            let from = self.at;
            match self.take().ok_or("has a quote that is not closed")? {
                char if char == quote => return Ok(()),
                '\\' if quote == '"' && self.rest().starts_with(['$', '`', '"', '\\', '\n']) => {
                    match self.take().unwrap_or_default() {
                        '\n' => {}
                        char => push(value, self.letter(char, from, false)),
                    }
                }
                char @ ('$' | '`') if quote == '"' => self.expansion(char, false, false, value)?,
                char => push(value, self.letter(char, from, false)),
            }
        }
    }

    /// Reads the expansion behind `$`, or the command between backquotes.
    fn expansion(
        &mut self,
        sign: char,
        is_bare: bool,
        exports: bool,
        value: &mut Result<Vec<Letter>, String>,
    ) -> Result<(), String> {
        let from = self.at - 1;
        if sign == '`' {
            let end = self.rest().find('`').ok_or("has a backquote that is not closed")?;
            self.at += end + 1;
            self.is_unknown("runs a command", value);
            return Ok(());
        }
        let name = match self.peek() {
            Some('(') => {
                self.skip_nested('(', ')')?;
                self.is_unknown("runs a command", value);
                return Ok(());
            }
            Some('{') => {
                let inner = self.at + 1;
                self.skip_nested('{', '}')?;
                self.script.text[inner..self.at - 1].to_owned()
            }
            Some('\'' | '"') if is_bare => {
                self.is_unknown("has a quote behind $", value);
                return Ok(());
            }
            Some(first) if first.is_ascii_alphabetic() || first == '_' => {
                let length = self
                    .rest()
                    .find(|one: char| !(one.is_ascii_alphanumeric() || one == '_'))
                    .unwrap_or(self.rest().len());
                self.at += length;
                self.script.text[self.at - length..self.at].to_owned()
            }
            Some(first) if first.is_ascii_digit() || "?#@*!-$".contains(first) => {
                self.take();
                first.to_string()
            }
            _ => {
                push(value, self.letter('$', from, is_bare));
                return Ok(());
            }
        };
        self.expand(&name, is_bare && exports, value);
        Ok(())
    }

    fn expand(&self, name: &str, splits: bool, value: &mut Result<Vec<Letter>, String>) {
        let found = match self.variables.all.get(name) {
            Some(variable) => variable.value.clone(),
            None if self.variables.empty.contains(&name) => Ok(Vec::new()),
            None => Err(String::new()),
        };
        let is_split = |letter: &Letter| letter.char.is_whitespace() || "*?[".contains(letter.char);
        match (found, &mut *value) {
            (_, Err(_)) => {}
            (Err(why), _) if !why.is_empty() => *value = Err(why),
            (Err(_), _) => {
                self.is_unknown(
                    &format!("expands ${{{name}}}, which these files don't set"),
                    value,
                );
            }
            (Ok(found), _) if splits && found.iter().any(is_split) => {
                self.is_unknown("splits an expansion", value);
            }
            (Ok(found), Ok(letters)) => letters.extend(found),
        }
    }

    /// Skips a substitution whose opening character is next.
    fn skip_nested(&mut self, open: char, close: char) -> Result<(), String> {
        let mut depth = 0_usize;
        let mut ignored = Ok(Vec::new());
        while let Some(next) = self.take() {
            match next {
                '\\' => {
                    self.take();
                }
                '\'' => {
                    let end = self.rest().find('\'').ok_or("has a quote that is not closed")?;
                    self.at += end + 1;
                }
                '"' => self.quoted('"', &mut ignored)?,
                next if next == open => depth += 1,
                next if next == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(format!("lacks {close:?}"))
    }
}

fn push(value: &mut Result<Vec<Letter>, String>, letter: Letter) {
    if let Ok(letters) = value {
        letters.push(letter);
    }
}

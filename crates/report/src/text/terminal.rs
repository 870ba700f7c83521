//! Text for a terminal: how wide a line is, and how text gets into it.

use std::fmt::Write;
use std::ops::{Deref, DerefMut};

/// Columns of a file or a pipe.
pub const COLUMNS: usize = 100;
/// Narrower terminals break lines themselves.
const COLUMNS_MIN: usize = 40;

/// Lines of text that are at most this many columns wide.
pub(crate) struct Terminal {
    text: String,
    pub columns: usize,
}

impl Terminal {
    pub(crate) fn new(columns: usize) -> Terminal {
        Terminal { text: String::new(), columns: columns.max(COLUMNS_MIN) }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

impl Deref for Terminal {
    type Target = String;

    fn deref(&self) -> &String {
        &self.text
    }
}

impl DerefMut for Terminal {
    fn deref_mut(&mut self) -> &mut String {
        &mut self.text
    }
}

/// At most `width` characters, five or more; a longer name keeps both ends, where names differ.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let count = name.chars().count();
    if count <= width {
        return name.to_owned();
    }
    let end = width / 2;
    let start = width - 1 - end;
    name.chars().take(start).chain(['~']).chain(name.chars().skip(count - end)).collect()
}

pub(crate) fn clip(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

/// Appends `text` behind `lead`, broken at spaces; later lines are indented as far as `lead`. Long
/// lines are hard to read, so prose is never wider than [`COLUMNS`].
pub(crate) fn wrap(out: &mut Terminal, lead: &str, text: &str) {
    let width = out.columns.min(COLUMNS);
    let indent = " ".repeat(lead.chars().count());
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            let _ = writeln!(out, "{}", line.trim_end());
            line.clone_from(&indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

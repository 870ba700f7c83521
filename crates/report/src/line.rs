//! A line of a terminal: how wide it is, and how text gets into it.

use std::fmt::Write;

/// Characters that a line has.
pub(crate) const WIDTH: usize = 100;

/// At most eight characters of a name.
pub(crate) fn short(name: &str) -> String {
    shortened(name, 8)
}

/// At most `width` characters, which are five or more; of a longer name both ends, since names differ at either.
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

/// Appends `text` behind `lead`, broken at spaces, later lines indented as far as `lead`.
pub(crate) fn wrap(out: &mut String, lead: &str, text: &str) {
    let indent = " ".repeat(lead.chars().count());
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
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

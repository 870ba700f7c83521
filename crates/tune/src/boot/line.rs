//! A kernel command line whose characters know where they stand in files, so that a word can be
//! changed there and everything else keeps its bytes.
//!
//! Words are the kernel's (lib/cmdline.c, next_arg): white space ends them outside of double
//! quotes, and those behind `--` belong to init.

use std::ops::Range;

/// A place in one of the files of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Index of the file.
    pub file: usize,
    /// Its first byte.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// Whether a shell would end its word at white space here.
    pub is_bare: bool,
}

/// One character of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub char: char,
    /// Its place; `None` if no file that we write has it.
    pub spot: Option<Spot>,
}

/// Where new words go if the key is not there yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Insertion {
    pub file: usize,
    /// A quote is opened at this byte.
    pub open: Option<usize>,
    pub at: usize,
    /// Text in front of the new words.
    pub before: String,
    /// Text behind them.
    pub after: String,
}

/// A change of one file: these bytes become this text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edit {
    pub file: usize,
    pub start: usize,
    pub end: usize,
    pub text: String,
}

/// A command line as its loader composes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub letters: Vec<Letter>,
    pub insertion: Insertion,
}

/// A word and the characters that it consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub text: String,
    range: Range<usize>,
}

impl Word {
    /// The key, with dashes as underscores: to the kernel they are the same.
    pub(crate) fn key(&self) -> String {
        key(&self.text)
    }

    /// The value without its quotes; empty if it has none.
    pub(crate) fn value(&self) -> &str {
        let value = self.text.split_once('=').map_or("", |(_, value)| value);
        value.strip_prefix('"').map_or(value, |value| value.strip_suffix('"').unwrap_or(value))
    }
}

/// The key of a word, in the kernel's spelling.
pub(crate) fn key(word: &str) -> String {
    word.split_once('=').map_or(word, |(key, _)| key).replace('-', "_")
}

/// Letters of a text that stands in a file as it is.
pub(crate) fn plain(text: &str, file: usize, start: usize) -> Vec<Letter> {
    let letter = |(at, char): (usize, char)| {
        let (start, end) = (start + at, start + at + char.len_utf8());
        Letter { char, spot: Some(Spot { file, start, end, is_bare: false }) }
    };
    text.char_indices().map(letter).collect()
}

/// The kernel's words of a text that stands in no file.
pub(crate) fn words_of(text: &str) -> Vec<Word> {
    let letters: Vec<Letter> = text.chars().map(|char| Letter { char, spot: None }).collect();
    split(&letters).map_or(Vec::new(), |(words, _)| words)
}

/// The kernel's words, and the position of `--`.
fn split(letters: &[Letter]) -> Result<(Vec<Word>, Option<usize>), String> {
    let (mut words, mut start, mut is_quoted) = (Vec::new(), None, false);
    let end_of_line = [Letter { char: ' ', spot: None }];
    for (at, letter) in letters.iter().chain(&end_of_line).enumerate() {
        is_quoted ^= letter.char == '"';
        let ends = letter.char.is_ascii_whitespace() && (!is_quoted || at == letters.len());
        match (start, ends) {
            (None, false) => start = Some(at),
            (Some(first), true) => {
                let text: String = letters[first..at].iter().map(|one| one.char).collect();
                if text == "--" {
                    return Ok((words, Some(first)));
                }
                words.push(Word { text: unquoted(text), range: first..at });
                start = None;
            }
            _ => {}
        }
    }
    match is_quoted {
        true => Err("has a double quote that is not closed".to_owned()),
        false => Ok((words, None)),
    }
}

/// A word may be quoted as a whole: `"key=a b"`.
fn unquoted(text: String) -> String {
    match text.strip_prefix('"') {
        Some(inner) => inner.strip_suffix('"').unwrap_or(inner).to_owned(),
        None => text,
    }
}

impl CommandLine {
    /// Words that the kernel sees.
    pub(crate) fn words(&self) -> Result<Vec<Word>, String> {
        split(&self.letters).map(|(words, _)| words)
    }

    /// The edits that put `text` in place of the first of `old` and remove the others.
    pub(crate) fn replace(&self, old: &[Word], text: &str) -> Result<Vec<Edit>, String> {
        let mut edits = Vec::new();
        for (turn, word) in old.iter().enumerate() {
            let mut range = word.range.clone();
            let first = edits.len();
            if turn > 0 {
                let is_space = |at: usize| self.letters[at].char.is_ascii_whitespace();
                while range.start > 0 && is_space(range.start - 1) {
                    range.start -= 1;
                }
            }
            for letter in &self.letters[range.clone()] {
                match letter.spot {
                    Some(Spot { file, start, end, .. }) => {
                        edits.push(Edit { file, start, end, text: String::new() });
                    }
                    // The space between two variables is in neither.
                    None if letter.char.is_ascii_whitespace() => {}
                    None => {
                        return Err(format!("has {:?} from a file that others write", word.text));
                    }
                }
            }
            if let Some(edit) = edits.get_mut(first).filter(|_| turn == 0) {
                edit.text = text.to_owned();
            }
        }
        Ok(edits)
    }

    /// The edit that adds words: in front of `--`, otherwise at the end.
    pub(crate) fn add(&self, words: &[String]) -> Result<Vec<Edit>, String> {
        let text = words.join(" ");
        if let (_, Some(at)) = split(&self.letters)? {
            let Some(spot) = self.letters[at].spot else {
                return Err("has `--` from a file that others write".to_owned());
            };
            let text = if spot.is_bare { format!("\"{text} \"") } else { format!("{text} ") };
            return Ok(vec![Edit { file: spot.file, start: spot.start, end: spot.start, text }]);
        }
        let Insertion { file, open, at, before, after } = self.insertion.clone();
        let mut edits: Vec<Edit> = open
            .map(|at| Edit { file, start: at, end: at, text: "\"".to_owned() })
            .into_iter()
            .collect();
        edits.push(Edit { file, start: at, end: at, text: format!("{before}{text}{after}") });
        Ok(edits)
    }
}

/// The files' texts with the edits. An edit may stand twice, because a variable is used twice.
pub(crate) fn edited(texts: &mut [String], mut edits: Vec<Edit>) -> Result<(), String> {
    edits.sort();
    edits.dedup();
    for pair in edits.windows(2) {
        if pair[0].file == pair[1].file && pair[0].end > pair[1].start {
            return Err("uses the same text twice".to_owned());
        }
    }
    for edit in edits.iter().rev() {
        texts[edit.file].replace_range(edit.start..edit.end, &edit.text);
    }
    Ok(())
}

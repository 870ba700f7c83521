//! Colour for a terminal. Tables are laid out as plain text; this marks their words afterwards, so
//! that no width has to be counted without escapes.

use anstyle::{AnsiColor, Style};

/// First words of a line that grade it.
const GRADES: [(&str, AnsiColor); 8] = [
    ("ok", AnsiColor::Green),
    ("pass", AnsiColor::Green),
    ("warn", AnsiColor::Yellow),
    ("?", AnsiColor::Yellow),
    ("inconclusive", AnsiColor::Yellow),
    ("bad", AnsiColor::Red),
    ("fail", AnsiColor::Red),
    ("FAIL", AnsiColor::Red),
];
/// Words that stand for a verdict wherever they are.
const VERDICTS: [(&str, AnsiColor); 12] = [
    ("VOID", AnsiColor::Red),
    ("VOID:", AnsiColor::Red),
    ("NOT", AnsiColor::Red),
    ("FIT", AnsiColor::Red),
    ("CANNOT", AnsiColor::Red),
    ("RUN", AnsiColor::Red),
    ("WORSE", AnsiColor::Red),
    ("LOST", AnsiColor::Red),
    ("TORN", AnsiColor::Red),
    ("BETTER", AnsiColor::Green),
    ("SMOKE", AnsiColor::Yellow),
    ("TEST,", AnsiColor::Yellow),
];

/// Text of this crate with ANSI colours: the name in the headline, verdicts, grades, and figures
/// that do not hold. Without the escapes it is the same text.
pub fn paint(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut is_headline = true;
    for line in text.split_inclusive('\n') {
        match line.split_once(" · ").filter(|_| is_headline) {
            Some((name, rest)) => {
                styled(&mut out, Style::new().bold(), name);
                out.push_str(" · ");
                words(&mut out, rest);
            }
            None => words(&mut out, line),
        }
        is_headline &= line.trim().is_empty();
    }
    out
}

fn words(out: &mut String, line: &str) {
    let mut is_first = true;
    for piece in line.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let of = |table: &[(&str, AnsiColor)]| {
            table.iter().find(|(known, _)| *known == word).map(|(_, colour)| *colour)
        };
        let grade = of(&GRADES).filter(|_| is_first);
        let colour = grade.or_else(|| of(&VERDICTS)).or_else(|| doubt(word));
        match colour {
            Some(colour) => {
                let bold = Style::new().fg_color(Some(colour.into()));
                styled(out, bold, word);
                out.push_str(&piece[word.len()..]);
            }
            None => out.push_str(piece),
        }
        is_first &= word.is_empty();
    }
}

/// The colour of a figure with the mark of one that does not hold, `10125?`.
fn doubt(word: &str) -> Option<AnsiColor> {
    let figure = word.strip_suffix('?')?;
    let is_figure = figure.contains(|char: char| char.is_ascii_digit())
        && figure.chars().all(|char| char.is_ascii_digit() || "~.+-/xmsu".contains(char));
    is_figure.then_some(AnsiColor::Yellow)
}

fn styled(out: &mut String, style: Style, text: &str) {
    out.push_str(&format!("{style}{text}{style:#}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_grades_and_doubtful_figures_have_a_colour_and_the_text_stays() {
        let text = "order-to-ack · VOID: 3 lost\n  a line\n\nus   p50   p99\nrust  10.1  ~394?\n";
        let painted = paint(text);
        assert!(
            painted.starts_with("\u{1b}[1morder-to-ack\u{1b}[0m · \u{1b}[31mVOID:"),
            "{painted:?}"
        );
        assert!(painted.contains("\u{1b}[33m~394?\u{1b}[0m\n"), "{painted:?}");
        assert!(painted.contains("rust  10.1  "), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), text);
    }

    /// A grade is the first word; elsewhere the same word is prose, and so is a question.
    #[test]
    fn prose_has_no_colour() {
        for text in ["  all is ok and nothing bad, is it?\n", "what? why\n", "{\"is\": \"ok\"}\n"] {
            assert_eq!(paint(text), text);
        }
        assert_eq!(paint("ok    a stall\n"), "\u{1b}[32mok\u{1b}[0m    a stall\n");
    }
}

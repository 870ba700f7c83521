//! A small table that the terminal and the page draw their own way.
//!
//! See docs/decisions/016-what-stays-ours.md.

use crate::text::terminal::{Terminal, wrap};
use maud::{Markup, html};
use std::fmt::Write;

/// Columns between two cells.
const GAP: usize = 2;

/// Its title stands above it.
#[derive(Default)]
pub(crate) struct Grid {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub notes: Vec<String>,
    /// Columns of names beside the first one; they stand to the left and are repeated where the
    /// table is broken.
    pub more_names: usize,
}

impl Grid {
    /// For a terminal. Each column is as wide as its widest cell; a column without a figure is left
    /// out; columns that don't fit stand in a second block below.
    pub(crate) fn text(&self, out: &mut Terminal) {
        out.push('\n');
        if !self.title.is_empty() {
            let _ = writeln!(out, "{}", self.title);
        }
        let names = 1 + self.more_names;
        let figures = (names..self.head.len()).filter(|column| self.has_figures(*column));
        let names_wide: usize = (0..names).map(|column| self.wide(column) + GAP).sum();
        let mut blocks: Vec<Vec<usize>> = vec![Vec::new()];
        let mut at = names_wide;
        for column in figures {
            let wide = self.wide(column) + GAP;
            if at + wide > out.columns + GAP && !blocks.iter().all(Vec::is_empty) {
                blocks.push(Vec::new());
                at = names_wide;
            }
            at += wide;
            blocks.last_mut().into_iter().for_each(|block| block.push(column));
        }
        for (number, block) in blocks.iter().enumerate() {
            if number > 0 {
                out.push('\n');
            }
            for line in std::iter::once(&self.head).chain(&self.rows) {
                self.line(out, line, block);
            }
        }
        self.notes.iter().for_each(|note| wrap(out, "  ", note));
    }

    /// Removes the last columns that `columns` of a terminal have no place for, but not the first
    /// `least`; returns their heads. A list reads better without them than in two blocks.
    pub(crate) fn cut_to(&mut self, columns: usize, least: usize) -> Vec<String> {
        let mut left_out = Vec::new();
        let wide = |grid: &Grid| -> usize {
            (0..grid.head.len()).map(|column| grid.wide(column) + GAP).sum::<usize>() - GAP
        };
        while self.head.len() > least && wide(self) > columns {
            self.rows.iter_mut().for_each(|row| row.truncate(self.head.len() - 1));
            left_out.extend(self.head.pop());
        }
        left_out.reverse();
        left_out
    }

    fn line(&self, out: &mut Terminal, line: &[String], block: &[usize]) {
        let mut text = String::new();
        for (column, cell) in line.iter().take(1 + self.more_names).enumerate() {
            let _ = write!(text, "{cell:<width$}", width = self.wide(column) + GAP);
        }
        for (place, column) in block.iter().enumerate() {
            let gap = if place == 0 { 0 } else { GAP };
            let cell = line.get(*column).map_or("", String::as_str);
            let _ = write!(text, "{:gap$}{cell:>width$}", "", width = self.wide(*column));
        }
        let _ = writeln!(out, "{}", text.trim_end());
    }

    fn has_figures(&self, column: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        self.rows.is_empty() || cells.into_iter().any(|cell| !matches!(cell.as_str(), "" | "-"))
    }

    fn wide(&self, column: usize) -> usize {
        let lines = std::iter::once(&self.head).chain(&self.rows);
        let cells = lines.filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    /// For a page.
    pub(crate) fn section(&self) -> Markup {
        html! {
            h2 { (self.title) }
            (self.table())
            @for note in &self.notes { p class="quiet" { (note) } }
        }
    }

    /// The table alone.
    pub(crate) fn table(&self) -> Markup {
        let is_name = |column: usize| column <= self.more_names;
        html! {
            div class="box" {
                table {
                    thead {
                        tr {
                            @for (column, cell) in self.head.iter().enumerate() {
                                th scope="col" class=[(!is_name(column)).then_some("n")] { (cell) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (column, cell) in row.iter().enumerate() {
                                    @if column == 0 { th scope="row" { (cell) } }
                                    @else { td class=[(!is_name(column)).then_some("n")] { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Cells of a table, from anything that reads as text.
pub(crate) fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(columns: usize) -> String {
        let grid = Grid {
            head: cells(["us", "", "p50", "p99", "p99.9", "max"]),
            rows: vec![
                cells(["trader (rust)", "order response", "55673", "~522977", "-", "602931"]),
                cells(["", "order service", "1.2", "~4.5", "-", "9.9"]),
            ],
            more_names: 1,
            ..Grid::default()
        };
        let mut out = Terminal::new(columns);
        grid.text(&mut out);
        out.into_text()
    }

    #[test]
    fn large_figures_keep_apart_and_columns_without_one_go() {
        let text = drawn(100);
        assert!(text.contains("  55673  ~522977  602931") && !text.contains("p99.9"), "{text}");
    }

    /// A list of records once split into two tables at 80 columns.
    #[test]
    fn a_list_loses_its_last_columns_where_the_terminal_is_narrow() {
        let list = || Grid {
            head: cells(["name", "p50", "runs", "n"]),
            rows: vec![cells(["2026-01-01-order-to-ack", "10.1", "6", "120k"])],
            ..Grid::default()
        };
        let mut narrow = list();
        assert_eq!(narrow.cut_to(36, 2), ["n"]);
        assert_eq!(narrow.head, ["name", "p50", "runs"]);
        let mut narrowest = list();
        assert_eq!(narrowest.cut_to(5, 2), ["runs", "n"]);
        assert!(list().cut_to(41, 2).is_empty());
    }

    #[test]
    fn what_does_not_fit_stands_below_with_its_names() {
        let text = drawn(48);
        assert!(text.lines().all(|line| line.chars().count() <= 48), "{text}");
        assert_eq!(text.matches("trader (rust)").count(), 2, "{text}");
        assert!(text.contains("602931"), "{text}");
    }
}

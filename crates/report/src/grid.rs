//! A small table that the terminal and the page draw their own way.

use crate::line::wrap;
use maud::{Markup, html};
use std::fmt::Write;

/// Its title stands above it; the first column has names.
pub(crate) struct Grid {
    pub title: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub notes: Vec<String>,
}

impl Grid {
    /// For a terminal: each column as wide as its widest cell.
    pub(crate) fn text(&self, out: &mut String) {
        let lines: Vec<&Vec<String>> = std::iter::once(&self.head).chain(&self.rows).collect();
        let wide = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let _ = writeln!(out, "\n{}", self.title);
        for line in &lines {
            let mut text = String::new();
            for (column, cell) in line.iter().enumerate() {
                let width = wide(column);
                let _ = match column {
                    0 => write!(text, "{cell:<width$}"),
                    _ => write!(text, "  {cell:>width$}"),
                };
            }
            let _ = writeln!(out, "{}", text.trim_end());
        }
        self.notes.iter().for_each(|note| wrap(out, "  ", note));
    }

    /// For a page.
    pub(crate) fn section(&self) -> Markup {
        html! {
            h2 { (self.title) }
            (self.table())
            @for note in &self.notes { p class="quiet" { (note) } }
        }
    }

    fn table(&self) -> Markup {
        html! {
            div class="box" {
                table {
                    thead {
                        tr {
                            @for (column, cell) in self.head.iter().enumerate() {
                                th scope="col" class=[(column > 0).then_some("n")] { (cell) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for (column, cell) in row.iter().enumerate() {
                                    @if column == 0 { th scope="row" { (cell) } }
                                    @else { td class="n" { (cell) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

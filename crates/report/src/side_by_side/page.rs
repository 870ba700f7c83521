//! The page of several records: one table, and the percentiles of all groups over each other.

use crate::page;
use crate::plot::curves::{Bounds, Curve};
use crate::plot::{class, legend};
use crate::side_by_side::table::{grid, rows_of, subjects, title, title_of};
use maud::{Markup, html};
use record::side_by_side::{Group, Row, SideBySide};

/// Groups that are drawn: a page has eight colours, and three dashes for each.
const DRAWN_MAX: usize = 24;

/// The page of `all`, with `json`, the same as text, in it for programs.
pub fn side_by_side_page(all: &SideBySide, json: &str) -> String {
    let title = title(all);
    let body = html! {
        h1 { (title) }
        @for why in &all.left_out { p class="warn" { "Left out: " (why) } }
        @if all.groups.is_empty() {
            p { "None of them is a result." }
        } @else {
            @let grid = grid(all);
            h2 { "Figures" }
            (grid.table())
            @for note in &grid.notes { p class="quiet" { (note) } }
            (curves(all))
        }
        h2 { "Records" }
        @for group in &all.groups {
            h3 { (name(all, group)) }
            ul { @for record in &group.records { li { code { (record) } } } }
        }
        (page::embedded("side-by-side", json))
    };
    page::frame(&title, &body)
}

/// Values that set a group apart; a plain number has the last part of its key in front.
fn name(all: &SideBySide, group: &Group) -> String {
    let value =
        |(key, value): (&String, &String)| match value.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("{} {value}", key.rsplit('.').next().unwrap_or(key)),
            false => value.clone(),
        };
    all.by.iter().zip(&group.values).map(value).collect::<Vec<_>>().join(" · ")
}

fn curves(all: &SideBySide) -> Markup {
    let drawn: Vec<(String, &Group)> = all
        .groups
        .iter()
        .take(DRAWN_MAX)
        .enumerate()
        .map(|(at, group)| (class(at), group))
        .collect();
    let mut panels: Vec<(String, Vec<Curve>)> = Vec::new();
    for subject in subjects(all) {
        let of: Vec<(&Group, &Row)> = rows_of(all, &subject).collect();
        let Some((_, first)) = of.first() else { continue };
        let curve = |(class, group): &(String, &Group)| {
            let row = of.iter().find(|(of, _)| std::ptr::eq(*of, *group))?.1;
            let named: Vec<(String, f64, u64)> = row
                .figures
                .iter()
                // Between two regimes lies no figure.
                .filter(|one| one.regimes.is_none())
                .map(|one| (one.name.replace('_', "."), one.rank, one.value))
                .collect();
            Some(Curve {
                class: class.clone(),
                name: name(all, group),
                pooled: named.iter().map(|(_, rank, ns)| (*rank, *ns as f64)).collect(),
                runs: Vec::new(),
                named,
            })
        };
        panels.push((title_of(first), drawn.iter().filter_map(curve).collect()));
    }
    let Some(bounds) = Bounds::of(panels.iter().flat_map(|(_, curves)| curves)) else {
        return html! {};
    };
    let entries: Vec<(String, String)> =
        drawn.iter().map(|(class, group)| (class.clone(), name(all, group))).collect();
    html! {
        h2 { "Percentiles" }
        (legend(&entries))
        div class="plots" {
            @for (title, curves) in &panels { (bounds.plot(title, curves).figure()) }
        }
        p class="quiet" {
            "The lines join the percentiles of the table. Both axes are logarithmic."
            @if all.groups.len() > DRAWN_MAX { " Only the first " (DRAWN_MAX) " groups are drawn." }
        }
    }
}

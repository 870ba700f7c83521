//! Places in queues, estimated and true.

use crate::text::grid::Grid;
use crate::text::terminal::{Terminal, wrap};
use record::race::{QueueCheck, QueueEstimator};
use record::text::counted;
use std::fmt::Write;

/// A check of a day as text.
pub fn queue_check(check: &QueueCheck, columns: usize) -> String {
    let mut out = Terminal::new(columns);
    let _ = writeln!(out, "places in queues · {:.0} s of {}", check.seconds, check.day);
    let orders = counted(check.orders, "order");
    let ahead = number(check.lots_ahead);
    let traded = check.traded;
    wrap(
        &mut out,
        "",
        &format!(
            "{orders} joined the best price behind {ahead} lots on average, and {traded} of them \
             traded. A backtest that sees totals alone must guess where lots leave a queue:"
        ),
    );
    grid(&check.estimators).text(&mut out);
    out.into_text()
}

fn grid(estimators: &[QueueEstimator]) -> Grid {
    let head = ["lots leave", "missed", "invented", "early", "bias", "error p50", "error p90"];
    let row = |one: &QueueEstimator| {
        vec![
            one.name.clone(),
            one.missed.to_string(),
            one.invented.to_string(),
            one.early.to_string(),
            number(one.bias_lots),
            number(one.error_lots_p50),
            number(one.error_lots_p90),
        ]
    };
    Grid {
        title: "fills of the day against each guess, in orders; lots ahead less the true ones"
            .to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: estimators.iter().map(row).collect(),
        ..Grid::default()
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_stand_beside_their_guess() {
        let estimator = QueueEstimator {
            name: "anywhere".to_owned(),
            missed: 12,
            invented: 34,
            early: 5,
            bias_lots: Some(-1.5),
            error_lots_p50: Some(0.5),
            error_lots_p90: Some(4.0),
        };
        let check = QueueCheck {
            day: "day".to_owned(),
            seconds: 60.0,
            orders: 100,
            traded: 40,
            lots_ahead: Some(7.25),
            estimators: vec![estimator],
        };
        let text = queue_check(&check, 100);
        assert!(text.contains("100 orders joined the best price behind 7.25 lots"), "{text}");
        let row = text.lines().find(|line| line.starts_with("anywhere")).unwrap();
        let cells: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(cells, ["anywhere", "12", "34", "5", "-1.50", "0.50", "4.00"]);
    }
}

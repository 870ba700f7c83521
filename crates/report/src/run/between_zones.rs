//! Packets that were lost on purpose between an exchange and its follower.

use crate::text::grid::Grid;
use crate::text::number::percent;
use crate::text::terminal::shortened;
use crate::text::words;
use record::{BetweenZones, RunRecord};

/// Columns of a name.
const NAME_WIDTH: usize = 20;

/// The table; `None` if none were to be lost.
pub(crate) fn grid(record: &RunRecord) -> Option<Grid> {
    let rows = record.subjects.iter().filter_map(|subject| {
        let BetweenZones { packets, dropped } = subject.load.between_zones?;
        let share = (packets > 0).then(|| percent(dropped as f64 / packets as f64));
        let name = shortened(&words::subject(record, &subject.name), NAME_WIDTH);
        Some(vec![name, packets.to_string(), dropped.to_string(), share.unwrap_or_default()])
    });
    let grid = Grid {
        title: "Packets between the zones".to_owned(),
        head: ["", "packets", "dropped", "share"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: vec![
            "Both directions, with those that TCP sent again, from the start of the follower to \
             its end."
                .to_owned(),
        ],
        ..Grid::default()
    };
    Some(grid).filter(|grid| !grid.rows.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Load, Subject};

    #[test]
    fn a_subject_without_losses_has_no_row() {
        let subject = |name: &str, between_zones| Subject {
            name: name.to_owned(),
            load: Load { between_zones, ..Load::default() },
            ..Subject::default()
        };
        let of = |subjects| grid(&RunRecord { subjects, ..RunRecord::default() });
        let counted = |packets, dropped| Some(BetweenZones { packets, dropped });
        assert!(of(vec![subject("alone", None)]).is_none());
        let grid = of(vec![
            subject("alone", None),
            subject("sync", counted(200, 3)),
            subject("async", counted(0, 0)),
        ]);
        let rows = grid.unwrap().rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][1..], ["200", "3", &percent(0.015)]);
        assert_eq!(rows[1][1..], ["0", "0", ""]);
    }
}

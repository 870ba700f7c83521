//! Which floors there are, and what stands below them.

use super::*;

/// A plain entrant that spins on one core.
pub(crate) fn entrant(index: usize, feed: FeedDialect, has_tls: bool) -> Entrant {
    Entrant {
        name: format!("{}-{index}", feed.name()),
        backend: "spin".to_owned(),
        scheduling: Scheduling::Other,
        cores: vec![1],
        index,
        has_tls,
        wrapper: Vec::new(),
        dialect: Dialect::Json,
        feed,
        is_floor: false,
        is_bare: false,
    }
}

#[test]
fn each_dialect_of_ticks_has_a_floor_plain_and_in_tls() {
    use FeedDialect::{Fix, Json, JsonTop, Sbe};
    let all = [Sbe, Json, JsonTop, Fix, Json, Sbe];
    let plain = all.iter().enumerate().map(|(index, feed)| entrant(index, *feed, false));
    let secure = [entrant(6, Json, true), entrant(7, Json, true)];
    let floors = floors(&plain.chain(secure).collect::<Vec<_>>());
    let named: Vec<_> = floors.iter().map(|one| (one.name.as_str(), one.index)).collect();
    let expected = [("floor", 0), ("floor-2", 1), ("floor-3", 2), ("floor-4", 3), ("floor-5", 6)];
    assert_eq!(named, expected);
    assert!(floors.iter().all(|one| one.is_floor && !one.is_bare));
    let bare: Vec<_> = bare_of(&floors).map(|one| (one.name, one.index)).collect();
    assert_eq!(bare, [("bare".to_owned(), 0)], "the bare ticker sends datagrams");
}

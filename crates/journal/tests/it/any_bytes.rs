//! The fuzzer's property, for a moment.

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(testing::cases(2000)) })]

    #[test]
    fn any_bytes_are_read_to_an_end(data in proptest::collection::vec(any::<u8>(), 0..600)) {
        crate::properties::segment(&data);
    }

    /// Few changes, so that some segments stay readable.
    #[test]
    fn changed_segments_are_read_to_an_end(
        groups in proptest::array::uniform3(0_u8..12),
        changes in proptest::collection::vec((0_u16..2500, 0_u8..8), 0..4),
    ) {
        let mut data = vec![2];
        data.extend(groups);
        for (place, what) in changes {
            data.extend(place.to_be_bytes());
            data.push(what);
        }
        crate::properties::segment(&data);
    }
}

//! Strings, eight bytes at a time.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn plain_bytes_stop_where_a_plain_loop_does(
        text in prop::collection::vec(prop_oneof![8 => b' '..=255, 1 => any::<u8>()], 0..40),
    ) {
        let stop = text.iter().position(|&b| b < b' ' || b == b'"' || b == b'\\');
        prop_assert_eq!(plain_bytes(&text), stop.unwrap_or(text.len()));
    }
}

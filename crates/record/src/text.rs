//! Counts in sentences.

/// A count with its noun, `1 record` or `2 records`; nouns with another plural take
/// [`counted_as`].
pub fn counted(n: impl TryInto<u64>, noun: &str) -> String {
    counted_as(n, noun, &format!("{noun}s"))
}

/// A count with its noun in the singular or the plural: `1 entry`, `2 entries`.
pub fn counted_as(n: impl TryInto<u64>, one: &str, many: &str) -> String {
    match n.try_into() {
        Ok(1) => format!("1 {one}"),
        Ok(n) => format!("{n} {many}"),
        Err(_) => format!("more than {} {many}", u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences once began "1 records".
    #[test]
    fn one_is_singular_and_nothing_is_plural() {
        assert_eq!(counted(1_u32, "record"), "1 record");
        assert_eq!(counted(0_usize, "record"), "0 records");
        assert_eq!(counted(12_u64, "record"), "12 records");
        assert_eq!(counted_as(1_u8, "entry", "entries"), "1 entry");
        assert_eq!(counted_as(2_u8, "entry", "entries"), "2 entries");
        assert_eq!(counted(u128::MAX, "tick"), "more than 18446744073709551615 ticks");
    }
}

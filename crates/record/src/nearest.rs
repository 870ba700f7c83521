//! Suggestions for misspelt names.

/// Maximum number of suggestions.
const OFFERED_MAX: usize = 3;
/// Lowest similarity of a suggestion (Jaro-Winkler, 0 to 1).
const SIMILARITY_MIN: f64 = 0.75;

/// The `known` names most similar to `asked`, the closest first; empty if none is similar.
pub fn nearest<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let alike = |name: &'a str| (strsim::jaro_winkler(asked, name), name);
    let mut close: Vec<(f64, &str)> =
        known.into_iter().map(alike).filter(|(like, _)| *like >= SIMILARITY_MIN).collect();
    close.sort_by(|a, b| b.0.total_cmp(&a.0));
    close.dedup();
    close.truncate(OFFERED_MAX);
    close.into_iter().map(|(_, name)| name).collect()
}

/// ` Did you mean order-to-ack or order-entry?`, to append to a sentence; empty if no name is
/// similar.
pub fn did_you_mean<'a>(asked: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let names = nearest(asked, known);
    if names.is_empty() { String::new() } else { format!(" Did you mean {}?", names.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closest_name_comes_first_and_strangers_are_not_offered() {
        let known = ["order-to-ack", "ping-pong", "ring", "order-to-ack-400k"];
        assert_eq!(nearest("order-too-ack", known), ["order-to-ack", "order-to-ack-400k"]);
        assert_eq!(did_you_mean("pingpong", known), " Did you mean ping-pong?");
        assert_eq!(did_you_mean("zzz", known), "");
    }
}

//! Which drifts the limits of a window leave (Moon, Skelly, Towsley 1999): a clock line passes
//! below all upper limits and above all lower ones.

use crate::probe::Limit;

/// The slopes between a steepest fall and a steepest rise that limits allow. Empty if the first is
/// above the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slopes {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The average slopes between two instants that some line allows, if it may pass all `limits`,
/// which are in order of time.
pub(crate) fn slopes(limits: &[Limit]) -> Slopes {
    let low = steepest(limits.iter().map(|one| (one.at, one.offset, one.is_upper)));
    // The same upside down: what were lower limits are upper ones.
    let high = -steepest(limits.iter().map(|one| (one.at, -one.offset, !one.is_upper)));
    Slopes { low, high }
}

/// The steepest line from an upper limit to a later lower one: every allowed line rises at least
/// as fast. Minus infinity without such a pair.
fn steepest(limits: impl Iterator<Item = (f64, f64, bool)>) -> f64 {
    // The lower hull of the upper limits so far: its edges rise ever more steeply.
    let mut hull: Vec<(f64, f64)> = Vec::new();
    let mut steepest = f64::NEG_INFINITY;
    for (at, offset, is_upper) in limits {
        let point = (at, offset);
        if is_upper {
            if let Some(last) = hull.last()
                && last.0 >= at
            {
                if last.1 <= offset {
                    continue;
                }
                hull.pop();
            }
            while let [.., a, b] = hull[..]
                && slope(a, b) >= slope(b, point)
            {
                hull.pop();
            }
            hull.push(point);
        } else if !hull.is_empty() {
            steepest = steepest.max(tangent(&hull, point));
        }
    }
    steepest
}

/// The steepest slope from a vertex of the hull to a point that is not before any of them. Along
/// the hull it grows until an edge passes above the point.
fn tangent(hull: &[(f64, f64)], point: (f64, f64)) -> f64 {
    let (mut low, mut high) = (0, hull.len() - 1);
    while low < high {
        let middle = usize::midpoint(low, high);
        if slope(hull[middle], hull[middle + 1]) < slope(hull[middle], point)
            && hull[middle + 1].0 < point.0
        {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    // A limit of the same instant has no slope to it.
    if hull[low].0 < point.0 { slope(hull[low], point) } else { f64::NEG_INFINITY }
}

fn slope((x0, y0): (f64, f64), (x1, y1): (f64, f64)) -> f64 {
    if x1 > x0 { (y1 - y0) / (x1 - x0) } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::random::SplitMix64;

    fn limit(at: f64, offset: f64, is_upper: bool) -> Limit {
        Limit { at, offset, is_upper, round_trip: None }
    }

    /// All pairs, as the definition says it.
    fn by_pairs(limits: &[Limit]) -> Slopes {
        let mut slopes = Slopes { low: f64::NEG_INFINITY, high: f64::INFINITY };
        for (turn, first) in limits.iter().enumerate() {
            for later in limits[turn..].iter().filter(|later| later.at > first.at) {
                let slope = (later.offset - first.offset) / (later.at - first.at);
                match (first.is_upper, later.is_upper) {
                    (true, false) => slopes.low = slopes.low.max(slope),
                    (false, true) => slopes.high = slopes.high.min(slope),
                    _ => {}
                }
            }
        }
        slopes
    }

    #[test]
    fn hulls_find_what_all_pairs_find() {
        let mut random = SplitMix64::new(1);
        for _ in 0..testing::cases(2_000) {
            let mut limits: Vec<Limit> = (0..random.below(40))
                .map(|_| {
                    let is_upper = random.below(2) == 0;
                    let offset = f64::from(random.below(50)) * if is_upper { 1.0 } else { -1.0 };
                    limit(f64::from(random.below(60)), offset, is_upper)
                })
                .collect();
            limits.sort_by(|a, b| a.at.total_cmp(&b.at));
            assert_eq!(slopes(&limits), by_pairs(&limits), "{limits:?}");
        }
    }

    #[test]
    fn one_direction_leaves_every_slope() {
        let all = Slopes { low: f64::NEG_INFINITY, high: f64::INFINITY };
        assert_eq!(slopes(&[]), all);
        assert_eq!(slopes(&[limit(0.0, 1.0, true), limit(9.0, 1.0, true)]), all);
    }
}

//! The slices of a log: its intervals, about a second each.

use crate::hlog::sparse::{Decoder, Layout, Sum};
use crate::hlog::{HlogError, Totals, next_line, parse};
use std::collections::BTreeMap;
use std::io::BufRead;

/// The median of each interval of a log, by tag, in the order of the log; `None` where the interval
/// has too few values for one.
///
/// # Errors
/// As [`super::totals`].
pub fn medians(log: impl BufRead) -> Result<BTreeMap<String, Vec<Option<u64>>>, HlogError> {
    let mut medians: BTreeMap<String, Vec<Option<u64>>> = BTreeMap::new();
    each(log, |tag, layout, counts| {
        medians.entry(tag.to_owned()).or_default().push(median(layout, counts));
        Ok(())
    })?;
    Ok(medians)
}

fn median(layout: Layout, counts: &[(u32, u64)]) -> Option<u64> {
    let total = counts.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut up_to = 0_u64;
    let middle = counts.iter().find(|(_, count)| {
        up_to = up_to.saturating_add(*count);
        up_to >= total.div_ceil(2)
    });
    let value = layout.value(middle?.0 as usize);
    stats::is_supported(total, 0.5).then_some(value)
}

/// The sums of the intervals that `part` puts into the first or the second part, by tag; `part`
/// gets the tag and the interval's place among those of its tag.
///
/// # Errors
/// As [`super::totals`].
pub fn in_two_parts(
    log: impl BufRead,
    part: impl Fn(&str, usize) -> Option<usize>,
) -> Result<[Totals; 2], HlogError> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut sums: [BTreeMap<String, Sum>; 2] = Default::default();
    each(log, |tag, layout, counts| {
        let place = places.entry(tag.to_owned()).or_default();
        let part = part(tag, *place);
        *place += 1;
        let Some(sums) = part.and_then(|part| sums.get_mut(part)) else { return Ok(()) };
        sums.entry(tag.to_owned()).or_insert_with(Sum::new).add(layout, counts)
    })?;
    let totals = |sums: BTreeMap<String, Sum>| {
        sums.into_iter().map(|(tag, mut sum)| (tag, sum.total().clone())).collect()
    };
    Ok(sums.map(totals))
}

/// The values of each interval of `tag`, in the order of the log: value and count, ascending.
/// Intervals without values are empty.
///
/// # Errors
/// As [`super::totals`].
pub fn values(log: impl BufRead, tag: &str) -> Result<Vec<Vec<(u64, u64)>>, HlogError> {
    let mut values = Vec::new();
    each(log, |of, layout, counts| {
        if of == tag {
            let value = |(index, count): &(u32, u64)| (layout.value(*index as usize), *count);
            values.push(counts.iter().map(value).collect());
        }
        Ok(())
    })?;
    Ok(values)
}

/// Calls `interval` for each one of `log`.
pub(super) fn each(
    mut log: impl BufRead,
    mut interval: impl FnMut(&str, Layout, &[(u32, u64)]) -> Result<(), String>,
) -> Result<(), HlogError> {
    let mut decoder = Decoder::new();
    let mut line = Vec::new();
    let mut next = || {
        if !next_line(&mut log, &mut line)? {
            return Ok(false);
        }
        if let Some(parsed) = parse(&line)? {
            let (layout, counts) = decoder.decode(parsed.encoded)?;
            interval(parsed.tag, layout, counts)?;
        }
        Ok::<bool, String>(true)
    };
    for number in 1.. {
        match next() {
            Ok(true) => {}
            Ok(false) => break,
            Err(why) => return Err(HlogError(format!("line {number}: {why}"))),
        }
    }
    Ok(())
}

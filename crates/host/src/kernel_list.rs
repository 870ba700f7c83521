//! Lists of cores as the kernel's command line has them: `3-N`, `0-15:2/4`, `all`
//! (Documentation/admin-guide/kernel-parameters.rst, lib/bitmap-str.c: bitmap_parselist). What the
//! kernel prints is simpler: see [`crate::topology::parse_core_list`].

use crate::topology::CORES_MAX;

/// Reads a list. `last` is the highest possible core: the meaning of `N` and the end of `all`; the
/// kernel rejects a list with a higher number as a whole.
///
/// # Errors
/// The reason as half a sentence, if the kernel would reject it or `last` is needed and unknown.
pub fn parse_kernel_list(text: &str, last: Option<usize>) -> Result<Vec<usize>, String> {
    let mut cores = vec![false; CORES_MAX];
    if text != "none" {
        for region in text.split([',', ' ', '\t']).filter(|region| !region.is_empty()) {
            for core in region_cores(region, last).map_err(|why| format!("{region:?} {why}"))? {
                cores[core] = true;
            }
        }
    }
    Ok((0..CORES_MAX).filter(|&core| cores[core]).collect())
}

/// `FIRST[-LAST[:USED/GROUP]]`: the first `USED` cores of each group of `GROUP`.
fn region_cores(region: &str, last: Option<usize>) -> Result<Vec<usize>, String> {
    let unknown = "needs the number of the last core, which can't be read here";
    let number = |text: &str| match text {
        "N" => last.ok_or(unknown),
        digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| "has a number that is too large")
        }
        _ => Err("is no list of cores"),
    };
    let (range, pattern) = match region.split_once(':') {
        Some((range, pattern)) => (range, Some(pattern)),
        None => (region, None),
    };
    let (start, end) = match range.split_once('-') {
        _ if range.eq_ignore_ascii_case("all") => (0, last.ok_or(unknown)?),
        Some((start, end)) => (number(start)?, number(end)?),
        None if pattern.is_some() => return Err("has a pattern without a range".to_owned()),
        None => (number(range)?, number(range)?),
    };
    let (used, group) = match pattern.map(|pattern| pattern.split_once('/')) {
        Some(Some((used, group))) => (number(used)?, number(group)?),
        Some(None) => return Err("has a pattern that is not USED/GROUP".to_owned()),
        None => (1, 1),
    };
    let limit = last.unwrap_or(CORES_MAX - 1).min(CORES_MAX - 1);
    match () {
        _ if start > end => Err("runs backwards".to_owned()),
        _ if group == 0 || used > group => Err("has an impossible pattern".to_owned()),
        _ if end > limit => Err(format!("names core {end}, and the last one is {limit}")),
        () => Ok((start..=end).filter(|core| (core - start) % group < used).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::format_core_list;
    use proptest::prelude::*;

    /// The kernel's own examples (kernel-parameters.rst), on a machine with 16 cores.
    #[test]
    fn reads_what_the_kernel_reads() {
        for (text, cores) in [
            ("1,2,10-15", "1-2,10-15"),
            ("0-15:2/4", "0-1,4-5,8-9,12-13"),
            ("3-N", "3-15"),
            ("N", "15"),
            ("all", "0-15"),
            ("ALL:1/2", "0,2,4,6,8,10,12,14"),
            ("N-N:1/N", "15"),
            (",1,,2,", "1-2"),
            ("none", ""),
            ("", ""),
        ] {
            let read = parse_kernel_list(text, Some(15)).unwrap();
            assert_eq!(format_core_list(&read), cores, "{text}");
        }
    }

    #[test]
    fn a_list_that_the_kernel_rejects_has_a_reason() {
        for (text, why) in [
            ("3-1", "backwards"),
            ("0-15:3/2", "pattern"),
            ("0-15:1/0", "pattern"),
            ("0-15:2", "USED/GROUP"),
            ("4:1/2", "without a range"),
            ("16", "the last one is 15"),
            ("managed_irq,1", "no list"),
            ("n", "no list"),
            ("+1", "no list"),
            ("99999999999999999999", "too large"),
        ] {
            let error = parse_kernel_list(text, Some(15)).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(parse_kernel_list("3-N", None).unwrap_err().contains("can't be read"));
        assert_eq!(parse_kernel_list("3-4", None), Ok(vec![3, 4]));
    }

    proptest! {
        #[test]
        fn lists_that_the_kernel_prints_mean_the_same(
            cores in prop::collection::btree_set(0..64_usize, 0..40)
        ) {
            let cores: Vec<usize> = cores.into_iter().collect();
            prop_assert_eq!(parse_kernel_list(&format_core_list(&cores), Some(63)), Ok(cores));
        }

        #[test]
        fn any_text_is_read_or_has_a_reason(text in "[0-9aAlLN,:/ -]{0,30}") {
            match parse_kernel_list(&text, Some(63)) {
                Ok(cores) => prop_assert!(cores.iter().all(|&core| core <= 63)),
                Err(why) => prop_assert!(!why.is_empty()),
            }
        }
    }
}

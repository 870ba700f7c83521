//! Integers as decimal text, without the format machinery: two digits a step from a table.

/// The digits of `u64::MAX`.
const DIGITS_MAX: usize = 20;

const PAIRS: &[u8; 200] = b"\
    0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Appends `n`.
pub(crate) fn write_u64(out: &mut Vec<u8>, n: u64) {
    write_u64_padded(out, n, 1);
}

/// Appends `n`, with its sign if it is negative.
pub(crate) fn write_i64(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    write_u64(out, n.unsigned_abs());
}

/// Appends `n` with zeros in front to at least `width` digits (at most 20).
pub(crate) fn write_u64_padded(out: &mut Vec<u8>, mut n: u64, width: usize) {
    let mut digits = [b'0'; DIGITS_MAX];
    let mut at = DIGITS_MAX;
    while n >= 100 {
        let pair = (n % 100) as usize * 2;
        n /= 100;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if n >= 10 {
        let pair = n as usize * 2;
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        digits[at] = b'0' + n as u8;
    }
    out.extend_from_slice(&digits[at.min(DIGITS_MAX - width.min(DIGITS_MAX))..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn says_what_std_says(n in any::<i64>(), shift in 0u32..64, width in 0usize..25) {
            let n = n >> shift;
            let mut out = Vec::new();
            write_i64(&mut out, n);
            prop_assert_eq!(out, n.to_string().into_bytes());
            let (n, mut out) = (n.unsigned_abs(), Vec::new());
            write_u64_padded(&mut out, n, width);
            prop_assert_eq!(out, format!("{n:0width$}", width = width.min(20)).into_bytes());
        }
    }
}

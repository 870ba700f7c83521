//! Integers as decimal text, two digits a step from a table, which is faster than `format!`.

/// The digits of `u64::MAX`.
pub(crate) const DIGITS_MAX: usize = 20;

const PAIRS: &[u8; 200] = b"\
    0001020304050607080910111213141516171819\
    2021222324252627282930313233343536373839\
    4041424344454647484950515253545556575859\
    6061626364656667686970717273747576777879\
    8081828384858687888990919293949596979899";

/// Appends `n`.
#[inline]
pub(crate) fn write_u64(out: &mut Vec<u8>, n: u64) {
    let end = out.len() + count(n);
    out.extend_from_slice(&[0; DIGITS_MAX]);
    put_u64(out, end, n);
    out.truncate(end);
}

/// Appends `n`, with its sign if it is negative.
pub(crate) fn write_i64(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    write_u64(out, n.unsigned_abs());
}

/// Number of digits of `n`.
#[inline]
pub(crate) fn count(n: u64) -> usize {
    n.checked_ilog10().unwrap_or(0) as usize + 1
}

/// Writes `n` so that it ends at `end`. The text must have room for it.
#[inline]
pub(crate) fn put_u64(text: &mut [u8], end: usize, mut n: u64) {
    let mut at = end;
    while n >= 100 {
        let pair = (n % 100) as usize * 2;
        n /= 100;
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if n >= 10 {
        let pair = n as usize * 2;
        text[at - 2..at].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        text[at - 1] = b'0' + n as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn says_what_std_says(n in any::<i64>(), shift in 0u32..64) {
            let n = n >> shift;
            let mut out = Vec::new();
            write_i64(&mut out, n);
            prop_assert_eq!(out, n.to_string().into_bytes());
        }
    }
}

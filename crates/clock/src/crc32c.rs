//! CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4): it detects every burst of up to 32
//! wrong bits and, in records as short as ours, any five wrong bits.

pub use ::crc32c::crc32c;

/// The checksum of bytes with the checksum `before`, followed by `bytes`.
pub fn continued(before: u32, bytes: &[u8]) -> u32 {
    ::crc32c::crc32c_append(before, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 3720, and the check value of the catalogues.
    #[test]
    fn agrees_with_the_published_values() {
        let rising: Vec<u8> = (0..32).collect();
        let falling: Vec<u8> = (0..32).rev().collect();
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
        assert_eq!(crc32c(&rising), 0x46DD_794E);
        assert_eq!(crc32c(&falling), 0x113F_DB5C);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn in_parts_it_is_the_same() {
        let bytes: Vec<u8> = (0..100_u8).map(|byte| byte.wrapping_mul(37)).collect();
        for cut in 0..=bytes.len() {
            assert_eq!(continued(crc32c(&bytes[..cut]), &bytes[cut..]), crc32c(&bytes));
        }
    }
}

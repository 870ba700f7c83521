use super::*;
use dbn::encode::EncodeRecord;
use dbn::encode::dbn::Encoder;
use dbn::{FlagSet, Metadata, SType, Schema};

/// A file of schema mbo with `orders` Adds, one event each.
fn file(orders: u64) -> Vec<u8> {
    let metadata = Metadata::builder()
        .dataset("GLBX.MDP3")
        .schema(Some(Schema::Mbo))
        .start(0)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .build();
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, &metadata).unwrap();
    for order_id in 1..=orders {
        let (action, side) = (b'A' as _, b'B' as _);
        let flags = FlagSet::new(dbn::flags::LAST);
        let record =
            MboMsg { action, side, order_id, price: 50, size: 1, flags, ..MboMsg::default() };
        encoder.encode_record(&record).unwrap();
    }
    bytes
}

fn error(bytes: &[u8]) -> String {
    live_orders_of(bytes, "day.dbn").unwrap_err().to_string()
}

/// A plain file that was cut by 20 bytes once had one order fewer, without a word.
#[test]
fn a_file_that_is_cut_anywhere_is_an_error_with_the_records_number() {
    let whole = file(3);
    assert_eq!(live_orders_of(&whole[..], "day.dbn").unwrap().len(), 3);
    let record_bytes = size_of::<MboMsg>();
    for cut in 1..record_bytes {
        let why = error(&whole[..whole.len() - cut]);
        assert!(why.contains("day.dbn") && why.contains("record 3 is cut"), "{cut}: {why}");
    }
    let header_bytes = whole.len() - 3 * record_bytes;
    for length in 0..header_bytes {
        let why = error(&whole[..length]);
        assert!(why.contains("can't read orders from day.dbn"), "{length}: {why}");
    }
    assert!(error(&whole[..header_bytes + 5]).contains("record 1 is cut"));
}

#[test]
fn a_book_that_cannot_be_built_names_the_record() {
    let mut bytes = file(3);
    let record_bytes = size_of::<MboMsg>();
    // The third record repeats the second.
    let (start, third) = (bytes.len() - 2 * record_bytes, bytes.len() - record_bytes);
    bytes.copy_within(start..third, third);
    let why = error(&bytes);
    assert!(why.contains("record 3 adds order 2, which is in the book"), "{why}");
}

/// A file of 16 bytes once made the crate reserve 4 GB; the fuzz target found it.
#[test]
fn a_header_that_claims_more_than_the_limit_is_an_error_before_it_is_reserved() {
    let mut bytes = file(1);
    bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let why = error(&bytes);
    assert!(why.contains("claims 4294967295 bytes") && why.contains("header_bytes_max"), "{why}");

    let claimed = u32::try_from(HEADER_BYTES_MAX).unwrap();
    bytes[4..8].copy_from_slice(&claimed.to_le_bytes());
    assert!(error(&bytes).contains("its header is cut"));
}

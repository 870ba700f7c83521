use super::sparse::Layout;
use super::*;
use base64::Engine;
use clock::recorder::{INTERVAL_NS, LATENCY_NS_MAX, Series, histogram, recorder};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use proptest::prelude::*;

/// A line of a log, as any HDR tool writes it.
pub(crate) fn line(
    tag: &str,
    start: f64,
    length: f64,
    histogram: &Histogram<u64>,
    deflate: bool,
) -> String {
    let mut bytes = Vec::new();
    if deflate {
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
    } else {
        V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    }
    let tag = if tag.is_empty() { String::new() } else { format!("Tag={tag},") };
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    format!("{tag}{start:.3},{length:.3},{:.3},{encoded}\n", histogram.max() as f64)
}

/// Histograms of other writers: other bounds, other digits, few or many values.
fn foreign() -> impl Strategy<Value = Histogram<u64>> {
    let bounds = (0u32..12, 2u32..40, 0u8..=5);
    let values = prop::collection::vec((any::<u64>(), 0u32..60, 1u64..1_000_000), 0..60);
    (bounds, values).prop_map(|((low_bits, more_bits, digits), values)| {
        let low = 1u64 << low_bits;
        let high = low << more_bits.min(41 - low_bits);
        let mut histogram = Histogram::new_with_bounds(low, high, digits).unwrap();
        for (value, bits, count) in values {
            histogram.saturating_record_n(value >> (63 - bits.min(62)), count);
        }
        histogram
    })
}

/// The reference: the hdrhistogram crate's reading of the same log.
fn judged(histograms: &[Histogram<u64>]) -> Histogram<u64> {
    let mut total = histogram();
    for one in histograms {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(one, &mut bytes).unwrap();
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        for value in read.iter_recorded() {
            // The lowest value of the counter, as `Histogram::add` takes it.
            let lowest = read.lowest_equivalent(value.value_iterated_to());
            total.record_n(lowest, value.count_at_value()).unwrap();
        }
    }
    total
}

proptest! {
    #[test]
    fn foreign_logs_read_as_the_crate_reads_them(
        histograms in prop::collection::vec((foreign(), any::<bool>()), 1..5),
    ) {
        let log: String = histograms
            .iter()
            .map(|(histogram, deflate)| line("a.b.stage", 1.0, 1.0, histogram, *deflate))
            .collect();
        let totals = totals(log.as_bytes()).unwrap();
        let histograms: Vec<_> = histograms.into_iter().map(|(histogram, _)| histogram).collect();
        let judged = judged(&histograms);
        prop_assert_eq!(&totals["a.b.stage"], &judged);
        prop_assert_eq!(totals["a.b.stage"].max(), judged.max());
        prop_assert_eq!(totals["a.b.stage"].min(), judged.min());
        for quantile in [0.5, 0.9, 0.99, 0.999] {
            prop_assert_eq!(
                totals["a.b.stage"].value_at_quantile(quantile),
                judged.value_at_quantile(quantile)
            );
        }
    }

    #[test]
    fn a_log_cut_off_anywhere_gives_its_whole_lines(
        first in foreign(), second in foreign(), deflate: bool, cut in 0usize..10_000,
    ) {
        let whole = line("a", 0.0, 1.0, &first, deflate);
        let log = whole.clone() + &line("a", 1.0, 1.0, &second, deflate);
        let cut = whole.len() + cut % (log.len() - whole.len());
        let (totals, error) = totals_so_far(&log.as_bytes()[..cut]);
        prop_assert_eq!(error.is_some(), cut > whole.len());
        prop_assert_eq!(&totals["a"], &judged(&[first]));
    }

    /// A damaged log gives an error or another log, never a panic.
    #[test]
    fn damage_is_never_a_panic(
        histogram in foreign(), deflate: bool,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut log = line("a", 0.0, 1.0, &histogram, deflate).into_bytes();
        for (at, byte) in damage {
            let at = at.index(log.len());
            log[at] = byte;
        }
        let _ = totals_so_far(&log[..]);
    }

    #[test]
    fn any_encoded_bytes_are_never_a_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200), low: u64, high: u64, digits: u32,
    ) {
        if bytes.len() >= 40 {
            bytes[..4].copy_from_slice(&0x1c84_9313u32.to_be_bytes());
            let length = (bytes.len() - 40) as u32;
            bytes[4..8].copy_from_slice(&length.to_be_bytes());
            bytes[8..12].fill(0);
            bytes[12..16].copy_from_slice(&(digits % 7).to_be_bytes());
            bytes[16..24].copy_from_slice(&low.to_be_bytes());
            bytes[24..32].copy_from_slice(&high.to_be_bytes());
            bytes[32..40].copy_from_slice(&1f64.to_be_bytes());
        }
        let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
        let _ = totals_so_far(format!("0,1,2,{encoded}\n").as_bytes());
    }
}

#[test]
fn garbage_is_an_error_not_a_panic() {
    for garbage in [
        "Tag=a,0.1,1.0,2.0,!!!!\n",
        "Tag=a,0.1,1.0,2.0,AAAA\n",
        "Tag=a,0.1,1.0,2.0,\n",
        "Tag=a\n",
        "0.1,x,2.0,AAAA\n",
        "-1,1,2.0,AAAA\n",
        "hello\n",
        "\0\u{fffd}\n",
    ] {
        let error = totals(garbage.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line 1: "), "{error}");
    }
}

#[test]
fn comments_headers_and_empty_lines_hold_nothing() {
    let log = "#[a comment]\n\"StartTimestamp\",\"Interval_Length\"\n\r\n\n";
    assert!(totals(log.as_bytes()).unwrap().is_empty());
}

#[test]
fn values_beyond_the_range_are_rejected() {
    let mut long = Histogram::<u64>::new_with_bounds(1, u64::MAX, 3).unwrap();
    long.record(LATENCY_NS_MAX * 4).unwrap();
    let error = totals(line("a", 0.0, 1.0, &long, true).as_bytes()).unwrap_err().to_string();
    assert!(error.contains("out of bounds"), "{error}");
}

#[test]
fn endless_inflation_is_rejected() {
    let zeros = vec![0; 2 * ENCODED_BYTES_MAX];
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut stream = vec![0; compressor.zlib_compress_bound(zeros.len())];
    let length = compressor.zlib_compress(&zeros, &mut stream).unwrap();
    stream.truncate(length);
    let mut bytes = 0x1c84_9314u32.to_be_bytes().to_vec();
    bytes.extend((stream.len() as u32).to_be_bytes());
    bytes.extend(stream);
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    let error = totals(format!("0,1,2,{encoded}\n").as_bytes()).unwrap_err().to_string();
    assert!(error.contains("more than"), "{error}");
}

/// A latency of more than an hour is recorded as an hour, and such a log opens.
#[test]
fn our_own_longest_latency_opens() {
    let (mut recorder, drain) = recorder(&[Series::new("a", crate::Kind::Stage)], 2.0);
    recorder.start(0);
    recorder.record(0, u64::MAX);
    recorder.finish(INTERVAL_NS);
    let mut log = Vec::new();
    drain.run("s", &mut log, std::time::SystemTime::now(), 0, &|| ()).unwrap();
    assert!(totals(&log[..]).unwrap()["s.a.stage"].max() >= LATENCY_NS_MAX);
}

/// A counter of another layout may begin within our last counter; it was once rejected.
#[test]
fn values_up_to_the_end_of_the_last_counter_are_in_bounds() {
    let bounds = histogram();
    let most = Layout::of(&bounds).value(bounds.distinct_values()) - 1;
    let mut finer = Histogram::<u64>::new_with_bounds(4, 1 << 41, 4).unwrap();
    finer.record(most).unwrap();
    let sum = totals(line("a", 0.0, 1.0, &finer, false).as_bytes()).unwrap();
    assert_eq!(sum["a"].max(), most);
    let mut wider = Histogram::<u64>::new_with_bounds(4, 1 << 50, 4).unwrap();
    wider.record(most + 1).unwrap();
    let error = totals(line("a", 0.0, 1.0, &wider, false).as_bytes()).unwrap_err().to_string();
    assert!(error.ends_with(&format!("out of bounds, which end at {most}")), "{error}");
}

//! Decodes the histograms of a log without building them: one line at a time, only the counts that
//! are not zero, into the same memory. The line of a second has some hundred counts; a histogram
//! has 32 000 counters to allocate, clear and walk.

use base64::Engine;
use hdrhistogram::Histogram;
use libdeflater::{DecompressionError, Decompressor};

/// First word of an encoded histogram, HdrHistogram's V2 format.
const COOKIE: u32 = 0x1c84_9313;
/// First word of a zlib stream with an encoded histogram.
const COOKIE_COMPRESSED: u32 = 0x1c84_9314;
/// Before the counts: cookie, length, normalising offset, digits, lowest, highest, ratio.
const HEADER_BYTES: usize = 40;
/// The longest encoded histogram: nine bytes for each of the 6.2 million counters that five digits
/// over 64 bits need.
pub const ENCODED_BYTES_MAX: usize = 64 << 20;
/// Initial size of the buffer for inflated bytes.
const INFLATED_BYTES_AT_FIRST: usize = 64 << 10;

/// The values of a histogram's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    low: u64,
    high: u64,
    digits: u8,
    /// Number of counters.
    pub len: usize,
}

impl Layout {
    /// The layout of a histogram with these bounds; `None` if they are invalid.
    fn new(low: u64, high: u64, digits: u8) -> Option<Layout> {
        // `new_with_bounds` doubles `low` only after it has checked it.
        let histogram = Histogram::<u64>::new_with_bounds(low, high, digits).ok()?;
        Some(Layout { low, high, digits, len: histogram.distinct_values() })
    }

    /// The layout of `histogram`.
    pub(crate) fn of(histogram: &Histogram<u64>) -> Layout {
        Layout {
            low: histogram.low(),
            high: histogram.high(),
            digits: histogram.sigfig(),
            len: histogram.distinct_values(),
        }
    }

    /// The lowest value of counter `index`.
    #[inline]
    pub(crate) fn value(&self, index: usize) -> u64 {
        let half_bits = (2 * 10u32.pow(self.digits.into())).next_power_of_two().ilog2() - 1;
        let half = 1u64 << half_bits;
        let within = index as u64 & (half - 1);
        let unit = self.low.ilog2();
        match (index >> half_bits) as u32 {
            0 => within << unit,
            bucket => (within + half) << (bucket - 1 + unit),
        }
    }
}

/// A decoded histogram: its layout, and index and count of the counters that are not zero,
/// ascending.
pub(crate) type Sparse<'a> = (Layout, &'a [(u32, u64)]);

/// Decodes one histogram after the other.
pub(crate) struct Decoder {
    encoded: Vec<u8>,
    inflated: Vec<u8>,
    inflate: Decompressor,
    layout: Option<Layout>,
    counts: Vec<(u32, u64)>,
}

impl Decoder {
    pub(crate) fn new() -> Decoder {
        Decoder {
            encoded: Vec::new(),
            inflated: Vec::new(),
            inflate: Decompressor::new(),
            layout: None,
            counts: Vec::new(),
        }
    }

    /// Decodes a histogram in base64.
    ///
    /// # Errors
    /// A sentence that says why it is not a complete V2 histogram.
    pub(crate) fn decode(&mut self, text: &[u8]) -> Result<Sparse<'_>, String> {
        if text.len() > ENCODED_BYTES_MAX {
            return Err(format!("a histogram of more than {ENCODED_BYTES_MAX} bytes"));
        }
        self.encoded.clear();
        base64::engine::general_purpose::STANDARD
            .decode_vec(text, &mut self.encoded)
            .map_err(|error| error.to_string())?;
        let bytes = match word(&self.encoded, 0)? {
            COOKIE => self.encoded.as_slice(),
            COOKIE_COMPRESSED => {
                let length = word(&self.encoded, 4)? as usize;
                let stream = self.encoded.get(8..).and_then(|rest| rest.get(..length));
                let stream = stream.ok_or("it is incomplete")?;
                let length = inflate(&mut self.inflate, stream, &mut self.inflated)?;
                &self.inflated[..length]
            }
            other => return Err(format!("{other:#010x} does not start a V2 histogram")),
        };
        let layout = layout(bytes, self.layout)?;
        self.layout = Some(layout);
        let length = word(bytes, 4)? as usize;
        let encoded = bytes[HEADER_BYTES..].get(..length).ok_or("its counts are incomplete")?;
        self.counts.clear();
        read_counts(encoded, layout.len, &mut self.counts)?;
        Ok((layout, &self.counts))
    }
}

/// Inflates `stream` to the front of `inflated` and returns the number of bytes.
fn inflate(
    inflate: &mut Decompressor,
    stream: &[u8],
    inflated: &mut Vec<u8>,
) -> Result<usize, String> {
    loop {
        match inflate.zlib_decompress(stream, inflated) {
            Ok(length) => return Ok(length),
            Err(DecompressionError::InsufficientSpace) if inflated.len() < ENCODED_BYTES_MAX => {
                inflated.resize((2 * inflated.len()).max(INFLATED_BYTES_AT_FIRST), 0);
            }
            Err(DecompressionError::InsufficientSpace) => {
                return Err(format!("a histogram of more than {ENCODED_BYTES_MAX} bytes"));
            }
            Err(DecompressionError::BadData) => {
                return Err("its zlib stream is damaged or incomplete".to_owned());
            }
        }
    }
}

/// The layout in the header; reuses `last` if it is the same.
fn layout(bytes: &[u8], last: Option<Layout>) -> Result<Layout, String> {
    if bytes.len() < HEADER_BYTES {
        return Err("its header is incomplete".to_owned());
    }
    if word(bytes, 0)? != COOKIE {
        return Err("its compressed part is not a V2 histogram".to_owned());
    }
    let long = |at: usize| {
        Ok::<u64, String>((u64::from(word(bytes, at)?) << 32) | u64::from(word(bytes, at + 4)?))
    };
    let (low, high, ratio_bits) = (long(16)?, long(24)?, long(32)?);
    // The JavaScript writer's offset and ratio are whole numbers 1; it neither shifts nor scales.
    let is_javascript = (word(bytes, 8)?, ratio_bits) == (1, 1);
    let is_plain = (word(bytes, 8)?, ratio_bits) == (0, 1f64.to_bits());
    if !is_plain && !is_javascript {
        return Err("normalised or scaled histograms are not supported".to_owned());
    }
    let digits = u8::try_from(word(bytes, 12)?).unwrap_or(u8::MAX);
    match last {
        Some(last) if (last.low, last.high, last.digits) == (low, high, digits) => Ok(last),
        _ => Layout::new(low, high, digits).ok_or_else(|| {
            format!("no histogram has bounds of {low} and {high} with {digits} digits")
        }),
    }
}

fn word(bytes: &[u8], at: usize) -> Result<u32, String> {
    let word = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>);
    word.map(|word| u32::from_be_bytes(*word)).ok_or_else(|| "its header is incomplete".to_owned())
}

/// Zig-zag LEB128 of at most nine bytes each: a count, or, if negative, a number of zero counters.
fn read_counts(mut bytes: &[u8], len: usize, counts: &mut Vec<(u32, u64)>) -> Result<(), String> {
    let mut index = 0usize;
    while let Some((&first, rest)) = bytes.split_first() {
        let mut value = u64::from(first & 0x7f);
        bytes = rest;
        let mut more = first & 0x80 != 0;
        let mut shift = 7;
        while more {
            let Some((&next, rest)) = bytes.split_first() else {
                return Err("its last count is incomplete".to_owned());
            };
            bytes = rest;
            // The ninth byte is the last and uses all eight bits.
            let is_ninth = shift == 56;
            value |= u64::from(if is_ninth { next } else { next & 0x7f }) << shift;
            more = next & 0x80 != 0 && !is_ninth;
            shift += 7;
        }
        let number = (value >> 1).cast_signed() ^ -((value & 1).cast_signed());
        if number < 0 {
            let zeros = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
            index = index.saturating_add(zeros);
        } else {
            if number > 0 {
                if index >= len {
                    return Err("it has more counts than its bounds allow".to_owned());
                }
                counts.push((index as u32, number.cast_unsigned()));
            }
            index = index.saturating_add(1);
        }
    }
    Ok(())
}

/// The sum of decoded histograms.
pub(crate) struct Sum {
    layout: Option<Layout>,
    /// Counters of the lines since the layout last changed.
    dense: Vec<u64>,
    total: Histogram<u64>,
    bounds: Layout,
}

impl Sum {
    pub(crate) fn new() -> Sum {
        let total = clock::recorder::histogram();
        Sum { layout: None, dense: Vec::new(), bounds: Layout::of(&total), total }
    }

    /// Adds the counts of one line, all or none.
    ///
    /// # Errors
    /// If a value exceeds the range of tickpath's histograms.
    pub(crate) fn add(&mut self, layout: Layout, counts: &[(u32, u64)]) -> Result<(), String> {
        if layout != self.bounds
            && let Some((last, _)) = counts.last()
        {
            // The last counter is within bounds up to where another one would begin.
            let (value, most) =
                (layout.value(*last as usize), self.bounds.value(self.bounds.len) - 1);
            if value > most {
                return Err(format!("its maximum {value} is out of bounds, which end at {most}"));
            }
        }
        if self.layout != Some(layout) {
            self.flush();
            self.layout = Some(layout);
            self.dense.resize(layout.len, 0);
        }
        for (index, count) in counts {
            let sum = &mut self.dense[*index as usize];
            *sum = sum.saturating_add(*count);
        }
        Ok(())
    }

    fn flush(&mut self) {
        let Some(layout) = self.layout else { return };
        for (index, count) in self.dense.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            self.total.record_n(layout.value(index), *count).expect("`add` checked the bounds");
            *count = 0;
        }
    }

    /// The sum so far.
    pub(crate) fn total(&mut self) -> &Histogram<u64> {
        self.flush();
        &self.total
    }

    /// Resets the sum.
    pub(crate) fn clear(&mut self) {
        self.dense.fill(0);
        self.total.reset();
    }
}

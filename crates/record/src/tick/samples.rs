//! The trader's file of [`Sample`]s: 120 bytes each, little-endian, and nothing else.

use crate::tick::{POINTS, SAMPLE_BYTES, Sample};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Maximum number of samples of one run: some 2.4 GB of memory. A trader keeps fewer.
pub const SAMPLES_MAX: u64 = 20_000_000;

impl Sample {
    /// The bytes in a file.
    pub fn to_bytes(&self) -> [u8; SAMPLE_BYTES] {
        let mut bytes = [0; SAMPLE_BYTES];
        let words = std::iter::once(self.number).chain(self.stamps);
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From a file.
    pub fn from_bytes(bytes: &[u8; SAMPLE_BYTES]) -> Sample {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| u64::from_le_bytes(words[index]);
        Sample { number: word(0), stamps: std::array::from_fn::<_, POINTS, _>(|at| word(at + 1)) }
    }
}

/// Writes the samples of a run.
///
/// # Errors
/// If the file system returns one.
pub fn write(file: File, samples: &[Sample]) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, file);
    for sample in samples {
        file.write_all(&sample.to_bytes())?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.flush()
}

/// Reads all samples of a run.
///
/// # Errors
/// If the file can't be read, is incomplete, or has more than [`SAMPLES_MAX`].
pub fn read(path: &Path) -> io::Result<Vec<Sample>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let (samples, rest) = (length / SAMPLE_BYTES as u64, length % SAMPLE_BYTES as u64);
    let foreign = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if rest > 0 {
        let why = format!(
            "it has {samples} samples of {SAMPLE_BYTES} bytes and {rest} bytes more: it is incomplete"
        );
        return Err(foreign(why));
    }
    if samples > SAMPLES_MAX {
        return Err(foreign(format!("it has {samples} samples; the limit is {SAMPLES_MAX}")));
    }
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut bytes = [0; SAMPLE_BYTES];
    (0..samples)
        .map(|_| {
            file.read_exact(&mut bytes)?;
            Ok(Sample::from_bytes(&bytes))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_incomplete_file_is_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        write(File::create(&path).unwrap(), &[Sample::default(); 2]).unwrap();
        std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(239).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("1 samples of 120 bytes and 119 bytes more"), "{error}");
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            samples in prop::collection::vec((any::<u64>(), any::<[u64; POINTS]>()), 0..20)
        ) {
            let samples: Vec<Sample> =
                samples.into_iter().map(|(number, stamps)| Sample { number, stamps }).collect();
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("samples");
            write(File::create(&path).unwrap(), &samples).unwrap();
            prop_assert_eq!(read(&path).unwrap(), samples);
        }
    }
}

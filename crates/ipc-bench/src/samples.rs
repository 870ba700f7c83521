//! A client's result file: response time and service time of each measured message, 32 bits each,
//! little endian, after an eight-byte magic.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// The first bytes of the file.
pub const MAGIC: &[u8; 8] = b"TPIPC001";

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// From its due time until it could be read, ns; longer than 4.29 s counts as that.
    pub response_ns: u32,
    /// From just before it was sent, ns.
    pub service_ns: u32,
}

impl Sample {
    /// A message that never came.
    pub const NEVER: Sample = Sample { response_ns: u32::MAX, service_ns: u32::MAX };
}

/// Writes the samples of the measured messages, in their order.
///
/// # Errors
/// If the file system returns one.
pub fn write(path: &Path, samples: &[Sample]) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(MAGIC)?;
    for sample in samples {
        let word = u64::from(sample.response_ns) | u64::from(sample.service_ns) << 32;
        file.write_all(&word.to_le_bytes())?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.flush()
}

/// Reads `messages` samples.
///
/// # Errors
/// If the file can't be read, or has another length or magic.
pub fn read(path: &Path, messages: u64) -> io::Result<Vec<Sample>> {
    let file = File::open(path)?;
    let foreign = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let expected = MAGIC.len() as u64 + 8 * messages;
    let found = file.metadata()?.len();
    if found != expected {
        let why = format!("{messages} samples take {expected} bytes, and it has {found}");
        return Err(foreign(why));
    }
    let mut file = BufReader::with_capacity(1 << 20, file);
    let mut word = [0; 8];
    file.read_exact(&mut word)?;
    if word != *MAGIC {
        return Err(foreign("it does not start like a file of samples".to_owned()));
    }
    (0..messages)
        .map(|_| {
            file.read_exact(&mut word)?;
            let word = u64::from_le_bytes(word);
            Ok(Sample { response_ns: word as u32, service_ns: (word >> 32) as u32 })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("samples");
        let samples = [Sample { response_ns: 7, service_ns: 5 }, Sample::NEVER];
        write(&path, &samples).unwrap();
        assert_eq!(read(&path, 2).unwrap(), samples);
        assert!(read(&path, 1).unwrap_err().to_string().contains("16 bytes"));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert!(read(&path, 2).is_err());
    }
}

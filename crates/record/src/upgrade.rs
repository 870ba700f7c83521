//! Reads records, and brings those of earlier schemas up to this one.

use crate::{RunRecord, SCHEMA, Series, pairing};

impl RunRecord {
    /// Reads a record of this schema or of an earlier one.
    ///
    /// # Errors
    /// If the text is no such record.
    pub fn from_json(text: &str) -> Result<RunRecord, serde_json::Error> {
        let mut record: RunRecord = serde_json::from_str(text)?;
        if record.schema < 2 {
            // It was judged as a whole: all of its figures hold, or none counts.
            let series = record.subjects.iter_mut().flat_map(|subject| &mut subject.series);
            series.for_each(Series::hold_all);
        }
        if record.schema < 3 {
            pairing::derive(&mut record);
            record.schema = SCHEMA;
        }
        Ok(record)
    }
}

#[cfg(test)]
#[path = "upgrade_tests.rs"]
mod tests;

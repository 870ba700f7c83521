//! The last line of a client: its result.

use record::ClientResult;
use serde_json::Value;

/// The counts that rules compare. One that is absent is not 0.
const COUNTS: [&str; 6] = ["sent", "received", "lost", "duplicated", "rejected", "unexpected"];

/// Why a line is no result.
pub(super) enum ResultFault {
    /// It is something else.
    NoResult,
    /// A count is absent: what the error says.
    Lacks(String),
}

/// Reads the result. One that is not complete may lack counts, since nothing is compared then.
pub(super) fn read(line: &str) -> Result<ClientResult, ResultFault> {
    let value: Value = serde_json::from_str(line).map_err(|_| ResultFault::NoResult)?;
    let result: ClientResult =
        serde_json::from_value(value.clone()).map_err(|_| ResultFault::NoResult)?;
    let load = &value["load"];
    let lacking: Vec<&str> = COUNTS.into_iter().filter(|count| load[*count].is_null()).collect();
    if result.complete && !lacking.is_empty() {
        return Err(ResultFault::Lacks(format!(
            "its result has no load.{}: a complete result has the counts that clients/CONTRACT.md names",
            lacking.join(", load.")
        )));
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> String {
        match read(line) {
            Ok(result) => format!("{} lost", result.load.lost),
            Err(ResultFault::NoResult) => "no result".to_owned(),
            Err(ResultFault::Lacks(why)) => why,
        }
    }

    /// A client that did not say what it had lost was taken to have lost nothing.
    #[test]
    fn a_complete_result_without_a_count_is_rejected() {
        let whole = r#"{"complete": true, "load": {"sent": 9, "received": 7, "lost": 2,
            "duplicated": 0, "rejected": 0, "unexpected": 0}}"#;
        assert_eq!(said(whole), "2 lost");
        let why = said(&whole.replace(r#""lost": 2,"#, ""));
        assert!(why.starts_with("its result has no load.lost: "), "{why}");
        assert!(said(r#"{"complete": true}"#).contains("load.sent, load.received, load.lost"));
        assert_eq!(said(r#"{"complete": false, "failures": ["no core"]}"#), "0 lost");
        assert_eq!(said("Exception in thread main"), "no result");
        assert_eq!(said(r#"{"complete": "yes"}"#), "no result");
    }
}

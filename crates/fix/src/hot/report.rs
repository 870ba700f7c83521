//! A report about an order, read without a dictionary.

use super::header::{Header, fields};
use crate::tag;

/// The fields of an ExecutionReport, an OrderCancelReject or a BusinessMessageReject that a client
/// acts on. Fields that are missing are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report<'a> {
    /// Its header; MsgType is `8`, `9` or `j`.
    pub header: Header<'a>,
    /// ExecType (150).
    pub exec_type: &'a [u8],
    /// ClOrdID (11).
    pub id: &'a [u8],
    /// OrigClOrdID (41).
    pub original_id: &'a [u8],
    /// BusinessRejectRefID (379).
    pub reference: &'a [u8],
    /// Text (58).
    pub text: &'a [u8],
}

impl<'a> Report<'a> {
    /// Reads a whole message that [`frame`](crate::frame) found. `None` if it is of another type,
    /// has a data field, which may contain separators, or can't be read.
    #[inline]
    pub fn of(message: &'a [u8]) -> Option<Report<'a>> {
        let mut report = Report::default();
        for field in fields(message) {
            let (tag, value) = field?;
            match tag {
                tag::MSG_TYPE if !matches!(value, b"8" | b"9" | b"j") => return None,
                EXEC_TYPE => report.exec_type = value,
                CL_ORD_ID => report.id = value,
                ORIG_CL_ORD_ID => report.original_id = value,
                BUSINESS_REJECT_REF_ID => report.reference = value,
                tag::TEXT => report.text = value,
                tag::RAW_DATA_LENGTH | ENCODED_TEXT_LEN | SIGNATURE_LENGTH => return None,
                _ => {
                    report.header.take(tag, value)?;
                }
            }
        }
        (!report.header.msg_type.is_empty()).then_some(report)
    }
}

const CL_ORD_ID: u32 = 11;
const ORIG_CL_ORD_ID: u32 = 41;
const SIGNATURE_LENGTH: u32 = 93;
const EXEC_TYPE: u32 = 150;
const ENCODED_TEXT_LEN: u32 = 354;
const BUSINESS_REJECT_REF_ID: u32 = 379;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::seal;
    use crate::message::{Message, split};
    use proptest::prelude::*;

    fn sealed(body: &str) -> Vec<u8> {
        let mut out = Vec::new();
        seal(&mut out, b"FIX.4.4", body.replace('|', "\x01").as_bytes());
        out
    }

    #[test]
    fn a_report_is_read() {
        let message = sealed(
            "35=8|49=TICKPATH|56=ONE|34=12|52=20261127-10:00:00.000|37=7|11=b|41=a|150=4|39=4|58=x y|",
        );
        let report = Report {
            header: Header {
                begin_string: b"FIX.4.4",
                msg_type: b"8",
                sender: b"TICKPATH",
                target: b"ONE",
                seq: 12,
                is_poss_dup: false,
            },
            exec_type: b"4",
            id: b"b",
            original_id: b"a",
            text: b"x y",
            ..Report::default()
        };
        assert_eq!(Report::of(&message), Some(report));
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_session() {
        assert_eq!(Report::of(&sealed("35=0|34=1|")), None);
        assert_eq!(Report::of(&sealed("35=8|34=x|")), None);
        assert_eq!(Report::of(&sealed("35=8|34=1|354=1|355=|")), None);
        assert!(
            Report::of(&sealed("35=8|34=1|43=Y|")).is_some_and(|report| report.header.is_poss_dup)
        );
        assert_eq!(Report::of(b""), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
        #[test]
        fn any_bytes_are_a_report_or_none(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            Report::of(&bytes);
        }

        /// The slow reader finds the same values.
        #[test]
        fn fields_in_any_order_are_those_of_the_slow_reader(
            fields in prop::collection::vec(
                (prop::sample::select(vec![11u32, 17, 41, 49, 56, 58, 150, 379, 9999]), "[ -~]{1,20}"), 0..12),
            seq in 1u64..u64::MAX,
        ) {
            let mut once: Vec<&(u32, String)> = Vec::new();
            for field in &fields {
                if !once.iter().any(|one| one.0 == field.0) {
                    once.push(field);
                }
            }
            let fields: String = once.iter().map(|(tag, value)| format!("{tag}={}|", value.replace('|', "!"))).collect();
            let message = sealed(&format!("35=9|34={seq}|{fields}"));
            let mut split_fields = Vec::new();
            split(&message, |_| None, &mut split_fields).unwrap();
            let slow = Message::new(&message, &split_fields);
            let report = Report::of(&message).unwrap();
            let get = |tag| slow.get(tag).unwrap_or_default();
            prop_assert_eq!(Some(report.header.seq), slow.number(34));
            prop_assert_eq!(
                (report.id, report.original_id, report.header.sender, report.header.target),
                (get(11), get(41), get(49), get(56))
            );
            prop_assert_eq!(
                (report.exec_type, report.text, report.reference),
                (get(150), get(58), get(379))
            );
        }
    }
}

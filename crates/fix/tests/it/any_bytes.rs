//! The properties over bytes from proptest.

use crate::properties;
use fix::encode::seal;
use proptest::collection::vec;
use proptest::prelude::*;

/// Bytes that are often nearly a message.
fn nearly_fix() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        vec(any::<u8>(), 0..12),
        prop::sample::select(vec![
            "8=FIX.4.4\x019=",
            "35=D\x01",
            "10=000\x01",
            "8=",
            "\x01",
            "453=2\x01",
            "448=a\x01",
            "95=3\x0196=a\x01b\x01",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        (any::<bool>(), vec(any::<u8>(), 0..30)).prop_map(|(is_report, body)| {
            let mut out = Vec::new();
            let start = if is_report { "35=8\x0134=2\x01150=0\x0111=" } else { "35=D\x01" };
            let body = [start.as_bytes(), &body[..], b"\x01"].concat();
            seal(&mut out, b"FIX.4.4", &body);
            out
        }),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Lines for [`properties::session`].
fn dialogue() -> impl Strategy<Value = Vec<u8>> {
    let line = (
        prop::sample::select(vec!["A", "0", "1", "2", "3", "4", "5", "D", "F", "zz"]),
        1u32..9,
        prop::sample::select(vec![
            "98=0|108=5|",
            "112=x|",
            "7=1|16=0|",
            "36=9|",
            "123=Y|36=4|",
            "141=Y|98=0|108=5|",
            "43=Y|122=20231114-22:13:20|",
            "115=x|",
            "",
        ]),
    )
        .prop_map(|(kind, seq, rest)| format!("{kind}|34={seq}|{rest}").into_bytes());
    let line = prop_oneof![6 => line, 1 => Just(b"......".to_vec()), 1 => vec(any::<u8>(), 0..20)];
    vec(line, 0..20).prop_map(|lines| {
        let mut all = vec![b"A|34=1|98=0|108=5|".to_vec()];
        all.extend(lines);
        all.join(&b'\n')
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]

    #[test]
    fn framing_takes_or_skips_all(stream in nearly_fix()) {
        properties::tag_value(&stream);
    }

    #[test]
    fn a_session_survives_any_dialogue(stream in dialogue()) {
        properties::session(&stream);
    }

    #[test]
    fn a_changed_dictionary_loads_or_says_why(at in 0usize..fix::TICKPATH_XML.len(), byte in 32u8..127) {
        let mut xml = fix::TICKPATH_XML.as_bytes().to_vec();
        xml[at] = byte;
        if let Ok(xml) = std::str::from_utf8(&xml) {
            properties::loads_or_says_why(xml);
        }
    }
}

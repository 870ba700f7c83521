//! The cost of each subject's codec, which no round trip contains.

use crate::text::grid::Grid;
use crate::text::number::us;
use crate::text::terminal::shortened;
use crate::text::words;
use record::codec::CodecTime;
use record::{Kind, RunRecord, Subject};

/// Columns of a name.
const NAME_WIDTH: usize = 20;

/// The table; `None` unless subjects of two dialects say what their codecs cost.
pub(crate) fn grid(record: &RunRecord) -> Option<Grid> {
    let mut dialects = record.subjects.iter().filter(|one| !one.load.codec.is_empty());
    let first = &dialects.next()?.dialect;
    dialects.find(|one| one.dialect != *first)?;
    let rows = record.subjects.iter().filter_map(|subject| row(record, subject));
    let head =
        ["", "bytes: order, ack", "encode ns", "interval", "decode ns", "interval", "order p50 us"];
    let grid = Grid {
        title: "Encoding an order and decoding its acknowledgement".to_owned(),
        head: head.map(str::to_owned).to_vec(),
        rows: rows.collect(),
        notes: vec![
            "In memory, before each run, on the core of the client: the median run. Neither is part \
             of the order's service time, whose p50 is beside them. Lower is better."
                .to_owned(),
        ],
        ..Grid::default()
    };
    Some(grid)
}

fn row(record: &RunRecord, subject: &Subject) -> Option<Vec<String>> {
    let load = &subject.load;
    let encode = CodecTime::of(&load.codec, |run| run.encode_ps)?;
    let decode = CodecTime::of(&load.codec, |run| run.decode_ps)?;
    let ns = |ns: f64| format!("{ns:.0}");
    let interval = |time: &CodecTime| {
        time.interval_ns.map_or(String::new(), |[low, high]| format!("{}-{}", ns(low), ns(high)))
    };
    let p50 = subject.series("order", Kind::Service).and_then(|series| series.pooled.p50);
    Some(vec![
        shortened(&words::subject(record, &subject.name), NAME_WIDTH),
        format!("{} {}", load.message_bytes.order, load.message_bytes.order_reply),
        ns(encode.ns),
        interval(&encode),
        ns(decode.ns),
        interval(&decode),
        p50.map_or(String::new(), us),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Load;
    use record::codec::CodecRun;

    #[test]
    fn dialects_are_beside_each_other_and_one_alone_has_no_table() {
        let subject = |name: &str, dialect: &str, codec: Vec<CodecRun>| Subject {
            name: name.to_owned(),
            dialect: dialect.to_owned(),
            load: Load { codec, ..Load::default() },
            ..Subject::default()
        };
        let run = |ns: u64| CodecRun { orders: 64, encode_ps: ns * 1_000, decode_ps: ns * 2_000 };
        let of = |subjects| grid(&RunRecord { subjects, ..RunRecord::default() });
        let json = subject("json", "", vec![run(40)]);
        let other = subject("json-tls", "", vec![run(40)]);
        assert!(of(vec![json.clone(), other]).is_none(), "one dialect");
        let six = subject("fix", "fix", (61..67).map(run).collect());
        let foreign = subject("cpp", "sbe", Vec::new());
        let rows = of(vec![json, foreign, six]).unwrap().rows;
        assert_eq!(rows.len(), 2, "no row without figures");
        assert_eq!(rows[0][2..], ["40", "", "80", "", ""]);
        assert_eq!(rows[1][2..6], ["64", "61-66", "127", "122-132"]);
    }
}

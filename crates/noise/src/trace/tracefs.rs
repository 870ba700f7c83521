//! The tracepoints of this kernel and the layouts of their records: the `format` files of tracefs.

use crate::trace::namespace::with_private_mount;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// Where tracefs is mounted on most machines.
const MOUNTED: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// Where it is mounted temporarily and invisibly if it is not: a directory that always exists.
const PLACE: &str = "/sys";

/// One field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its offset in the record.
    pub offset: usize,
    /// Its length.
    pub size: usize,
    /// Whether it is a reference to a text: length in the upper half, offset in the lower.
    pub is_location: bool,
}

/// One tracepoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Format {
    /// Its number.
    pub id: u64,
    /// Its fields by name.
    pub fields: BTreeMap<String, Field>,
    /// Names of values, as its print format has them: `{ 3, "NET_RX" }`.
    pub symbols: BTreeMap<u64, String>,
}

impl Format {
    /// Parses a `format` file; `None` if it is something else.
    pub(crate) fn parse(text: &str) -> Option<Format> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(field).collect();
        let print = text.lines().find(|line| line.starts_with("print fmt:")).unwrap_or_default();
        Some(Format { id, fields, symbols: symbols(print) })
    }
}

/// `field:pid_t prev_pid; offset:24; size:4; signed:1;`, with tabs in between.
fn field(line: &str) -> Option<(String, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let number = |part: Option<&str>, key: &str| part?.strip_prefix(key)?.parse().ok();
    let (offset, size) = (number(parts.next(), "offset:")?, number(parts.next(), "size:")?);
    let name = declaration.split_whitespace().last()?.split('[').next()?;
    let is_location = declaration.starts_with("__data_loc");
    Some((name.to_owned(), Field { offset, size, is_location }))
}

fn symbols(print: &str) -> BTreeMap<u64, String> {
    let Some((_, list)) = print.split_once("__print_symbolic(") else { return BTreeMap::new() };
    let symbol = |part: &str| {
        let (number, rest) = part.split_once(',')?;
        let name = rest.trim().strip_prefix('"')?.split('"').next()?;
        Some((number.trim().parse().ok()?, name.to_owned()))
    };
    list.split('{').filter_map(symbol).collect()
}

/// Tracepoints by `group/name`.
pub(crate) type Formats = BTreeMap<String, Format>;

/// Reads the formats of the tracepoints in `groups` on this machine. If tracefs is not mounted, it
/// is mounted for this thread alone while this runs.
///
/// # Errors
/// If it is not mounted and can't be.
pub(crate) fn read(groups: &[&str]) -> io::Result<Formats> {
    for mounted in MOUNTED {
        let formats = formats(Path::new(mounted), groups);
        if formats.as_ref().is_ok_and(|formats| !formats.is_empty()) {
            return formats;
        }
    }
    with_private_mount("tracefs", Path::new(PLACE), |place| formats(place, groups))?
}

/// Reads the formats under `tracefs`. A missing group has none.
fn formats(tracefs: &Path, groups: &[&str]) -> io::Result<Formats> {
    let mut formats = Formats::new();
    let events = tracefs.join("events");
    fs::read_dir(&events)?;
    for group in groups {
        let Ok(entries) = fs::read_dir(events.join(group)) else { continue };
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if let Some(format) = read_format(&entry.path().join("format")) {
                formats.insert(format!("{group}/{name}"), format);
            }
        }
    }
    Ok(formats)
}

fn read_format(path: &Path) -> Option<Format> {
    Format::parse(&fs::read_to_string(path).ok()?)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    /// From Linux 6.18.
    pub(crate) const SOFTIRQ_ENTRY: &str = "name: softirq_entry
ID: 223
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:unsigned int vec;	offset:8;	size:4;	signed:0;

print fmt: \"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, { 0, \"HI\" }, { 1, \"TIMER\" }, { 2, \"NET_TX\" }, { 3, \"NET_RX\" }, { 9, \"RCU\" })
";

    #[test]
    fn a_format_is_read() {
        let format = Format::parse(SOFTIRQ_ENTRY).unwrap();
        assert_eq!(format.id, 223);
        assert_eq!(format.fields["vec"], Field { offset: 8, size: 4, is_location: false });
        assert_eq!(format.symbols[&3], "NET_RX");
        expect![[r#"{0: "HI", 1: "TIMER", 2: "NET_TX", 3: "NET_RX", 9: "RCU"}"#]]
            .assert_eq(&format!("{:?}", format.symbols));
        let text = "ID: 1\n\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n\
                    \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n";
        let fields = Format::parse(text).unwrap().fields;
        assert_eq!(fields["name"], Field { offset: 12, size: 4, is_location: true });
        assert_eq!(fields["prev_comm"].size, 16);
    }

    #[test]
    fn a_tree_is_read_and_what_is_missing_left_out() {
        let tree = tempfile::tempdir().unwrap();
        assert!(formats(tree.path(), &["irq"]).is_err());
        let event = tree.path().join("events/irq/softirq_entry");
        fs::create_dir_all(&event).unwrap();
        fs::write(event.join("format"), SOFTIRQ_ENTRY).unwrap();
        fs::write(tree.path().join("events/irq/enable"), "0").unwrap();
        let read = formats(tree.path(), &["irq", "irq_vectors"]).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["irq/softirq_entry"]);
    }

    /// If it may mount: nothing stays mounted.
    #[test]
    fn nothing_stays_mounted() {
        let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let before = mounts();
        match read(&["sched"]) {
            Ok(formats) => assert!(formats.contains_key("sched/sched_switch"), "{formats:?}"),
            Err(error) => testing::skipped(
                testing::Need::Tracepoints,
                format_args!("no tracefs here: {error}"),
            ),
        }
        assert_eq!(mounts(), before);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not(text in "(ID: ?[0-9]{0,3}\n|field:[a-z ;:0-9\\[\\]]{0,40}\n|print fmt:.{0,40}\n|.{0,20}){0,9}") {
            let _ = Format::parse(&text);
        }
    }
}

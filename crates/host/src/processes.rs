//! Processor time of all processes.

use std::collections::BTreeMap;

use crate::root::Root;

/// Processor time of one process since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Its name, at most 15 bytes (`comm`).
    pub name: String,
    /// Time in user and kernel mode of all its threads, in ticks of 1/`USER_HZ` s (10 ms).
    pub ticks: u64,
    /// Its start, in ticks since boot: tells it from a later process with the same number. The name
    /// can't, because a kernel worker's name changes with its work.
    pub started_ticks: u64,
}

/// Reads `/proc/PID/stat` of every visible process, including kernel threads. `None` if `/proc`
/// can't be listed.
pub fn read(root: &Root) -> Option<BTreeMap<usize, Process>> {
    let numbers = root.numbered("proc", "")?;
    let process = |number| Some((number, parse(&root.read(format!("proc/{number}/stat"))?)?));
    Some(numbers.into_iter().filter_map(process).collect())
}

/// `812 (a name (of any kind)) R 1 812 …`: fields 14 and 15 are times in user and kernel mode,
/// field 22 is the start (proc_pid_stat(5)).
fn parse(stat: &str) -> Option<Process> {
    let (_, rest) = stat.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    // The third field follows the name.
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Process {
        name: name.to_owned(),
        ticks: field(14)?.saturating_add(field(15)?),
        started_ticks: field(22)?,
    })
}

/// Number, name and ticks of the processes that ran since an `earlier` reading, the busiest first.
/// A process that started in between counts from its start.
pub fn since(
    now: &BTreeMap<usize, Process>,
    earlier: &BTreeMap<usize, Process>,
) -> Vec<(usize, Process)> {
    let used = |(&number, process): (&usize, &Process)| {
        let before = earlier.get(&number).filter(|one| one.started_ticks == process.started_ticks);
        let ticks = process.ticks.saturating_sub(before.map_or(0, |before| before.ticks));
        (ticks > 0).then(|| (number, Process { ticks, ..process.clone() }))
    };
    let mut busy: Vec<(usize, Process)> = now.iter().filter_map(used).collect();
    busy.sort_by_key(|(number, process)| (std::cmp::Reverse(process.ticks), *number));
    busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAT: &str = "812 (x) (y)) R 1 812 812 0 -1 4194304 1 2 3 4 50 60 7 8 20 0 1 0 99 0 0";

    #[test]
    fn reads_what_the_kernel_prints() {
        let expected = Process { name: "x) (y)".to_owned(), ticks: 110, started_ticks: 99 };
        assert_eq!(parse(STAT), Some(expected));
        for text in ["", "1 (a", "1 a) R", "1 (a) R 1 2 3", &STAT.replace("60", "-60")] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn this_process_is_among_those_of_this_machine() {
        let found = read(&Root::system()).unwrap();
        assert!(found.contains_key(&(std::process::id() as usize)));
        assert_eq!(read(&Root::at("/no/such/root")), None);
    }

    #[test]
    fn the_busiest_is_first_and_a_reused_number_is_another_process() {
        type Row = (usize, &'static str, u64, u64);
        let of = |all: &[Row]| -> BTreeMap<usize, Process> {
            let one = |&(number, name, ticks, started_ticks): &Row| {
                (number, Process { name: name.to_owned(), ticks, started_ticks })
            };
            all.iter().map(one).collect()
        };
        let earlier = of(&[(1, "init", 50, 0), (2, "kworker/a", 100, 5), (3, "sh", 70, 9)]);
        let now = of(&[
            (1, "init", 50, 0),
            (2, "kworker/b", 130, 5),
            (3, "sh", 7, 20),
            (4, "ld", 90, 30),
        ]);
        let busy = since(&now, &earlier);
        let told: Vec<(usize, &str, u64)> =
            busy.iter().map(|(number, one)| (*number, one.name.as_str(), one.ticks)).collect();
        assert_eq!(told, [(4, "ld", 90), (2, "kworker/b", 30), (3, "sh", 7)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left_out(text in "[0-9]{0,3} ?[()a ]{0,6}( [-0-9]{1,20}){0,20}") {
            let _ = parse(&text);
        }
    }
}

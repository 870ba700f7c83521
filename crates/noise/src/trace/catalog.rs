//! The tracepoints to watch, and their decoding. Layouts come from the kernel's own `format` files,
//! so a kernel with other fields or fewer tracepoints is no special case.

use crate::cause::{self, Cause, Causes, thread_name};
use crate::trace::records::{half, long, word};
use crate::trace::tracefs::{Field, Format, Formats};
use std::collections::BTreeMap;

/// Groups of tracefs to search.
pub(crate) const GROUPS: [&str; 6] = ["irq_vectors", "ipi", "irq", "sched", "timer", "workqueue"];

/// Kinds of work on a core, in the order in which they nest, outermost first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkKind {
    /// A thread.
    Thread,
    /// An interrupt of the processor's own.
    Vector,
    /// A device's interrupt.
    Irq,
    /// Deferred work after an interrupt.
    Softirq,
    /// A tasklet.
    Tasklet,
    /// A high-resolution timer.
    Hrtimer,
    /// A timer of the wheel.
    Timer,
    /// Work in a kernel worker.
    Work,
    /// A page fault.
    Fault,
    /// Unknown time.
    Lost,
}

/// Causes that only carry others, and pass their own time on. The timer's interrupt does nothing
/// but run timers, and a worker nothing but its work.
const CARRIERS: [(&str, WorkKind); 7] = [
    ("irq_vector.local_timer", WorkKind::Hrtimer),
    ("irq.arch_timer", WorkKind::Hrtimer),
    ("softirq.hrtimer", WorkKind::Hrtimer),
    ("softirq.timer", WorkKind::Timer),
    ("softirq.tasklet", WorkKind::Tasklet),
    ("thread.ksoftirqd", WorkKind::Softirq),
    ("thread.kworker", WorkKind::Work),
];

/// The kind of work that a cause carries, by its id.
fn carries(id: &str) -> Option<WorkKind> {
    CARRIERS.iter().find(|(carrier, _)| *carrier == id).map(|(_, kind)| *kind)
}

/// How to name the cause of a pair of tracepoints.
#[derive(Clone, Copy, Debug)]
enum Naming {
    /// A fixed name.
    Fixed,
    /// By the text of a field.
    Text(&'static str),
    /// By the name that the print format gives to a field's value.
    Symbol(&'static str),
    /// By the function whose address is in a field.
    Function(&'static str),
}

struct Pair {
    kind: WorkKind,
    prefix: &'static str,
    entry: &'static str,
    exit: &'static str,
    naming: Naming,
}

/// The pairs besides those of `irq_vectors`, which differ from kernel to kernel.
const PAIRS: [Pair; 7] = [
    Pair {
        kind: WorkKind::Vector,
        prefix: "ipi",
        entry: "ipi/ipi_entry",
        exit: "ipi/ipi_exit",
        naming: Naming::Fixed,
    },
    Pair {
        kind: WorkKind::Irq,
        prefix: "irq",
        entry: "irq/irq_handler_entry",
        exit: "irq/irq_handler_exit",
        naming: Naming::Text("name"),
    },
    Pair {
        kind: WorkKind::Softirq,
        prefix: "softirq",
        entry: "irq/softirq_entry",
        exit: "irq/softirq_exit",
        naming: Naming::Symbol("vec"),
    },
    Pair {
        kind: WorkKind::Tasklet,
        prefix: "tasklet",
        entry: "irq/tasklet_entry",
        exit: "irq/tasklet_exit",
        naming: Naming::Function("func"),
    },
    Pair {
        kind: WorkKind::Hrtimer,
        prefix: "hrtimer",
        entry: "timer/hrtimer_expire_entry",
        exit: "timer/hrtimer_expire_exit",
        naming: Naming::Function("function"),
    },
    Pair {
        kind: WorkKind::Timer,
        prefix: "timer",
        entry: "timer/timer_expire_entry",
        exit: "timer/timer_expire_exit",
        naming: Naming::Function("function"),
    },
    Pair {
        kind: WorkKind::Work,
        prefix: "workqueue",
        entry: "workqueue/workqueue_execute_start",
        exit: "workqueue/workqueue_execute_end",
        naming: Naming::Function("function"),
    },
];

/// The meaning of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordMeaning<'a> {
    /// Work of a kind began.
    Enter {
        /// Its pair of tracepoints; an exit with the same number ends it.
        pair: u16,
        /// Its kind.
        kind: WorkKind,
        /// Its cause.
        cause: Cause,
        /// The kind of other work that it carries.
        carries: Option<WorkKind>,
        /// Whether there will be an exit.
        has_end: bool,
    },
    /// It ended.
    Exit {
        /// Its pair.
        pair: u16,
    },
    /// Another thread got the core.
    Switch(Switch<'a>),
    /// A page fault began.
    Fault,
}

/// A change of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch<'a> {
    pub prev: i32,
    pub prev_name: &'a str,
    /// Whether it wanted to continue.
    pub prev_is_runnable: bool,
    /// Below 100 in a real-time class.
    pub prev_priority: i32,
    pub next: i32,
    pub next_name: &'a str,
    pub next_priority: i32,
}

#[derive(Clone, Debug)]
enum Meaning {
    Enter { pair: u16, kind: WorkKind, naming: NameSource, has_end: bool },
    Exit { pair: u16 },
    Switch([Field; 7]),
}

#[derive(Clone, Debug)]
enum NameSource {
    Fixed(String),
    Text(&'static str, Field),
    Symbol(&'static str, Field, BTreeMap<u64, String>),
    Function(&'static str, Field),
}

/// One tracepoint to open.
#[derive(Clone, Debug)]
pub(crate) struct Tracepoint {
    /// Its number.
    pub id: u64,
    /// `group/name`.
    pub name: String,
    meaning: Meaning,
}

/// All tracepoints of this kernel that concern the use of a core.
pub(crate) fn tracepoints(formats: &Formats) -> Vec<Tracepoint> {
    let mut found = Vec::new();
    let vectors: Vec<&str> = formats
        .keys()
        .filter_map(|name| name.strip_prefix("irq_vectors/")?.strip_suffix("_entry"))
        .collect();
    for (pair, vector) in vectors.iter().enumerate() {
        let name = |end: &str| format!("irq_vectors/{vector}_{end}");
        let naming = Some(NameSource::Fixed(format!("irq_vector.{vector}")));
        add(&mut found, formats, (pair, WorkKind::Vector), (&name("entry"), &name("exit")), naming);
    }
    for (number, pair) in PAIRS.iter().enumerate() {
        let naming = formats.get(pair.entry).and_then(|format| pair.named(format));
        let number = vectors.len() + number;
        add(&mut found, formats, (number, pair.kind), (pair.entry, pair.exit), naming);
    }
    let switch = "sched/sched_switch";
    if let Some(format) = formats.get(switch)
        && let Some(fields) = SWITCH_FIELDS
            .map(|name| format.fields.get(name).copied())
            .into_iter()
            .collect::<Option<Vec<_>>>()
        && let Ok(fields) = fields.try_into()
    {
        let meaning = Meaning::Switch(fields);
        found.push(Tracepoint { id: format.id, name: switch.to_owned(), meaning });
    }
    found
}

fn add(
    found: &mut Vec<Tracepoint>,
    formats: &Formats,
    (pair, kind): (usize, WorkKind),
    (entry, exit): (&str, &str),
    naming: Option<NameSource>,
) {
    let (Some(opening), Some(closing), Some(naming)) =
        (formats.get(entry), formats.get(exit), naming)
    else {
        return;
    };
    let pair = pair as u16;
    let meaning = Meaning::Enter { pair, kind, naming, has_end: true };
    found.push(Tracepoint { id: opening.id, name: entry.to_owned(), meaning });
    let meaning = Meaning::Exit { pair };
    found.push(Tracepoint { id: closing.id, name: exit.to_owned(), meaning });
}

impl Pair {
    fn named(&self, format: &Format) -> Option<NameSource> {
        let field = |name| format.fields.get(name).copied();
        Some(match self.naming {
            Naming::Fixed => NameSource::Fixed(self.prefix.to_owned()),
            Naming::Text(name) => NameSource::Text(self.prefix, field(name)?),
            Naming::Symbol(name) => {
                let lower = |(value, name): (&u64, &String)| (*value, name.to_lowercase());
                let symbols = format.symbols.iter().map(lower).collect();
                NameSource::Symbol(self.prefix, field(name)?, symbols)
            }
            Naming::Function(name) => NameSource::Function(self.prefix, field(name)?),
        })
    }
}

/// Fields of `sched/sched_switch`, in the order of [`Meaning::Switch`].
const SWITCH_FIELDS: [&str; 7] =
    ["prev_pid", "prev_comm", "prev_state", "prev_prio", "next_pid", "next_comm", "next_prio"];
/// Bits of `prev_state` for the reason of a wait; none is set while the thread wants to run
/// (`TASK_REPORT` and the idle state, include/linux/sched.h). The bit above them means that it was
/// preempted.
const WAITS_FOR: u64 = 0xff;

/// Reads records by their tracepoint's number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog(BTreeMap<u16, Meaning>);

impl Catalog {
    /// Makes one for the tracepoints that could be opened. An entry whose exit could not be opened
    /// has no end.
    pub(crate) fn of(opened: &[Tracepoint]) -> Catalog {
        let exits = |wanted: u16| {
            opened.iter().any(|one| matches!(one.meaning, Meaning::Exit { pair } if pair == wanted))
        };
        let meaning = |one: &Tracepoint| {
            let mut meaning = one.meaning.clone();
            if let Meaning::Enter { pair, has_end, .. } = &mut meaning {
                *has_end = exits(*pair);
            }
            Some((u16::try_from(one.id).ok()?, meaning))
        };
        Catalog(opened.iter().filter_map(meaning).collect())
    }

    /// The meaning of a tracepoint's record; `None` if the tracepoint is unknown. Each record
    /// begins with the tracepoint's number in two bytes (`struct trace_entry`); a page fault, which
    /// is no tracepoint, with zero.
    pub(crate) fn said<'a>(&self, raw: &'a [u8], causes: &mut Causes) -> Option<RecordMeaning<'a>> {
        let id = half(raw, 0)?;
        if id == 0 {
            return Some(RecordMeaning::Fault);
        }
        match self.0.get(&id)? {
            Meaning::Exit { pair } => Some(RecordMeaning::Exit { pair: *pair }),
            Meaning::Switch(fields) => switch(raw, fields).map(RecordMeaning::Switch),
            Meaning::Enter { pair, kind, naming, has_end } => {
                let (cause, carries) = naming.cause(raw, causes)?;
                let (pair, kind, has_end) = (*pair, *kind, *has_end);
                Some(RecordMeaning::Enter { pair, kind, cause, carries, has_end })
            }
        }
    }
}

impl NameSource {
    fn cause(&self, raw: &[u8], causes: &mut Causes) -> Option<(Cause, Option<WorkKind>)> {
        let mut of = |id: &str| (causes.text(id), carries(id));
        Some(match self {
            NameSource::Fixed(id) => of(id),
            NameSource::Symbol(prefix, field, symbols) => {
                let value = unsigned(raw, *field)?;
                match symbols.get(&value) {
                    Some(name) => of(&format!("{prefix}.{name}")),
                    None => of(&format!("{prefix}.{value}")),
                }
            }
            NameSource::Text(prefix, field) => {
                let name = text(raw, *field)?;
                (causes.named(prefix, name), carries(&format!("{prefix}.{name}")))
            }
            NameSource::Function(prefix, field) => {
                (causes.function(prefix, unsigned(raw, *field)?), None)
            }
        })
    }
}

/// The kernel's names of softirqs (`include/linux/interrupt.h`), as ids use them.
const SOFTIRQS: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

/// Whether the meter can report this cause (the table in [`cause`](crate::cause)). A name in
/// capitals stands for any: `thread.NAME`.
pub fn is_cause(id: &str) -> bool {
    let Some((prefix, name)) = id.split_once('.') else {
        return cause::ALONE.contains(&id);
    };
    match prefix {
        "softirq" => SOFTIRQS.contains(&name),
        "thread" => !name.is_empty() && thread_name(name) == name,
        "irq_vector" => !name.is_empty(),
        _ => {
            let named =
                |pair: &Pair| pair.prefix == prefix && !matches!(pair.naming, Naming::Fixed);
            !name.is_empty() && PAIRS.iter().any(named)
        }
    }
}

/// The cause for a thread, and the work that it carries.
pub(crate) fn thread_cause(name: &str, causes: &mut Causes) -> (Cause, Option<WorkKind>) {
    let name = thread_name(name);
    (causes.named("thread", name), carries(&format!("thread.{name}")))
}

fn switch<'a>(raw: &'a [u8], fields: &[Field; 7]) -> Option<Switch<'a>> {
    let [prev, prev_name, state, prev_priority, next, next_name, next_priority] = *fields;
    let signed = |field| Some(unsigned(raw, field)? as i32);
    Some(Switch {
        prev: signed(prev)?,
        prev_name: text(raw, prev_name)?,
        prev_is_runnable: unsigned(raw, state)? & WAITS_FOR == 0,
        prev_priority: signed(prev_priority)?,
        next: signed(next)?,
        next_name: text(raw, next_name)?,
        next_priority: signed(next_priority)?,
    })
}

fn unsigned(raw: &[u8], field: Field) -> Option<u64> {
    match field.size {
        8 => long(raw, field.offset),
        4 => word(raw, field.offset).map(u64::from),
        2 => half(raw, field.offset).map(u64::from),
        _ => raw.get(field.offset).copied().map(u64::from),
    }
}

/// A text up to its zero, with invalid UTF-8 replaced.
fn text(raw: &[u8], field: Field) -> Option<&str> {
    let bytes = if field.is_location {
        let location = word(raw, field.offset)?;
        raw.get((location & 0xffff) as usize..)?.get(..(location >> 16) as usize)?
    } else {
        raw.get(field.offset..)?.get(..field.size)?
    };
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    Some(std::str::from_utf8(&bytes[..end]).unwrap_or("unreadable"))
}

#[cfg(test)]
#[path = "catalog_tests.rs"]
pub(crate) mod tests;

//! Causes of lost time on a core, as stable ids: records contain them, and settings name the causes
//! that they remove.
//!
//! | id | holder of the core |
//! |---|---|
//! | `tick` | the scheduler's tick: the periodic timer of this kernel (`CONFIG_HZ`) |
//! | `irq_vector.NAME` | an interrupt of the processor's own: `local_timer`, `reschedule`, `call_function`, `call_function_single`, `irq_work`, … |
//! | `irq.NAME` | a device's interrupt, by the name in /proc/interrupts |
//! | `ipi` | an interrupt from another core, where the kernel does not say which (aarch64) |
//! | `softirq.NAME` | deferred work after an interrupt: `net_rx`, `net_tx`, `timer`, `sched`, `rcu`, `block`, … |
//! | `hrtimer.FUNC`, `timer.FUNC` | a high-resolution timer, a timer of the wheel, by its function |
//! | `tasklet.FUNC` | a tasklet, by its function |
//! | `workqueue.FUNC` | work in a kernel worker, by its function |
//! | `thread.NAME` | another thread; kernel threads of a core (`kworker/1:0`) or node (`kswapd0`) without its number |
//! | `page_fault` | a page of the thread's own memory that was not there |
//! | `rt_throttling` | the kernel's limit for real-time threads (`kernel.sched_rt_runtime_us`) |
//! | `fair_server` | the share that other threads get beside a real-time one, from Linux 6.12 |
//! | `cgroup_quota` | the control group's limit (`cpu.max`) |
//! | `blocked` | none: the thread itself waited |
//! | `host` | no event of this kernel: hypervisor, firmware, or an interrupt that can't be traced (NMI) |
//! | `untraced` | unknown: events were lost, or nothing was traced |

use std::collections::HashMap;

/// See the table above.
pub const HOST: &str = "host";
/// See the table above.
pub const UNTRACED: &str = "untraced";
/// See the table above.
pub const TICK: &str = "tick";
pub(crate) const PAGE_FAULT: &str = "page_fault";
pub(crate) const RT_THROTTLING: &str = "rt_throttling";
pub(crate) const FAIR_SERVER: &str = "fair_server";
pub(crate) const CGROUP_QUOTA: &str = "cgroup_quota";
pub(crate) const BLOCKED: &str = "blocked";

/// Ids that are not a prefix and a name.
pub(crate) const ALONE: [&str; 9] =
    ["ipi", TICK, PAGE_FAULT, RT_THROTTLING, FAIR_SERVER, CGROUP_QUOTA, BLOCKED, HOST, UNTRACED];

/// Kernel threads of a NUMA node, with the node's number right behind the name: `kcompactd0`.
const THREADS_OF_NODES: [&str; 2] = ["kcompactd", "kswapd"];

/// Functions that are the tick, by kernel version: 6.8 and later, before.
const TICK_FUNCTIONS: [&str; 2] = ["tick_nohz_handler", "tick_sched_timer"];
/// Limit on the causes of one measurement; later ones are `untraced`. So threads with ever new
/// names, or a damaged buffer, can't fill the memory.
const CAUSES_MAX: usize = 4096;
/// The longest id.
const ID_BYTES_MAX: usize = 80;

/// A cause of one measurement: index into [`Causes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cause(u16);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Text(String),
    Function(&'static str, u64),
}

/// The causes of one measurement.
#[derive(Clone, Debug)]
pub struct Causes {
    keys: Vec<Key>,
    known: HashMap<Key, Cause>,
}

impl Default for Causes {
    fn default() -> Causes {
        let mut causes = Causes { keys: Vec::new(), known: HashMap::new() };
        causes.text(UNTRACED);
        causes.text(HOST);
        causes
    }
}

impl Causes {
    /// Unknown.
    pub const UNTRACED: Cause = Cause(0);
    /// No event of this kernel.
    pub const HOST: Cause = Cause(1);

    /// The cause of that id.
    pub fn text(&mut self, id: &str) -> Cause {
        self.of(Key::Text(id.to_owned()))
    }

    /// The cause `prefix.NAME`, without characters of `name` that an id may not have.
    pub(crate) fn named(&mut self, prefix: &str, name: &str) -> Cause {
        self.text(&id(prefix, name))
    }

    /// The cause `prefix.FUNC` of the function at an address of the kernel.
    pub(crate) fn function(&mut self, prefix: &'static str, address: u64) -> Cause {
        self.of(Key::Function(prefix, address))
    }

    fn of(&mut self, key: Key) -> Cause {
        if let Some(cause) = self.known.get(&key) {
            return *cause;
        }
        if self.keys.len() >= CAUSES_MAX {
            return Causes::UNTRACED;
        }
        let cause = Cause(self.keys.len() as u16);
        self.keys.push(key.clone());
        self.known.insert(key, cause);
        cause
    }

    /// The ids by [`Cause`], with names of functions from `kallsyms` (the text of /proc/kallsyms).
    pub(crate) fn ids(&self, kallsyms: &str) -> Vec<String> {
        let names = function_names(&self.addresses(), kallsyms);
        let id_of = |key: &Key| match key {
            Key::Text(text) => text.clone(),
            Key::Function(prefix, address) => match names.get(address) {
                Some(name) if TICK_FUNCTIONS.contains(name) => TICK.to_owned(),
                Some(name) => id(prefix, name),
                // With hidden symbols (kernel.kptr_restrict) an address would name nothing.
                None => id(prefix, "unknown"),
            },
        };
        self.keys.iter().map(id_of).collect()
    }

    fn addresses(&self) -> Vec<u64> {
        let address = |key: &Key| match key {
            Key::Function(_, address) => Some(*address),
            Key::Text(_) => None,
        };
        self.keys.iter().filter_map(address).collect()
    }

    /// Whether a cause needs the kernel's symbols.
    pub(crate) fn has_functions(&self) -> bool {
        !self.addresses().is_empty()
    }
}

impl Cause {
    /// Its index in [`Causes::ids`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The kernel's symbols; empty where they can't be read.
pub(crate) fn kallsyms() -> String {
    std::fs::read_to_string("/proc/kallsyms").unwrap_or_default()
}

/// The first symbol at each address that is wanted.
fn function_names<'a>(addresses: &[u64], kallsyms: &'a str) -> HashMap<u64, &'a str> {
    let mut names = HashMap::new();
    for line in kallsyms.lines() {
        let mut words = line.split_whitespace();
        let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let Some(address) = address.filter(|address| *address != 0) else { continue };
        if addresses.contains(&address)
            && let Some(name) = words.nth(1)
        {
            names.entry(address).or_insert(name);
        }
    }
    names
}

fn id(prefix: &str, name: &str) -> String {
    let plain = |char: char| if char.is_ascii_graphic() { char } else { '_' };
    let name: String = name.trim().chars().map(plain).collect();
    let mut id = format!("{prefix}.{}", if name.is_empty() { "unknown" } else { &name });
    id.truncate(ID_BYTES_MAX);
    id
}

/// The name of a thread without the number of its core or node: `kworker/1:0H` is `kworker`.
pub(crate) fn thread_name(name: &str) -> &str {
    let of_node = |stem: &&&str| {
        let number = name.strip_prefix(**stem);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    if let Some(stem) = THREADS_OF_NODES.iter().find(of_node) {
        return stem;
    }
    match name.split_once('/') {
        Some((stem, rest))
            if rest.starts_with(|char: char| char == 'u' || char.is_ascii_digit()) =>
        {
            stem
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn functions_get_their_names_and_the_tick_is_one() {
        let mut causes = Causes::default();
        let known = [
            causes.function("hrtimer", 0xffff_8000),
            causes.function("hrtimer", 0xffff_9000),
            causes.function("workqueue", 0xffff_a000),
            causes.named("thread", thread_name("kworker/u9:2")),
            causes.named("thread", "a b\u{7}ü"),
            causes.named("irq", ""),
            causes.function("hrtimer", 0xffff_8000),
        ];
        let kallsyms = "00000000ffff8000 t tick_nohz_handler\n00000000ffff8000 t alias\n\
                        00000000ffff9000 t it_real_fn\t[m]\n0000000000000000 t hidden\nrubbish\n";
        let ids = causes.ids(kallsyms);
        let ids: Vec<&str> = known.iter().map(|cause| ids[cause.index()].as_str()).collect();
        expect![
            "tick hrtimer.it_real_fn workqueue.unknown thread.kworker thread.a_b__ irq.unknown tick"
        ]
        .assert_eq(&ids.join(" "));
        assert_eq!(causes.ids("")[..2], [UNTRACED, HOST]);
        assert_eq!(thread_name("my/thread"), "my/thread");
        for (name, stem) in [
            ("kcompactd0", "kcompactd"),
            ("kswapd11", "kswapd"),
            ("kswapd_", "kswapd_"),
            ("worker1", "worker1"),
        ] {
            assert_eq!(thread_name(name), stem);
        }
    }

    #[test]
    fn there_are_not_ever_more() {
        let mut causes = Causes::default();
        for number in 0..CAUSES_MAX + 10 {
            causes.named("thread", &number.to_string());
        }
        assert_eq!(causes.ids("").len(), CAUSES_MAX);
        assert_eq!(causes.named("thread", "one more"), Causes::UNTRACED);
    }
}

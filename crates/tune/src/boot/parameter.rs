//! Values of single kernel parameters: whether they hold a wanted one, and the union of lists.

use host::kernel_list::parse_kernel_list;
use host::topology::format_core_list;

use super::line::{Word, key};

/// Parameters with a list of cores of which there is ever one word: the kernel ignores a second
/// `isolcpus=` and `nohz_full=` (kernel/sched/isolation.c), and of `rcu_nocbs=` all but the last.
const UNITED: [&str; 3] = ["isolcpus", "nohz_full", "rcu_nocbs"];

/// Flags and cores of a value.
#[derive(Debug, Default, PartialEq, Eq)]
struct List {
    flags: Vec<String>,
    cores: Vec<usize>,
}

/// A value of `isolcpus` has flags before the list (kernel/sched/isolation.c); without any it means
/// `domain`.
fn list(name: &str, value: &str, last: Option<usize>) -> Result<List, String> {
    let unreadable = |why: String| format!("has {name}={value}: {why}");
    let (mut flags, mut rest) = (Vec::new(), value);
    while name == "isolcpus" && rest.starts_with(|first: char| first.is_ascii_alphabetic()) {
        let (flag, behind) = rest.split_once(',').ok_or_else(|| {
            unreadable(format!("the kernel takes {rest:?} for a flag, and there is no list"))
        })?;
        if !flag.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
            return Err(unreadable(format!("{flag:?} is neither a flag nor a list of cores")));
        }
        if !flags.iter().any(|one| one == flag) {
            flags.push(flag.to_owned());
        }
        rest = behind;
    }
    if name == "isolcpus" && flags.is_empty() {
        flags.push("domain".to_owned());
    }
    let cores = parse_kernel_list(rest, last).map_err(unreadable)?;
    Ok(List { flags, cores })
}

/// Whether a command line with these words has the wanted one.
///
/// # Errors
/// Half a sentence, if the line has a value that can't be read.
pub(crate) fn is_set(words: &[Word], wanted: &str, last: Option<usize>) -> Result<bool, String> {
    let name = key(wanted);
    let there = with_key(words, &name);
    let Some(final_one) = there.last() else { return Ok(false) };
    let value = wanted.split_once('=').map_or("", |(_, value)| value);
    if name == "irqaffinity" {
        let now = list(&name, final_one.value(), last);
        return Ok(now.is_ok_and(|now| Ok(now) == list(&name, value, last)));
    }
    if !UNITED.contains(&name.as_str()) {
        return Ok(final_one.value() == value);
    }
    let new = list(&name, value, last)?;
    let mut is_set = there.len() == 1;
    for word in &there {
        let now = list(&name, word.value(), last)?;
        is_set &= new.flags.iter().all(|flag| now.flags.contains(flag))
            && new.cores.iter().all(|core| now.cores.contains(core));
    }
    Ok(is_set)
}

/// Words with this key, in order.
pub(crate) fn with_key(words: &[Word], name: &str) -> Vec<Word> {
    words.iter().filter(|word| word.key() == name).cloned().collect()
}

/// The word to write in place of all of `there`: the union of lists of cores, otherwise `wanted`.
///
/// # Errors
/// Half a sentence, if one of them can't be read.
pub(crate) fn united(there: &[Word], wanted: &str, last: Option<usize>) -> Result<String, String> {
    let name = key(wanted);
    let value = wanted.split_once('=').map_or("", |(_, value)| value);
    if !UNITED.contains(&name.as_str()) {
        return Ok(wanted.to_owned());
    }
    let mut union = List::default();
    for value in there.iter().map(Word::value).chain([value]) {
        let one = list(&name, value, last)?;
        union.cores.extend(one.cores);
        for flag in one.flags {
            if !union.flags.contains(&flag) {
                union.flags.push(flag);
            }
        }
    }
    let flags: String = union.flags.iter().map(|flag| format!("{flag},")).collect();
    Ok(format!("{name}={flags}{}", format_core_list(&union.cores)))
}

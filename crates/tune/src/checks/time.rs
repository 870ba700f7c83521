//! Which source the wall clock follows: one, the nearest that there is.

use clock::phc::PhcReading;
use record::doctor::Grade;

use crate::inspection::Inspection;
use crate::setting::Judgement;
use crate::time_sources::TimeSources;

/// Two hosts' stamps are compared by their wall clocks. Two programs that set one clock pull it to
/// and fro; a mixture of sources is as good as the worse one.
pub(crate) fn source(seen: &Inspection) -> Judgement {
    let time = &seen.time;
    let Some(setters) = &time.setters else {
        return (Grade::Unknown, "processes can't be listed".to_owned());
    };
    match &setters[..] {
        [] if seen.machine.fixed.container.is_some() => (
            Grade::Unknown,
            "a container doesn't see which program sets its host's clock".to_owned(),
        ),
        [] => (Grade::Warn, "no program sets the wall clock".to_owned()),
        [one] if one == "chronyd" => chrony(time),
        [one] if one == "phc2sys" => {
            (Grade::Ok, "phc2sys, by a PTP clock; it states no bound of the error".to_owned())
        }
        [one] => {
            (Grade::Warn, with_unused(time, &format!("{one}, which states no bound of the error")))
        }
        several => (Grade::Warn, format!("{} set one clock", several.join(" and "))),
    }
}

fn with_unused(time: &TimeSources, found: &str) -> String {
    time.unused().map_or(found.to_owned(), |unused| format!("{found}; not {unused}"))
}

/// How far the PTP clocks are from the wall clock that should follow one of them.
fn apart(time: &TimeSources) -> String {
    let of_one = |(name, reading): &(String, PhcReading)| {
        let (offset_ns, bound_ns) = (reading.offset_ns(), reading.bound_ns);
        format!("; {name} is {offset_ns} ns ahead of the wall clock (error {bound_ns} ns at most)")
    };
    time.readings.iter().map(of_one).collect()
}

/// A source of chrony: fields of a line of `chronyc -c sources` (client.c of chrony 4.3).
struct Source<'a> {
    /// `^` server, `=` peer, `#` clock of this machine.
    mode: &'a str,
    /// `*` selected, `+` combined with it, others are not used.
    state: &'a str,
    name: &'a str,
}

impl Source<'_> {
    fn of(line: &str) -> Option<Source<'_>> {
        let mut fields = line.split(',');
        Some(Source { mode: fields.next()?, state: fields.next()?, name: fields.next()? })
    }
}

fn chrony(time: &TimeSources) -> Judgement {
    let text = match &time.chrony {
        Some(Ok(text)) => text,
        Some(Err(why)) => return (Grade::Unknown, format!("chronyd runs, but {why}")),
        None => return (Grade::Unknown, "chronyd runs, and its sources were not read".to_owned()),
    };
    let sources: Option<Vec<Source<'_>>> = text.lines().map(Source::of).collect();
    let Some(sources) = sources else {
        return (Grade::Unknown, format!("\"{}\" is not understood", text.trim()));
    };
    let Some(selected) = sources.iter().find(|one| one.state == "*") else {
        return (Grade::Warn, with_unused(time, "chrony has selected none of its sources"));
    };
    let combined: Vec<&str> =
        sources.iter().filter(|one| one.state == "+").map(|one| one.name).collect();
    if selected.mode == "#" {
        return match combined.is_empty() {
            true => (Grade::Ok, format!("chrony follows {} alone{}", selected.name, apart(time))),
            false => {
                let others = combined.join(", ");
                (Grade::Warn, format!("chrony mixes {} with {others}", selected.name))
            }
        };
    }
    let mut found = format!("chrony follows {}", selected.name);
    if !combined.is_empty() {
        found = format!("{found} and combines it with {}", combined.join(", "));
    }
    match time.unused() {
        Some(_) => (Grade::Warn, with_unused(time, &found)),
        None => (Grade::Ok, found),
    }
}

#[cfg(test)]
#[path = "time_tests.rs"]
mod tests;

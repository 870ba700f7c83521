//! Differences between the two session machines, and what the specification says of each: FIX 4.4,
//! volume 2, "FIX Session-level Test Cases and Expected Behaviors".

use super::Answers;
use super::peer::Step;

/// A step, and both sides' answers.
pub struct Seen<'a> {
    pub step: Step,
    /// Whether the number of the step's message is above the expected one.
    pub is_too_high: bool,
    /// Connections of the session so far.
    pub connections: u32,
    /// The next number of ours before.
    pub out: u64,
    pub ours: &'a Answers,
    pub theirs: &'a Answers,
}

impl Seen<'_> {
    /// Whether the first message of ours has that type, and that of theirs another one.
    fn begin(&self, ours: &str, theirs: &str) -> bool {
        let begins = |answers: &Answers, start: &str| {
            answers.messages.first().is_some_and(|message| message.starts_with(start))
        };
        begins(self.ours, ours) && begins(self.theirs, theirs)
    }

    /// Whether theirs are ours, and more.
    fn theirs_go_on(&self) -> bool {
        let (ours, theirs) = (&self.ours.messages, &self.theirs.messages);
        theirs.len() > ours.len() && theirs.starts_with(ours)
    }
}

pub enum Verdict {
    Same,
    /// The name of a known difference. Its walk ends: the numbers differ from now on.
    Known(&'static str),
    Unknown,
}

/// A difference.
struct Known {
    /// The behaviour of theirs, and why ours differs.
    name: &'static str,
    is_it: fn(&Seen<'_>) -> bool,
}

const KNOWN: [Known; 9] = [
    Known {
        name: "case 8: a ResendRequest for no message that was sent is rejected by ours (5, value \
               is incorrect); theirs fills a gap to a number that is not above its own",
        is_it: |seen| match seen.step {
            Step::ResendRequest { from, to } => {
                let last = seen.out - 1;
                let is_empty = from == 0 || from > last || (to > 0 && from > to);
                is_empty && (seen.begin("35=3|", "35=4|") || seen.begin("35=2|", "35=4|"))
            }
            _ => false,
        },
    },
    Known {
        name: "case 20: ours requests what is missing when a ResendRequest is too high; theirs \
               waits for the next message",
        is_it: |seen| {
            let last = seen.ours.messages.last();
            matches!(seen.step, Step::ResendRequest { .. })
                && seen.is_too_high
                && seen.ours != seen.theirs
                && last.is_some_and(|message| message.starts_with("35=2|"))
                && seen.ours.messages.starts_with(&seen.theirs.messages)
        },
    },
    Known {
        name: "case 10: a gap fill whose NewSeqNo is not above its MsgSeqNum: ours rejects it, and \
               its number is used; theirs waits for that number again, and says nothing if both \
               are equal",
        is_it: |seen| {
            matches!(seen.step, Step::GapFill { by } if by <= 0)
                && seen.ours.messages.first().is_some_and(|message| message.starts_with("35=3|"))
                && (seen.theirs.messages.is_empty() || seen.theirs == seen.ours)
        },
    },
    Known {
        name: "case 2b: a faulty message whose number is too high: ours requests what is missing, \
               and looks at faults when the message comes again; theirs rejects it at once",
        is_it: |seen| seen.is_too_high && seen.begin("35=2|", "35=3|"),
    },
    Known {
        name: "case 2b: theirs keeps messages after a gap, and answers them when it is filled; \
               ours has them sent again",
        is_it: |seen| matches!(seen.step, Step::Serve { .. }) && seen.theirs_go_on(),
    },
    Known {
        name: "case 2g: PossDupFlag without OrigSendingTime: ours rejects the message (1, required \
               tag missing), as the case says; theirs ends the session",
        is_it: |seen| {
            seen.step == Step::Again { has_orig_time: false } && seen.begin("35=3|", "35=5|")
        },
    },
    Known {
        name: "case 2f: OrigSendingTime after SendingTime: the Logout after the Reject is \
               optional, and only theirs sends one",
        is_it: |seen| seen.step == Step::AgainFromTheFuture && seen.theirs_go_on(),
    },
    Known {
        name: "a Logon after a connection that ended: theirs may have that one still, and closes \
               the new one",
        is_it: |seen| {
            matches!(seen.step, Step::Logon { .. })
                && seen.connections > 1
                && seen.theirs.messages.is_empty()
                && seen.theirs.is_closed
        },
    },
    Known {
        name: "a second Logon: both end the session, and only ours says why in a Logout",
        is_it: |seen| {
            seen.step == Step::SecondLogon
                && seen.ours.is_closed
                && seen.theirs.is_closed
                && seen.theirs.messages.is_empty()
        },
    },
];

pub fn judge(seen: &Seen<'_>) -> Verdict {
    match KNOWN.iter().find(|known| (known.is_it)(seen)) {
        Some(Known { name, .. }) => Verdict::Known(name),
        None if seen.ours == seen.theirs => Verdict::Same,
        None => Verdict::Unknown,
    }
}

//! Judges the runs of a record by the rules of integrity: a record in which something was lost,
//! doubled, wrong or not recorded is void. Each rule judges one subject in one run; a rule that
//! broke in any run is broken.

use crate::evidence::Run;
use crate::kind::runner;
use record::{Rule, Verdict};

/// Every rule for every subject, over all runs that count.
pub(crate) fn rules(subjects: &[String], runs: &[Run]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for subject in subjects {
        let of_subject =
            |run: &'_ Run| run.measured.iter().position(|measured| measured.subject == *subject);
        let Some(kind) = runs.iter().find_map(|run| Some(run.measured[of_subject(run)?].kind))
        else {
            continue;
        };
        for (rule, check) in runner(kind).rules() {
            let mut outcome: Option<(Verdict, String)> = None;
            for (number, run) in (1..).zip(runs) {
                let Some(index) = of_subject(run) else { continue };
                let (verdict, why) = check(&run.evidence(&run.measured[index]));
                let worse = match &outcome {
                    None => true,
                    Some((so_far, _)) => {
                        verdict == Verdict::Broken && *so_far != Verdict::Broken
                            || verdict == Verdict::Held && *so_far == Verdict::NotApplicable
                    }
                };
                if worse {
                    outcome = Some((verdict, format!("run {number}: {why}")));
                }
            }
            if let Some((verdict, detail)) = outcome {
                rules.push(Rule { rule: format!("{subject}.{rule}"), verdict, detail });
            }
        }
    }
    rules
}

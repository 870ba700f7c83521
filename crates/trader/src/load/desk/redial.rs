//! The addresses of an exchange, for a desk that goes on at another one when it is lost.

use plan::process::orders::OrdersPlan;
use record::Outage;

/// A connection that owes a reply and is silent for this long is given up.
pub(crate) const SILENCE_NS_MAX: u64 = 500_000_000;

/// The addresses of an exchange, and what the present outage has cost so far.
pub(crate) struct Redial {
    pub(crate) plan: OrdersPlan,
    /// Which address is in use.
    pub(crate) current: usize,
    /// Why the exchange was given up, if it was and no other one was found yet.
    pub(crate) lost: Option<String>,
    /// The outage that no answer has ended yet.
    pub(crate) open: Option<Outage>,
    /// When the last answer came, or the load began.
    answered_ns: u64,
}

impl Redial {
    /// `None` if the plan has one address. `current` is the one in use since `began_ns`.
    pub(crate) fn new(plan: &OrdersPlan, current: usize, began_ns: u64) -> Option<Redial> {
        (plan.targets().len() > 1).then(|| Redial {
            plan: plan.clone(),
            current,
            lost: None,
            open: None,
            answered_ns: began_ns,
        })
    }

    /// The connections are of no use any more.
    pub(super) fn lose(&mut self, why: String) {
        self.lost.get_or_insert(why);
    }

    /// Notes an answer; returns the outage that it ended.
    pub(super) fn answered(&mut self, at_ns: u64) -> Option<Outage> {
        let before_ns = std::mem::replace(&mut self.answered_ns, at_ns);
        let outage = self.open.take()?;
        Some(Outage { silence_ns: at_ns.saturating_sub(before_ns), ..outage })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_ends_with_the_first_answer() {
        let plan = |target: &str| OrdersPlan { target: target.to_owned(), ..plan() };
        assert!(Redial::new(&plan("a:1"), 0, 0).is_none(), "there is nowhere to go");
        let mut redial = Redial::new(&plan("a:1, b:2"), 0, 700).unwrap();
        redial.open = Some(Outage::default());
        let before_any = Outage { silence_ns: 300, ..Outage::default() };
        assert_eq!(redial.answered(1000), Some(before_any), "lost before the first answer");
        redial.open = Some(Outage { unanswered: 3, ..Outage::default() });
        let outage = Outage { unanswered: 3, silence_ns: 400, ..Outage::default() };
        assert_eq!(redial.answered(1400), Some(outage));
        assert_eq!(redial.answered(1500), None);
    }

    fn plan() -> OrdersPlan {
        let text = serde_json::json!({
            "subject": "s", "target": "", "wire": "websocket-json", "backend": "block", "core": null,
            "scheduling": "other", "warm_up_seconds": 0.0, "seconds": 1.0, "hlog": "",
            "load": plan::tables::load::Load::default(),
        });
        serde_json::from_value(text).unwrap()
    }
}

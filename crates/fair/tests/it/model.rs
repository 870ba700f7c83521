//! The window against a naive model, which keeps everything in a list and sorts it each time.

use fair::window::{Answer, Claim, DeliveryWindow, Fate, WindowFull};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An event at the exchange. Each comes some time after the one before.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many new messages are published.
    Publish(u64),
    /// An order arrives. Its tick is so far behind the latest, and its response time is this share
    /// of the time since that, in percent.
    Arrive { behind: u64, percent: u64 },
    /// The orders of this name are needed now.
    Take(u8),
    /// The exchange looks at what is due.
    Release,
}

fn step() -> impl Strategy<Value = (u64, Step)> {
    let step = prop_oneof![
        2 => (0u64..4).prop_map(Step::Publish),
        6 => (0u64..6, 0u64..120).prop_map(|(behind, percent)| Step::Arrive { behind, percent }),
        1 => (0u8..8).prop_map(Step::Take),
        3 => Just(Step::Release),
    ];
    (0u64..200, step)
}

/// An order that waits in the model. Its name is the arrival's last digits, in base 8.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    publication: u64,
    response_ns: u64,
    arrival: u64,
    due_ns: u64,
}

#[derive(Debug)]
struct Model {
    window_ns: u64,
    orders_max: usize,
    /// By message: number and time of its publication.
    published: BTreeMap<u64, (u64, u64)>,
    publications: u64,
    waiting: Vec<Waiting>,
    arrivals: u64,
}

impl Model {
    fn publish(&mut self, last: u64, now_ns: u64) {
        let first = self.published.len() as u64 + 1;
        self.publications += u64::from(last >= first);
        self.published.extend((first..=last).map(|one| (one, (self.publications, now_ns))));
    }

    /// Its fate; `None` if it is rejected.
    fn arrive(&mut self, Claim { tick, response_ns }: Claim, now_ns: u64) -> Option<Fate> {
        self.arrivals += 1;
        let Some((publication, at_ns)) = self.published.get(&tick).copied() else {
            return Some(Fate::UnknownTick);
        };
        if at_ns + response_ns > now_ns {
            return Some(Fate::Impossible);
        }
        let due_ns = at_ns + self.window_ns;
        if now_ns >= due_ns {
            return Some(Fate::Late);
        }
        if self.waiting.len() == self.orders_max {
            return None;
        }
        self.waiting.push(Waiting { publication, response_ns, arrival: self.arrivals, due_ns });
        Some(Fate::Held)
    }

    /// Removes those that `wanted` chooses, in the order of release.
    fn leave(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Vec<u64> {
        self.waiting.sort_by_key(|one| (one.publication, one.response_ns, one.arrival));
        let (leave, stay) = self.waiting.iter().partition(|one| wanted(one));
        self.waiting = stay;
        let leave: Vec<Waiting> = leave;
        leave.iter().map(|one| one.arrival).collect()
    }
}

fn name(arrival: u64) -> u8 {
    (arrival % 8) as u8
}

fn arrivals(taken: impl FnMut() -> Option<(Answer, u8)>, expected: Fate) -> Vec<u64> {
    let of = |(answer, named): (Answer, u8)| {
        assert_eq!((answer.fate, name(answer.arrival)), (expected, named));
        answer.arrival
    };
    std::iter::from_fn(taken).map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(400)))]

    #[test]
    fn a_window_does_what_a_sorted_list_does(
        window_ns in 1u64..1_500,
        orders_max in 1usize..12,
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut window = DeliveryWindow::with_room(window_ns, orders_max);
        let mut model = Model {
            window_ns,
            orders_max,
            published: BTreeMap::new(),
            publications: 0,
            waiting: Vec::new(),
            arrivals: 0,
        };
        let (mut now_ns, mut last) = (1_000, 0u64);
        for (after_ns, step) in steps {
            now_ns += after_ns;
            match step {
                Step::Publish(messages) => {
                    last += messages;
                    window.published(last, now_ns);
                    model.publish(last, now_ns);
                }
                Step::Arrive { behind, percent } => {
                    // A number above the last is a tick that was not published.
                    let tick = (last + 1).saturating_sub(behind);
                    let at_ns = model.published.get(&tick).map_or(now_ns, |(_, at_ns)| *at_ns);
                    let claim = Claim { tick, response_ns: (now_ns - at_ns) * percent / 100 };
                    let answer = window.arrives(claim, now_ns);
                    let held = match answer.fate {
                        Fate::Held => window.hold(answer, now_ns, name(answer.arrival)),
                        _ => Ok(()),
                    };
                    let fate = match held {
                        Ok(()) => Some(answer.fate),
                        Err(WindowFull) => None,
                    };
                    prop_assert_eq!(fate, model.arrive(claim, now_ns));
                }
                Step::Take(named) => {
                    let taken = arrivals(|| window.take(|order| *order == named), Fate::Early);
                    prop_assert_eq!(taken, model.leave(|one| name(one.arrival) == named));
                }
                Step::Release => {
                    let released = arrivals(|| window.release(now_ns), Fate::Held);
                    prop_assert_eq!(released, model.leave(|one| one.due_ns <= now_ns));
                }
            }
            prop_assert_eq!(window.len(), model.waiting.len());
        }
    }
}

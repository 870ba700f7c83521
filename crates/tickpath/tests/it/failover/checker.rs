//! Whether requests and answers of several clients could come from one plain book: whether there is
//! an order of the requests, each between its start and its end, in which that book gives the same
//! answers (linearizability). The search is that of the crate `todc-utils`, by the algorithm of
//! Wing, Gong and Lowe. The book knows nothing of the engine.

use std::collections::BTreeMap;
use std::sync::Mutex;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};
use todc_utils::specifications::Specification;

/// A request of an account, about its order with that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    Place(u32),
    Cancel(u32),
    Status(u32),
    CancelAll,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Booked,
    Cancelled,
    Open,
    /// The order was cancelled before.
    Ended,
    /// So many orders were open.
    AllCancelled(u64),
    /// The order is there already, or it is not there.
    Rejected,
    /// Nothing is executed now.
    Unavailable,
}

/// A request and its answer; `None`: it may have been executed, or will be, or never.
type Call = (Request, Option<Answer>);

/// Orders that never trade: whether each is open, or was cancelled.
type Orders = BTreeMap<u32, bool>;

struct Book;

impl Specification for Book {
    type State = Orders;
    type Operation = Call;

    fn init() -> Orders {
        Orders::new()
    }

    fn apply((request, answer): &Call, orders: &Orders) -> (bool, Orders) {
        let mut next = orders.clone();
        if *answer == Some(Answer::Unavailable) {
            return (true, next);
        }
        let right = carry_out(*request, &mut next);
        (answer.is_none_or(|answer| answer == right), next)
    }
}

fn carry_out(request: Request, orders: &mut Orders) -> Answer {
    match request {
        Request::Place(number) => match orders.insert(number, true) {
            Some(true) => Answer::Rejected,
            _ => Answer::Booked,
        },
        Request::Cancel(number) => match orders.get_mut(&number) {
            Some(is_open @ true) => {
                *is_open = false;
                Answer::Cancelled
            }
            _ => Answer::Rejected,
        },
        Request::Status(number) => match orders.get(&number) {
            Some(true) => Answer::Open,
            Some(false) => Answer::Ended,
            None => Answer::Rejected,
        },
        Request::CancelAll => {
            let open = orders.values_mut().filter(|is_open| **is_open);
            Answer::AllCancelled(open.map(|is_open| *is_open = false).count() as u64)
        }
    }
}

/// Requests and answers in the order in which their clients sent and got them.
#[derive(Default)]
pub struct Recording(Mutex<Vec<(usize, Call)>>);

impl Recording {
    /// Call it before the request is sent. Returns its number.
    pub fn begin(&self, request: Request) -> usize {
        let mut all = self.0.lock().unwrap();
        let number = all.len();
        all.push((number, (request, None)));
        number
    }

    /// Call it after the answer to the request of that number has come.
    pub fn end(&self, number: usize, answer: Answer) {
        let mut all = self.0.lock().unwrap();
        let (_, (request, _)) = all[number];
        all.push((number, (request, Some(answer))));
    }

    /// Whether a plain book could have given these answers.
    ///
    /// # Errors
    /// The requests and answers, for a person to read.
    pub fn check(self) -> Result<(), String> {
        let all = self.0.into_inner().unwrap();
        if all.is_empty() {
            return Ok(());
        }
        let mut actions: Vec<(usize, Action<Call>)> = Vec::new();
        let mut unanswered: BTreeMap<usize, Call> = BTreeMap::new();
        for &(number, call) in &all {
            let action = match call.1 {
                None => {
                    unanswered.insert(number, call);
                    Action::Call(call)
                }
                Some(_) => {
                    unanswered.remove(&number);
                    Action::Response(call)
                }
            };
            // Each request has a process of its own: an unanswered one lasts beyond its client's
            // next one.
            actions.push((number, action));
        }
        actions
            .extend(unanswered.into_iter().map(|(number, call)| (number, Action::Response(call))));
        match WGLChecker::<Book>::is_linearizable(History::from_actions(actions)) {
            true => Ok(()),
            false => Err(all.iter().map(|one| format!("{one:?}\n")).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Answer::*;
    use super::Request::*;
    use super::*;

    /// Requests one after the other; `None`: without an answer.
    fn holds(calls: &[Call]) -> bool {
        let recording = Recording::default();
        for (request, answer) in calls {
            let number = recording.begin(*request);
            if let Some(answer) = answer {
                recording.end(number, *answer);
            }
        }
        recording.check().is_ok()
    }

    #[test]
    fn answers_of_a_plain_book_hold() {
        assert!(holds(&[]));
        assert!(holds(&[
            (Status(1), Some(Rejected)),
            (Place(1), Some(Booked)),
            (Place(1), Some(Rejected)),
            (Place(2), Some(Booked)),
            (Place(3), Some(Unavailable)),
            (Status(3), Some(Rejected)),
            (Cancel(1), Some(Cancelled)),
            (Cancel(1), Some(Rejected)),
            (Status(1), Some(Ended)),
            (CancelAll, Some(AllCancelled(1))),
            (Place(1), Some(Booked)),
            (Status(1), Some(Open)),
        ]));
    }

    #[test]
    fn a_lost_order_does_not_hold() {
        for (request, answer) in [
            (Status(1), Rejected),
            (Cancel(1), Rejected),
            (Place(1), Booked),
            (CancelAll, AllCancelled(0)),
        ] {
            assert!(!holds(&[(Place(1), Some(Booked)), (request, Some(answer))]), "{request:?}");
        }
        // And a lost cancel.
        let cancelled = [(Place(1), Some(Booked)), (Cancel(1), Some(Cancelled))];
        for (request, answer) in [(Status(1), Open), (Cancel(1), Cancelled)] {
            assert!(!holds(&[&cancelled[..], &[(request, Some(answer))]].concat()), "{request:?}");
        }
    }

    #[test]
    fn a_doubled_order_does_not_hold() {
        let placed = [(Place(1), Some(Booked))];
        assert!(!holds(&[&placed[..], &[(CancelAll, Some(AllCancelled(2)))]].concat()));
        // Executed once more after its end.
        let ended = [(Cancel(1), Some(Cancelled)), (Status(1), Some(Open))];
        assert!(!holds(&[&placed[..], &ended].concat()));
        let all = (CancelAll, Some(AllCancelled(1)));
        assert!(!holds(&[(Place(1), None), all, all]));
    }

    /// A request without an answer is executed once, at any later time, or never.
    #[test]
    fn an_unanswered_order_may_come_late_or_never_but_once() {
        let (missing, open) = ((Status(1), Some(Rejected)), (Status(1), Some(Open)));
        for (rest, right) in [
            (&[missing, missing][..], true),
            (&[open, open], true),
            (&[missing, open], true),
            (&[open, missing], false),
            (&[open, (Place(1), Some(Booked))], false),
        ] {
            assert_eq!(holds(&[&[(Place(1), None)], rest].concat()), right, "{rest:?}");
        }
    }

    /// Requests at the same time have no order; one after the other they have.
    #[test]
    fn an_answer_counts_from_its_end_on() {
        for (ends_first, right) in [(false, true), (true, false)] {
            let recording = Recording::default();
            let place = recording.begin(Place(1));
            if ends_first {
                recording.end(place, Booked);
            }
            let status = recording.begin(Status(1));
            recording.end(status, Rejected);
            if !ends_first {
                recording.end(place, Booked);
            }
            assert_eq!(recording.check().is_ok(), right);
        }
    }
}

//! One order's race, from the book that it was decided on to its arrival.

use crate::logged::LoggedOrder;
use engine::{Event, Party, Side};
use feed::Book;
use journal::RecordedInput;
use record::lifecycle::{Outcome, Race, Rival, RivalAction, SeenBook};

/// The engine gave less than the book showed, and nobody was faster: own orders that may not trade
/// with each other, or all-or-none.
const LESS_THAN_SHOWN: &str = "the engine gave it less than the book showed";

/// The life of an order in the journal.
#[derive(Clone, Debug, Default)]
pub(crate) struct JudgedLife {
    pub decided: Option<SeenBook>,
    pub arrived: SeenBook,
    pub race: Race,
    pub wanted_lots: u64,
    pub traded_lots: u64,
    pub joined_lots: u64,
    pub outcome: Outcome,
    pub why: String,
    pub lost_to: Option<Rival>,
}

/// An order that was decided and has not arrived.
#[derive(Debug)]
pub(crate) struct Window {
    /// Its place in the log.
    pub place: usize,
    decided: SeenBook,
    aim: Aim,
}

/// The aim of an order.
#[derive(Debug)]
enum Aim {
    Nothing,
    /// These lots. Since `short` less is there.
    Take {
        wanted_lots: u64,
        short: Option<Rival>,
    },
    /// The end of the queue. These orders joined it.
    Queue(Vec<Rival>),
}

/// The book as this order sees it.
pub(crate) fn seen(order: &LoggedOrder, input: u64, book: &Book) -> SeenBook {
    let top = book.top();
    SeenBook {
        input,
        bid: top.bid.map(|quote| (quote.price_ticks, quote.quantity_lots)),
        ask: top.ask.map(|quote| (quote.price_ticks, quote.quantity_lots)),
        ahead_lots: book.level(order.side, order.price_ticks).0,
        takeable_lots: takeable_lots(order, book),
    }
}

/// Shown lots on the other side at the order's price or better.
fn takeable_lots(order: &LoggedOrder, book: &Book) -> u64 {
    let crosses = |price_ticks: i64| match order.side {
        Side::Buy => price_ticks <= order.price_ticks,
        Side::Sell => price_ticks >= order.price_ticks,
    };
    let levels = book.levels(order.side.opposite());
    levels.take_while(|level| crosses(level.0)).map(|level| level.1).sum()
}

impl Window {
    /// The order at `place` was decided on the book after `input`.
    pub fn open(place: usize, order: &LoggedOrder, rests: bool, input: u64, book: &Book) -> Window {
        let decided = seen(order, input, book);
        let aim = match decided.takeable_lots {
            0 if rests => Aim::Queue(Vec::new()),
            0 => Aim::Nothing,
            lots => Aim::Take { wanted_lots: lots.min(order.quantity_lots), short: None },
        };
        Window { place, decided, aim }
    }

    /// Another input was executed before the order arrived.
    pub fn after(
        &mut self,
        order: &LoggedOrder,
        recorded: &RecordedInput,
        events: &[Event],
        book: &Book,
    ) {
        match &mut self.aim {
            Aim::Nothing => {}
            Aim::Take { wanted_lots, short } => {
                if takeable_lots(order, book) >= *wanted_lots {
                    *short = None;
                } else if short.is_none() {
                    *short = Some(taker(order, recorded, events));
                }
            }
            Aim::Queue(joined) => {
                for event in events {
                    if let Some(party) = joiner(order, event) {
                        joined.retain(|one| one.order_id != party.order_id);
                        joined.push(rival(recorded, Some(party), RivalAction::Joined));
                    }
                }
            }
        }
    }

    /// The order arrives: the book is the one before it.
    pub fn arrive(self, order: &LoggedOrder, book: &Book) -> JudgedLife {
        let decided = Some(self.decided);
        match self.aim {
            Aim::Nothing => {
                JudgedLife { decided, outcome: Outcome::NothingWanted, ..JudgedLife::default() }
            }
            Aim::Take { wanted_lots, short } => JudgedLife {
                decided,
                race: Race::Take,
                wanted_lots,
                lost_to: short,
                ..JudgedLife::default()
            },
            Aim::Queue(joined) => {
                let lots = |one: &Rival| {
                    let resting = book.order(one.order_id)?;
                    let is_ahead =
                        (resting.side, resting.price_ticks) == (order.side, order.price_ticks);
                    is_ahead.then_some(resting.quantity_lots)
                };
                let joined_lots = joined.iter().filter_map(lots).sum();
                JudgedLife {
                    decided,
                    race: Race::Queue,
                    wanted_lots: order.quantity_lots,
                    joined_lots,
                    lost_to: joined.into_iter().find(|one| lots(one).is_some()),
                    ..JudgedLife::default()
                }
            }
        }
    }
}

impl JudgedLife {
    /// An order of which the book at its decision is unknown.
    pub fn unknown(why: &str) -> JudgedLife {
        JudgedLife { why: why.to_owned(), ..JudgedLife::default() }
    }

    /// Judges it by the events of its own input.
    pub fn by_events(mut self, order_id: u64, events: &[Event]) -> JudgedLife {
        let traded = events.iter().filter_map(|event| match event {
            Event::Trade { aggressor, quantity_lots, .. } => {
                (aggressor.order_id == order_id).then_some(*quantity_lots)
            }
            _ => None,
        });
        self.traded_lots = traded.sum();
        let rejected = events.iter().find_map(|event| match event {
            Event::Rejected { order_id: id, reason, .. } => (*id == order_id).then_some(*reason),
            _ => None,
        });
        if let Some(reason) = rejected {
            self.outcome = Outcome::NotJudged;
            self.why = format!("the engine rejected it: {}", reason.as_str());
        } else if self.why.is_empty() {
            self.outcome = self.result();
            if self.outcome == Outcome::NotJudged {
                self.why = LESS_THAN_SHOWN.to_owned();
            }
        }
        if self.outcome != Outcome::Lost {
            self.lost_to = None;
        }
        self
    }

    fn result(&self) -> Outcome {
        match self.race {
            Race::None => Outcome::NothingWanted,
            Race::Take if self.traded_lots >= self.wanted_lots => Outcome::Won,
            Race::Queue if self.joined_lots == 0 => Outcome::Won,
            Race::Take if self.lost_to.is_none() => Outcome::NotJudged,
            Race::Take | Race::Queue => Outcome::Lost,
        }
    }
}

/// The order that joins the queue at the order's price.
fn joiner(of: &LoggedOrder, event: &Event) -> Option<Party> {
    match *event {
        Event::Booked { instrument, order, side, price_ticks, .. }
        | Event::Replenished { instrument, order, side, price_ticks, .. } => {
            let place = (of.instrument, of.side, of.price_ticks);
            ((instrument, side, price_ticks) == place).then_some(order)
        }
        _ => None,
    }
}

/// The cause of a smaller other side: the order that traded with it, else the order that left it.
fn taker(of: &LoggedOrder, recorded: &RecordedInput, events: &[Event]) -> Rival {
    let took = events.iter().find_map(|event| match *event {
        Event::Trade { instrument, aggressor_side, aggressor, .. } => {
            ((instrument, aggressor_side) == (of.instrument, of.side)).then_some(aggressor)
        }
        _ => None,
    });
    if took.is_some() {
        return rival(recorded, took, RivalAction::Took);
    }
    let left = events.iter().find_map(|event| match *event {
        Event::Done { instrument, order, .. } | Event::Amended { instrument, order, .. } => {
            (instrument == of.instrument).then_some(order)
        }
        Event::Decremented { instrument, resting, .. } => {
            (instrument == of.instrument).then_some(resting)
        }
        _ => None,
    });
    rival(recorded, left, RivalAction::Pulled)
}

fn rival(recorded: &RecordedInput, party: Option<Party>, action: RivalAction) -> Rival {
    Rival {
        input: recorded.sequence,
        exchange_ns: recorded.input.time_ns,
        order_id: party.map_or(0, |party| party.order_id),
        account: party.map(|party| party.account),
        action,
    }
}

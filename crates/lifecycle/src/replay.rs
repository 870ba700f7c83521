//! The second reading of the journal: the engine, its books numbered as the feed numbered them, and
//! all races at once.

use crate::arrivals::Arrivals;
use crate::error::JoinError;
use crate::events::Timeline;
use crate::logged::Log;
use crate::race::{JudgedLife, Window, seen};
use engine::{Command, Engine, Event, Input, SavedItem};
use feed::{Book, Channel, DATAGRAM_BYTES_LARGEST, Definition, Publisher, PublisherSettings};
use journal::{History, RecordedInput};
use std::path::Path;

const NO_TICK: &str = "no tick caused it";
const NO_SESSION: &str = "the log of an earlier version does not tell the feed's session";
const OTHER_SESSION: &str = "the journal has no input of the feed's session";
const BEFORE_ITS_TICK: &str = "it arrived before the tick that it answers";
const PART_OF_INPUT: &str = "its tick ended within an input: the trader saw a part of that";

/// Replays the journal, and judges each order of the log that arrived. By place in the log. The
/// orders' events go to `timeline`.
pub(crate) fn replay(
    log: &Log,
    arrivals: &Arrivals,
    journal: &Path,
    timeline: &mut Timeline<'_>,
) -> Result<Vec<Option<JudgedLife>>, JoinError> {
    let mut history = History::open(journal)?;
    let mut books = Books::new(&history)?;
    let mut races = Races::new(log, arrivals);
    let mut judged = vec![None; log.orders.len()];
    while let Some(recorded) = history.next_input()? {
        if log.session.is_some_and(|session| recorded.input.time_ns >= session.feed) {
            books.begin_session();
        }
        let place = arrivals.by_sequence.get(&recorded.sequence).copied();
        let arrived = place.map(|place| races.arrive(place, recorded.sequence, &books));
        books.apply(&recorded.input);
        races.after(&recorded, &books);
        if let (Some(place), Some(arrived)) = (place, arrived)
            && let Some(arrival) = &arrivals.of[place]
        {
            timeline.arrives(place, &arrival.order);
            judged[place] = Some(arrived.by_events(arrival.order.order_id, &books.events));
        }
        timeline.add(&recorded, &books.events);
        races.open_due(recorded.sequence, &books);
    }
    match books.publisher.faults() {
        0 => Ok(judged),
        faults => Err(JoinError::Contradicted { faults }),
    }
}

/// The engine, and its books as the feed showed them.
struct Books {
    engine: Engine,
    publisher: Publisher,
    /// Events of the last input.
    events: Vec<Event>,
    /// Messages before the feed's session; `None` before it began.
    base: Option<u64>,
}

impl Books {
    fn new(history: &History) -> Result<Books, JoinError> {
        let (engine, identity) = (history.engine()?, history.identity());
        let nameless = Definition { code: [0; 32], tick: (0, 0), lot: (0, 0) };
        let mut publisher = Publisher::new(&PublisherSettings {
            session: 0,
            // The datagrams are dropped; only their messages are counted.
            datagram_bytes_max: DATAGRAM_BYTES_LARGEST,
            replay_packets_max: 2,
            definitions: vec![nameless; identity.instruments.into()],
            orders_max: identity.limits.open_orders_max,
            levels_max: identity.limits.price_levels_max,
            channels: vec![Channel::Orders],
        })?;
        engine.save(&mut |piece: SavedItem| publisher.restore(&piece));
        Ok(Books { engine, publisher, events: Vec::new(), base: None })
    }

    fn begin_session(&mut self) {
        self.base.get_or_insert(self.publisher.sequence(Channel::Orders));
    }

    /// The feed's number of the last message; `None` before its session.
    fn number(&self) -> Option<u64> {
        self.base.map(|base| self.publisher.sequence(Channel::Orders) - base)
    }

    fn apply(&mut self, input: &Input) {
        let Books { engine, publisher, events, .. } = self;
        events.clear();
        engine.apply(input, &mut |event| events.push(event));
        for event in &*events {
            publisher.event(event, 0);
        }
        if let Command::Instrument(settings) = &input.command
            && events.iter().any(|event| matches!(event, Event::Applied { .. }))
        {
            publisher.state(settings.instrument, settings.state);
        }
        publisher.end_of_input(0, 0);
        while publisher.next(Channel::Orders).is_some() {}
    }

    fn book(&self, instrument: u16) -> Option<&Book> {
        self.publisher.book(instrument)
    }
}

/// The orders that were decided and have not arrived.
struct Races<'a> {
    log: &'a Log,
    arrivals: &'a Arrivals,
    /// Places of orders that arrive, the one with the latest tick first.
    due: Vec<usize>,
    open: Vec<Window>,
    /// Places whose tick ended within an input.
    within: Vec<usize>,
}

impl<'a> Races<'a> {
    fn new(log: &'a Log, arrivals: &'a Arrivals) -> Races<'a> {
        let arrives = |place: &usize| arrivals.of[*place].is_some() && log.orders[*place].tick > 0;
        let mut due: Vec<usize> = (0..log.orders.len()).filter(arrives).collect();
        due.sort_by_key(|place| std::cmp::Reverse(log.orders[*place].tick));
        Races { log, arrivals, due, open: Vec::new(), within: Vec::new() }
    }

    /// Opens the windows of the orders whose tick the last input completed.
    fn open_due(&mut self, input: u64, books: &Books) {
        let Some(number) = books.number() else { return };
        while let Some(place) = self.due.pop_if(|place| self.log.orders[*place].tick <= number) {
            let order = &self.log.orders[place];
            let Some(arrival) = &self.arrivals.of[place] else { continue };
            if arrival.sequence <= input {
                continue;
            }
            if order.tick != number {
                self.within.push(place);
            } else if let Some(book) = books.book(order.instrument) {
                let rests = arrival.order.time_in_force.may_rest();
                self.open.push(Window::open(place, order, rests, input, book));
            }
        }
    }

    /// An input was executed.
    fn after(&mut self, recorded: &RecordedInput, books: &Books) {
        for window in &mut self.open {
            let order = &self.log.orders[window.place];
            if let Some(book) = books.book(order.instrument) {
                window.after(order, recorded, &books.events, book);
            }
        }
    }

    /// An order arrives: ends its race.
    fn arrive(&mut self, place: usize, input: u64, books: &Books) -> JudgedLife {
        let order = &self.log.orders[place];
        // The same instrument as in the journal, whose engine has it unless it rejects the order.
        let Some(book) = books.book(order.instrument) else { return JudgedLife::default() };
        let open = self.open.iter().position(|window| window.place == place);
        let judged = match open.map(|at| self.open.swap_remove(at)) {
            Some(window) => window.arrive(order, book),
            None => JudgedLife::unknown(self.why_unknown(place, books)),
        };
        JudgedLife { arrived: seen(order, input, book), ..judged }
    }

    fn why_unknown(&mut self, place: usize, books: &Books) -> &'static str {
        if self.log.orders[place].tick == 0 {
            NO_TICK
        } else if self.log.session.is_none() {
            NO_SESSION
        } else if books.base.is_none() {
            OTHER_SESSION
        } else if self.within.contains(&place) {
            PART_OF_INPUT
        } else {
            BEFORE_ITS_TICK
        }
    }
}

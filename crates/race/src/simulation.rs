//! One market from its seed to its end: discrete events over the real engine, without a clock.

mod booking;
mod messages;

use crate::account::Account;
use crate::events::{Happening, Queue};
use crate::hawkes::{Arrivals, Hawkes};
use crate::latency::STREAM_BITS;
use crate::market::{Market, Participant, Race, Role};
use crate::marks::Marks;
use crate::random::{generator, geometric};
use clock::random::SplitMix64;
use engine::{Command, Engine, EngineLimits, Event, Input, Side};

/// Open orders of the engine beyond two for each participant.
const SPARE_ORDERS: u32 = 64;
/// Orders of participants have ids above this, those of a recorded day below.
const PARTICIPANTS_IDS: u64 = 1 << 50;
/// Streams of random numbers that belong to no participant.
const NEWS: u64 = u64::MAX - 1;
const NOISE: u64 = u64::MAX - 2;
const PASSIVE: u64 = u64::MAX - 3;
/// The most passive orders of others that are open; more are rejected.
const PASSIVE_ORDERS_MAX: u32 = 10_000;

/// A market at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// By participant; then all noise traders together; then, if there is one, the recorded day, or
    /// the passive orders of others.
    pub accounts: Vec<Account>,
    /// The fair value at the end, half ticks.
    pub fair: i64,
    /// Lots that traded.
    pub volume_lots: u64,
    /// Inputs of the engine.
    pub inputs: u64,
    /// The engine's state at the end.
    pub state_hash: u64,
}

/// Simulates the race's market of one seed; `input` gets each input of the engine.
pub fn simulate(race: &Race, seed: u64, input: &mut dyn FnMut(&Input)) -> Outcome {
    let mut world = World::new(race, seed, input);
    world.start();
    while let Some((time_ns, happening)) = world.queue.next(race.duration_ns) {
        world.marks.settle(time_ns, world.fair, &mut world.accounts);
        world.now_ns = time_ns;
        world.happen(happening);
    }
    world.end()
}

/// An engine as [`simulate`] has it, for a replay of its inputs.
#[must_use]
pub fn new_engine(race: &Race) -> Engine {
    let participants = race.participants.len() as u32;
    let (open_orders, levels) = match &race.background {
        Some(background) => background.limits(),
        None => (0, 0),
    };
    let passive = if race.market.passive.per_second > 0.0 { PASSIVE_ORDERS_MAX } else { 0 };
    let own = 2 * participants + SPARE_ORDERS + passive;
    let limits = EngineLimits {
        accounts_max: participants + 2,
        ..EngineLimits::matching_only(open_orders + own, levels + own)
    };
    Engine::new(race.venues(), limits)
}

/// A maker's order in the book.
#[derive(Clone, Copy, Debug)]
struct Quote {
    order_id: u64,
    /// The price that the maker wanted; post-only may have moved the order.
    wanted_ticks: i64,
    lots_ahead: u64,
    since_ns: u64,
}

/// The state of a participant other than its account.
#[derive(Clone, Debug, Default)]
struct Desk {
    /// A maker's quotes, by side.
    quotes: [Option<Quote>; 2],
    /// By venue: when the last message arrives. Messages of one connection stay in order.
    arrivals_ns: Vec<u64>,
    /// Messages so far, by cause.
    numbers: [u64; CAUSES],
    /// Orders of an arbitrageur that have not arrived yet.
    in_flight: u32,
}

/// Why a participant sends a message; each cause has its own stream of latencies.
#[derive(Clone, Copy)]
enum Cause {
    Start,
    News,
    Fill,
    Prices,
}

const CAUSES: usize = 4;

struct World<'a> {
    race: &'a Race,
    market: &'a Market,
    seed: u64,
    input: &'a mut dyn FnMut(&Input),
    engine: Engine,
    queue: Queue,
    marks: Marks,
    news: Arrivals,
    jumps: SplitMix64,
    noise: Arrivals,
    choices: SplitMix64,
    passive: Arrivals,
    lives: SplitMix64,
    now_ns: u64,
    fair: i64,
    accounts: Vec<Account>,
    desks: Vec<Desk>,
    events: Vec<Event>,
    last_id: u64,
    volume_lots: u64,
    inputs: u64,
    watches_prices: bool,
}

impl<'a> World<'a> {
    fn new(race: &'a Race, seed: u64, input: &'a mut dyn FnMut(&Input)) -> World<'a> {
        let venues = usize::from(race.venues());
        let desk = Desk { arrivals_ns: vec![0; venues], ..Desk::default() };
        let has_others = race.background.is_some() || race.market.passive.per_second > 0.0;
        let others = 1 + usize::from(has_others);
        let is_arbitrageur = |one: &Participant| matches!(one.role, Role::Arbitrageur { .. });
        World {
            race,
            market: &race.market,
            seed,
            input,
            engine: new_engine(race),
            queue: Queue::new(seed, race.market.batch_ns),
            marks: Marks::default(),
            news: Arrivals::new(race.market.news, generator(seed, NEWS, 0)),
            jumps: generator(seed, NEWS, 1),
            noise: Arrivals::new(race.market.noise, generator(seed, NOISE, 0)),
            choices: generator(seed, NOISE, 1),
            passive: Arrivals::new(
                Hawkes::with_rate(race.market.passive.per_second, 0.0, 1.0),
                generator(seed, PASSIVE, 0),
            ),
            lives: generator(seed, PASSIVE, 1),
            now_ns: 0,
            fair: match &race.background {
                Some(background) => background.middle(0),
                None => 2 * race.market.value_ticks,
            },
            accounts: vec![Account::default(); race.participants.len() + others],
            desks: vec![desk; race.participants.len()],
            events: Vec::new(),
            last_id: PARTICIPANTS_IDS,
            volume_lots: 0,
            inputs: 0,
            watches_prices: race.participants.iter().any(is_arbitrageur),
        }
    }

    fn start(&mut self) {
        if let Some(background) = self.race.background.as_deref() {
            for order in background.script().start() {
                self.background_sends(Command::New(*order));
            }
            self.await_input(0);
        }
        self.makers_quote(Cause::Start);
        self.await_news();
        self.await_noise();
        self.await_passive();
    }

    fn end(mut self) -> Outcome {
        let end_ns = self.race.duration_ns;
        self.marks.settle(end_ns, self.fair, &mut self.accounts);
        self.accounts.iter_mut().for_each(|account| account.integrate(end_ns));
        Outcome {
            accounts: self.accounts,
            fair: self.fair,
            volume_lots: self.volume_lots,
            inputs: self.inputs,
            state_hash: self.engine.state_hash(),
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::News => self.news_arrives(),
            Happening::Noise => self.noise_arrives(),
            Happening::Rest => self.passive_arrives(),
            Happening::Leave { order_id, venue } => self.passive_leaves(order_id, venue),
            Happening::Input { index } => self.input_arrives(index),
            Happening::Quote { who, fair } => self.quote(who, fair),
            Happening::Take { who, venue, side, price_ticks, lots } => {
                self.desks[who].in_flight = self.desks[who].in_flight.saturating_sub(1);
                self.take(who, venue, side, price_ticks, lots);
            }
        }
        if self.watches_prices {
            self.arbitrage();
        }
    }

    fn await_news(&mut self) {
        if let Some(time_ns) = ns(self.news.next_seconds()) {
            self.queue.add(time_ns, Happening::News);
        }
    }

    fn await_noise(&mut self) {
        if let Some(time_ns) = ns(self.noise.next_seconds()) {
            self.queue.add_message(time_ns, Happening::Noise);
        }
    }

    fn await_passive(&mut self) {
        if let Some(time_ns) = ns(self.passive.next_seconds()) {
            self.queue.add_message(time_ns, Happening::Rest);
        }
    }

    fn await_input(&mut self, index: usize) {
        let background = self.race.background.as_deref();
        if let Some(time_ns) = background.and_then(|one| one.script().offset_ns(index)) {
            self.queue.add(time_ns, Happening::Input { index });
        }
    }

    /// An input of the recorded day arrives, whether or not anything of ours is in its way.
    fn input_arrives(&mut self, index: usize) {
        let Some(background) = self.race.background.as_deref() else { return };
        self.background_sends(background.script().command(index));
        let fair = background.middle(index + 1);
        if fair != self.fair {
            self.fair = fair;
            self.react_to_news();
        }
        self.await_input(index + 1);
    }

    /// The account of the recorded day, or of the passive orders of others.
    fn others(&self) -> u32 {
        self.desks.len() as u32 + 1
    }

    fn background_sends(&mut self, mut command: Command) {
        let account = self.others();
        match &mut command {
            Command::New(new) => {
                new.account = account;
                self.accounts[account as usize].orders += 1;
                self.accounts[account as usize].lots_sent += new.quantity_lots;
            }
            Command::Amend(amend) => amend.account = account,
            Command::Cancel(cancel) => cancel.account = account,
            _ => {}
        }
        self.apply(command);
    }

    fn news_arrives(&mut self) {
        let size = 2 * geometric(&mut self.jumps, self.market.jump_ticks);
        self.fair += if self.jumps.below(2) == 0 { size } else { -size };
        // A price is at least 1; a value at the bottom of the scale stays there.
        self.fair = self.fair.max(2);
        self.react_to_news();
        self.await_news();
    }

    fn react_to_news(&mut self) {
        self.makers_quote(Cause::News);
        for who in 0..self.desks.len() {
            if let Role::Sniper { venue, edge, lots } = self.race.participants[who].role {
                self.snipe(who, venue, edge, lots);
            }
        }
    }

    fn noise_arrives(&mut self) {
        let side = if self.choices.below(2) == 0 { Side::Buy } else { Side::Sell };
        let venue = self.choices.below(u32::from(self.race.venues())) as u16;
        let reach = self.market.noise_reach_ticks;
        let price_ticks = match side {
            Side::Buy => self.fair.div_euclid(2) + reach,
            Side::Sell => (self.fair + 1).div_euclid(2) - reach,
        };
        let noise = self.desks.len();
        self.take(noise, venue, side, price_ticks.max(1), self.market.noise_lots);
        self.await_noise();
    }

    fn makers_quote(&mut self, cause: Cause) {
        for who in 0..self.desks.len() {
            if let Role::Maker { venue, .. } = self.race.participants[who].role {
                self.send(who, venue, cause, 0, Happening::Quote { who, fair: self.fair });
            }
        }
    }

    /// Schedules the arrival of a message after the participant's latency and `more_ns`.
    fn send(&mut self, who: usize, venue: u16, cause: Cause, more_ns: u64, message: Happening) {
        let desk = &mut self.desks[who];
        let number = desk.numbers[cause as usize];
        desk.numbers[cause as usize] += 1;
        let stream = ((who as u64) << STREAM_BITS) | cause as u64;
        let latency = &self.race.participants[who].latency;
        let latency_ns = latency.draw_ns(self.seed, stream, number, self.now_ns);
        let last_ns = &mut desk.arrivals_ns[usize::from(venue)];
        *last_ns = (self.now_ns + latency_ns + more_ns).max(*last_ns + 1);
        self.queue.add_message(*last_ns, message);
    }
}

/// A time in ns; `None` if it is beyond any market.
fn ns(seconds: f64) -> Option<u64> {
    (seconds < 1e9).then_some((seconds * 1e9) as u64)
}

//! The output of `tickpath audit --journal --json`: a trader's orders as the exchange's journal has
//! them, and which of them came too late.
//!
//! Readers ignore keys they don't know and take absent ones at their default.

use crate::Percentiles;
use crate::delivery::DeliveryRaces;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of [`Lifecycles`].
pub const SCHEMA: u32 = 1;

/// An audit log joined with a journal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Lifecycles {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of tickpath that joined them.
    pub tool: String,
    /// The audit log's file.
    pub log: String,
    /// The journal's directory.
    pub journal: String,
    /// The scenario's name.
    pub scenario: String,
    /// The subject's name.
    pub subject: String,
    /// The clocks of the times below.
    pub clocks: Clocks,
    /// Inputs of the journal that were replayed.
    pub inputs: u64,
    /// Length of an incomplete record at the journal's end; 0 without.
    pub journal_cut_bytes: u64,
    /// Records that the log lost, as far as it tells.
    pub log_lost: u64,
    /// Whether the log ends with its end record.
    pub log_finished: bool,
    /// New orders in the log.
    pub orders_logged: u64,
    /// The logged orders that are in the journal.
    pub orders_arrived: u64,
    /// Cancels in the log. They are not judged.
    pub cancels: u64,
    /// Amendments in the log. They are not judged.
    pub amendments: u64,
    /// Decisions that the trader's own risk check rejected.
    pub refused: u64,
    /// Races by kind: `take` and `queue`.
    pub races: BTreeMap<String, Races>,
    /// Orders that could win nothing: they crossed no price when they were decided, and don't rest.
    pub nothing_wanted: u64,
    /// Orders in the journal that were not judged, by reason.
    pub not_judged: BTreeMap<String, u64>,
    /// Logged orders that are not in the journal, by reason.
    pub only_in_log: BTreeMap<String, u64>,
    /// Orders of this run in the journal that are not in the log, by reason.
    pub only_in_journal: BTreeMap<String, u64>,
    /// Owners of the inputs that races were lost to, the most frequent first.
    pub rivals: Vec<RivalCount>,
    /// From a decision to the order's arrival, ns.
    pub decided_to_arrived: Percentiles,
    /// Races that the exchange's delivery window decided, of all accounts; `null` if no order in
    /// the journal named its tick.
    pub deliveries: Option<DeliveryRaces>,
    /// Every order: those of the log in its order, then those that only the journal has.
    pub orders: Vec<OrderLife>,
    /// The events of the logged orders that arrived, in the journal's order.
    pub events: Vec<LifeEvent>,
}

/// The clocks of trader and exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Clocks {
    /// Largest distance of the trader's converted times from UTC, ns; `null` if unknown.
    pub trader_bound_ns: Option<u64>,
    /// Source of that bound, or why it is unknown.
    pub trader_why: String,
    /// Largest distance of the journal's times from UTC, ns; `null` if unknown. The journal's clock
    /// is read once for a turn of the exchange, before the inputs of that turn are executed.
    pub exchange_bound_ns: Option<u64>,
    /// Source of that bound, or why it is unknown.
    pub exchange_why: String,
    /// Source of `decided_to_arrived_ns`: `one clock`, `two clocks` or `unknown`.
    pub arrival: String,
    /// Largest error of `decided_to_arrived_ns`; `null` if it is unknown.
    pub arrival_bound_ns: Option<u64>,
}

/// The races of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Races {
    /// Orders that got all that they wanted.
    pub won: u64,
    /// Orders that an earlier input cost a part of it.
    pub lost: u64,
    /// The lost ones whose earlier input was of the trader's own account.
    pub lost_to_own: u64,
    /// The lost ones whose earlier input came in the same turn of the exchange: the journal's clock
    /// says 0, and only the sequence says which was first.
    pub lost_in_same_turn: u64,
    /// Time from the earlier input to the order, ns, by the journal's clock.
    pub lost_by: Percentiles,
}

/// An account that was faster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct RivalCount {
    /// Its number in the journal; 0 is the exchange's own flow; `null` for an operator's command.
    pub account: Option<u32>,
    /// Its id; `null` if the journal has no register of accounts.
    pub name: Option<String>,
    /// Races that were lost to it.
    pub races: u64,
}

/// The objective of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Race {
    /// None: it crossed no price when it was decided, and does not rest; or that is unknown.
    #[default]
    None,
    /// The quantity that the other side showed at its price or better.
    Take,
    /// The last place in the queue at its price, as the queue was.
    Queue,
}

impl Race {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Race::None => "none",
            Race::Take => "take",
            Race::Queue => "queue",
        }
    }
}

/// The result of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It got all that it wanted.
    Won,
    /// An earlier input took a part of it.
    Lost,
    /// It could win nothing.
    NothingWanted,
    /// Not known: see `why`.
    #[default]
    NotJudged,
    /// It is in the log and not in the journal: see `why`.
    OnlyInLog,
    /// It is in the journal and not in the log: see `why`.
    OnlyInJournal,
}

impl Outcome {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Won => "won",
            Outcome::Lost => "lost",
            Outcome::NothingWanted => "nothing_wanted",
            Outcome::NotJudged => "not_judged",
            Outcome::OnlyInLog => "only_in_log",
            Outcome::OnlyInJournal => "only_in_journal",
        }
    }
}

/// The action of a rival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RivalAction {
    /// It traded with the quantity.
    #[default]
    Took,
    /// It cancelled or amended its own order, or that ended.
    Pulled,
    /// It joined the queue.
    Joined,
}

impl RivalAction {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            RivalAction::Took => "took",
            RivalAction::Pulled => "pulled",
            RivalAction::Joined => "joined",
        }
    }
}

/// The book of an order's instrument at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct SeenBook {
    /// The journal's input after which it was so; for an arrival the order's own, before which.
    pub input: u64,
    /// Best bid: price in ticks and shown lots; `null` without.
    pub bid: Option<(i64, u64)>,
    /// Best ask, likewise.
    pub ask: Option<(i64, u64)>,
    /// Shown lots on the order's own side at its price: the queue ahead of it.
    pub ahead_lots: u64,
    /// Shown lots on the other side at its price or better.
    pub takeable_lots: u64,
}

/// The input to which an order lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rival {
    /// The journal's input.
    pub input: u64,
    /// Its time on the journal's clock, nanoseconds since 1970.
    pub exchange_ns: u64,
    /// The order that took, pulled or joined; 0 if none did.
    pub order_id: u64,
    /// Its owner; `null` for an operator's command.
    pub account: Option<u32>,
    /// Its action.
    pub action: RivalAction,
}

/// The kind of an event in an order's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LifeEventKind {
    /// It arrived, and the engine accepted it.
    #[default]
    New,
    /// It arrived, and the engine rejected it.
    Rejected,
    /// Its owner amended it.
    Replaced,
    /// A part of it traded, and the rest is open.
    PartiallyFilled,
    /// It traded, and nothing is left.
    Filled,
    /// Its owner cancelled it, or the exchange did when the owner's connection ended.
    Cancelled,
    /// The exchange or its operator ended it, or self-trade prevention did.
    CancelledByExchange,
    /// Its time was over; at once if it may not rest.
    Expired,
}

impl LifeEventKind {
    /// As in JSON.
    pub fn name(self) -> &'static str {
        match self {
            LifeEventKind::New => "new",
            LifeEventKind::Rejected => "rejected",
            LifeEventKind::Replaced => "replaced",
            LifeEventKind::PartiallyFilled => "partially_filled",
            LifeEventKind::Filled => "filled",
            LifeEventKind::Cancelled => "cancelled",
            LifeEventKind::CancelledByExchange => "cancelled_by_exchange",
            LifeEventKind::Expired => "expired",
        }
    }
}

/// An event in an order's life, with the times of both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LifeEvent {
    /// The order's index in `orders`.
    pub order: u64,
    /// The event.
    pub event: LifeEventKind,
    /// The journal's input that caused it.
    pub input: u64,
    /// Its time on the journal's clock, nanoseconds since 1970.
    pub exchange_ns: u64,
    /// When the trader wrote the message that caused it or, for a trade, read the report of it,
    /// nanoseconds since 1970; `null` if neither is known.
    pub trader_utc_ns: Option<u64>,
    /// The price of a trade; otherwise the order's, ticks.
    pub price_ticks: i64,
    /// The traded quantity; otherwise the order's, lots.
    pub quantity_lots: u64,
    /// The quantity that is open afterwards, lots.
    pub remaining_lots: u64,
}

/// The life of one order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct OrderLife {
    /// Its number in the log; `null` if only the journal has it.
    pub number: Option<u64>,
    /// Its client id; empty if unknown.
    pub client_id: String,
    /// The exchange's number of it; 0 if unknown.
    pub order_id: u64,
    /// Its account's number in the journal; `null` if it is not there.
    pub account: Option<u32>,
    /// The instrument's number.
    pub instrument: u16,
    /// Whether it buys.
    pub buys: bool,
    /// Its limit, ticks; 0 for a market order.
    pub price_ticks: i64,
    /// Its quantity, lots.
    pub quantity_lots: u64,
    /// The tick that caused it; 0 if none did.
    pub tick: u64,
    /// The trader's decision, nanoseconds since 1970; `null` if unknown.
    pub decided_utc_ns: Option<u64>,
    /// The trader's write, likewise.
    pub sent_utc_ns: Option<u64>,
    /// The trader's read of the first answer, likewise.
    pub answered_utc_ns: Option<u64>,
    /// Its arrival on the journal's clock, nanoseconds since 1970; `null` if it is not there.
    pub exchange_ns: Option<u64>,
    /// From the decision to the arrival, ns; `null` if the clocks do not tell.
    pub decided_to_arrived_ns: Option<u64>,
    /// The book when it was decided; `null` if unknown.
    pub decided: Option<SeenBook>,
    /// The book when it arrived.
    pub arrived: Option<SeenBook>,
    /// Its aim.
    pub race: Race,
    /// `take`: the lots that it wanted. `queue`: its quantity.
    pub wanted_lots: u64,
    /// Lots that it traded on arrival.
    pub traded_lots: u64,
    /// `queue`: lots of others that joined between the decision and the arrival and were still
    /// ahead of it.
    pub joined_lots: u64,
    /// The result.
    pub outcome: Outcome,
    /// Why it was not judged, or is missing; empty otherwise.
    pub why: String,
    /// The input to which it lost.
    pub lost_to: Option<Rival>,
    /// Time from that input to its arrival, ns, by the journal's clock; 0: in the same turn.
    pub lost_by_ns: Option<u64>,
}

//! Opens an exchange: from an empty engine and a start book, or from its journal.

use crate::account::ended::EndedOrder;
use crate::account::orders::{ClientOrder, ClientOrders};
use crate::account::register::{self, Register, RegisterHead, RegisteredAccount};
use crate::account::risk::KnownAccount;
use crate::account::sessions::{EXCHANGE_ACCOUNT, Sender, Sessions};
use crate::config::{Config, ConfigError, Journal};
use crate::entry::disconnects::Disconnects;
use crate::entry::state::OrderEntry;
use crate::execution::Execution;
use crate::execution::deliveries::Deliveries;
use crate::flow_player::{FlowPlayer, inputs_played};
use crate::market_data::plant::Plant;
use crate::market_data::settings::{FlowConfig, published_as};
use crate::market_data::subscribers::FeedSubscribers;
use crate::sbe::SbeSessions;
use crate::sequencer::{Sequencer, StartError};
use crate::setup::limits::nanoseconds;
use crate::start_book::{self, StartBook};
use engine::{Command, Engine, NewOrder, SavedItem};
use feed::Channel;
use flow::Script;
use journal::{ClientIds, Identity, Options, ReplayedJournal};
use std::net::SocketAddr;
use transport::datagram::{DatagramSender, Recipients, SendOptions};
use wire::{ClientId, OrderId};

const _: () = assert!(journal::CLIENT_ID_BYTES_MAX == wire::client_id::CLIENT_ID_BYTES_MAX);

/// State recovered from a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Records in the journal, inputs and client ids; 0 if it is new.
    pub inputs: u64,
    /// Clients' orders that are still open.
    pub client_orders: usize,
    /// Open orders without a client id in the journal, which an earlier version wrote. Each now has
    /// its `order_id` as its client id.
    pub orders_without_client_id: usize,
    /// Description of the bytes after the last complete record, which were cut.
    pub cut: Option<String>,
    /// Inputs of the exchange's own flow that the journal has. The flow goes on after them.
    pub flow_inputs: usize,
    /// Why snapshots could not be used, one text each.
    pub snapshots_refused: Vec<String>,
    /// How far the journal's last input is ahead of this machine's clock. Until the clock catches
    /// up, the exchange's time stands still: no order expires, and limits of messages per second
    /// count all messages in one second.
    pub ahead_ns: u64,
    /// Differences between the instruments of the journal and of their file, one text each.
    pub instruments: Vec<String>,
}

/// Allocates the memory and makes the start book, or recovers from the journal.
pub(crate) fn open(config: &Config) -> Result<(OrderEntry, Option<Recovery>), ConfigError> {
    let script = config.flow.as_ref().map(|flow| script(config, flow)).transpose()?;
    let orders = start_orders(config, script.as_ref())?.into_iter().map(Command::New);
    let settings = config.instruments.settings().map(Command::Instrument);
    let mut start: Vec<Command> = orders.chain(settings).collect();
    let shape = (config.instruments.count(), config.limits.engine());
    let inputs_max = config.replay_inputs_max;
    let Some(journal) = &config.journal else {
        let sequencer = Sequencer::new(shape.0, shape.1, start, inputs_max).map_err(start_error)?;
        let mut entry = entry(config, sequencer, Register::default(), Vec::new());
        open_plant(&mut entry, config, script.map(|script| (script, 0)))?;
        return Ok((entry, None));
    };
    let Journal { directory, options } = journal;
    let ended_orders_max = config.limits.ended_orders_max as usize;
    let options = Options { ended_orders_max, ..options.clone() };
    let identity = Identity { instruments: shape.0, limits: shape.1 };
    let (appender, replayed) = journal::open(directory, identity, options)?;
    // Before the first input of this start: an earlier primary's follower must tell them apart.
    replica::term::begin(directory, replayed.next_sequence, journal.options.replication.is_some())?;
    let ReplayedJournal { engine, client_ids, next_sequence, cut, snapshots_rejected, .. } =
        replayed;
    let head = RegisterHead::new(&config.instruments, start.len() as u64);
    let (register, accounts, there) = Register::open(directory, &head, next_sequence)?;
    let has_start = next_sequence > 0 && next_sequence >= there.start;
    let played =
        |script: &Script| inputs_played(script, (&start, has_start), client_ids.own_commands());
    let flow = script.map(|script| played(&script).map(|played| (script, played))).transpose()?;
    let mut instruments = Vec::new();
    if next_sequence < there.start {
        start.drain(..next_sequence as usize);
    } else {
        // The journal has a complete start book already.
        (start, instruments) = changed_instruments(config, &engine);
    }
    let ahead_ns = time_ns(&engine).saturating_sub((config.wall_ns)());
    let open_orders = client_orders(&engine, &client_ids, accounts.len() as u32);
    let (accounts_known, known) = (accounts.len() as u32, known(&engine, &accounts));
    let sequencer =
        Sequencer::journaled(engine, shape, appender, start, inputs_max).map_err(start_error)?;
    let mut entry = entry(config, sequencer, register, known);
    let recovery = Recovery {
        inputs: next_sequence,
        client_orders: open_orders.as_ref().map_or(0, Vec::len),
        orders_without_client_id: without_client_id(&open_orders, &client_ids),
        flow_inputs: flow.as_ref().map_or(0, |(_, played)| *played),
        cut: cut.map(|cut| cut.to_string()),
        snapshots_refused: snapshots_rejected.iter().map(ToString::to_string).collect(),
        ahead_ns,
        instruments,
    };
    open_orders
        .and_then(|orders| entry.core.orders.restore(orders))
        .map_err(|order| register::unknown_order(directory, &order))?;
    restore_ended(&mut entry.core.orders, &client_ids);
    let asked = client_ids.cancel_on_disconnect().filter(|account| *account <= accounts_known);
    let reconnect_ns = nanoseconds(config.limits.reconnect_seconds);
    entry.accounts.disconnects = Disconnects::new(asked.collect(), reconnect_ns);
    open_plant(&mut entry, config, flow)?;
    Ok((entry, Some(recovery)))
}

/// The inputs of the exchange's own flow, in units of the first instrument.
fn script(config: &Config, flow: &FlowConfig) -> Result<Script, ConfigError> {
    let instrument = config.instruments.get(0);
    let FlowConfig { source, pace, seconds } = flow.clone();
    Ok(Script::new(&flow::Settings {
        source,
        pace,
        seconds,
        lots_per_unit: start_book::round_lot(instrument),
        mid_ticks: instrument.start_price_ticks,
        price_ticks_max: instrument.price_ticks_max,
        quantity_lots_max: instrument.quantity_lots_max,
        limits: config.limits.engine(),
    })?)
}

/// The orders that rest at the start. A flow replaces those of the first instrument.
fn start_orders(config: &Config, script: Option<&Script>) -> Result<Vec<NewOrder>, ConfigError> {
    let orders = config.start_book.orders(&config.instruments)?;
    let Some(script) = script else { return Ok(orders) };
    if matches!(config.start_book, StartBook::DatabentoMbo(_)) {
        return Err(ConfigError::TwoBooks);
    }
    let mut all = script.start().to_vec();
    all.extend(orders.into_iter().filter(|order| order.instrument != 0));
    (1..).zip(&mut all).for_each(|(id, order)| order.order_id = id);
    Ok(all)
}

/// Opens the ticker plant of a feed, and the player of a flow after its inputs that were played.
fn open_plant(
    entry: &mut OrderEntry,
    config: &Config,
    flow: Option<(Script, usize)>,
) -> Result<(), ConfigError> {
    if let Some(feed) = &config.feed {
        let clock = config.clock.ok_or(ConfigError::NoClock)?;
        let group = feed.group();
        let options = SendOptions {
            multicast_interface: group.map(|(_, interface)| interface),
            ..SendOptions::default()
        };
        let any = SocketAddr::from(([0, 0, 0, 0], 0));
        let sender = match &config.feed_device {
            None => DatagramSender::bind(any, &options)?,
            Some(device) => DatagramSender::below(device.clone()),
        };
        let recipients = Recipients {
            allowed: config.feed_allowed.clone(),
            group: group.map(|(group, _)| group),
        };
        let is_multicast = recipients.group.is_some();
        let subscribers = FeedSubscribers::new(sender, clock, &config.limits, recipients);
        let settings = entry.publisher.clone();
        let snapshot_ns = nanoseconds(feed.snapshot_seconds);
        let subscribers = Some(subscribers);
        let mut plant = Plant::new(settings, subscribers, &config.limits, Some(clock), snapshot_ns);
        plant.begin(Channel::Orders, entry.core.sequencer.engine())?;
        if is_multicast {
            plant.begin(Channel::Levels, entry.core.sequencer.engine())?;
        }
        if let Some(window_us) = config.delivery_window_us {
            let deliveries = Deliveries::new(window_us * 1_000, plant.session());
            entry.core.deliveries = Some(Box::new(deliveries));
        }
        entry.core.plant = Some(Box::new(plant));
        entry.core.observed.is_on = true;
    }
    if let Some((script, played)) = flow {
        let clock = config.clock.ok_or(ConfigError::NoClock)?;
        entry.flow = Some(Box::new(FlowPlayer::new(script, played, clock)));
        entry.core.observed.is_on = true;
    }
    Ok(())
}

fn start_error(error: StartError) -> ConfigError {
    match error {
        StartError::Engine(reason) => ConfigError::StartRejected(reason),
        StartError::Journal(error) => ConfigError::StartNotLogged(error),
    }
}

fn entry(
    config: &Config,
    sequencer: Sequencer,
    register: Register,
    accounts: Vec<(String, KnownAccount)>,
) -> OrderEntry {
    let mut sessions = Sessions::new(config.tokens.clone(), &config.limits);
    for (account_id, known) in accounts {
        sessions.add(&account_id, known);
    }
    let limits = &config.limits;
    let feed = config.feed.as_ref();
    let publisher = published_as(feed, limits, (config.wall_ns)(), &config.instruments);
    let orders = ClientOrders::new(limits.open_orders_max, limits.ended_orders_max);
    let instruments = config.instruments.clone();
    let sessions = (sessions, SbeSessions::new(limits));
    let core = Execution::new(instruments, sessions, orders, sequencer, config.clock);
    OrderEntry::new(core, register, publisher, config)
}

/// The latest time that an engine has seen.
fn time_ns(engine: &Engine) -> u64 {
    let mut latest_ns = 0;
    engine.save(&mut |piece| {
        if let SavedItem::Engine { time_ns, .. } = piece {
            latest_ns = time_ns;
        }
    });
    latest_ns
}

/// Commands for instruments that differ between engine and file, and the differences as text. The
/// price band follows the file; the state stays as an operator left it.
fn changed_instruments(config: &Config, engine: &Engine) -> (Vec<Command>, Vec<String>) {
    let (mut commands, mut said) = (Vec::new(), Vec::new());
    engine.save(&mut |piece| {
        let SavedItem::Instrument(there) = piece else { return };
        let instrument = config.instruments.get(there.instrument);
        let code = &instrument.code;
        if instrument.band_ticks != (there.band_low_ticks, there.band_high_ticks) {
            let settings = instrument.settings(there.instrument, there.state);
            commands.push(Command::Instrument(settings));
            said.push(format!("{code} has a new price band, from its file"));
        }
        if instrument.state != there.state {
            said.push(format!(
                "{code} stays {:?}, as the journal has it, not {:?}, as its file has it; an operator can change that",
                there.state, instrument.state
            ));
        }
    });
    (commands, said)
}

/// The settings and positions of a register's accounts in the engine.
fn known(engine: &Engine, accounts: &[RegisteredAccount]) -> Vec<(String, KnownAccount)> {
    let begin = |RegisteredAccount { id, is_told }: &RegisteredAccount| {
        (id.clone(), KnownAccount { all: *is_told, ..KnownAccount::default() })
    };
    let mut all: Vec<(String, KnownAccount)> = accounts.iter().map(begin).collect();
    // Account 0 is the exchange's own.
    let of = |account: u32| account.checked_sub(1).map(|index| index as usize);
    engine.save(&mut |piece| match piece {
        SavedItem::Account { settings, .. } => {
            if let Some((_, known)) = of(settings.account).and_then(|index| all.get_mut(index)) {
                known.settings = Some(settings);
            }
        }
        SavedItem::Position(one) => {
            if let Some((_, known)) = of(one.account).and_then(|index| all.get_mut(index)) {
                known.positions.insert(one.instrument, one);
            }
        }
        _ => {}
    });
    all
}

/// A recovered order: its tag, the client's order, and the engine's.
type RestoredOrder = (u32, ClientOrder, engine::NewOrder);

/// The number of orders whose client ids the journal does not have.
fn without_client_id<E>(orders: &Result<Vec<RestoredOrder>, E>, client_ids: &ClientIds) -> usize {
    let is_without = |(_, order, _): &&RestoredOrder| client_ids.get(order.order_id).is_none();
    orders.iter().flatten().filter(is_without).count()
}

/// Takes over how the journal's latest orders ended.
fn restore_ended(orders: &mut ClientOrders, client_ids: &ClientIds) {
    for order in client_ids.ended() {
        let Some(Ok(client_id)) = order.client_id().map(ClientId::new) else { continue };
        let ended = EndedOrder { order_id: order.order_id, reason: order.reason };
        orders.restore_ended(order.account, &client_id, ended);
    }
}

/// The clients' open orders in an engine; the error is an order of an unknown account.
fn client_orders(
    engine: &Engine,
    client_ids: &ClientIds,
    accounts: u32,
) -> Result<Vec<RestoredOrder>, engine::NewOrder> {
    let mut orders = Ok(Vec::new());
    engine.save(&mut |piece| {
        let SavedItem::Order { order, .. } = piece else { return };
        if order.account == EXCHANGE_ACCOUNT {
            return;
        }
        let order_id = OrderId::from_u64(order.order_id).text();
        let text = client_ids.get(order.order_id).or(std::str::from_utf8(&order_id).ok());
        let client_id = text.and_then(|text| ClientId::new(text).ok());
        match (client_id, &mut orders) {
            (Some(client_id), Ok(orders)) if order.account <= accounts => {
                let client_order = ClientOrder {
                    client_id,
                    order_id: order.order_id,
                    quantity_lots: order.quantity_lots,
                    account: order.account,
                    instrument: order.instrument,
                    expires: order.expires_ns != 0,
                    sender: Sender::NOBODY,
                };
                orders.push((order.tag, client_order, order));
            }
            (_, Err(_)) => {}
            _ => orders = Err(order),
        }
    });
    orders
}

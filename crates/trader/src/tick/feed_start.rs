//! From log-on to a synchronised book: everything that precedes the first tick.

use crate::load::run::TraderError;
use crate::risk::{Profile, Risk};
use crate::strategy::market_maker::MarketMaker;
use crate::strategy::outcome::Outcome;
use crate::strategy::{Strategy, Trigger};
use crate::tick::logic::FeedLogic;
use crate::tick::rehearsal::Rehearsal;
use crate::tick::session::exchange::ExchangeSession;
use crate::tick::stages::Stages;
use clock::{Clock, Deadline};
use engine::Top;
use feed::{Book, Channel, Follower, FollowerSettings};
use plan::process::ticks::TickPlan;
use plan::tables::strategy::StrategyName;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::Connection;
use transport::datagram::{DATAGRAM_BYTES_MAX, Datagram, DatagramReceiver, ReceiveOptions};
use wire::Decimal;

/// Time limit for a snapshot.
const PATIENCE: Duration = Duration::from_secs(10);
/// A request without an effect for this long is sent again.
const AGAIN: Duration = Duration::from_millis(250);
/// Interval between polls of the socket meanwhile.
const PAUSE: Duration = Duration::from_micros(200);
/// Orders, and prices per side, of the book of rehearsals.
const REHEARSED_MAX: u32 = 16;

/// A feed that is followed.
pub(crate) struct FollowedFeed {
    pub(crate) receiver: DatagramReceiver,
    pub(crate) logic: FeedLogic,
    pub(crate) instrument: u16,
    pub(crate) rehearsal: Option<Rehearsal<FeedLogic, ExchangeSession>>,
}

/// Subscribes, synchronises the books, and makes the strategy and its risk check in the feed's
/// units.
///
/// # Errors
/// If there is no such feed or instrument, nothing arrives, or the risk profile does not know the
/// instrument.
pub(crate) fn follow(
    plan: &TickPlan,
    stop: &AtomicBool,
    clock: Clock,
    session: &mut ExchangeSession,
    stream: &mut Connection,
) -> Result<FollowedFeed, TraderError> {
    let mut receiver = subscribe(plan, clock, session, stream)?;
    let feed = &plan.feed;
    let mut follower = Follower::new(FollowerSettings {
        datagram_bytes_max: feed.datagram_bytes_max,
        ..FollowerSettings::new(Channel::Orders, feed.instruments, feed.orders_max, feed.levels_max)
    });
    synchronise(plan, stop, &mut receiver, &mut follower, session, stream)?;
    let (instrument, tick, lot) = instrument(plan, &follower)?;
    session.count_in(tick, lot);
    let profile = plan.risk.as_ref().map(|path| Profile::read(Path::new(path))).transpose()?;
    let profile = profile.unwrap_or_default();
    let risk = Risk::new(&profile, &plan.instrument, tick, lot)?;
    let (strategy, outcome) = strategy(plan, instrument, lot)?;
    let logic = FeedLogic::new(follower, instrument, strategy, risk, outcome);
    // A trader that sleeps has no idle turns.
    let rehearses = plan.strategy.rehearse && transport::backend(&plan.backend)?.row.spins;
    let rehearsal =
        rehearses.then(|| rehearsal(plan, clock, &logic, session.twin(), profile, (tick, lot)));
    let rehearsal = rehearsal.transpose()?;
    // Not before: a fault as frequent as a snapshot's parts would let no snapshot arrive complete.
    let receiver = receiver.harmed_by(plan.feed.inject);
    Ok(FollowedFeed { receiver, logic, instrument, rehearsal })
}

/// Stages like those of `logic`, on a small book of their own.
fn rehearsal(
    plan: &TickPlan,
    clock: Clock,
    logic: &FeedLogic,
    session: ExchangeSession,
    mut profile: Profile,
    (tick, lot): (Decimal, Decimal),
) -> Result<Rehearsal<FeedLogic, ExchangeSession>, TraderError> {
    let settings = FollowerSettings::new(Channel::Orders, 1, REHEARSED_MAX, REHEARSED_MAX);
    // Rehearsals are more frequent than messages may be.
    profile.limits.messages_per_second_max = u32::MAX;
    let risk = Risk::new(&profile, &plan.instrument, tick, lot)?;
    let (strategy, _) = strategy(plan, 0, lot)?;
    let top = logic.follower.book(logic.instrument).map_or_else(Top::default, Book::top);
    let at_ticks = top.bid.or(top.ask).map_or(1, |quote| quote.price_ticks);
    let logic = FeedLogic::new(Follower::new(settings), 0, strategy, risk, None);
    Ok(Rehearsal::new(Stages::new(clock, logic, session), at_ticks))
}

fn wrong(plan: &TickPlan, why: String) -> TraderError {
    TraderError::Feed { target: plan.target.clone(), why }
}

/// Unicast: tells the exchange our address. Multicast: learns the group from the exchange.
fn subscribe(
    plan: &TickPlan,
    clock: Clock,
    session: &mut ExchangeSession,
    stream: &mut Connection,
) -> Result<DatagramReceiver, TraderError> {
    let failed = |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    let receiver = match plan.feed.multicast {
        None => {
            let options = receive_options(plan, None);
            let receiver = DatagramReceiver::bind(plan.feed.listen, &options, clock)?;
            let address = receiver.local_addr().map_err(failed)?;
            session.subscribe(stream, Some(address), plan.stamp_every).map_err(failed)?;
            receiver
        }
        Some(interface) => {
            let group = session.subscribe(stream, None, plan.stamp_every).map_err(failed)?.address;
            let IpAddr::V4(ip) = group.ip() else {
                return Err(wrong(plan, format!("its group {group} is not an IPv4 address")));
            };
            let options = receive_options(plan, Some((ip, interface)));
            DatagramReceiver::bind(group, &options, clock)?
        }
    };
    Ok(receiver)
}

pub(crate) fn receive_options(
    plan: &TickPlan,
    multicast: Option<(std::net::Ipv4Addr, std::net::Ipv4Addr)>,
) -> ReceiveOptions {
    let feed = &plan.feed;
    ReceiveOptions {
        receive_buffer_bytes: feed.receive_buffer_bytes,
        kernel_stamps: feed.kernel_stamps,
        multicast,
    }
}

fn synchronise(
    plan: &TickPlan,
    stop: &AtomicBool,
    receiver: &mut DatagramReceiver,
    follower: &mut Follower,
    session: &mut ExchangeSession,
    stream: &mut Connection,
) -> Result<(), TraderError> {
    let failed = |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    let mut datagram = vec![0; DATAGRAM_BYTES_MAX];
    let deadline = Deadline::after(PATIENCE);
    let mut again = Deadline::after(AGAIN);
    while !follower.is_in_sync() {
        if stop.load(Ordering::Relaxed) {
            return Err(TraderError::Interrupted);
        }
        if let Some(want) = follower.wants() {
            session.want(stream, want).map_err(failed)?;
            again = Deadline::after(AGAIN);
        }
        match receiver.receive(&mut datagram) {
            Datagram::Bytes { n, .. } => {
                follower.datagram(&datagram[..n]);
            }
            Datagram::Empty => std::thread::sleep(PAUSE),
            Datagram::Failed(source) => return Err(failed(source)),
        }
        if again.left().is_zero() {
            follower.again();
            again = Deadline::after(AGAIN);
        }
        if deadline.left().is_zero() {
            let faults: Vec<&str> = follower.counts().faults.met().map(|(name, _)| name).collect();
            let came = follower.counts().datagrams;
            let why = format!(
                "no book in {} s: {came} datagrams came, faults: {faults:?}. Does a firewall drop UDP, or are \
                 feed.instruments, orders_max, levels_max and datagram_bytes_max not the exchange's?",
                PATIENCE.as_secs()
            );
            return Err(wrong(plan, why));
        }
    }
    Ok(())
}

/// Number, tick and lot of the instrument.
fn instrument(
    plan: &TickPlan,
    follower: &Follower,
) -> Result<(u16, Decimal, Decimal), TraderError> {
    let known = |number: u16| Some((number, follower.definition(number)?));
    let mut all = (0..plan.feed.instruments).filter_map(known);
    let code = plan.instrument.as_bytes();
    let found = all.find(|(_, definition)| {
        definition.code.starts_with(code) && definition.code[code.len()..].iter().all(|b| *b == 0)
    });
    let Some((number, definition)) = found else {
        return Err(wrong(plan, format!("it has no instrument {}", plan.instrument)));
    };
    let (tick, lot) = (decimal(definition.tick), decimal(definition.lot));
    match (tick, lot) {
        (Some(tick), Some(lot)) => Ok((number, tick, lot)),
        _ => Err(wrong(plan, format!("its tick or lot of {} is no decimal", plan.instrument))),
    }
}

/// From mantissa and power of ten.
fn decimal((mantissa, exponent): (i64, i8)) -> Option<Decimal> {
    let decimal = match u8::try_from(-i16::from(exponent)) {
        Ok(scale) => Decimal::new(mantissa, scale),
        Err(_) => {
            let factor = 10i64.checked_pow(exponent.unsigned_abs().into())?;
            Decimal::new(mantissa.checked_mul(factor)?, 0)
        }
    };
    decimal.filter(|decimal| *decimal > Decimal::ZERO)
}

fn strategy(
    plan: &TickPlan,
    instrument: u16,
    lot: Decimal,
) -> Result<(Box<dyn Strategy>, Option<Outcome>), TraderError> {
    let amount = Decimal::parse(&plan.strategy.amount).unwrap_or_default();
    let lots = amount.in_units_of(lot).ok().and_then(|lots| u64::try_from(lots).ok());
    let Some(lots) = lots.filter(|lots| *lots > 0) else {
        let why = format!("strategy.amount = {amount} is no multiple of the lot {lot}");
        return Err(wrong(plan, why));
    };
    Ok(match plan.strategy.name {
        StrategyName::Trigger => (Box::new(Trigger::new(&plan.strategy, lots)), None),
        StrategyName::MarketMaking => {
            let maker = MarketMaker::new(&plan.strategy, lots);
            (Box::new(maker), Some(Outcome::new(instrument)))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_as_mantissa_and_exponent() {
        let is = |mantissa, exponent| decimal((mantissa, exponent)).map(|d| d.to_string());
        assert_eq!(is(1, -2).as_deref(), Some("0.01"));
        assert_eq!(is(5, 3).as_deref(), Some("5000"));
        assert_eq!(is(25, 0).as_deref(), Some("25"));
        assert_eq!((is(0, 0), is(-1, 0), is(1, -100), is(9, 100)), (None, None, None, None));
    }
}

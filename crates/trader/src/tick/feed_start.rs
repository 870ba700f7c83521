//! From log-on to a synchronised book: everything that precedes the first tick.

use crate::load::error::TraderError;
use crate::tick::link::Link;
use crate::tick::prepare::{FollowedFeed, REHEARSED_MAX, SyncedBook, prepare, wrong};
use crate::tick::rehearsal::{MadeUpTicks, Ticks};
use crate::tick::session::exchange::ExchangeSession;
use clock::{Clock, Deadline};
use feed::{Channel, Follower, FollowerSettings};
use plan::process::ticks::TickPlan;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transport::datagram::{DATAGRAM_BYTES_MAX, Datagram, DatagramReceiver};
use wire::Decimal;

/// Time limit for a snapshot.
const PATIENCE: Duration = Duration::from_secs(10);
/// A request without an effect for this long is sent again.
const AGAIN: Duration = Duration::from_millis(250);
/// Interval between polls of the socket meanwhile.
const PAUSE: Duration = Duration::from_micros(200);
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
    link: &mut Link<'_>,
) -> Result<FollowedFeed<Follower>, TraderError> {
    let mut receiver = subscribe(plan, session, link)?;
    let feed = &plan.feed;
    let mut follower = Follower::new(FollowerSettings {
        datagram_bytes_max: feed.datagram_bytes_max,
        ..FollowerSettings::new(Channel::Orders, feed.instruments, feed.orders_max, feed.levels_max)
    });
    synchronise(plan, stop, &mut receiver, &mut follower, session, link)?;
    let (instrument, tick, lot) = instrument(plan, &follower)?;
    // Not before: a fault as frequent as a snapshot's parts would let no snapshot arrive complete.
    let receiver = receiver.harmed_by(plan.feed.inject).into();
    let rehearsed = |at_ticks| {
        let settings = FollowerSettings::new(Channel::Orders, 1, REHEARSED_MAX, REHEARSED_MAX);
        let ticks: Box<dyn MadeUpTicks> = Box::new(Ticks::new(at_ticks));
        (Follower::new(settings), ticks)
    };
    let book = SyncedBook { receiver, book: follower, instrument, units: [tick, lot] };
    prepare(plan, clock, session, book, rehearsed)
}

/// Unicast: tells the exchange our address. Multicast: learns the group from the exchange.
fn subscribe(
    plan: &TickPlan,
    session: &mut ExchangeSession,
    link: &mut Link<'_>,
) -> Result<DatagramReceiver, TraderError> {
    let failed = |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    match plan.feed.multicast {
        None => {
            let receiver = link.receive(plan, plan.feed.listen, None)?;
            let address = receiver.local_addr().map_err(failed)?;
            link.talk(|stream| session.subscribe(stream, Some(address), plan.stamp_every))
                .map_err(failed)?;
            Ok(receiver)
        }
        Some(interface) => {
            let feed = link.talk(|stream| session.subscribe(stream, None, plan.stamp_every));
            let group = feed.map_err(failed)?.address;
            let IpAddr::V4(ip) = group.ip() else {
                return Err(wrong(plan, format!("its group {group} is not an IPv4 address")));
            };
            link.receive(plan, group, Some((ip, interface)))
        }
    }
}

fn synchronise(
    plan: &TickPlan,
    stop: &AtomicBool,
    receiver: &mut DatagramReceiver,
    follower: &mut Follower,
    session: &mut ExchangeSession,
    link: &mut Link<'_>,
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
            link.talk(|stream| session.want(stream, want)).map_err(failed)?;
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

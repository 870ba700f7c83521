//! After construction neither the publisher nor the follower allocates, for any events and network
//! faults.

use crate::exchange::{CHANNELS, Exchange};
use counting::calls;
use engine::Input;
use feed::{Channel, Follower, FollowerSettings, Publisher, RecoveryRequest, Sending};
use proptest::prelude::*;

const INSTRUMENTS: u16 = 3;

/// Executes one input. Every datagram of the channel that is not lost reaches the follower, and so
/// does every answer to its requests. Returns the number of arrivals.
fn pass(
    publisher: &mut Publisher,
    channel: Channel,
    follower: &mut Follower,
    is_lost: &mut impl FnMut() -> bool,
) -> u32 {
    let mut arrived = 0;
    while let Some(datagram) = publisher.next(channel) {
        feed::patch_published(datagram, 7);
        if !is_lost() {
            arrived += 1;
            follower.datagram(datagram);
        }
    }
    if is_lost() {
        follower.again();
    }
    let sending: Option<Sending> = match follower.wants() {
        Some(RecoveryRequest::Snapshot) => publisher.snapshot(channel),
        Some(RecoveryRequest::Replay { from, count }) => {
            publisher.replay(channel, from, count).ok()
        }
        None => None,
    };
    let Some(mut sending) = sending else {
        follower.request_rejected();
        return arrived;
    };
    while let Some(datagram) = publisher.next_of(&mut sending) {
        if !is_lost() {
            arrived += 1;
            follower.datagram(datagram);
        }
    }
    arrived
}

proptest! {
    #[test]
    fn nothing_allocates(
        limits in crate::commands::limits(),
        inputs in crate::commands::inputs(300),
        datagram_bytes in feed::DATAGRAM_BYTES_MIN..400,
        lost_every in 3_u32..40,
    ) {
        let settings = Exchange::settings(limits, INSTRUMENTS, datagram_bytes);
        let mut exchange = Exchange::new(limits, &settings);
        let mut followers = CHANNELS.map(|channel| {
            let engine::EngineLimits { open_orders_max, price_levels_max, .. } = limits;
            Follower::new(FollowerSettings {
                buffered_datagrams_max: 8,
                datagram_bytes_max: datagram_bytes,
                ..FollowerSettings::new(channel, INSTRUMENTS, open_orders_max, price_levels_max)
            })
        });
        let mut carried = 0_u32;
        let mut is_lost = || {
            carried += 1;
            carried.is_multiple_of(lost_every)
        };
        let before = calls();
        let mut arrived = 0;
        for Input { time_ns, command } in &inputs {
            exchange.apply(&Input { time_ns: *time_ns, command: *command });
            for (channel, follower) in CHANNELS.into_iter().zip(&mut followers) {
                arrived += pass(&mut exchange.publisher, channel, follower, &mut is_lost);
                std::hint::black_box(follower.book_hash());
            }
        }
        prop_assert_eq!(calls() - before, 0);
        prop_assert!(inputs.is_empty() || arrived > 0);
    }
}

#[test]
fn the_counter_counts() {
    let before = calls();
    drop(std::hint::black_box(Box::new(1_u64)));
    assert_eq!(calls() - before, 2);
}

//! Whatever the engine does, and whatever the network does to what is said of it, the follower's books are the engine's in the end.

#[path = "../../engine/tests/commands/mod.rs"]
mod commands;
mod exchange;

use engine::Input;
use exchange::{CHANNELS, Exchange};
use feed::{Channel, Follower, FollowerSettings};
use proptest::prelude::*;

const INSTRUMENTS: u16 = 3;

fn follower(
    channel: Channel,
    limits: &engine::EngineLimits,
    datagram_bytes_max: usize,
) -> Follower {
    Follower::new(FollowerSettings {
        buffered_datagrams_max: 16,
        datagram_bytes_max,
        ..FollowerSettings::new(
            channel,
            INSTRUMENTS,
            limits.open_orders_max,
            limits.price_levels_max,
        )
    })
}

proptest! {
    /// Nothing is lost: the books are equal after each input.
    #[test]
    fn over_a_perfect_network(
        limits in commands::limits(),
        inputs in commands::inputs(300),
        datagram_bytes in 136_usize..400,
    ) {
        let mut exchange =
            Exchange::new(limits, &Exchange::settings(limits, INSTRUMENTS, datagram_bytes));
        let mut followers = CHANNELS.map(|channel| (channel, follower(channel, &limits, datagram_bytes)));
        for (channel, follower) in &mut followers {
            let snapshot = exchange.publisher.snapshot(*channel).unwrap();
            for datagram in exchange.sent(snapshot) {
                prop_assert_eq!(follower.datagram(&datagram).header.is_some(), true);
            }
            prop_assert!(follower.is_in_sync());
        }
        for Input { time_ns, command } in inputs {
            exchange.apply(&Input { time_ns, command });
            prop_assert_eq!(exchange.publisher.faults(), 0);
            for (channel, follower) in &mut followers {
                for datagram in exchange.datagrams(*channel) {
                    prop_assert!(follower.datagram(&datagram).is_live_tick);
                }
                prop_assert!(follower.is_in_sync());
                prop_assert_eq!(follower.sequence(), exchange.publisher.sequence(*channel));
                prop_assert_eq!(exchange.publisher.book_hash(*channel), exchange.book_hash(*channel));
                prop_assert_eq!(follower.book_hash(), exchange.book_hash(*channel));
            }
        }
    }
}

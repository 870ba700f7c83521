//! SBE: any bytes, and connections lost anywhere.

use crate::properties::sbe::{sbe_losses, sbe_stream};
use proptest::prelude::*;
use wire::request::Side;
use wire::sbe::client::*;

/// Frames, some of them changed at one place.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let one = (0..5u8, 1..4u64, any::<u16>(), prop::option::of((0..160usize, any::<u8>())));
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let mut bytes = Vec::new();
        for (kind, sequence, n, harm) in all {
            let start = bytes.len();
            let (client_id, instrument) = (crate::driven::sbe::id(&format!("{}", n % 3)), n % 5);
            match kind {
                0 => encode_logon(
                    &mut bytes,
                    &Logon {
                        session: 0,
                        last_sequence: 0,
                        cancel_on_disconnect: n % 2 == 0,
                        token: "stranger",
                    },
                ),
                1 => {
                    let order = crate::driven::sbe::limit("x", Side::Sell, "10", "1");
                    encode_new_order(&mut bytes, sequence, instrument, &order);
                }
                2 => encode_cancel_order(&mut bytes, sequence, instrument, &client_id),
                3 => encode_mass_cancel(&mut bytes, sequence, Some(&client_id), None, None),
                _ => encode_heartbeat(&mut bytes, sequence),
            }
            if let Some((at, byte)) = harm
                && let Some(harmed) = bytes[start..].get_mut(at)
            {
                *harmed = byte;
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]

    #[test]
    fn any_frames(stream in frames()) {
        sbe_stream(&stream);
    }

    #[test]
    fn any_bytes(stream in prop::collection::vec(any::<u8>(), 0..200)) {
        sbe_stream(&stream);
    }

    #[test]
    fn connections_lost_anywhere(steps in prop::collection::vec(any::<u8>(), 0..160)) {
        sbe_losses(&steps);
    }
}

//! The stamps of a request, on replies to who wants them.

use crate::entry::text::send;
use clock::Clock;
use wire::reply;

/// What a request's replies are stamped with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamping {
    pub clock: Clock,
    /// The read that brought the request's last byte had returned.
    pub gateway_in_ns: u64,
    /// It goes to the sequencer; of a request that does not come so far, when that was known.
    pub engine_in_ns: u64,
    /// The engine is through with it.
    pub engine_out_ns: u64,
}

impl Stamping {
    /// For a request that did not reach the engine.
    #[cold]
    pub fn without_engine(clock: Clock, gateway_in_ns: u64) -> Stamping {
        let now_ns = clock.now_ns();
        Stamping { clock, gateway_in_ns, engine_in_ns: now_ns, engine_out_ns: now_ns }
    }
}

/// Appends a reply as a text frame, with its stamps if it is to have them.
#[inline]
pub(crate) fn send_stamped(
    out: &mut Vec<u8>,
    stamping: Option<&Stamping>,
    write: impl FnOnce(&mut Vec<u8>),
) {
    match stamping {
        None => send(out, write),
        Some(Stamping { clock, gateway_in_ns, engine_in_ns, engine_out_ns }) => send(out, |out| {
            write(out);
            // The stamp is when all but itself is encoded.
            let stamps = [*gateway_in_ns, *engine_in_ns, *engine_out_ns, clock.now_ns()];
            reply::encode_stamps(out, &stamps);
        }),
    }
}

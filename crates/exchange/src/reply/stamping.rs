//! Stamps of a request, added to its replies if the client asked for them.

use crate::reply::text::send;
use clock::Clock;
use wire::reply;

/// The stamps of a request's replies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamping {
    pub clock: Clock,
    /// When the read of the request's last byte returned.
    pub gateway_in_ns: u64,
    /// When the request went to the sequencer, or when the exchange rejected it before that.
    pub engine_in_ns: u64,
    /// When the engine had executed it.
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

/// Appends a reply as a text frame, with its stamps if there are any.
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
            // The last stamp is read when everything before it is encoded.
            let stamps = [*gateway_in_ns, *engine_in_ns, *engine_out_ns, clock.now_ns()];
            reply::encode_stamps(out, &stamps);
        }),
    }
}

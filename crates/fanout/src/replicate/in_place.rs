//! Datagrams that are sent on in the frame that they came in.

use super::frame::{self, Tunnel};
use super::{Replicator, is_of_parent};

impl Replicator {
    /// Receives one datagram and sends it on. False if there is none.
    pub(super) fn forward_next(&mut self) -> bool {
        let Replicator {
            way, clock, inbound, member, orders, subscribers, counts, settings, ..
        } = self;
        let Some(frames) = way.in_place() else { return false };
        // When it was read, if it has copies.
        let mut copied = None;
        let is_there = frames.forward(|mut datagram| {
            let (read_ns, from) = (clock.now_ns(), datagram.from());
            if is_of_parent(member, inbound, (datagram.content(), from), read_ns) {
                return;
            }
            counts.received += 1;
            counts.received_bytes += datagram.content().len() as u64;
            if settings.source.is_some_and(|source| from.ip() != source) {
                counts.rejects.foreign += 1;
                return;
            }
            if settings.tunnel == Tunnel::Keep
                && let Err(reject) = frame::stamp(datagram.content(), clock::wall_ns)
            {
                return counts.rejects.count(reject);
            }
            let order = orders.next(subscribers.all().len());
            if order.is_empty() {
                counts.without_subscribers += 1;
                return;
            }
            datagram.send(order, &mut |index, sent| subscribers.count(index as usize, sent));
            copied = Some(read_ns);
        });
        if let Some(read_ns) = copied {
            counts.copying_ns.saturating_record(clock.now_ns() - read_ns);
        }
        is_there
    }
}

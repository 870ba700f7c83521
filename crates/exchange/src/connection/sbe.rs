//! Frames of SBE.

use crate::connection::Exchange;
use crate::connection::state::Phase;
use crate::entry::sbe::{self, SbeConnection, SbeEnd};
use transport::StreamId;
use transport::serve::Outbound;
use wire::sbe::client::encode_terminate;
use wire::sbe::split;

impl Exchange {
    /// The connection speaks SBE: its first bytes are those of a frame.
    pub(super) fn begin_sbe(
        &mut self,
        id: StreamId,
        start: usize,
        stamp_ns: u64,
        outbound: &mut Outbound,
    ) {
        let connection = &mut self.connections[id.index()];
        connection.head.copy_within(start..connection.head_bytes, 0);
        connection.head_bytes -= start;
        connection.phase = Phase::Sbe { session: None };
        connection.speaks_sbe = true;
        connection.upgraded_ns = stamp_ns;
        connection.owes_since_ns = None;
        self.sbe(id, stamp_ns, outbound);
    }

    /// Answers complete frames.
    pub(super) fn sbe(&mut self, id: StreamId, stamp_ns: u64, outbound: &mut Outbound) {
        let Exchange { connections, entry, codes, .. } = self;
        let connection = &mut connections[id.index()];
        let Phase::Sbe { mut session } = connection.phase else { return };
        let time_ns = (self.wall_ns)();
        entry.core.observed.cause_ns = stamp_ns;
        let (mut start, mut end) = (0, None);
        while end.is_none() {
            let from = SbeConnection { connection: id, session };
            let handled = match split(&connection.head[start..connection.head_bytes]) {
                Ok(None) => break,
                Ok(Some((message, frame_bytes))) => {
                    start += frame_bytes;
                    sbe::message(entry, from, (message, codes), time_ns, outbound)
                }
                Err(fault) => Err(SbeEnd::Terminate(fault.to_string())),
            };
            match handled {
                Ok(after) => session = after,
                Err(why) => end = Some(why),
            }
        }
        connection.phase = Phase::Sbe { session };
        connection.heard_ns = stamp_ns;
        connection.head.copy_within(start..connection.head_bytes, 0);
        connection.head_bytes -= start;
        // A frame that comes byte by byte does not extend its time.
        connection.owes_since_ns = match connection.owes_since_ns.filter(|_| start == 0) {
            Some(since_ns) => Some(since_ns),
            None => (connection.head_bytes > 0).then_some(stamp_ns),
        };
        match end {
            None => {}
            Some(SbeEnd::Terminate(reason)) => self.end_sbe(id, &reason, outbound),
            Some(SbeEnd::FailedLogin) => self.fail_login(id, stamp_ns, outbound),
            Some(SbeEnd::Client) => self.end(id, outbound),
        }
    }

    /// Ends a connection with the reason.
    #[cold]
    pub(super) fn end_sbe(&mut self, id: StreamId, reason: &str, outbound: &mut Outbound) {
        self.entry.core.rejections.rejected.add("sbe_terminated");
        encode_terminate(outbound.to(id), reason);
        self.end(id, outbound);
    }

    /// Takes the connection from its session, which goes on without it.
    pub(super) fn gone_sbe(
        &mut self,
        id: StreamId,
        session: Option<StreamId>,
        outbound: &mut Outbound,
    ) {
        let from = SbeConnection { connection: id, session };
        sbe::disconnected(&mut self.entry, from, self.wall_ns, outbound);
    }
}

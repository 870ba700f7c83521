//! The head of a connection: HTTP requests, an upgrade to WebSocket, or the first bytes of SBE.

use crate::connection::Exchange;
use crate::connection::state::Phase;
use transport::serve::Outbound;
use transport::{StreamId, proxy};
use wire::http::{self, Framing, HttpError, Request};
use wire::sbe::is_sbe;

impl Exchange {
    /// Answers complete HTTP requests. An upgrade ends this phase: frames follow it.
    pub(super) fn heads(&mut self, id: StreamId, stamp_ns: u64, outbound: &mut Outbound) {
        let mut start = 0;
        while self.connections[id.index()].phase == Phase::Head {
            let connection = &mut self.connections[id.index()];
            let rest = &connection.head[start..connection.head_bytes];
            if transport::tls::looks_like_tls(rest) {
                return self.reject_head(id, &http::TLS, outbound);
            }
            if is_sbe(rest) && !connection.is_answered {
                return self.begin_sbe(id, start, stamp_ns, outbound);
            }
            let out = outbound.to(id);
            let head = match proxy::line_bytes(rest) {
                None => Ok(None),
                Some(0) => http::parse_head(rest),
                Some(line_bytes) => {
                    start += line_bytes;
                    self.entry.core.sessions.behind_gateway(id);
                    continue;
                }
            };
            let head = match head {
                Ok(Some(head)) => head,
                Ok(None) => {
                    connection.head.copy_within(start..connection.head_bytes, 0);
                    connection.head_bytes -= start;
                    return;
                }
                Err(error) => return self.reject_head(id, &error, outbound),
            };
            start += head.head_bytes;
            connection.owes_since_ns = Some(stamp_ns);
            let (keep_alive, is_head) = (head.keep_alive, head.is_head);
            let framing = Framing { keep_alive, is_head, wall_ns: Some((self.wall_ns)()) };
            match head.request {
                Request::Upgrade { is_foreign: true, .. } if self.rejects_foreign_origins => {
                    return self.reject_head(id, &http::FOREIGN_ORIGIN, outbound);
                }
                Request::Upgrade { key, .. } => {
                    http::accept_response(out, &key);
                    connection.phase = Phase::Frames;
                    connection.upgraded_ns = stamp_ns;
                    connection.owes_since_ns = None;
                    return self.frames_behind_head(id, start, stamp_ns, outbound);
                }
                Request::Health => http::response(out, 200, "OK", framing),
                Request::Balances { .. } => {
                    let body = "balances are not kept here; orders need none\n";
                    http::response(out, 200, body, framing);
                }
                Request::NotFound => {
                    let body = "not found; there are /, /health and /private/account/user/balances";
                    http::response(out, 404, body, framing);
                }
            }
            connection.is_answered = true;
            if !head.keep_alive {
                self.end(id, outbound);
            }
        }
    }

    #[cold]
    fn reject_head(&mut self, id: StreamId, error: &HttpError, outbound: &mut Outbound) {
        if *error == http::FOREIGN_ORIGIN {
            self.entry.core.rejections.rejected.add("foreign_origin");
        }
        if *error == http::TLS {
            self.entry.core.rejections.rejected.add("tls_on_plain_port");
        }
        if [414, 431].contains(&error.status) {
            let headers = error.reason.contains("http_headers_max");
            let limit = if headers { "http_headers_max" } else { "http_head_bytes_max" };
            self.entry.core.rejections.limits.add(limit);
        }
        http::error_response(outbound.to(id), error, (self.wall_ns)());
        self.end(id, outbound);
    }

    /// Passes the bytes that came in the same read as the head to the frame reader.
    fn frames_behind_head(
        &mut self,
        id: StreamId,
        mut start: usize,
        stamp_ns: u64,
        outbound: &mut Outbound,
    ) {
        loop {
            let connection = &mut self.connections[id.index()];
            let rest = &connection.head[start..connection.head_bytes];
            if rest.is_empty() || connection.phase != Phase::Frames {
                return;
            }
            start += connection.reader.fill_from(rest, stamp_ns);
            self.frames(id, stamp_ns, outbound);
        }
    }
}

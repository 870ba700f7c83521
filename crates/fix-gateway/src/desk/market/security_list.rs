//! Answers to SecurityListRequests.

use super::securities::ListRequest;
use crate::desk::number::put_decimal;
use crate::desk::state::Desk;
use fix::encode::Body;
use fix::session::Now;
use std::io;
use std::sync::Arc;

/// Instruments of one SecurityList; more come in further ones.
const PER_MESSAGE_MAX: usize = 200;

impl Desk {
    /// Answers a SecurityListRequest, in as many messages as it takes.
    pub(in crate::desk) fn security_list(
        &mut self,
        list: &ListRequest,
        now: Now,
    ) -> io::Result<()> {
        let securities = Arc::clone(&self.securities);
        let wanted = securities.wanted(list);
        if wanted.is_empty() {
            let is_readable = list.is_of_all || list.symbol.is_some();
            return self.security_message(list, if is_readable { 2 } else { 1 }, now, |_| {});
        }
        let last = wanted.chunks(PER_MESSAGE_MAX).count() - 1;
        for (at, some) in wanted.chunks(PER_MESSAGE_MAX).enumerate() {
            self.security_message(list, 0, now, |body| {
                body.number(393, wanted.len() as u64).flag(893, at == last);
                body.number(146, some.len() as u64);
                for security in some {
                    body.text(55, &security.symbol);
                    put_decimal(body, 561, Some(security.lot));
                    put_decimal(body, 562, Some(security.amount_min));
                    // FIX 4.4 has no field for it; later versions call it so.
                    body.text(58, &format!("MinPriceIncrement={}", security.tick));
                }
            })?;
        }
        Ok(())
    }

    /// A SecurityList with that SecurityRequestResult (560).
    fn security_message(
        &mut self,
        list: &ListRequest,
        result: u64,
        now: Now,
        fill: impl FnOnce(&mut Body<'_>),
    ) -> io::Result<()> {
        let response_id = self.exec_id(now);
        self.send("y", now, |body| {
            response_id.put(body.text(320, &list.id), 322).number(560, result);
            fill(body);
        })
    }
}

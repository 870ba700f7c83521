//! The instruments of the exchange, and SecurityList.

use crate::desk::Desk;
use crate::desk::report::put_decimal;
use fix::message::Message;
use fix::session::Now;
use std::io;
use std::sync::Arc;
use wire::decimal::Decimal;

/// Instruments of one SecurityList; more come in further ones.
const PER_MESSAGE_MAX: usize = 200;

/// An instrument of the exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Security {
    /// Its code: Symbol (55). Orders share it.
    pub symbol: Arc<str>,
    /// The smallest step of a price.
    pub tick: Decimal,
    /// The smallest step of an amount.
    pub lot: Decimal,
    /// The smallest amount of an order.
    pub amount_min: Decimal,
}

/// All instruments, sorted by code.
#[derive(Debug, Default)]
pub(crate) struct Securities(Vec<Security>);

impl Securities {
    pub fn new(mut all: Vec<Security>) -> Securities {
        all.sort_by(|a, b| a.symbol.cmp(&b.symbol));
        Securities(all)
    }

    pub fn has(&self, symbol: &str) -> bool {
        self.one(symbol).is_some()
    }

    /// A code to keep, without an allocation if it is that of an instrument.
    pub fn name(&self, symbol: &str) -> Arc<str> {
        self.one(symbol).map_or_else(|| symbol.into(), |security| Arc::clone(&security.symbol))
    }

    fn one(&self, symbol: &str) -> Option<&Security> {
        let at = self.0.binary_search_by(|security| (*security.symbol).cmp(symbol)).ok()?;
        self.0.get(at)
    }

    /// The instruments that a SecurityListRequest wants.
    fn wanted(&self, list: &ListRequest) -> &[Security] {
        match &list.symbol {
            None if list.is_of_all => &self.0,
            None => &[],
            Some(symbol) => self.one(symbol).map_or(&[], std::slice::from_ref),
        }
    }
}

/// A SecurityListRequest.
#[derive(Debug)]
pub(crate) struct ListRequest {
    /// SecurityReqID (320).
    id: String,
    /// SecurityListRequestType (559) 4.
    is_of_all: bool,
    symbol: Option<String>,
}

impl ListRequest {
    /// Reads a message that the dictionary has checked.
    pub fn of(message: Message<'_>) -> ListRequest {
        let is_of_all = message.get(559) == Some(b"4");
        ListRequest {
            id: message.text(320).unwrap_or_default().to_owned(),
            is_of_all,
            symbol: message.text(55).filter(|_| !is_of_all).map(str::to_owned),
        }
    }
}

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
        fill: impl FnOnce(&mut fix::encode::Body<'_>),
    ) -> io::Result<()> {
        let response_id = self.exec_id(now);
        self.send("y", now, |body| {
            response_id.put(body.text(320, &list.id), 322).number(560, result);
            fill(body);
        })
    }
}

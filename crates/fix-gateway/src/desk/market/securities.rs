//! The instruments of the exchange, and requests for their list.

use fix::message::Message;
use std::sync::Arc;
use wire::decimal::Decimal;

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
    pub(super) fn wanted(&self, list: &ListRequest) -> &[Security] {
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
    pub(super) id: String,
    /// SecurityListRequestType (559) 4.
    pub(super) is_of_all: bool,
    pub(super) symbol: Option<String>,
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

//! A MarketDataRequest, checked as far as it can be without the exchange.

use super::book::MARKET_DEPTH_MAX;
use super::securities::Securities;
use fix::message::{Message, number};
use fix::tag;

/// Subscriptions of a session, one for each symbol of a request. One more is rejected.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 256;

/// The kind of a request: SubscriptionRequestType (263).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SubscriptionKind {
    /// One snapshot.
    Snapshot,
    /// A snapshot, then what changes; or a whole snapshot at each change.
    Updates { refreshes: bool },
    /// No more of it.
    End,
}

/// MDEntryTypes (269) that a client wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Types {
    pub bids: bool,
    pub asks: bool,
    pub trades: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct MarketDataRequest {
    /// MDReqID (262).
    pub(super) id: String,
    pub(super) kind: SubscriptionKind,
    /// Prices of each side.
    pub(super) depth: usize,
    pub(super) types: Types,
    /// TickStamps (8016).
    pub(super) is_stamped: bool,
    pub(super) symbols: Vec<String>,
}

/// Why a request is rejected: MDReqRejReason (281), if FIX has one for it, and Text.
pub(crate) type Rejection = (Option<char>, String);

pub(super) const UNKNOWN_SYMBOL: Option<char> = Some('0');
pub(super) const DUPLICATE_ID: Option<char> = Some('1');
pub(super) const NO_ROOM: Option<char> = Some('2');
const BAD_DEPTH: Option<char> = Some('5');
const BAD_UPDATE_TYPE: Option<char> = Some('6');
const BAD_AGGREGATION: Option<char> = Some('7');

/// Text of a rejection at [`SUBSCRIPTIONS_MAX`].
pub(super) fn no_room() -> String {
    format!("this session has {SUBSCRIPTIONS_MAX} subscriptions (limit SUBSCRIPTIONS_MAX)")
}

impl MarketDataRequest {
    /// Reads a message that the dictionary has checked. With a rejection also its MDReqID.
    pub fn of(
        message: Message<'_>,
        securities: &Securities,
    ) -> Result<MarketDataRequest, (String, Rejection)> {
        let id = message.text(262).unwrap_or_default().to_owned();
        match read(message, securities, &id) {
            Ok(request) => Ok(request),
            Err(rejection) => Err((id, rejection)),
        }
    }
}

fn read(
    message: Message<'_>,
    securities: &Securities,
    id: &str,
) -> Result<MarketDataRequest, Rejection> {
    let of_tag = |tag: u32| {
        let fields = message.fields().iter().filter(move |field| field.tag == tag);
        fields.map(move |field| message.value(*field))
    };
    let has = |entry_type: &[u8]| of_tag(269).any(|value| value == entry_type);
    let types = Types { bids: has(b"0"), asks: has(b"1"), trades: has(b"2") };
    let kind = match (message.get(263), message.get(265)) {
        (Some(b"2"), _) => SubscriptionKind::End,
        (Some(b"1"), Some(b"0")) => SubscriptionKind::Updates { refreshes: true },
        (Some(b"1"), Some(_)) => SubscriptionKind::Updates { refreshes: false },
        (Some(b"1"), None) => {
            let why = "SubscriptionRequestType (263) 1 needs MDUpdateType (265)";
            return Err((BAD_UPDATE_TYPE, why.to_owned()));
        }
        _ => SubscriptionKind::Snapshot,
    };
    let is_stamped = message.is_set(tag::TICK_STAMPS);
    if is_stamped && kind != (SubscriptionKind::Updates { refreshes: false }) {
        let why = "TickStamps (8016) needs SubscriptionRequestType (263) 1 and MDUpdateType (265) \
                   1: increments carry them";
        return Err((BAD_UPDATE_TYPE, why.to_owned()));
    }
    let depth = match message.get(264).and_then(number) {
        Some(0) => MARKET_DEPTH_MAX,
        Some(depth @ 1..) if depth <= MARKET_DEPTH_MAX as u64 => depth as usize,
        _ => {
            let why = format!(
                "MarketDepth (264) is 1 to {MARKET_DEPTH_MAX}, or 0 for {MARKET_DEPTH_MAX} (limit \
                 MARKET_DEPTH_MAX)"
            );
            return Err((BAD_DEPTH, why));
        }
    };
    if message.get(266) == Some(b"N") {
        let why = "this exchange has books by price: AggregatedBook (266) is Y";
        return Err((BAD_AGGREGATION, why.to_owned()));
    }
    let mut symbols: Vec<String> = Vec::new();
    for symbol in of_tag(55) {
        let symbol = String::from_utf8_lossy(symbol).into_owned();
        if kind != SubscriptionKind::End && !securities.has(&symbol) {
            return Err((UNKNOWN_SYMBOL, format!("unknown Symbol (55) {symbol}")));
        }
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
        if symbols.len() > SUBSCRIPTIONS_MAX {
            return Err((NO_ROOM, no_room()));
        }
    }
    Ok(MarketDataRequest { id: id.to_owned(), kind, depth, types, is_stamped, symbols })
}

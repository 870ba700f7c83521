//! Messages that are known in advance except for a few fields: encoded once, cut at these blanks,
//! and filled in for each order.

use wire::request::DeliveryClock;
use wire::{ClientId, Decimal};

/// Length of a client id in a form, the text of a UUID.
pub(crate) const CLIENT_ID_BYTES: usize = 36;

/// Placeholders while a message is encoded for a form; no other part of a message is like them.
const CLIENT_ID: &str = "a-client-id-of-thirty-six-characters";
const PRICE: &str = "0.135791357913579";
const AMOUNT: &str = "0.246802468024681";
const TICK: u64 = 8_102_030_405_060_708_093;
const RESPONSE_NS: u64 = 7_203_040_506_070_809_014;

/// Placeholders in the blanks of a message that becomes a form.
pub(crate) struct Blanks {
    pub(crate) client_id: ClientId,
    pub(crate) price: Decimal,
    pub(crate) amount: Decimal,
    pub(crate) delivery: DeliveryClock,
}

/// A message with blanks for its client id and, if it has them, its price, amount, tick and
/// response time.
pub(crate) struct Form {
    text: Vec<u8>,
    /// Positions of the cuts.
    cuts: Vec<usize>,
}

/// A number of units, ticks or lots, and the unit.
pub(crate) type Term = (i64, Decimal);

impl Form {
    /// The placeholder of a client id.
    pub(crate) fn client_id() -> ClientId {
        ClientId::new(CLIENT_ID).expect("it is one")
    }

    /// Makes a form of what `encode` appends.
    pub(crate) fn new(encode: impl FnOnce(&mut Vec<u8>, Blanks)) -> Form {
        let decimal = |text| Decimal::parse(text).expect("it is one");
        let (client_id, price, amount) = (Form::client_id(), decimal(PRICE), decimal(AMOUNT));
        let mut text = Vec::new();
        let delivery = DeliveryClock { tick: TICK, response_ns: RESPONSE_NS };
        encode(&mut text, Blanks { client_id, price, amount, delivery });
        let (tick, response_ns) = (TICK.to_string(), RESPONSE_NS.to_string());
        let mut cuts = Vec::new();
        for blank in [CLIENT_ID, PRICE, AMOUNT, &tick, &response_ns].map(str::as_bytes) {
            if let Some(at) = text.windows(blank.len()).position(|bytes| bytes == blank) {
                text.drain(at..at + blank.len());
                cuts.push(at);
            }
        }
        Form { text, cuts }
    }

    /// Appends the message with its terms, one for each blank. A term with more digits than a
    /// decimal has room for stays blank.
    #[inline]
    pub(crate) fn fill(
        &self,
        out: &mut Vec<u8>,
        client_id: &[u8; CLIENT_ID_BYTES],
        terms: &[Term],
    ) {
        debug_assert_eq!(self.cuts.len(), 1 + terms.len());
        let [client_id_at, terms_at @ ..] = self.cuts.as_slice() else { return };
        out.extend_from_slice(&self.text[..*client_id_at]);
        out.extend_from_slice(client_id);
        let mut from = *client_id_at;
        for (&at, &(count, unit)) in terms_at.iter().zip(terms) {
            out.extend_from_slice(&self.text[from..at]);
            Decimal::write_units(out, count, unit).unwrap_or_default();
            from = at;
        }
        out.extend_from_slice(&self.text[from..]);
    }
}

#[cfg(test)]
#[path = "form_tests.rs"]
mod tests;

//! A client that speaks SBE to an exchange without sockets.

use crate::driven::Driven;
use wire::reply::Reply;
use wire::request::{CreateOrder, Side, TimeInForce};
use wire::sbe::client::*;
use wire::sbe::exchange::{ExchangeMessage, Names, decode_exchange};
use wire::sbe::split;
use wire::{ClientId, Decimal};

/// The shipped instruments by number.
pub fn codes() -> Vec<String> {
    ["BTC_USDT", "BTC_CHF", "BTC_EUR", "BTC_USDC"].map(str::to_owned).to_vec()
}

pub fn id(text: &str) -> ClientId {
    ClientId::new(text).unwrap()
}

pub fn limit(client_id: &str, side: Side, price: &str, amount: &str) -> CreateOrder<'static> {
    let decimal = |text| Decimal::parse(text).unwrap();
    CreateOrder {
        time_in_force: TimeInForce::GoodTillCancelled,
        ..CreateOrder::limit("BTC_USDT", id(client_id), side, decimal(price), decimal(amount))
    }
}

/// One client, over one connection after another.
pub struct SbeClient {
    pub stream: u32,
    pub account: &'static str,
    /// The session, once the exchange has named it.
    pub session: u64,
    /// The last report's number.
    pub seen: u64,
    /// The last request's number.
    pub sent: u64,
    /// Whether a `Terminate` came.
    pub is_terminated: bool,
}

impl SbeClient {
    /// Connects and logs on; the answer is checked.
    pub fn new(driven: &mut Driven, stream: u32, account: &'static str) -> SbeClient {
        let mut client = SbeClient::stranger(stream, account);
        let told = client.log_on(driven, false);
        assert_eq!(told, ["ACCEPTED received=0 next=1 lost=0"]);
        client
    }

    pub fn stranger(stream: u32, account: &'static str) -> SbeClient {
        SbeClient { stream, account, session: 0, seen: 0, sent: 0, is_terminated: false }
    }

    /// Opens the connection and continues the session, or begins one.
    pub fn log_on(&mut self, driven: &mut Driven, cancel_on_disconnect: bool) -> Vec<String> {
        driven.open(self.stream);
        self.is_terminated = false;
        let mut bytes = Vec::new();
        let (session, last_sequence, token) = (self.session, self.seen, self.account);
        encode_logon(&mut bytes, &Logon { session, last_sequence, cancel_on_disconnect, token });
        driven.feed(self.stream, &bytes);
        self.told(driven)
    }

    /// Sends a request, which `write` encodes with the next number.
    pub fn say(
        &mut self,
        driven: &mut Driven,
        write: impl FnOnce(&mut Vec<u8>, u64),
    ) -> Vec<String> {
        self.sent += 1;
        let mut bytes = Vec::new();
        write(&mut bytes, self.sent);
        driven.feed(self.stream, &bytes);
        self.told(driven)
    }

    pub fn order(
        &mut self,
        driven: &mut Driven,
        client_id: &str,
        side: Side,
        price: &str,
        amount: &str,
    ) -> Vec<String> {
        let order = limit(client_id, side, price, amount);
        self.say(driven, |out, sequence| encode_new_order(out, sequence, 0, &order))
    }

    pub fn cancel(&mut self, driven: &mut Driven, client_id: &str) -> Vec<String> {
        self.say(driven, |out, sequence| encode_cancel_order(out, sequence, 0, &id(client_id)))
    }

    /// All messages since the last call, one line each, without those of instruments. Reports must
    /// come in the order of their numbers.
    pub fn told(&mut self, driven: &mut Driven) -> Vec<String> {
        let bytes = std::mem::take(driven.answers(self.stream));
        self.read(&bytes)
    }

    /// As [`SbeClient::told`], for bytes from elsewhere, which are whole frames.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<String> {
        let (codes, mut rest, mut lines) = (codes(), bytes, Vec::new());
        while let Some((message, frame_bytes)) = split(rest).unwrap() {
            rest = &rest[frame_bytes..];
            assert!(!self.is_terminated, "a message after a Terminate");
            let names = Names { codes: &codes, account: self.account };
            lines.extend(self.line(decode_exchange(message, names).unwrap(), &codes));
        }
        assert!(rest.is_empty(), "half a frame");
        lines
    }

    fn line(&mut self, message: ExchangeMessage<'_>, codes: &[String]) -> Option<String> {
        Some(match message {
            ExchangeMessage::LogonAccepted(accepted) => {
                assert_eq!(usize::from(accepted.instruments), codes.len());
                if accepted.session != self.session {
                    (self.session, self.sent) = (accepted.session, 0);
                }
                self.seen = accepted.next_sequence - 1;
                let (received, next) = (accepted.received_sequence, accepted.next_sequence);
                format!("ACCEPTED received={received} next={next} lost={}", accepted.lost)
            }
            ExchangeMessage::Instrument(definition) => {
                assert_eq!(codes[usize::from(definition.number)], definition.code);
                return None;
            }
            ExchangeMessage::Heartbeat { next_sequence } => {
                assert_eq!(next_sequence, self.seen + 1);
                "HEARTBEAT".to_owned()
            }
            ExchangeMessage::Terminate { reason } => {
                self.is_terminated = true;
                format!("TERMINATE {reason}")
            }
            ExchangeMessage::Report { sequence, reply } => {
                self.next(sequence);
                format!("{sequence} {}", brief(&reply))
            }
            ExchangeMessage::Status { sequence, status } => {
                self.next(sequence);
                format!("{sequence} STATUS {} {}", status.client_id, status.amount)
            }
        })
    }

    fn next(&mut self, sequence: u64) {
        self.seen += 1;
        assert_eq!(sequence, self.seen, "a report is lost or comes twice");
    }
}

/// A report in a few words.
pub fn brief(reply: &Reply<'_>) -> String {
    match reply {
        Reply::Booked(r) => format!("BOOKED {} {} {}", r.client_id, r.price, r.amount),
        Reply::Fill(r) => {
            format!("FILL {} {} {} remaining={}", r.client_id, r.price, r.amount, r.remaining)
        }
        Reply::Done(r) => format!("DONE {} {}", r.client_id, r.status.name()),
        Reply::Ended(r) => format!("ENDED {} {}", r.client_id, r.status.name()),
        Reply::Amended(r) => {
            let replaced = r.replaced_client_id.map_or_else(String::new, |id| format!(" was={id}"));
            let price = r.price.map_or_else(|| "-".to_owned(), |price| price.to_string());
            let kept = r.place_kept;
            format!("REPLACED {}{replaced} {price} {} kept={kept}", r.client_id, r.amount)
        }
        Reply::Waiting(r) => format!("WAITING {} {} {}", r.client_id, r.stop_price, r.amount),
        Reply::Triggered(r) => format!("TRIGGERED {}", r.client_id),
        Reply::Decremented(r) => {
            format!("DECREMENTED {} {} remaining={}", r.client_id, r.amount, r.remaining)
        }
        Reply::MassCancelled(r) => {
            let client_id = r.client_id.map_or_else(String::new, |id| format!(" {id}"));
            format!("MASS_CANCELLED{client_id} count={}", r.count)
        }
        Reply::Rejected(r) => format!("REJECTED {} {}", r.client_id, r.reason),
        Reply::Error { reason } => format!("REJECTED - {reason}"),
        other => format!("{other:?}"),
    }
}

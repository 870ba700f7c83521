//! Orders as JSON in WebSocket text frames, as docs/internals/wire.md defines them.

use crate::load::session::{LoadMessage, OrderProtocol, OrderStanding, ReceivedReply, Reply};
use crate::session::codec::{self, Codec, ExecutionReport, OrderEvent, StampedReply};
use crate::session::form::{Blanks, Form};
use crate::session::standing;
use crate::session::web::{Masks, WebSession, nonce};
use plan::process::orders::OrdersPlan;
use std::borrow::Cow;
use std::io;
use std::time::Duration;
use transport::Blocking;
use wire::ClientId;
use wire::decimal::Decimal;
use wire::frame::{Opcode, write_frame_with};
use wire::reply::{self, DoneStatus};
use wire::request::{
    CancelOrder, Channel, CreateOrder, OrderStatus, encode_cancel_order, encode_create_order,
    encode_subscribe,
};

pub(crate) struct WebSocket {
    first_token: u64,
    lanes: Vec<WebSession>,
    /// The order without its account and its id.
    order: CreateOrder<'static>,
    /// By account.
    forms: Vec<Forms>,
    codec: Codec,
    masks: Masks,
}

/// The messages of one account.
struct Forms {
    /// `None`: the only account of its connection.
    account_id: Option<String>,
    order: Form,
    cancel: Form,
}

impl Forms {
    /// `account_id` for a connection with several accounts; `None` if it has one.
    fn new(order: &CreateOrder<'static>, account_id: Option<&str>) -> Forms {
        let own = account_id.map(str::to_owned);
        let account_id = own.clone().map(Cow::Owned);
        let instrument_code = order.instrument_code.clone();
        Forms {
            account_id: own,
            order: Form::new(|out, Blanks { client_id, .. }| {
                let account_id = account_id.clone();
                encode_create_order(out, &CreateOrder { client_id, account_id, ..order.clone() });
            }),
            cancel: Form::new(|out, Blanks { client_id, .. }| {
                encode_cancel_order(out, &CancelOrder { client_id, instrument_code, account_id });
            }),
        }
    }
}

impl WebSocket {
    pub(crate) fn new(plan: &OrdersPlan) -> WebSocket {
        let load = &plan.load;
        let nonce = nonce();
        let decimal = |text| Decimal::parse(text).expect("the load was checked");
        let side = load.parsed_side().expect("the load was checked");
        let (price, amount) = (decimal(&load.price), decimal(&load.amount));
        let nobody = Form::client_id();
        let order = CreateOrder::limit(load.instrument.clone(), nobody, side, price, amount);
        let seed = |lane: usize| u64::from(nonce) << 32 | lane as u64;
        let lanes =
            (0..load.connections).map(|lane| WebSession::new(plan.targets()[0], seed(lane)));
        WebSocket {
            first_token: load.first_token,
            lanes: lanes.collect(),
            forms: (0..load.accounts).map(|_| Forms::new(&order, None)).collect(),
            order,
            codec: Codec::new(nonce),
            masks: Masks::new(u64::from(nonce)),
        }
    }
}

impl OrderProtocol for WebSocket {
    fn log_on(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        accounts: &[usize],
    ) -> io::Result<()> {
        let session = &mut self.lanes[lane];
        session.upgrade(stream)?;
        for account in accounts {
            session.authenticate(stream, self.first_token + *account as u64, [None; 2])?;
        }
        session.send(stream, |out| encode_subscribe(out, &[Channel::named("ORDERS")]))?;
        let names = session.wait_for(stream, "SUBSCRIBE", |reply, _| match reply {
            reply::Reply::Subscriptions(subscriptions) => Some(
                subscriptions
                    .channels
                    .iter()
                    .filter_map(|channel| match channel {
                        reply::Subscription::Account { account_id, .. } => {
                            Some(account_id.to_string())
                        }
                        _ => None,
                    })
                    .collect::<Vec<_>>(),
            ),
            _ => None,
        })?;
        if accounts.len() > 1 {
            if names.len() != accounts.len() {
                return Err(io::Error::other(format!(
                    "{} accounts logged on over one connection, but the exchange knows {}: give each \
                     its own (load.connections = load.accounts)",
                    accounts.len(),
                    names.len()
                )));
            }
            for (account, name) in accounts.iter().zip(names) {
                self.forms[*account] = Forms::new(&self.order, Some(&name));
            }
        }
        Ok(())
    }

    fn renew(&mut self, lane: usize, target: &str, patience: Duration) {
        let seed = u64::from(u32::from_ne_bytes(self.masks.next())) << 32 | lane as u64;
        let session = &mut self.lanes[lane];
        *session = WebSession::new(target, seed);
        session.patience = patience;
    }

    fn standings(
        &mut self,
        lane: usize,
        stream: &mut dyn Blocking,
        orders: &[(u64, usize)],
    ) -> io::Result<Vec<OrderStanding>> {
        let mut asked = Vec::new();
        for &(number, account) in orders {
            let client_id =
                ClientId::new(self.codec.client_ids.text(number)).map_err(io::Error::other)?;
            let account_id = self.forms[account].account_id.as_deref().map(Cow::Borrowed);
            asked.push(OrderStatus { client_id, account_id, takes: false });
        }
        standing::ask(&mut self.lanes[lane], stream, &asked)
    }

    #[inline]
    fn encode(&mut self, message: LoadMessage, number: u64, account: usize, out: &mut Vec<u8>) {
        let Forms { order, cancel, .. } = &self.forms[account];
        let form = match message {
            LoadMessage::Order => order,
            LoadMessage::Cancel => cancel,
        };
        let (mask, client_id) = (self.masks.next(), self.codec.client_ids.of(number));
        write_frame_with(out, Opcode::Text, Some(mask), |out| form.fill(out, client_id, &[]));
    }

    fn space(&mut self, lane: usize) -> &mut [u8] {
        self.lanes[lane].reader.space()
    }

    fn filled(&mut self, lane: usize, n: usize, stamp_ns: u64) {
        self.lanes[lane].reader.filled(n, stamp_ns);
    }

    #[inline]
    fn next(&mut self, lane: usize, out: &mut Vec<u8>) -> Result<Option<ReceivedReply>, String> {
        let received = self.codec.next(&mut self.lanes[lane], out)?;
        let Some(StampedReply { reply, first_byte_ns, bytes }) = received else { return Ok(None) };
        let reply = match reply {
            codec::Reply::Execution(report) => self.answer(&report),
            codec::Reply::Aside => Reply::Aside,
            _ => Reply::Unexpected,
        };
        Ok(Some(ReceivedReply { reply, first_byte_ns, bytes }))
    }

    fn first_complaint(&self) -> Option<&str> {
        self.codec.complaint.as_deref()
    }
}

impl WebSocket {
    /// An order of a load rests until its cancel: anything else is unexpected.
    #[inline]
    fn answer(&mut self, report: &ExecutionReport) -> Reply {
        match report.event {
            OrderEvent::Booked { .. } => Reply::Ack(LoadMessage::Order, report.number),
            OrderEvent::Done(DoneStatus::Cancelled) => {
                Reply::Ack(LoadMessage::Cancel, report.number)
            }
            OrderEvent::Rejected => Reply::Rejected(report.number),
            event => {
                self.codec.complain(format!("{event:?} of an order that was to rest"));
                Reply::Unexpected
            }
        }
    }
}

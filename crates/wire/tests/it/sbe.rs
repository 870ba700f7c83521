//! SBE order entry: every message comes back, its bytes are golden and are those of the codecs that
//! are generated from the schema, and faults have names.

use sbe_orders::message_header_codec::MessageHeaderDecoder;
use sbe_orders::{ReadBuf, *};
use std::num::NonZeroU64;
use std::path::Path;
use wire::reply::Reply;
use wire::request::{DeliveryClock, MassCancel, PostOnly, Request, Side, TimeInForce};
use wire::sbe::client::*;
use wire::sbe::exchange::*;
use wire::sbe::{FieldFault, FrameFault, MessageError, split};
use wire::{ClientId, Decimal, OrderId, request};

use crate::properties::sbe::{CODES, codes, place, replies};

fn id(text: &str) -> ClientId {
    ClientId::new(text).unwrap()
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

const DELIVERY: Option<DeliveryClock> = Some(DeliveryClock { tick: 8725, response_ns: 12_345 });

fn order() -> request::CreateOrder<'static> {
    request::CreateOrder {
        instrument_code: CODES[1].into(),
        client_id: id("6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60"),
        side: Side::Sell,
        price: Some(decimal("65000.5")),
        amount: decimal("0.25"),
        time_in_force: TimeInForce::GoodTillDate { expire_time_ms: 1_800_000_000_000 },
        stop_price: None,
        display_amount: Some(decimal("0.1")),
        post_only: Some(PostOnly::Reprice),
        delivery: None,
        account_id: None,
    }
}

/// Each message of a client: its name, bytes and value.
fn client_messages() -> Vec<(&'static str, Vec<u8>, ClientMessage<'static>)> {
    let mut all = Vec::new();
    let mut add = |name, message, encode: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        all.push((name, bytes, message));
    };
    let logon =
        Logon { session: 7, last_sequence: 41, cancel_on_disconnect: true, token: "secret-1" };
    add("logon", ClientMessage::Logon(logon), &|out| encode_logon(out, &logon));
    add("heartbeat", ClientMessage::Heartbeat, &|out| encode_heartbeat(out, 5));
    add("terminate", ClientMessage::Terminate { reason: "done" }, &|out| {
        encode_terminate(out, "done");
    });
    let requested = |sequence, request| ClientMessage::Request { sequence, request };
    let new = order();
    add("new_order", requested(1, Request::CreateOrder(new.clone())), &|out| {
        encode_new_order(out, 1, 1, &new);
    });
    let answer = request::CreateOrder { delivery: DELIVERY, ..new.clone() };
    add("new_order_delivery", requested(1, Request::CreateOrder(answer.clone())), &|out| {
        encode_new_order(out, 1, 1, &answer);
    });
    let cancel = request::CancelOrder {
        client_id: new.client_id,
        instrument_code: CODES[0].into(),
        account_id: None,
    };
    add("cancel_order", requested(2, Request::CancelOrder(cancel)), &|out| {
        encode_cancel_order(out, 2, 0, &new.client_id);
    });
    let (new_client_id, price, amount) = (Some(id("b")), Some(decimal("65001")), decimal("1"));
    let amend = request::AmendOrder {
        client_id: new.client_id,
        new_client_id,
        instrument_code: CODES[0].into(),
        price,
        amount,
        delivery: None,
        account_id: None,
    };
    let (client_id, new_client_id) = (&new.client_id, new_client_id.as_ref());
    let replacement = Replacement { client_id, new_client_id, price, amount, delivery: None };
    add("replace_order", requested(3, Request::AmendOrder(amend.clone())), &|out| {
        encode_replace_order(out, 3, 0, &replacement);
    });
    let answer = request::AmendOrder { delivery: DELIVERY, ..amend };
    add("replace_order_delivery", requested(3, Request::AmendOrder(answer)), &|out| {
        encode_replace_order(out, 3, 0, &Replacement { delivery: DELIVERY, ..replacement });
    });
    let some = MassCancel {
        client_id: Some(id("m")),
        instrument_code: Some(CODES[1].into()),
        side: Some(Side::Buy),
        account_id: None,
    };
    add("mass_cancel", requested(4, Request::MassCancel(some)), &|out| {
        encode_mass_cancel(out, 4, Some(&id("m")), Some(1), Some(Side::Buy));
    });
    let every = MassCancel { client_id: None, instrument_code: None, side: None, account_id: None };
    add("mass_cancel_all", requested(5, Request::MassCancel(every)), &|out| {
        encode_mass_cancel(out, 5, None, None, None);
    });
    let status = ClientMessage::StatusRequest { sequence: 6, client_id: id("b") };
    add("status_request", status, &|out| encode_status_request(out, 6, &id("b")));
    all
}

/// Each message of the exchange.
fn exchange_messages() -> Vec<(&'static str, Vec<u8>, ExchangeMessage<'static>)> {
    let mut all = Vec::new();
    let mut add = |name, message, encode: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        all.push((name, bytes, message));
    };
    let accepted = LogonAccepted {
        session: 1_795_000_000_000_000_000,
        received_sequence: 12,
        next_sequence: 42,
        lost: 3,
        heartbeat_ms: 30_000,
        instruments: 4,
    };
    add("logon_accepted", ExchangeMessage::LogonAccepted(accepted), &|out| {
        encode_logon_accepted(out, &accepted);
    });
    let (tick, lot) = (decimal("0.01"), decimal("0.00001"));
    let definition = InstrumentDefinition { number: 1, tick, lot, code: "BTC_EUR" };
    add("instrument", ExchangeMessage::Instrument(definition), &|out| {
        encode_instrument(out, &definition);
    });
    for (name, sequence, reply) in replies() {
        let encode =
            |out: &mut Vec<u8>| crate::properties::sbe::encode_reply(out, sequence, &reply);
        add(name, ExchangeMessage::Report { sequence, reply: reply.clone() }, &encode);
    }
    let status = OrderStatus {
        client_id: id("b"),
        order_id: OrderId::from_u64(42),
        instrument: 1,
        amount: decimal("1.5"),
        time_ms: 1_795_000_000_000,
    };
    add("status", ExchangeMessage::Status { sequence: 60, status }, &|out| {
        encode_status(out, 60, &status);
    });
    all
}

fn message(frame: &[u8]) -> &[u8] {
    let (message, bytes) = split(frame).unwrap().unwrap();
    assert_eq!(bytes, frame.len());
    message
}

#[test]
fn every_message_comes_back() {
    for (name, frame, expected) in client_messages() {
        assert_eq!(decode_client(message(&frame), codes()).as_ref(), Ok(&expected), "{name}");
    }
    let names = Names { codes: codes(), account: "3002" };
    for (name, frame, expected) in exchange_messages() {
        assert_eq!(decode_exchange(message(&frame), names).as_ref(), Ok(&expected), "{name}");
    }
}

/// `UPDATE_EXPECT=1` writes the golden frames.
#[test]
fn the_bytes_are_the_golden_ones() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/vectors");
    let client = client_messages().into_iter().map(|(name, frame, _)| (name, frame));
    let exchange = exchange_messages().into_iter().map(|(name, frame, _)| (name, frame));
    for (name, frame) in client.chain(exchange) {
        let file = folder.join(format!("sbe_{name}.frame"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&file, &frame).unwrap();
        }
        assert_eq!(std::fs::read(&file).unwrap(), frame, "{}", file.display());
    }
}

/// The length of each block is the generated codec's.
#[test]
fn blocks_are_as_long_as_in_the_schema() {
    let lengths = [
        ("logon", logon_codec::SBE_TEMPLATE_ID, logon_codec::SBE_BLOCK_LENGTH),
        ("heartbeat", heartbeat_codec::SBE_TEMPLATE_ID, heartbeat_codec::SBE_BLOCK_LENGTH),
        ("terminate", terminate_codec::SBE_TEMPLATE_ID, terminate_codec::SBE_BLOCK_LENGTH),
        ("new_order", new_order_codec::SBE_TEMPLATE_ID, new_order_codec::SBE_BLOCK_LENGTH),
        ("cancel_order", cancel_order_codec::SBE_TEMPLATE_ID, cancel_order_codec::SBE_BLOCK_LENGTH),
        (
            "replace_order",
            replace_order_codec::SBE_TEMPLATE_ID,
            replace_order_codec::SBE_BLOCK_LENGTH,
        ),
        ("mass_cancel", mass_cancel_codec::SBE_TEMPLATE_ID, mass_cancel_codec::SBE_BLOCK_LENGTH),
        (
            "status_request",
            status_request_codec::SBE_TEMPLATE_ID,
            status_request_codec::SBE_BLOCK_LENGTH,
        ),
        (
            "logon_accepted",
            logon_accepted_codec::SBE_TEMPLATE_ID,
            logon_accepted_codec::SBE_BLOCK_LENGTH,
        ),
        ("instrument", instrument_codec::SBE_TEMPLATE_ID, instrument_codec::SBE_BLOCK_LENGTH),
        ("booked", booked_codec::SBE_TEMPLATE_ID, booked_codec::SBE_BLOCK_LENGTH),
        ("fill", fill_codec::SBE_TEMPLATE_ID, fill_codec::SBE_BLOCK_LENGTH),
        ("done", done_codec::SBE_TEMPLATE_ID, done_codec::SBE_BLOCK_LENGTH),
        ("replaced", replaced_codec::SBE_TEMPLATE_ID, replaced_codec::SBE_BLOCK_LENGTH),
        ("waiting", waiting_codec::SBE_TEMPLATE_ID, waiting_codec::SBE_BLOCK_LENGTH),
        ("triggered", triggered_codec::SBE_TEMPLATE_ID, triggered_codec::SBE_BLOCK_LENGTH),
        ("decremented", decremented_codec::SBE_TEMPLATE_ID, decremented_codec::SBE_BLOCK_LENGTH),
        (
            "mass_cancelled",
            mass_cancelled_codec::SBE_TEMPLATE_ID,
            mass_cancelled_codec::SBE_BLOCK_LENGTH,
        ),
        ("rejected", rejected_codec::SBE_TEMPLATE_ID, rejected_codec::SBE_BLOCK_LENGTH),
        ("status", status_codec::SBE_TEMPLATE_ID, status_codec::SBE_BLOCK_LENGTH),
        ("ended", ended_codec::SBE_TEMPLATE_ID, ended_codec::SBE_BLOCK_LENGTH),
    ];
    let client = client_messages().into_iter().map(|(name, frame, _)| (name, frame));
    let exchange = exchange_messages().into_iter().map(|(name, frame, _)| (name, frame));
    let all: Vec<_> = client.chain(exchange).collect();
    for (name, template, block) in lengths {
        let (_, frame) = all.iter().find(|(found, _)| *found == name).unwrap();
        let header = MessageHeaderDecoder::default().wrap(ReadBuf::new(frame), 6);
        assert_eq!((header.template_id(), header.block_length()), (template, block), "{name}");
        assert_eq!((header.schema_id(), header.version()), (SBE_SCHEMA_ID, SBE_SCHEMA_VERSION));
    }
}

/// The generated decoders read the fields of ours.
#[test]
fn generated_codecs_read_what_ours_write() {
    let client = client_messages();
    let frame = |name| &client.iter().find(|(found, ..)| *found == name).unwrap().1;
    /// A generated decoder of a frame.
    macro_rules! decoder {
        ($codec:ident, $decoder:ident, $frame:expr) => {
            $codec::$decoder::default().wrap(
                ReadBuf::new($frame),
                14,
                $codec::SBE_BLOCK_LENGTH,
                SBE_SCHEMA_VERSION,
            )
        };
    }
    let new = decoder!(new_order_codec, NewOrderDecoder, frame("new_order"));
    assert_eq!((new.sequence(), new.instrument()), (1, 1));
    assert_eq!(&new.client_id()[..36], b"6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60");
    assert_eq!(new.client_id()[36..], [0; 27]);
    assert_eq!((new.side(), new.post_only()), (side::Side::SELL, post_only::PostOnly::REPRICE));
    assert_eq!(new.time_in_force(), time_in_force::TimeInForce::GOOD_TILL_DATE);
    assert_eq!(new.expire_time_ms(), 1_800_000_000_000);
    let price = new.price_decoder();
    assert_eq!((price.mantissa(), price.exponent()), (Some(650_005), -1));
    let display = decoder!(new_order_codec, NewOrderDecoder, frame("new_order"));
    assert_eq!(display.display_amount_decoder().mantissa(), Some(1));
    let stop = decoder!(new_order_codec, NewOrderDecoder, frame("new_order"));
    assert_eq!(stop.stop_price_decoder().mantissa(), None);
    assert_eq!((new.tick(), new.response_ns()), (None, None));
    let answer = decoder!(new_order_codec, NewOrderDecoder, frame("new_order_delivery"));
    assert_eq!((answer.tick(), answer.response_ns()), (Some(8725), Some(12_345)));
    let replace = decoder!(replace_order_codec, ReplaceOrderDecoder, frame("replace_order"));
    assert_eq!((replace.tick(), replace.response_ns()), (None, None));
    assert_eq!(replace.new_client_id()[..2], [b'b', 0]);
    assert_eq!(replace.amount_decoder().mantissa(), Some(1));

    let exchange = exchange_messages();
    let frame = |name| &exchange.iter().find(|(found, ..)| *found == name).unwrap().1;
    let fill = decoder!(fill_codec, FillDecoder, frame("fill"));
    assert_eq!((fill.order_id(), fill.trade_id(), fill.book_sequence()), (42, 9, 1_000));
    let remaining = fill.remaining_decoder();
    assert_eq!((remaining.mantissa(), remaining.exponent()), (Some(75), -2));
    let replaced = decoder!(replaced_codec, ReplacedDecoder, frame("replaced"));
    assert_eq!(replaced.place_kept(), flag::Flag::ON);
    assert_eq!(replaced.amount_decoder().mantissa(), Some(1));
    let done = decoder!(done_codec, DoneDecoder, frame("done"));
    assert_eq!(done.status(), done_status::DoneStatus::SELF_TRADE_PREVENTED);
    let accepted = decoder!(logon_accepted_codec, LogonAcceptedDecoder, frame("logon_accepted"));
    assert_eq!((accepted.heartbeat_ms(), accepted.instruments()), (30_000, 4));
    let ended = decoder!(ended_codec, EndedDecoder, frame("ended"));
    assert_eq!((ended.sequence(), ended.order_id()), (61, 42));
    assert_eq!(ended.status(), done_status::DoneStatus::FILLED);
    assert_eq!(&ended.client_id()[..36], b"6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60");
    let mut rejected = decoder!(rejected_codec, RejectedDecoder, frame("rejected"));
    assert_eq!(rejected.sequence(), 58);
    let reason = rejected.reason_decoder();
    assert_eq!(rejected.reason_slice(reason), b"no such order: \xc3\xa9");
}

#[test]
fn faults_have_names_and_keep_what_was_read() {
    let mut frame = client_messages().swap_remove(3).1;
    let decode = |frame: &[u8]| decode_client(message(frame), codes()).unwrap_err();
    // An instrument that does not exist, after the client id.
    frame[14 + 71..14 + 73].copy_from_slice(&99_u16.to_le_bytes());
    let error = decode(&frame);
    assert_eq!((error.sequence, error.client_id), (NonZeroU64::new(1), Some(order().client_id)));
    assert_eq!(error.why.to_string(), "field instrument is not the number of an instrument");
    frame[14 + 71] = 0;
    // An exponent above 0.
    frame[14 + 76 + 8] = 1;
    let MessageError::Field(FieldFault::Value { field, .. }) = decode(&frame).why else {
        panic!("{frame:?}");
    };
    assert_eq!(field, "price");
    // No client id.
    frame[14 + 8..14 + 71].fill(0);
    assert_eq!(decode(&frame).why, FieldFault::Missing("clientId").into());
    // A block that is shorter than the fields.
    frame[6] = 20;
    assert_eq!(decode(&frame).why, FrameFault::Short { template: 10 }.into());
    frame[8] = 50;
    assert_eq!(decode(&frame).why, FrameFault::Template { found: 50 }.into());
    frame[10] = 0;
    assert!(matches!(decode(&frame).why, MessageError::Frame(FrameFault::Schema { .. })));
    frame[5] = 0x51;
    assert_eq!(split(&frame), Err(FrameFault::Encoding { found: 0xEB51 }));
    frame[..4].copy_from_slice(&13_u32.to_be_bytes());
    assert_eq!(split(&frame), Err(FrameFault::Length { bytes: 13 }));
    frame[..4].copy_from_slice(&1025_u32.to_be_bytes());
    assert_eq!(split(&frame), Err(FrameFault::Length { bytes: 1025 }));
    assert_eq!(split(&frame[..5]), Ok(None));
}

/// Version 0 of the schema has no delivery clock. Orders and replacements of its clients are read
/// as before. One number of a clock without the other is a fault.
#[test]
fn messages_of_version_0_have_no_delivery_clock() {
    for (name, without) in [("new_order", 120), ("replace_order", 154)] {
        let all = client_messages();
        let of = |name: &str| all.iter().find(|(found, ..)| *found == name).unwrap().clone();
        let ((_, frame, expected), (_, with_clock, _)) =
            (of(name), of(&format!("{name}_delivery")));
        let mut old = frame[..14 + without].to_vec();
        let length = old.len() as u32;
        old[..4].copy_from_slice(&length.to_be_bytes());
        old[6..8].copy_from_slice(&(without as u16).to_le_bytes());
        old[12..14].fill(0);
        assert_eq!(decode_client(message(&old), codes()), Ok(expected), "{name}");
        for (at, missing) in [(0, "tick"), (8, "responseNs")] {
            let mut half = with_clock.clone();
            half[14 + without + at..][..8].fill(0xff);
            let error = decode_client(message(&half), codes()).unwrap_err();
            assert_eq!(error.why, FieldFault::Missing(missing).into(), "{name}");
        }
    }
}

/// A field that a later version adds to a block is skipped, and a reason that is too long is cut.
#[test]
fn later_fields_and_long_texts_are_no_fault() {
    let (_, mut frame, expected) = client_messages().swap_remove(5);
    frame.extend([1, 2, 3]);
    let length = frame.len() as u32;
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame[6] += 3;
    assert_eq!(decode_client(message(&frame), codes()), Ok(expected));
    let mut frame = Vec::new();
    encode_rejected(&mut frame, 1, 2, None, &"é".repeat(300));
    assert_eq!(frame.len(), REPORT_BYTES_MAX);
    let names = Names { codes: &[], account: "a" };
    let Ok(ExchangeMessage::Report { reply: Reply::Error { reason }, .. }) =
        decode_exchange(message(&frame), names)
    else {
        panic!("{frame:?}");
    };
    assert_eq!(reason, "é".repeat(256));
}

#[test]
fn neither_side_allocates() {
    let new = order();
    let replies = replies();
    let Reply::Booked(booked) = &replies[0].2 else { panic!("{replies:?}") };
    let mut out = Vec::with_capacity(1024);
    let before = counting::calls();
    encode_new_order(&mut out, 1, 1, &new);
    assert!(decode_client(message(&out), codes()).is_ok());
    out.clear();
    encode_booked(&mut out, place(1), booked);
    assert_eq!(counting::calls() - before, 0);
}

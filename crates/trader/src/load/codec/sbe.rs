//! The exchange's end of SBE.

use super::answer::{Answer, InMemory};
use super::json::booked;
use plan::tables::load::Load;
use std::io;
use wire::Decimal;
use wire::request::Request;
use wire::sbe::client::{ClientMessage, decode_client};
use wire::sbe::exchange::{
    InstrumentDefinition, LogonAccepted, ReportNumbers, encode_booked, encode_instrument,
    encode_logon_accepted,
};
use wire::sbe::split;

pub(super) fn peer(load: &Load) -> InMemory<SbePeer> {
    InMemory::of(SbePeer { codes: vec![load.instrument.clone()], orders: 0 })
}

pub(super) struct SbePeer {
    codes: Vec<String>,
    orders: u64,
}

impl Answer for SbePeer {
    fn answer(&mut self, inbound: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<()> {
        let mut read = 0;
        while let Some((message, bytes)) = split(&inbound[read..]).map_err(io::Error::other)? {
            read += bytes;
            let decoded = decode_client(message, &self.codes);
            let decoded = decoded.map_err(|error| io::Error::other(error.why.to_string()))?;
            match decoded {
                ClientMessage::Logon(_) => log_on(&self.codes[0], out),
                ClientMessage::Request { request: Request::CreateOrder(create), .. } => {
                    self.orders += 1;
                    let place = ReportNumbers { sequence: self.orders, instrument: 0 };
                    encode_booked(out, place, &booked(&create, self.orders));
                }
                other => return Err(io::Error::other(format!("{other:?} is no order"))),
            }
        }
        inbound.drain(..read);
        Ok(())
    }
}

fn log_on(code: &str, out: &mut Vec<u8>) {
    let accepted = LogonAccepted {
        session: 1,
        received_sequence: 0,
        next_sequence: 1,
        lost: 0,
        heartbeat_ms: 0,
        instruments: 1,
    };
    encode_logon_accepted(out, &accepted);
    let unit = Decimal::new(1, 2).unwrap_or_default();
    encode_instrument(out, &InstrumentDefinition { number: 0, tick: unit, lot: unit, code });
}

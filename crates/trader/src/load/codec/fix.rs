//! The exchange's end of FIX.

use super::answer::{Answer, InMemory};
use clock::Clock;
use fix::dictionary::Dictionary;
use fix::encode::Body;
use fix::message::Message;
use fix::session::{Event, Now, Role, Session, Settings};
use fix::store::MemoryStore;
use plan::tables::load::Load;
use std::io;
use std::sync::Arc;

pub(super) fn peer(load: &Load, clock: Clock) -> io::Result<InMemory<FixPeer>> {
    let trader = format!("TRADER-{}", load.first_token);
    let settings = Settings::new(Role::Acceptor, "TICKPATH", &trader);
    let dictionary = Arc::new(Dictionary::tickpath());
    let mut peer = FixPeer {
        session: Session::new(settings, dictionary, MemoryStore::default()),
        clock,
        orders: Vec::new(),
        answered: 0,
    };
    let now = peer.now();
    peer.session.connected(now, &mut Vec::new())?;
    Ok(InMemory::of(peer))
}

pub(super) struct FixPeer {
    session: Session<MemoryStore>,
    clock: Clock,
    /// Orders that have no report yet.
    orders: Vec<Order>,
    answered: u64,
}

/// The fields of an order that its report repeats.
type Order = Vec<(u32, String)>;

impl FixPeer {
    fn now(&self) -> Now {
        Now { steady_ns: self.clock.now_ns(), utc_ns: clock::steady_wall_ns() }
    }

    /// The report that an order rests, as the exchange's FIX gateway writes it.
    fn report(&mut self, order: &Order, now: Now, out: &mut Vec<u8>) -> io::Result<()> {
        self.answered += 1;
        let nth = self.answered;
        let text =
            |tag| order.iter().find(|(it, _)| *it == tag).map_or("", |(_, text)| text.as_str());
        let fill = |body: &mut Body<'_>| {
            body.text(37, &format!("00000000-0000-0000-0000-{nth:012x}")).text(11, text(11));
            body.text(17, &format!("1790000000000-{nth}")).char(150, '0').char(39, '0');
            body.text(1, "3001").text(55, text(55)).text(54, text(54)).text(38, text(38));
            body.text(40, text(40)).text(44, text(44)).text(151, text(38)).number(14, 0);
            body.number(6, 0).time(60, now.utc_ns);
        };
        self.session.send("8", now, out, fill).map(drop)
    }
}

impl Answer for FixPeer {
    fn answer(&mut self, inbound: &mut Vec<u8>, out: &mut Vec<u8>) -> io::Result<()> {
        let now = self.now();
        while !inbound.is_empty() {
            let taken = self.session.receive(inbound);
            inbound.drain(..taken);
            while let Some(event) = self.session.poll(now, out)? {
                match event {
                    Event::Application(message) => self.orders.push(fields(message)),
                    Event::LoggedOn => {}
                    other => return Err(io::Error::other(format!("{other:?}"))),
                }
            }
        }
        for order in std::mem::take(&mut self.orders) {
            self.report(&order, now, out)?;
        }
        Ok(())
    }
}

fn fields(message: Message<'_>) -> Order {
    let text = |value| String::from_utf8_lossy(value).into_owned();
    message.fields().iter().map(|field| (field.tag, text(message.value(*field)))).collect()
}

//! Copies by XDP programs: this process only says who gets them, and reads the counts.

use super::Ways;
use crate::replicate::Counts;
use crate::subscribers::Subscribers;
use bypass::BypassError;
use bypass::broadcast::{Broadcast, ReceiverHeaders, ReceiverSlot};
use bypass::frame::Header;
use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The programs, and who has which place in their maps.
pub(crate) struct InKernel {
    pub(super) ways: Ways,
    broadcast: Broadcast,
    places: HashMap<SocketAddrV4, (ReceiverSlot, Header)>,
}

impl InKernel {
    /// Takes the datagrams to `flow`, at which the caller has a socket.
    pub(super) fn open(
        ways: Ways,
        flow: SocketAddrV4,
        source: Option<Ipv4Addr>,
    ) -> Result<InKernel, BypassError> {
        let broadcast = Broadcast::open(&ways.interface, flow, source)?;
        Ok(InKernel { ways, broadcast, places: HashMap::new() })
    }

    /// Why copies would not arrive now. The kernel drops them without a count.
    pub(super) fn obstacle(&self) -> Option<String> {
        let interface = &self.ways.interface;
        let name = &interface.name;
        if interface.sends_for_programs() != Some(false) {
            return None;
        }
        let advice = match interface.is_veth {
            true => {
                "the other end of this veth needs GRO (`ethtool -K NAME gro on` there) or an XDP \
                 program"
            }
            false => "its driver can't send them: use --backend af_xdp",
        };
        Some(format!("the kernel drops copies by XDP on {name}, uncounted: {advice}"))
    }

    pub(super) fn follow(&mut self, subscribers: &mut Subscribers) -> Result<(), BypassError> {
        self.ways.follow(subscribers)?;
        let wanted: HashMap<SocketAddrV4, Header> = subscribers
            .all()
            .iter()
            .filter_map(|one| Some((one.address, self.ways.paths.header(one.address)?)))
            .collect();
        self.leave(subscribers, |address, header| wanted.get(address) != Some(header))?;
        for one in subscribers.all() {
            let address = one.address;
            let Some(header) = wanted.get(&address) else { continue };
            if !self.places.contains_key(&address) {
                let place = self.broadcast.enter(&ReceiverHeaders::new(header))?;
                self.places.insert(address, (place, *header));
            }
        }
        Ok(())
    }

    /// Takes the places of subscribers, and counts what they got.
    fn leave(
        &mut self,
        subscribers: &mut Subscribers,
        is_over: impl Fn(&SocketAddrV4, &Header) -> bool,
    ) -> Result<(), BypassError> {
        let over = |(address, (_, header)): &(SocketAddrV4, (ReceiverSlot, Header))| {
            is_over(address, header)
        };
        let all = self.places.iter().map(|(address, place)| (*address, *place));
        let leaving: Vec<_> = all.filter(over).collect();
        for (address, (place, _)) in leaving {
            subscribers.add_sent(address, self.broadcast.leave(place)?);
            self.places.remove(&address);
        }
        Ok(())
    }

    pub(super) fn finish(
        &mut self,
        counts: &mut Counts,
        subscribers: &mut Subscribers,
    ) -> Result<(), BypassError> {
        for at in 0..subscribers.all().len() {
            if !self.places.contains_key(&subscribers.all()[at].address) {
                subscribers.note(at, || "its host does not answer ARP".to_owned());
            }
        }
        self.leave(subscribers, |_, _| true)?;
        (counts.received, counts.received_bytes) = self.broadcast.received()?;
        // Frames that the driver had no room for never reached the program.
        (counts.receive_dropped, counts.receive_buffer_bytes) = (None, None);
        counts.interface_dropped = Some(self.ways.dropped()?);
        Ok(())
    }
}

impl fmt::Display for InKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XDP programs on {}: native XDP", self.ways.interface.name)
    }
}

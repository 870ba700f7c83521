//! The kernel's receive stamps of one socket, on our clock.

use crate::datagram::control::{Control, ControlMessages};
use clock::Clock;
use clock::wall::Wall;

/// Which stamps the kernel put on what was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StampKind {
    #[default]
    Nothing,
    Software,
    /// The card stamped as well.
    Hardware,
}

/// Stamps of what a socket receives, and the wall clock that they are by.
pub(crate) struct ReceiveStamps {
    wall: Option<Wall>,
    /// The control messages beside the latest read.
    pub(crate) control: Control,
    stamped: StampKind,
}

impl ReceiveStamps {
    /// The stamps of a socket; if `are_on`, the kernel stamps it. That takes some 100 ms, because
    /// it reads the wall clock twice.
    pub(crate) fn new(are_on: bool, clock: Clock) -> ReceiveStamps {
        let wall = are_on.then(|| Wall::read(clock));
        ReceiveStamps { wall, control: Control::none(), stamped: StampKind::Nothing }
    }

    /// When the kernel received what was read last, ns on our clock, 0 if it did not stamp it; and
    /// how many datagrams it had dropped by then. Decodes the control messages.
    pub(crate) fn decode(&mut self) -> (u64, Option<u32>) {
        let ControlMessages { software_ns, hardware_ns, dropped, .. } = self.control.said();
        if software_ns == 0 {
            return (0, dropped);
        }
        self.stamped = if hardware_ns > 0 { StampKind::Hardware } else { StampKind::Software };
        (self.wall.as_ref().map_or(0, |wall| wall.clock_ns(software_ns)), dropped)
    }

    /// Source of the latest stamp: `software`, `hardware` (the card, as well; the kernel's is
    /// used), or empty.
    pub(crate) fn source(&self) -> &'static str {
        match self.stamped {
            StampKind::Nothing => "",
            StampKind::Software => "software",
            StampKind::Hardware => "hardware",
        }
    }

    /// Reads the wall clock again, some microseconds: off the path, about once a second.
    pub(crate) fn refresh_wall(&mut self) {
        self.wall.iter_mut().for_each(Wall::refresh);
    }

    /// The wall clock that converts the stamps to our clock; `None` where there are none.
    pub(crate) fn wall(&self) -> Option<&Wall> {
        self.wall.as_ref()
    }
}

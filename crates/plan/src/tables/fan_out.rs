//! Fan-out: a datagram to many subscribers.

use serde::{Deserialize, Serialize};

/// Which subscriber gets a datagram first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SendOrder {
    /// Always in the order of the list.
    #[default]
    Fixed,
    /// Each datagram begins one subscriber further on.
    Rotating,
    /// A fresh random order for each datagram.
    Random,
}

impl SendOrder {
    /// Every order.
    pub const ALL: [SendOrder; 3] = [SendOrder::Fixed, SendOrder::Rotating, SendOrder::Random];

    /// The name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SendOrder::Fixed => "fixed",
            SendOrder::Rotating => "rotating",
            SendOrder::Random => "random",
        }
    }
}

//! Fairness that is enforced: pure functions and queues, without I/O and without a clock.
//!
//! - [`hold`]: a message carries a time, and nobody sees it before (hold and release).
//! - [`delivery`]: orders are put in order by how long each took since its participant had the tick
//!   (delivery-based ordering).
//!
//! Both need a part beside each participant that the participant can't change: the one that holds
//! a message back, or stamps an order with its delivery clock.

pub mod delivery;
pub mod hold;

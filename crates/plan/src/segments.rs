//! Segments of a stamped round trip.

/// From one stamp to the next; together they are the round trip.
pub const SEGMENTS: [&str; 4] =
    ["application_to_queue", "queue_to_driver", "driver_to_kernel", "kernel_to_application"];
/// The beginning and the end of `driver_to_kernel`, where our card stamps too.
pub const CARD_SEGMENTS: [&str; 2] = ["driver_to_card", "card_to_kernel"];
/// From the publication of a datagram of the feed to its arrival at the trader's kernel; together
/// they are the stage `network_in`.
pub const FEED_SEGMENTS: [&str; 3] =
    ["feed_to_queue", "feed_queue_to_driver", "feed_driver_to_kernel"];
/// The stamp that is missing where the end of a segment was not seen.
pub const STAMPS: [&str; SEGMENTS.len()] = [
    "transmit stamp at the queue (SCHED)",
    "transmit stamp of the driver (SND, software)",
    "receive stamp (software)",
    "receive stamp (software)",
];

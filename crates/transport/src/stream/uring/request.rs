//! The requests to the kernel, as the tags that their completions carry.

/// A request to the kernel, with the number that its answer needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UringRequest {
    Receive(u32),
    Writable(u32),
    Listener,
    /// The bell of that number.
    Bell(u32),
    Write,
    Cancel(u32),
}

impl UringRequest {
    pub(super) fn tag(self) -> u64 {
        let (kind, lane) = match self {
            UringRequest::Receive(lane) => (0, lane),
            UringRequest::Writable(lane) => (1, lane),
            UringRequest::Listener => (2, 0),
            UringRequest::Bell(number) => (3, number),
            UringRequest::Write => (4, 0),
            UringRequest::Cancel(lane) => (5, lane),
        };
        u64::from(lane) << 3 | kind
    }

    pub(super) fn of(tag: u64) -> UringRequest {
        let lane = (tag >> 3) as u32;
        match tag & 7 {
            0 => UringRequest::Receive(lane),
            1 => UringRequest::Writable(lane),
            2 => UringRequest::Listener,
            3 => UringRequest::Bell(lane),
            4 => UringRequest::Write,
            _ => UringRequest::Cancel(lane),
        }
    }
}

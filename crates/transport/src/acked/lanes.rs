//! Which stream of a set is a peer, and which one is of the set beside it.

use crate::streams::{BELL, Ready, StreamId};

/// A peer's stream.
#[derive(Clone, Copy)]
pub(super) struct PeerLane {
    pub place: usize,
    pub readable: bool,
    pub writable: bool,
}

/// The kind of a stream.
#[derive(Clone, Copy)]
pub(super) enum Lane {
    Free,
    Inner(StreamId),
    Peer(PeerLane),
}

/// All streams. Their ids are as small as they can be, because tables above are as long.
#[derive(Default)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    of_inner: Vec<StreamId>,
    of_place: Vec<Option<StreamId>>,
    /// Peers that are watched until they take bytes.
    pub writers: usize,
}

impl Lanes {
    #[inline]
    pub fn of(&self, id: StreamId) -> Lane {
        self.lanes.get(id.index()).copied().unwrap_or(Lane::Free)
    }

    #[inline]
    pub fn of_place(&self, place: usize) -> Option<(StreamId, PeerLane)> {
        let id = self.of_place.get(place).copied().flatten()?;
        match self.of(id) {
            Lane::Peer(lane) => Some((id, lane)),
            _ => None,
        }
    }

    /// Calls `each` with each peer's stream.
    pub fn each(&self, mut each: impl FnMut(StreamId, PeerLane)) {
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Lane::Peer(lane) = lane {
                each(StreamId(index as u32), *lane);
            }
        }
    }

    pub fn add_inner(&mut self, inner: StreamId) -> StreamId {
        let id = self.put(Lane::Inner(inner));
        if self.of_inner.len() <= inner.index() {
            self.of_inner.resize(inner.index() + 1, BELL);
        }
        self.of_inner[inner.index()] = id;
        id
    }

    pub fn add_peer(&mut self, place: usize) -> StreamId {
        let id = self.put(Lane::Peer(PeerLane { place, readable: true, writable: false }));
        if self.of_place.len() <= place {
            self.of_place.resize(place + 1, None);
        }
        self.of_place[place] = Some(id);
        id
    }

    fn put(&mut self, lane: Lane) -> StreamId {
        let free = self.lanes.iter().position(|lane| matches!(lane, Lane::Free));
        let index = free.unwrap_or_else(|| {
            self.lanes.push(Lane::Free);
            self.lanes.len() - 1
        });
        self.lanes[index] = lane;
        StreamId(index as u32)
    }

    /// Forgets a stream. Gives what it was.
    pub fn remove(&mut self, id: StreamId) -> Lane {
        let lane = self.of(id);
        match lane {
            Lane::Free => return lane,
            Lane::Inner(inner) => self.of_inner[inner.index()] = BELL,
            Lane::Peer(lane) => {
                self.of_place[lane.place] = None;
                self.writers -= usize::from(lane.writable);
            }
        }
        self.lanes[id.index()] = Lane::Free;
        lane
    }

    /// Watches a peer, or gives the other set's stream that is to be watched.
    pub fn watch_writable(&mut self, id: StreamId, watch: bool) -> Option<StreamId> {
        match self.lanes.get_mut(id.index())? {
            Lane::Free => None,
            Lane::Inner(inner) => Some(*inner),
            Lane::Peer(lane) => {
                self.writers = self.writers + usize::from(watch) - usize::from(lane.writable);
                lane.writable = watch;
                None
            }
        }
    }

    /// Watches a peer, or gives the other set's stream that is to be watched.
    pub fn watch_readable(&mut self, id: StreamId, watch: bool) -> Option<StreamId> {
        match self.lanes.get_mut(id.index())? {
            Lane::Free => None,
            Lane::Inner(inner) => Some(*inner),
            Lane::Peer(lane) => {
                lane.readable = watch;
                None
            }
        }
    }

    /// Replaces the other set's streams in `ready`, from `from` on, by ours. Gives whether the bell
    /// rang, which is taken out.
    #[inline]
    pub fn translate(&self, ready: &mut Vec<Ready>, from: usize) -> bool {
        let mut rang = false;
        for event in &mut ready[from..] {
            if let Ready::Readable(id) | Ready::Writable(id) = event {
                rang |= *id == BELL;
                *id = self.of_inner.get(id.index()).copied().unwrap_or(BELL);
            }
        }
        let is_bell = |event: &Ready| matches!(event, Ready::Readable(id) | Ready::Writable(id) if *id == BELL);
        if ready[from..].iter().any(is_bell) {
            ready.retain(|event| !is_bell(event));
        }
        rang
    }
}

//! For a set of streams around another set: which of its streams are its own, and which are the
//! inner set's.

use crate::streams::{BELL, Ready, StreamId};

/// A stream of the set's own.
#[derive(Clone, Copy, Debug)]
pub struct OwnLane {
    /// The small number that the set has given to this stream.
    pub place: usize,
    /// Whether it is watched until there is something to read.
    pub readable: bool,
    /// Whether it is watched until it takes bytes.
    pub writable: bool,
}

/// The set that a stream belongs to.
#[derive(Clone, Copy, Debug)]
pub enum Lane {
    /// There is no such stream.
    Free,
    /// The inner set's, by its id there.
    Inner(StreamId),
    /// The set's own.
    Own(OwnLane),
}

/// All streams. Ids are kept small, because tables of the layers above are indexed by them.
#[derive(Debug, Default)]
pub struct Lanes {
    lanes: Vec<Lane>,
    of_inner: Vec<StreamId>,
    of_place: Vec<Option<StreamId>>,
    /// Own streams that are watched until they take bytes.
    writers: usize,
}

impl Lanes {
    /// The stream with that id.
    #[inline]
    pub fn of(&self, id: StreamId) -> Lane {
        self.lanes.get(id.index()).copied().unwrap_or(Lane::Free)
    }

    /// The set's own stream of a place.
    #[inline]
    pub fn of_place(&self, place: usize) -> Option<(StreamId, OwnLane)> {
        let id = self.of_place.get(place).copied().flatten()?;
        match self.of(id) {
            Lane::Own(lane) => Some((id, lane)),
            _ => None,
        }
    }

    /// Calls `each` with each own stream that is watched until it takes bytes.
    #[inline]
    pub fn each_writer(&self, mut each: impl FnMut(StreamId, OwnLane)) {
        if self.writers == 0 {
            return;
        }
        for (index, lane) in self.lanes.iter().enumerate() {
            if let Lane::Own(lane) = lane
                && lane.writable
            {
                each(StreamId(index as u32), *lane);
            }
        }
    }

    /// Adds a stream of the inner set. Returns its id in this set.
    pub fn add_inner(&mut self, inner: StreamId) -> StreamId {
        let id = self.put(Lane::Inner(inner));
        if self.of_inner.len() <= inner.index() {
            self.of_inner.resize(inner.index() + 1, BELL);
        }
        self.of_inner[inner.index()] = id;
        id
    }

    /// Adds an own stream. Returns its id.
    pub fn add_own(&mut self, place: usize) -> StreamId {
        let id = self.put(Lane::Own(OwnLane { place, readable: true, writable: false }));
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

    /// Removes a stream. Returns what it was.
    pub fn remove(&mut self, id: StreamId) -> Lane {
        let lane = self.of(id);
        match lane {
            Lane::Free => return lane,
            Lane::Inner(inner) => self.of_inner[inner.index()] = BELL,
            Lane::Own(lane) => {
                self.of_place[lane.place] = None;
                self.writers -= usize::from(lane.writable);
            }
        }
        self.lanes[id.index()] = Lane::Free;
        lane
    }

    /// Watches an own stream. For one of the inner set it returns the id there, which the caller
    /// has to watch.
    pub fn watch_writable(&mut self, id: StreamId, watch: bool) -> Option<StreamId> {
        match self.lanes.get_mut(id.index())? {
            Lane::Free => None,
            Lane::Inner(inner) => Some(*inner),
            Lane::Own(lane) => {
                self.writers = self.writers + usize::from(watch) - usize::from(lane.writable);
                lane.writable = watch;
                None
            }
        }
    }

    /// As [`watch_writable`](Lanes::watch_writable), for reads.
    pub fn watch_readable(&mut self, id: StreamId, watch: bool) -> Option<StreamId> {
        match self.lanes.get_mut(id.index())? {
            Lane::Free => None,
            Lane::Inner(inner) => Some(*inner),
            Lane::Own(lane) => {
                lane.readable = watch;
                None
            }
        }
    }

    /// Replaces the inner set's ids in `ready`, from `from` on, by this set's. Drops events of the
    /// bell and of unknown streams. Returns whether the bell rang.
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

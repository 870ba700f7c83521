//! Datagrams that came too early.

use engine::ids::FlatMap;

/// Datagrams by number, in a fixed amount of memory.
#[derive(Debug)]
pub(crate) struct DatagramBuffer {
    datagram_bytes_max: usize,
    bytes: Vec<u8>,
    /// By number: slot and length.
    places: FlatMap<u64, (u32, u32)>,
    /// Numbers of the kept datagrams, unordered.
    numbers: Vec<u64>,
    free: Vec<u32>,
}

impl DatagramBuffer {
    pub fn new(datagrams_max: u32, datagram_bytes_max: usize) -> DatagramBuffer {
        DatagramBuffer {
            datagram_bytes_max,
            bytes: vec![0xFF; datagrams_max as usize * datagram_bytes_max],
            places: FlatMap::new(datagrams_max),
            numbers: Vec::with_capacity(datagrams_max as usize),
            free: (0..datagrams_max).rev().collect(),
        }
    }

    /// Keeps a datagram. False if there is no room or it is too long. A known number is not kept
    /// twice.
    pub fn keep(&mut self, number: u64, datagram: &[u8]) -> bool {
        if self.places.get(&number).is_some() {
            return true;
        }
        let length = datagram.len();
        let Some(slot) = self.free.pop_if(|_| length <= self.datagram_bytes_max) else {
            return false;
        };
        let start = slot as usize * self.datagram_bytes_max;
        self.bytes[start..start + length].copy_from_slice(datagram);
        // There is room, because a slot was free. The length is a datagram's.
        let _ = self.places.insert(number, (slot, length as u32));
        self.numbers.push(number);
        true
    }

    /// Moves the datagram with this number to `into`, which must have room. Returns its length.
    pub fn take(&mut self, number: u64, into: &mut [u8]) -> Option<usize> {
        let (slot, length) = self.places.remove(&number)?;
        let (start, length) = (slot as usize * self.datagram_bytes_max, length as usize);
        into[..length].copy_from_slice(&self.bytes[start..start + length]);
        self.free.push(slot);
        let at = self.numbers.iter().position(|kept| *kept == number);
        at.map(|at| self.numbers.swap_remove(at));
        Some(length)
    }

    /// Removes datagrams below a number.
    pub fn release_below(&mut self, number: u64) {
        let DatagramBuffer { places, numbers, free, .. } = self;
        numbers.retain(|kept| {
            let stays = *kept >= number;
            if !stays && let Some((slot, _)) = places.remove(kept) {
                free.push(slot);
            }
            stays
        });
    }

    /// Removes all and returns their number.
    pub fn clear(&mut self) -> u64 {
        let kept = self.numbers.len() as u64;
        self.release_below(u64::MAX);
        kept
    }

    /// The lowest number.
    pub fn lowest(&self) -> Option<u64> {
        self.numbers.iter().min().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

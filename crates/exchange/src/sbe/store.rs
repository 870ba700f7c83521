//! The latest reports of a session, within a bound.

use std::collections::VecDeque;

/// Frames in the order of their numbers, without gaps. A frame begins with its length.
pub(super) struct Store {
    bytes: VecDeque<u8>,
    bytes_max: usize,
    /// The number of the oldest frame that is kept, or of the next one.
    first: u64,
    next: u64,
}

impl Store {
    /// Takes and touches the memory, so that a report waits for no page.
    pub fn new(bytes_max: usize) -> Store {
        let mut bytes = VecDeque::from(vec![1; bytes_max]);
        bytes.clear();
        Store { bytes, bytes_max, first: 1, next: 1 }
    }

    /// Begins anew, for another session.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.first, self.next) = (1, 1);
    }

    /// The number of the next report.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Keeps the next report, in place of the oldest ones if there is no room.
    #[inline]
    pub fn push(&mut self, frame: &[u8]) {
        while self.bytes.len() + frame.len() > self.bytes_max {
            if !self.drop_first() {
                break;
            }
        }
        self.next += 1;
        // Only a bound below one frame; the limit's range excludes it.
        match self.bytes.len() + frame.len() > self.bytes_max {
            true => self.first = self.next,
            false => self.bytes.extend(frame),
        }
    }

    /// Forgets the reports up to this number, which the client has.
    pub fn seen(&mut self, last: u64) {
        while self.first <= last && self.drop_first() {}
    }

    /// Appends all reports that are kept.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        let (front, back) = self.bytes.as_slices();
        out.extend_from_slice(front);
        out.extend_from_slice(back);
    }

    /// The number of the oldest report that is kept, or of the next one.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Returns whether there was one.
    fn drop_first(&mut self) -> bool {
        let mut length = [0; 4];
        if self.bytes.len() < length.len() {
            return false;
        }
        length.iter_mut().zip(&self.bytes).for_each(|(to, byte)| *to = *byte);
        let length = (u32::from_be_bytes(length) as usize).min(self.bytes.len());
        self.bytes.drain(..length);
        self.first += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of this length whose bytes after the length are its number.
    fn frame(number: u64, bytes: usize) -> Vec<u8> {
        let mut frame = (bytes as u32).to_be_bytes().to_vec();
        frame.resize(bytes, number as u8);
        frame
    }

    /// Frames of many lengths go in; the newest that fit are there, in order and whole.
    #[test]
    fn the_newest_are_kept_whole_and_in_order() {
        let mut store = Store::new(300);
        let all: Vec<Vec<u8>> = (1..=200).map(|n| frame(n, 5 + (n * 37 % 120) as usize)).collect();
        for (index, one) in all.iter().enumerate() {
            store.push(one);
            let kept = &all[store.first() as usize - 1..=index];
            let mut copied = Vec::new();
            store.copy_to(&mut copied);
            assert_eq!(copied, kept.concat());
            let one_more = all[..=index].get((store.first() as usize).wrapping_sub(2));
            let fits = |more: &Vec<u8>| copied.len() + more.len() <= 300;
            assert!(one_more.is_none_or(|more| !fits(more)), "dropped without need");
        }
        assert_eq!(store.next(), 201);
    }

    #[test]
    fn what_the_client_has_is_forgotten() {
        let mut store = Store::new(300);
        (1..=4).for_each(|n| store.push(&frame(n, 20)));
        store.seen(2);
        assert_eq!((store.first(), store.next()), (3, 5));
        store.seen(1);
        store.seen(9);
        assert_eq!((store.first(), store.next()), (5, 5));
        let mut copied = Vec::new();
        store.copy_to(&mut copied);
        assert!(copied.is_empty());
        store.push(&frame(5, 20));
        store.clear();
        assert_eq!((store.first(), store.next()), (1, 1));
    }
}

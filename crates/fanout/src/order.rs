//! Which subscriber gets a datagram first.

use clock::random::SplitMix64;
use plan::tables::fan_out::SendOrder;

/// The orders of one datagram after the other.
#[derive(Clone, Debug)]
pub struct Orders {
    order: SendOrder,
    random: SplitMix64,
    indices: Vec<u32>,
}

impl Orders {
    /// Orders of that kind; `seed` decides the random ones.
    pub fn new(order: SendOrder, seed: u64) -> Orders {
        Orders { order, random: SplitMix64::new(seed), indices: Vec::new() }
    }

    /// The next datagram's order: each of `0..subscribers` once. Allocates only for more
    /// subscribers than ever before.
    pub fn next(&mut self, subscribers: usize) -> &[u32] {
        if self.indices.len() != subscribers {
            self.indices.clear();
            self.indices.extend(0..subscribers as u32);
        } else if self.order == SendOrder::Rotating && subscribers > 0 {
            self.indices.rotate_left(1);
        }
        if self.order == SendOrder::Random {
            self.shuffle();
        }
        &self.indices
    }

    /// Fisher and Yates.
    fn shuffle(&mut self) {
        for last in (1..self.indices.len()).rev() {
            let other = self.random.below(last as u32 + 1) as usize;
            self.indices.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each of `subscribers` was first in that many datagrams.
    fn firsts(orders: &mut Orders, subscribers: usize, datagrams: usize) -> Vec<usize> {
        let mut firsts = vec![0; subscribers];
        for _ in 0..datagrams {
            let order = orders.next(subscribers);
            firsts[order[0] as usize] += 1;
            let mut sorted = order.to_vec();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..subscribers as u32), "each of them once");
        }
        firsts
    }

    #[test]
    fn each_is_first_as_often_as_its_order_says() {
        assert_eq!(firsts(&mut Orders::new(SendOrder::Fixed, 0), 4, 100), [100, 0, 0, 0]);
        assert_eq!(firsts(&mut Orders::new(SendOrder::Rotating, 0), 4, 100), [25; 4]);
        let random = firsts(&mut Orders::new(SendOrder::Random, 7), 4, 4_000);
        // Four standard deviations of a binomial with 4 000 draws of a quarter are 110.
        assert!(random.iter().all(|count| count.abs_diff(1_000) < 110), "{random:?}");
        assert_eq!(Orders::new(SendOrder::Rotating, 0).next(0), [0_u32; 0]);
    }

    #[test]
    fn the_same_seed_gives_the_same_orders() {
        let all = |seed| {
            let mut orders = Orders::new(SendOrder::Random, seed);
            (0..20).flat_map(|_| orders.next(8).to_vec()).collect::<Vec<u32>>()
        };
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    /// Subscribers come and go between datagrams.
    #[test]
    fn a_change_of_the_list_begins_anew() {
        let mut orders = Orders::new(SendOrder::Rotating, 0);
        orders.next(3);
        assert_eq!(orders.next(3), [1, 2, 0]);
        assert_eq!(orders.next(2), [0, 1]);
    }
}

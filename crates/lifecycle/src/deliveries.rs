//! The races that the exchange's delivery window decided, and what the order of arrival would have
//! decided.

use engine::Command;
use journal::{Delivery, RecordedInput};
use record::delivery::{DeliveryOrder, DeliveryRace, DeliveryRaces};
use std::collections::HashMap;

/// Collects the orders and amendments of a journal that named a tick, in its order.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    all: DeliveryRaces,
    /// Places in `all.races`, by session and publication.
    places: HashMap<(u64, u64), usize>,
}

impl Deliveries {
    pub fn add(&mut self, recorded: &RecordedInput) {
        let Some(delivery) = &recorded.delivery else { return };
        let (order_id, account) = match &recorded.input.command {
            Command::New(order) => (order.order_id, order.account),
            Command::Amend(amend) => (amend.order_id, amend.account),
            _ => return,
        };
        let Delivery { answer, window_ns, session, .. } = *delivery;
        self.all.window_ns = self.all.window_ns.max(window_ns);
        *self.all.orders.entry(answer.fate.name().to_owned()).or_default() += 1;
        if answer.fate != fair::window::Fate::Held {
            return;
        }
        let races = &mut self.all.races;
        let place = *self.places.entry((session, answer.publication)).or_insert_with(|| {
            let (publication, tick) = (answer.publication, answer.claim.tick);
            races.push(DeliveryRace { session, publication, tick, ..DeliveryRace::default() });
            races.len() - 1
        });
        races[place].orders.push(DeliveryOrder {
            input: recorded.sequence,
            order_id,
            account,
            response_ns: answer.claim.response_ns,
            elapsed_ns: answer.elapsed_ns,
            arrival: answer.arrival,
        });
    }

    /// The races; `None` if no order named a tick.
    pub fn end(self) -> Option<DeliveryRaces> {
        let mut all = self.all;
        if all.orders.is_empty() {
            return None;
        }
        all.races.retain(|race| race.orders.len() > 1);
        for race in &mut all.races {
            let by_arrival = (0u64..).zip(&race.orders).min_by_key(|(_, order)| order.arrival);
            race.first_by_arrival = by_arrival.map_or(0, |(place, _)| place);
            all.first_changed += u64::from(race.first_by_arrival > 0);
            let is_as_arrived = race.orders.is_sorted_by_key(|order| order.arrival);
            all.order_changed += u64::from(!is_as_arrived);
        }
        Some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Amend, Input, NewOrder, Side};
    use fair::window::{Answer, Claim, Fate};

    /// An order of this account and fate, by publication, response time and arrival.
    fn input(
        account: u32,
        fate: Fate,
        [publication, response_ns, arrival]: [u64; 3],
    ) -> RecordedInput {
        let order_id = 100 + arrival;
        let order = NewOrder { account, order_id, ..NewOrder::limit(Side::Buy, 1, 1) };
        let claim = Claim { tick: 10 * publication, response_ns };
        let answer = Answer { claim, publication, elapsed_ns: 2 * response_ns, arrival, fate };
        let delivery = Delivery { order_id, answer, window_ns: 1_000, session: 7 };
        RecordedInput {
            sequence: 1_000 + arrival,
            input: Input { time_ns: 0, command: Command::New(order) },
            client_id: None,
            delivery: Some(delivery),
        }
    }

    #[test]
    fn a_race_shows_who_would_have_been_first_by_arrival() {
        let mut deliveries = Deliveries::default();
        for one in [
            // Arrival decides the same; then the first changes; then only the rest.
            input(1, Fate::Held, [1, 10, 1]),
            input(2, Fate::Held, [1, 20, 2]),
            input(3, Fate::Late, [1, 1, 9]),
            input(1, Fate::Held, [2, 10, 5]),
            input(2, Fate::Held, [2, 20, 4]),
            input(1, Fate::Held, [3, 10, 6]),
            input(2, Fate::Held, [3, 20, 8]),
            input(3, Fate::Held, [3, 30, 7]),
            input(1, Fate::Held, [4, 10, 10]),
        ] {
            deliveries.add(&one);
        }
        let races = deliveries.end().unwrap();
        assert_eq!((races.first_changed, races.order_changed, races.window_ns), (1, 2, 1_000));
        assert_eq!((races.orders["held"], races.orders["late"]), (8, 1));
        let publications: Vec<u64> = races.races.iter().map(|race| race.publication).collect();
        assert_eq!(publications, [1, 2, 3], "one order alone is no race");
        let changed = &races.races[1];
        assert_eq!((changed.first_by_arrival, changed.tick, changed.session), (1, 20, 7));
        let accounts: Vec<u32> = changed.orders.iter().map(|order| order.account).collect();
        assert_eq!(accounts, [1, 2]);
        assert_eq!(Deliveries::default().end(), None);
    }

    #[test]
    fn an_amendment_races_with_orders() {
        let mut deliveries = Deliveries::default();
        let mut amended = input(2, Fate::Held, [1, 20, 1]);
        let amend = Amend {
            order_id: 101,
            account: 2,
            tag: 0,
            instrument: 0,
            price_ticks: 1,
            remaining_lots: 1,
        };
        amended.input.command = Command::Amend(amend);
        deliveries.add(&input(1, Fate::Held, [1, 10, 2]));
        deliveries.add(&amended);
        let races = deliveries.end().unwrap();
        let orders = &races.races[0].orders;
        assert_eq!((races.first_changed, orders[1].order_id, orders[1].account), (1, 101, 2));
    }
}

//! The slab and the hash table, compared with a map.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;
use transport::StreamId;

fn order(account: u32, name: u8) -> ClientOrder {
    ClientOrder {
        client_id: ClientId::new(&format!("c{name}")).unwrap(),
        order_id: u64::from(account) << 8 | u64::from(name),
        quantity_lots: 1,
        account,
        instrument: 0,
        expires: name.is_multiple_of(2),
        sender: Sender::of(StreamId(0), 1),
    }
}

proptest! {
    #[test]
    fn it_is_a_map(steps in prop::collection::vec((0..4u8, 0..3u32, 0..6u8, 0..6u8), 0..200)) {
        let mut orders = ClientOrders::new(8, 4);
        let mut model: HashMap<(u32, u8), u32> = HashMap::new();
        for (what, account, name, new) in steps {
            let order = order(account, name);
            if what < 2 {
                let inserted = orders.insert(order);
                if model.contains_key(&(account, name)) {
                    prop_assert_eq!(inserted, Err(InsertError::DuplicateClientId));
                } else if model.len() == 9 {
                    prop_assert_eq!(inserted, Err(InsertError::Full));
                } else {
                    let tag = inserted.unwrap();
                    prop_assert!(tag != NO_TAG && !model.values().any(|used| *used == tag));
                    model.insert((account, name), tag);
                }
            } else if what == 2 && let Some(tag) = model.get(&(account, name)).copied() {
                let id = ClientId::new(&format!("c{new}")).unwrap();
                let renamed = orders.check_rename(account, &id);
                if model.contains_key(&(account, new)) {
                    prop_assert_eq!(renamed, Err(InsertError::DuplicateClientId));
                } else {
                    prop_assert_eq!(renamed, Ok(()));
                    orders.amend(tag, Some(&id), 7);
                    prop_assert_eq!(orders.get(tag).unwrap().quantity_lots, 7);
                    model.remove(&(account, name));
                    model.insert((account, new), tag);
                }
            } else if let Some(tag) = model.remove(&(account, name)) {
                prop_assert_eq!(orders.get(tag).unwrap().client_id, order.client_id);
                orders.remove(tag);
            }
            for name in [name, new] {
                let id = ClientId::new(&format!("c{name}")).unwrap();
                let found = orders.find(account, &id).map(|(tag, _)| tag);
                prop_assert_eq!(found, model.get(&(account, name)).copied());
            }
            let expiring = model.values().filter(|tag| orders.get(**tag).unwrap().expires).count();
            prop_assert_eq!(orders.expiring() as usize, expiring);
        }
    }
}

/// Two ids with one hash: the second is rejected, and never mistaken for the first.
#[test]
fn the_second_of_two_ids_with_one_hash_is_rejected() {
    let mut orders = ClientOrders::new(8, 4);
    let (first, second) = (order(1, 1), order(1, 2));
    // Pretend that the second has the key of the first.
    let key = orders.key(1, &second.client_id);
    let tag = orders.insert_at(key, first).unwrap();
    assert_eq!(orders.insert(second), Err(InsertError::HashCollision));
    assert!(orders.find(1, &second.client_id).is_none());
    assert_eq!(orders.check_rename(1, &second.client_id), Err(InsertError::HashCollision));
    orders.remove(tag);
    assert!(orders.insert(second).is_ok());
}

#[test]
fn the_exchanges_own_orders_have_no_client_order() {
    let mut orders = ClientOrders::new(8, 4);
    assert!(orders.get(NO_TAG).is_none());
    orders.remove(NO_TAG);
}

#[test]
fn orders_are_restored_under_their_tags() {
    let mut orders = ClientOrders::new(4, 4);
    let there = [(3, order(1, 1)), (5, order(1, 2)), (1, order(2, 1))];
    let restored = there.iter().map(|(tag, order)| (*tag, *order, ()));
    assert_eq!(orders.restore(restored.collect()), Ok(()));
    for (tag, order) in there {
        assert_eq!(orders.find(order.account, &order.client_id).unwrap().0, tag);
    }
    assert_eq!(orders.expiring(), 1);
    // Room for two more, under other tags.
    let mut tags = [order(3, 1), order(3, 2)].map(|order| orders.insert(order).unwrap());
    tags.sort_unstable();
    assert_eq!(tags, [2, 4]);
    assert_eq!(orders.insert(order(3, 3)), Err(InsertError::Full));
    for wrong in [
        vec![(0, order(1, 1), 'a')],
        vec![(6, order(1, 1), 'a')],
        vec![(1, order(1, 2), 'b'), (1, order(1, 1), 'a')],
        vec![(1, order(1, 1), 'b'), (2, order(1, 1), 'a')],
    ] {
        assert_eq!(ClientOrders::new(4, 4).restore(wrong), Err('a'));
    }
}

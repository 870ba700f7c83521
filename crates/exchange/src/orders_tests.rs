//! The slab and the table against a map.

use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

fn order(account: u32, name: u8) -> ClientOrder {
    ClientOrder {
        client_id: ClientId::new(&format!("c{name}")).unwrap(),
        order_id: u64::from(account) << 8 | u64::from(name),
        quantity_lots: 1,
        account,
        instrument: 0,
        sender: Sender::of(StreamId(0), 1),
    }
}

proptest! {
    #[test]
    fn it_is_a_map(steps in prop::collection::vec((any::<bool>(), 0..3u32, 0..6u8), 0..200)) {
        let mut orders = ClientOrders::new(8, 3);
        let mut model: HashMap<(u32, u8), u32> = HashMap::new();
        for (insert, account, name) in steps {
            let order = order(account, name);
            if insert {
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
            } else if let Some(tag) = model.remove(&(account, name)) {
                prop_assert_eq!(orders.get(tag).map(|order| order.order_id), Some(order.order_id));
                orders.remove(tag);
            }
            let found = orders.find(account, &order.client_id).map(|order| order.order_id);
            let expected = model.contains_key(&(account, name)).then_some(order.order_id);
            prop_assert_eq!(found, expected);
            for account in 0..3 {
                let open = model.keys().filter(|key| key.0 == account).count();
                prop_assert_eq!(orders.open_of_account(account) as usize, open);
            }
        }
    }
}

/// Two ids with one hash: the second is refused, and never taken for the first.
#[test]
fn ids_with_the_same_hash_do_not_meet() {
    let mut orders = ClientOrders::new(8, 3);
    let (first, second) = (order(1, 1), order(1, 2));
    // As if the second had the key of the first.
    let key = orders.key(1, &second.client_id);
    let tag = orders.insert_at(key, first).unwrap();
    assert_eq!(orders.insert(second), Err(InsertError::HashCollision));
    assert!(orders.find(1, &second.client_id).is_none());
    orders.remove(tag);
    assert!(orders.insert(second).is_ok());
}

#[test]
fn the_house_has_no_client_order() {
    let mut orders = ClientOrders::new(8, 3);
    assert!(orders.get(NO_TAG).is_none());
    orders.remove(NO_TAG);
}

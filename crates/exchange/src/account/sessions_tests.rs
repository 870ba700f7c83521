//! Account numbers and cancel on disconnect. `tests/it/accounts.rs` tests the rest of sessions.

use super::*;

fn authenticate(sessions: &mut Sessions, id: StreamId, token: &str, cancel: Option<bool>) {
    let Admission::Account(account_id) = sessions.admission(id, token).unwrap() else { panic!() };
    let number = sessions.number(&account_id);
    let account = number.unwrap_or_else(|| sessions.add(&account_id, KnownAccount::default()));
    sessions.admit(id, account, cancel);
}

#[test]
fn accounts_keep_their_number() {
    let mut sessions = Sessions::new(Tokens::Any, &Limits::default());
    let (first, second) = (StreamId(0), StreamId(1));
    sessions.opened(first, None);
    authenticate(&mut sessions, first, "a", None);
    authenticate(&mut sessions, first, "b", None);
    sessions.ended(first);
    sessions.ended(first);
    sessions.opened(second, None);
    authenticate(&mut sessions, second, "b", None);
    assert_eq!(sessions.account(second, None), Some(2));
    assert_eq!(sessions.account(second, Some("a")), None);
    // No client can pose as the exchange: an account of that name gets another number.
    authenticate(&mut sessions, second, "house", None);
    assert_eq!(sessions.account(second, Some("house")), Some(3));
    assert_ne!(EXCHANGE_ACCOUNT, 3);
}

/// Only connections that asked for it count.
#[test]
fn orders_are_cancelled_with_the_last_connection_that_asked_for_it() {
    let mut sessions = Sessions::new(Tokens::Any, &Limits::default());
    let [first, second, third] = [StreamId(0), StreamId(1), StreamId(2)];
    for (id, cancel) in [(first, Some(true)), (second, Some(true)), (third, None)] {
        sessions.opened(id, None);
        authenticate(&mut sessions, id, "a", cancel);
    }
    authenticate(&mut sessions, first, "b", None);
    assert!(sessions.ended(first).is_empty());
    assert_eq!(sessions.ended(second), [1]);
    assert!(sessions.ended(second).is_empty());
    assert!(sessions.ended(third).is_empty());
    // A client can switch it off, and a new connection with a reused id does not inherit it.
    sessions.opened(first, None);
    authenticate(&mut sessions, first, "a", Some(true));
    authenticate(&mut sessions, first, "a", None);
    authenticate(&mut sessions, first, "a", Some(false));
    assert!(sessions.ended(first).is_empty());
    sessions.opened(second, None);
    authenticate(&mut sessions, second, "a", None);
    assert!(sessions.ended(second).is_empty());
}

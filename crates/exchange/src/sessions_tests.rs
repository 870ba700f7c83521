//! Tokens, and what a file of them may look like. What sessions do is in `tests/accounts.rs`.

use super::*;

#[test]
fn a_set_of_tokens_is_read() {
    let Tokens::Set(set) = Tokens::parse("t", "[tokens]\na = \"1\"\nb = \"1\"").unwrap() else {
        panic!("a set");
    };
    assert_eq!(
        set.into_iter().collect::<Vec<_>>(),
        [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "1".to_owned())]
    );
}

/// A token is a secret: no error shows it.
#[test]
fn an_error_does_not_tell_the_token() {
    let long = format!("[tokens]\nsecret = \"{}\"", "x".repeat(65));
    for text in
        ["", "[tokens]", "[tokens]\nsecret = 1", "[tokens]\nsecret", "secret = \"1\"", &long]
    {
        let error = Tokens::parse("tokens.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("tokens.toml: "), "{error}");
        assert!(!error.replace("unknown field `secret`", "").contains("secret"), "{error}");
    }
}

#[test]
fn accounts_keep_their_number() {
    let mut sessions = Sessions::new(Tokens::Any, &Limits::default());
    let (first, second) = (StreamId(0), StreamId(1));
    sessions.opened(first);
    sessions.authenticate(first, "a").unwrap();
    sessions.authenticate(first, "b").unwrap();
    sessions.ended(first);
    sessions.ended(first);
    sessions.opened(second);
    sessions.authenticate(second, "b").unwrap();
    assert_eq!(sessions.account(second, None), Some(2));
    assert_eq!(sessions.account(second, Some("a")), None);
    // The house can't be impersonated: who calls himself that gets another number.
    sessions.authenticate(second, "house").unwrap();
    assert_eq!(sessions.account(second, Some("house")), Some(3));
    assert_ne!(HOUSE, 3);
}

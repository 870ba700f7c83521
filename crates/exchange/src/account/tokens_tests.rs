//! Valid and invalid files of tokens.

use super::*;

#[test]
fn a_set_of_tokens_is_read() {
    let text = "[tokens]\na = \"1\"\nb = \"1\"\n[operators]\nc = \"2\"";
    let tokens = Tokens::parse("t", text).unwrap();
    for (token, account) in [("a", Some("1")), ("b", Some("1")), ("c", None), ("1", None)] {
        let owner = tokens.owner(token);
        assert_eq!(matches!(owner, Some(TokenOwner::Operator("2"))), token == "c");
        let of_account = match owner {
            Some(TokenOwner::Account(id)) => Some(id),
            _ => None,
        };
        assert_eq!(of_account, account);
    }
}

/// A token is a secret: no error shows it, wherever it stands. One outside the tables was quoted as
/// an unknown field.
#[test]
fn an_error_does_not_contain_the_token() {
    let long = format!("[tokens]\nsecret = \"{}\"", "x".repeat(65));
    for text in [
        "",
        "[tokens]",
        "[tokens]\nsecret = 1",
        "[tokens]\nsecret",
        "secret = \"1\"",
        "tokens = \"secret\"",
        "[tokens]\na = \"1\"\n\"secret\" = \"1\"\n\"secret\" = \"1\"",
        "[tokens]\na = [\"secret\"]",
        "[tokens]\na = \"1\"\n[secret]",
        "[tokens]\nsecret = \"1\"\n[operators]\nsecret = \"2\"",
        "[tokens]\na = \"1\"\n[operators]\nsecret = \"\"",
        &long,
    ] {
        let error = Tokens::parse("tokens.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("tokens.toml: "), "{error}");
        assert!(!error.contains("secret") && !error.contains("xxx"), "{error}");
    }
    let error = Tokens::parse("t", "[tokens]\na = \"1\"\nsecret").unwrap_err().to_string();
    assert!(error.starts_with("t: line 3 is not TOML; write"), "{error}");
}

//! Reading registers: complete, cut, damaged, and of other instruments.

use super::*;

fn head(text: &str, start: u64) -> RegisterHead {
    let text = format!("[[instrument]]\ncode = \"A\"\n{text}");
    RegisterHead::new(&Instruments::parse("file", &text).unwrap(), start)
}

fn usual() -> RegisterHead {
    head("tick = \"0.01\"\nlot = \"1\"", 5)
}

fn accounts(directory: &Path) -> Result<Vec<String>, RegisterError> {
    Register::open(directory, &usual(), 7).map(|(_, accounts, _)| ids(accounts))
}

fn ids(accounts: Vec<RegisteredAccount>) -> Vec<String> {
    accounts.into_iter().map(|account| account.id).collect()
}

#[test]
fn accounts_are_read_in_the_order_of_their_numbers() {
    let place = tempfile::tempdir().unwrap();
    let (mut register, none, _) = Register::open(place.path(), &usual(), 0).unwrap();
    assert!(none.is_empty());
    for id in ["b", "a\nline", "\"ü\\"] {
        register.add(id, 5, 1).unwrap();
    }
    drop(register);
    let expected = ["b", "a\nline", "\"ü\\"];
    assert_eq!(account_ids(place.path()).unwrap().unwrap(), expected);
    assert_eq!(accounts(place.path()).unwrap(), expected);
    assert_eq!(account_ids(&place.path().join("nowhere")).unwrap(), None);
}

/// Cut at every byte: complete lines stay, and the next account gets a line of its own.
#[test]
fn an_incomplete_line_is_cut() {
    let place = tempfile::tempdir().unwrap();
    let (mut register, ..) = Register::open(place.path(), &usual(), 0).unwrap();
    register.add("first", 5, 0).unwrap();
    let whole = std::fs::read(place.path().join(NAME)).unwrap().len();
    register.add("second", 5, 0).unwrap();
    drop(register);
    let text = std::fs::read(place.path().join(NAME)).unwrap();
    for end in whole..text.len() {
        std::fs::write(place.path().join(NAME), &text[..end]).unwrap();
        let (mut register, found, _) = Register::open(place.path(), &usual(), 7).unwrap();
        assert_eq!(ids(found), ["first"], "{end} bytes");
        register.add("third", 6, 1).unwrap();
        drop(register);
        assert_eq!(accounts(place.path()).unwrap(), ["first", "third"]);
    }
}

/// Depends on how many of its inputs the journal holds. The last line of an account counts; lines
/// of earlier versions mean all inputs.
#[test]
fn an_account_is_complete_when_the_journal_holds_its_inputs() {
    let place = tempfile::tempdir().unwrap();
    let (mut register, ..) = Register::open(place.path(), &usual(), 0).unwrap();
    for (id, first_input, inputs) in
        [("all", 5, 2), ("none", 7, 1), ("half", 6, 2), ("late", 9, 1), ("late", 6, 1)]
    {
        register.add(id, first_input, inputs).unwrap();
    }
    drop(register);
    let mut text = std::fs::read_to_string(place.path().join(NAME)).unwrap();
    text += "\"before\"\n";
    std::fs::write(place.path().join(NAME), text).unwrap();
    // Other inputs took their place, so these were never sent, however long the journal gets.
    for next_sequence in [7, 100] {
        let (_, found, _) = Register::open(place.path(), &usual(), next_sequence).unwrap();
        let found: Vec<(&str, bool)> =
            found.iter().map(|account| (account.id.as_str(), account.is_told)).collect();
        assert_eq!(
            found,
            [("all", true), ("none", false), ("half", false), ("late", true), ("before", true)]
        );
    }
}

#[test]
fn damage_and_a_missing_file_are_errors() {
    let place = tempfile::tempdir().unwrap();
    let error = accounts(place.path()).unwrap_err().to_string();
    assert!(error.contains("register is missing, but the journal"), "{error}");
    for (text, part) in [
        ("", "line 1: the file is empty"),
        ("{}\n", "line 1: missing field"),
        ("{\"instruments\":[[\"A\",\"0.01\",\"1\"]],\"start\":5}\n\"a\"\nb\n\"c\"\n", "line 3: "),
    ] {
        std::fs::write(place.path().join(NAME), text).unwrap();
        let error = accounts(place.path()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_journal_of_other_instruments_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    Register::open(place.path(), &usual(), 0).unwrap();
    let other = head("tick = \"0.05\"\nlot = \"1\"", 5);
    let error = Register::open(place.path(), &other, 7).unwrap_err().to_string();
    assert!(error.contains("is for A / 0.01 / 1") && error.contains("A / 0.05 / 1"), "{error}");
    // Another start book is an error until the first one is complete.
    let longer = RegisterHead { start: 6, ..usual() };
    assert!(matches!(Register::open(place.path(), &longer, 4), Err(RegisterError::Other { .. })));
    assert!(Register::open(place.path(), &longer, 5).is_ok());
}

#[test]
fn without_a_journal_the_register_does_nothing() {
    Register::default().add("a", 0, 0).unwrap();
}

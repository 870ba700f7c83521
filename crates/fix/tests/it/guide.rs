//! The guide page's tables are the dictionary's. `UPDATE_EXPECT=1` rewrites them.

use fix::dictionary::{Dictionary, Members};
use std::fmt::Write;
use std::path::Path;

const MARK: &str = "<!-- below: made from the dictionary by crates/fix/tests/it/guide.rs -->\n";

#[test]
fn the_guide_lists_what_the_dictionary_has() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/fix.md");
    let page = std::fs::read_to_string(&path).expect("the guide");
    let (text, _) = page.split_once(MARK).expect("the mark");
    let wanted = format!("{text}{MARK}{}", tables(&Dictionary::tickpath()));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &wanted).expect("the guide");
    } else {
        assert!(page == wanted, "docs/guide/fix.md is old: run this with UPDATE_EXPECT=1");
    }
}

fn tables(dictionary: &Dictionary) -> String {
    let mut page = String::from("\n## Header of every message\n\n");
    table(&mut page, dictionary, dictionary.header());
    for message in dictionary.messages() {
        let _ = write!(page, "\n## {} ({})\n\n", message.name, message.msg_type);
        table(&mut page, dictionary, &message.members);
    }
    page
}

fn table(page: &mut String, dictionary: &Dictionary, members: &Members) {
    page.push_str("| tag | field | required | values |\n|---|---|---|---|\n");
    rows(page, dictionary, members, "");
}

fn rows(page: &mut String, dictionary: &Dictionary, members: &Members, indent: &str) {
    for member in members.iter() {
        let field = dictionary.field(member.tag).expect("a field");
        let required = if member.is_required { "yes" } else { "" };
        let named: Vec<String> = field
            .values
            .iter()
            .map(|(value, name)| format!("{value} {}", name.to_lowercase().replace('_', " ")))
            .collect();
        let values = named.join(", ");
        let (tag, name) = (member.tag, &field.name);
        let _ = writeln!(page, "| {tag} | {indent}{name} | {required} | {values} |");
        if let Some(group) = &member.group {
            rows(page, dictionary, group, "– ");
        }
    }
}

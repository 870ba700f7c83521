//! Boot files as strangers write them: any text is read or has a reason, and a merge is read back.
#![no_main]

use std::collections::BTreeMap;
use tune::boot::{BootFile, BootGroup, Loader};

const LAST: Option<usize> = Some(15);

libfuzzer_sys::fuzz_target!(|input: (u8, &str)| {
    let (which, text) = input;
    let loader = [
        Loader::GrubDefaults { has_append: true },
        Loader::GrubDefaults { has_append: false },
        Loader::GrubConfig,
        Loader::Entry,
        Loader::Plain,
    ][usize::from(which) % 5];
    let file = |text: &str| BootFile { path: "x".to_owned(), text: Some(text.to_owned()) };
    let group = |text: &str| BootGroup {
        loader,
        files: vec![file(text)],
        environment: BTreeMap::new(),
        unreadable: None,
    };
    let words = ["isolcpus=managed_irq,domain,2-3".to_owned(), "skew_tick=1".to_owned()];
    let Ok(changed) = group(text).merged(&words, LAST) else { return };
    let merged = changed.first().map_or(text, |(_, text)| text);
    let again = group(merged).merged(&words, LAST);
    assert_eq!(again.map(|changed| changed.len()), Ok(0), "{text:?} became {merged:?}");
});

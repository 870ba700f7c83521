//! The sessions of a folder of message stores before the exchange serves them: those with open
//! orders, which may lack reports.

use crate::desk::{Desk, PastReport, Securities, Security, Shared};
use fix::dictionary::Dictionary;
use fix::session::Now;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wire::OrderId;
use wire::client_id::ClientId;

/// Sessions, connected or not. Another Logon is rejected.
pub(crate) const SESSIONS_MAX: usize = 1024;
/// The longest name of a store's file, without the ending of one that is full.
const FILE_NAME_BYTES_MAX: usize = 240;
const EXTENSION: &str = "fix";

/// A session that the exchange serves from its start on.
pub(crate) struct StoredSession {
    /// The name of its file.
    pub name: String,
    pub account: String,
    pub desk: Desk,
}

/// See the module.
pub struct Sessions {
    folder: PathBuf,
    comp_id: String,
    pub(crate) shared: Shared,
    pub(crate) stored: Vec<StoredSession>,
    faults: Vec<String>,
}

impl Sessions {
    /// The sessions of an exchange with this CompID and these instruments, whose stores are in
    /// `folder`; that exists. `has_journal`: whether the exchange has one.
    ///
    /// # Errors
    /// If the folder can't be read.
    pub fn open(
        folder: &Path,
        comp_id: &str,
        securities: Vec<Security>,
        has_journal: bool,
    ) -> io::Result<Sessions> {
        let dictionary = Arc::new(Dictionary::tickpath());
        let securities = Arc::new(Securities::new(securities));
        let shared = Shared { dictionary, securities, has_journal };
        let (folder, comp_id) = (folder.to_owned(), comp_id.to_owned());
        let (stored, faults) = (Vec::new(), Vec::new());
        let mut sessions = Sessions { folder, comp_id, shared, stored, faults };
        for stem in stems(&sessions.folder)? {
            let Some((account, sender)) = names_of(&stem) else { continue };
            match sessions.desk(&account, &sender) {
                Ok(desk) if desk.may_lack_reports() && sessions.stored.len() < SESSIONS_MAX => {
                    let name = file_name(&account, &sender);
                    sessions.stored.push(StoredSession { name, account, desk });
                }
                Ok(_) => {}
                Err(why) => sessions.faults.push(format!("{stem}: {why}")),
            }
        }
        Ok(sessions)
    }

    /// Stores that can't be opened, and why. Their clients can't log on.
    pub fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Whether some may lack reports: then give them those of the journal.
    pub fn may_lack_reports(&self) -> bool {
        !self.stored.is_empty()
    }

    /// Whether a session of that account wants the reports about an order with this client id.
    pub fn wants(&mut self, account: &str, client_id: &ClientId, order_id: OrderId) -> bool {
        let mut of_account = self.stored.iter_mut().filter(|stored| stored.account == account);
        of_account.any(|stored| stored.desk.wants(client_id, order_id))
    }

    /// A report about such an order. They come in the order of the journal.
    pub fn add(&mut self, account: &str, report: PastReport) {
        let mut of_account = self.stored.iter_mut().filter(|stored| stored.account == account);
        if let Some(stored) = of_account.find(|stored| stored.desk.follows(report.order_id)) {
            stored.desk.add_past(report);
        }
    }

    /// Stores the reports that are lacking, after the last one. Gives how many.
    ///
    /// # Errors
    /// If a store fails.
    pub fn recover(&mut self, now: Now) -> io::Result<u64> {
        self.stored.iter_mut().map(|stored| stored.desk.recover(now)).sum()
    }

    /// Our CompID.
    pub(crate) fn comp_id(&self) -> &str {
        &self.comp_id
    }

    /// The session of an account with that client.
    pub(crate) fn desk(&self, account: &str, sender: &str) -> io::Result<Desk> {
        let name = file_name(account, sender);
        if name.len() > FILE_NAME_BYTES_MAX {
            let why = format!("{name}: too long a name for a session");
            return Err(io::Error::new(io::ErrorKind::InvalidFilename, why));
        }
        Desk::open(account, (&self.comp_id, sender), &self.shared, &self.folder.join(name))
    }
}

/// The names of all stores, without their endings.
fn stems(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut stems = BTreeSet::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        // While a full file gets its name, only that of the older one may be there.
        let is_store = path.extension().is_some_and(|end| end == EXTENSION || end == "older");
        stems.extend(
            path.file_stem().and_then(|stem| stem.to_str()).filter(|_| is_store).map(str::to_owned),
        );
    }
    Ok(stems)
}

/// The file of a session's store. Letters and digits stand for themselves.
pub(crate) fn file_name(account: &str, sender: &str) -> String {
    let mut name = String::new();
    for (part, end) in [(account, "@"), (sender, ".")] {
        for byte in part.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => name.push(char::from(byte)),
                _ => name.push_str(&format!("%{byte:02x}")),
            }
        }
        name.push_str(end);
    }
    name + EXTENSION
}

/// The account and the client of such a name without its ending; `None` if it is none.
fn names_of(stem: &str) -> Option<(String, String)> {
    let (account, sender) = stem.split_once('@')?;
    let names = (unescaped(account)?, unescaped(sender)?);
    (file_name(&names.0, &names.1).strip_suffix(".fix") == Some(stem)).then_some(names)
}

fn unescaped(part: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), part.as_bytes());
    while let [byte, after @ ..] = rest {
        rest = after;
        match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            _ => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a CompID could name any file, or another account's.
    #[test]
    fn names_of_files_are_one_to_one_and_stay_in_their_folder() {
        assert_eq!(file_name("fund_1", "DESK"), "fund_1@DESK.fix");
        assert_eq!(file_name("../../etc", "a/b"), "%2e%2e%2f%2e%2e%2fetc@a%2fb.fix");
        assert_ne!(file_name("a@b", "c"), file_name("a", "b@c"));
        for (account, sender) in [("fund_1", "DESK"), ("../../etc", "a/b"), ("a@b", "ü%40")] {
            let name = file_name(account, sender);
            let names = names_of(name.strip_suffix(".fix").expect("its ending"));
            assert_eq!(names, Some((account.to_owned(), sender.to_owned())));
        }
        for other in ["fund", "a@%zz", "a@%4", "%41@b"] {
            assert_eq!(names_of(other), None, "{other}");
        }
    }
}

//! The register: a file beside the journal that maps its numbers to instruments and accounts, which
//! recovery needs.
//!
//! The first line holds the instruments. Each later line is one account as JSON, in the order of
//! account numbers from 1: its id, and the inputs of the journal that hold its settings.
//!
//! - A line is durable before the first of those inputs is appended. An incomplete last line is
//!   cut.
//! - If the journal lacks some of those inputs, recovery has to send the settings again. Before
//!   other inputs take their place, a line without inputs replaces the account's line; once the
//!   engine has the settings, a line with inputs does.
//! - Earlier versions wrote only the id.

use crate::setup::instruments::Instruments;
use replica::publish::publish;
use replica::register::NAME;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

/// Why a journal's register can't be used.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// A system call failed.
    #[error(
        "can't {doing} {file}: {source}; check that the directory is writable and its disk not full"
    )]
    System {
        /// The failed action, such as "open".
        doing: &'static str,
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// The journal has inputs, but the register is missing.
    #[error(
        "{file} is missing, but the journal beside it has inputs; restore the file, or begin a journal in another directory"
    )]
    Missing {
        /// The file.
        file: String,
    },
    /// A line is invalid.
    #[error(
        "{file}, line {line}: {why}; restore the file, or begin a journal in another directory"
    )]
    Damaged {
        /// The file.
        file: String,
        /// From 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// The journal is for other instruments, or began with another start book.
    #[error(
        "{file}: this journal is for {there}, and not for {here}; start with the same instruments, or begin a journal in another directory"
    )]
    Other {
        /// The file.
        file: String,
        /// The instruments in the register.
        there: String,
        /// The instruments of this start.
        here: String,
    },
    /// The journal has an open order of an unknown account or with an invalid tag.
    #[error(
        "the journal's order {order_id} has account {account} and tag {tag}, which are not in {file}; restore the file, or begin a journal in another directory"
    )]
    Order {
        /// The file.
        file: String,
        /// The order.
        order_id: u64,
        /// Its account's number.
        account: u32,
        /// Its tag.
        tag: u32,
    },
}

/// The first line: the instruments of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RegisterHead {
    /// Code, tick and lot of each, by number.
    instruments: Vec<[String; 3]>,
    /// Number of inputs before the first client.
    pub start: u64,
}

impl RegisterHead {
    pub fn new(instruments: &Instruments, start: u64) -> RegisterHead {
        let all = instruments.all().iter();
        let instruments =
            all.map(|one| [one.code.clone(), one.tick.to_string(), one.lot.to_string()]).collect();
        RegisterHead { instruments, start }
    }
}

/// An account's line.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RegisterLine {
    Account {
        account: String,
        /// The journal's first input with its settings, if the engine got them, and the number of
        /// such inputs.
        first_input: Option<u64>,
        inputs: u64,
    },
    Id(String),
}

/// An account in a register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RegisteredAccount {
    pub id: String,
    /// Whether the journal holds all of the account's first settings.
    pub is_told: bool,
}

/// The register of an exchange; without a journal it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Register {
    kept: Option<RegisterFile>,
}

#[derive(Debug)]
struct RegisterFile {
    file: File,
    /// Length of the complete lines.
    bytes: u64,
}

impl Register {
    /// Reads a journal's register, or makes one if the journal has no input yet; `next_sequence` is
    /// the number of the journal's next input. Returns the accounts by number from 1, and the head.
    ///
    /// # Errors
    /// [`RegisterError`].
    pub fn open(
        directory: &Path,
        head: &RegisterHead,
        next_sequence: u64,
    ) -> Result<(Register, Vec<RegisteredAccount>, RegisterHead), RegisterError> {
        let path = directory.join(NAME);
        let name = path.display().to_string();
        let opened = File::options().read(true).write(true).open(&path);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound && next_sequence > 0 => {
                return Err(RegisterError::Missing { file: name });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create(directory, head).map_err(system_error("make", &path))?
            }
            Err(error) => return Err(system_error("open", &path)(error)),
        };
        let (kept, there, accounts) = read(file, &path, next_sequence)?;
        let same_start = there.start == head.start || next_sequence >= there.start;
        if there.instruments != head.instruments || !same_start {
            let (there, here) = (describe(&there), describe(head));
            return Err(RegisterError::Other { file: name, there, here });
        }
        let mut register = Register { kept: Some(kept) };
        for account in accounts.iter().filter(|account| !account.is_told) {
            register.write(&account.id, None, 0).map_err(system_error("write", &path))?;
        }
        Ok((register, accounts, there))
    }

    /// Enters an account durably, with the position of its settings in the journal. Waits for the
    /// disk.
    ///
    /// # Errors
    /// The system's error; the account is not entered then.
    pub fn add(&mut self, account_id: &str, first_input: u64, inputs: u64) -> io::Result<()> {
        self.write(account_id, Some(first_input), inputs)
    }

    fn write(&mut self, account_id: &str, first_input: Option<u64>, inputs: u64) -> io::Result<()> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let line = RegisterLine::Account { account: account_id.to_owned(), first_input, inputs };
        let line = serde_json::to_string(&line)? + "\n";
        let added = kept.file.write_all(line.as_bytes()).and_then(|()| kept.file.sync_data());
        match added {
            Ok(()) => kept.bytes += line.len() as u64,
            // Cut an incomplete line, so that the next line does not follow it.
            Err(_) => cut(&mut kept.file, kept.bytes)?,
        }
        added
    }
}

fn describe(head: &RegisterHead) -> String {
    let codes: Vec<String> = head.instruments.iter().map(|one| one.join(" / ")).collect();
    format!("{} with {} inputs before the first client", codes.join(", "), head.start)
}

fn system_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RegisterError {
    let file = path.display().to_string();
    move |source| RegisterError::System { doing, file, source }
}

fn cut(file: &mut File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    file.seek(io::SeekFrom::End(0)).map(drop)
}

/// Creates a register; it gets its name when its first line is durable.
fn create(directory: &Path, head: &RegisterHead) -> io::Result<File> {
    let line = serde_json::to_string(head)? + "\n";
    let mut file = publish(directory, NAME, line.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

fn read(
    mut file: File,
    path: &Path,
    next_sequence: u64,
) -> Result<(RegisterFile, RegisterHead, Vec<RegisteredAccount>), RegisterError> {
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(system_error("read", path))?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    cut(&mut file, whole as u64).map_err(system_error("write", path))?;
    let (head, accounts) = parse(&text[..whole], path, next_sequence)?;
    Ok((RegisterFile { file, bytes: whole as u64 }, head, accounts))
}

/// The ids of a journal's accounts, by number from 1; `None` if the journal has no register.
/// Changes nothing.
///
/// # Errors
/// [`RegisterError`].
pub fn account_ids(directory: &Path) -> Result<Option<Vec<String>>, RegisterError> {
    let path = directory.join(NAME);
    let text = match std::fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(system_error("read", &path)(error)),
    };
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (_, accounts) = parse(&text[..whole], &path, u64::MAX)?;
    Ok(Some(accounts.into_iter().map(|account| account.id).collect()))
}

/// The complete lines of a register.
fn parse(
    text: &[u8],
    path: &Path,
    next_sequence: u64,
) -> Result<(RegisterHead, Vec<RegisteredAccount>), RegisterError> {
    let damaged = |line: usize, why: String| {
        let file = path.display().to_string();
        RegisterError::Damaged { file, line, why }
    };
    let mut lines = text.split_inclusive(|byte| *byte == b'\n');
    let head = lines.next().ok_or_else(|| damaged(1, "the file is empty".to_owned()))?;
    let head: RegisterHead =
        serde_json::from_slice(head).map_err(|error| damaged(1, error.to_string()))?;
    let mut accounts: Vec<RegisteredAccount> = Vec::new();
    let mut by_id = HashMap::new();
    for (index, line) in lines.enumerate() {
        let line = serde_json::from_slice(line);
        let line = line.map_err(|error| damaged(index + 2, error.to_string()))?;
        let (id, is_told) = match line {
            RegisterLine::Account { account, first_input, inputs } => {
                let end = first_input.and_then(|first| first.checked_add(inputs));
                (account, end.is_some_and(|end| end <= next_sequence))
            }
            RegisterLine::Id(id) => (id, true),
        };
        let number = *by_id.entry(id.clone()).or_insert(accounts.len());
        match accounts.get_mut(number) {
            Some(account) => account.is_told = is_told,
            None => accounts.push(RegisteredAccount { id, is_told }),
        }
    }
    Ok((head, accounts))
}

/// The error for an open order that no known account can have sent.
pub(crate) fn unknown_order(directory: &Path, order: &engine::NewOrder) -> RegisterError {
    let file = directory.join(NAME).display().to_string();
    let engine::NewOrder { order_id, account, tag, .. } = *order;
    RegisterError::Order { file, order_id, account, tag }
}

#[cfg(test)]
#[path = "register_tests.rs"]
mod tests;

//! Who is connected: accounts, the tokens that prove them, and which connection is told what.
//!
//! A connection may authenticate several accounts and an account may be authenticated on several
//! connections. A subscription belongs to the connection: it covers all accounts that it
//! authenticates, before or after.

use crate::limits::Limits;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use transport::StreamId;
use wire::request::ACCOUNT_ID_BYTES_MAX;

/// The account of the start book's orders. Nobody authenticates it.
pub(crate) const HOUSE: u32 = 0;

/// Which tokens prove which account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Any token is the account of that name: for benchmarks.
    Any,
    /// These tokens, each with its account's id.
    Set(BTreeMap<String, String>),
}

/// Why there are no tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file can't be read.
    #[error("can't read the tokens from {file}: {source}; name a TOML file that exists")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is not what a file of tokens looks like.
    #[error("{file}: {why}; write [tokens] and below it lines such as \"token\" = \"account\"")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong, without the token.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTokens {
    tokens: BTreeMap<String, String>,
}

impl Tokens {
    /// Reads a TOML file with a table `tokens`: `"token" = "account id"`.
    ///
    /// # Errors
    /// [`TokensError`], with the file's name and never with a token.
    pub fn read(path: &Path) -> Result<Tokens, TokensError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Tokens::parse(&file, &text),
            Err(source) => Err(TokensError::Unreadable { file, source }),
        }
    }

    /// Takes a file's text; `file` is its name for errors.
    ///
    /// # Errors
    /// [`TokensError::Malformed`].
    pub fn parse(file: &str, text: &str) -> Result<Tokens, TokensError> {
        let malformed = |why| TokensError::Malformed { file: file.to_owned(), why };
        // The message alone: the whole error quotes the line, and so the token.
        let raw: RawTokens =
            toml::from_str(text).map_err(|error| malformed(error.message().to_owned()))?;
        if raw.tokens.is_empty() {
            return Err(malformed("there is no token".to_owned()));
        }
        for (token, account) in &raw.tokens {
            if token.is_empty() || check_account_id(account).is_err() {
                let why = format!("an empty token, or account {account:?} is empty or too long");
                return Err(malformed(why));
            }
        }
        Ok(Tokens::Set(raw.tokens))
    }
}

/// Why an account can't be authenticated on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthenticateError {
    #[error("unknown api_token")]
    UnknownToken,
    #[error("the api_token is empty or longer than an account id (limit account_id_bytes_max)")]
    NoAccountId,
    #[error("too many accounts on this exchange (limit accounts_max)")]
    Accounts,
    #[error("too many accounts on this connection (limit accounts_per_connection_max)")]
    AccountsPerConnection,
}

impl AuthenticateError {
    /// The limit it names.
    pub fn limit(self) -> Option<&'static str> {
        match self {
            AuthenticateError::UnknownToken => None,
            AuthenticateError::NoAccountId => Some("account_id_bytes_max"),
            AuthenticateError::Accounts => Some("accounts_max"),
            AuthenticateError::AccountsPerConnection => Some("accounts_per_connection_max"),
        }
    }
}

/// A connection as an order remembers it: the stream's id comes again, the pair does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub stream: StreamId,
    generation: u32,
}

impl Sender {
    pub fn of(stream: StreamId, generation: u32) -> Sender {
        Sender { stream, generation }
    }
}

#[derive(Default)]
struct Session {
    open: bool,
    generation: u32,
    subscribed: bool,
    /// The first is the one that a message without `account_id` means.
    accounts: Vec<u32>,
}

struct Account {
    id: Box<str>,
    /// The connections on which it is authenticated, in the order of that.
    connections: Vec<StreamId>,
}

pub(crate) struct Sessions {
    tokens: Tokens,
    accounts_max: usize,
    accounts_per_connection_max: usize,
    sessions: Vec<Session>,
    accounts: Vec<Account>,
    by_id: HashMap<Box<str>, u32>,
}

impl Sessions {
    pub fn new(tokens: Tokens, limits: &Limits) -> Sessions {
        let house = Account { id: "house".into(), connections: Vec::new() };
        Sessions {
            tokens,
            // And the house.
            accounts_max: limits.accounts_max as usize + 1,
            accounts_per_connection_max: limits.accounts_per_connection_max,
            sessions: Vec::with_capacity(limits.connections_max),
            accounts: vec![house],
            by_id: HashMap::new(),
        }
    }

    pub fn opened(&mut self, id: StreamId) {
        if self.sessions.len() <= id.index() {
            self.sessions.resize_with(id.index() + 1, Session::default);
        }
        let session = &mut self.sessions[id.index()];
        session.open = true;
        session.generation = session.generation.wrapping_add(1);
    }

    /// The connection takes no more reports. To say it twice does no harm.
    pub fn ended(&mut self, id: StreamId) {
        let Some(session) = self.sessions.get_mut(id.index()) else { return };
        session.open = false;
        session.subscribed = false;
        for account in session.accounts.drain(..) {
            self.accounts[account as usize].connections.retain(|connection| *connection != id);
        }
    }

    pub fn authenticate(&mut self, id: StreamId, token: &str) -> Result<(), AuthenticateError> {
        let account_id = match &self.tokens {
            Tokens::Any => token,
            Tokens::Set(set) => set.get(token).ok_or(AuthenticateError::UnknownToken)?,
        };
        check_account_id(account_id)?;
        let account = match self.by_id.get(account_id) {
            Some(account) => *account,
            None if self.accounts.len() >= self.accounts_max => {
                return Err(AuthenticateError::Accounts);
            }
            None => {
                let account = self.accounts.len() as u32;
                self.by_id.insert(account_id.into(), account);
                let id = account_id.into();
                self.accounts.push(Account { id, connections: Vec::new() });
                account
            }
        };
        let session = &mut self.sessions[id.index()];
        if session.accounts.contains(&account) {
            return Ok(());
        }
        if session.accounts.len() >= self.accounts_per_connection_max {
            return Err(AuthenticateError::AccountsPerConnection);
        }
        session.accounts.push(account);
        self.accounts[account as usize].connections.push(id);
        Ok(())
    }

    pub fn is_authenticated(&self, id: StreamId) -> bool {
        !self.sessions[id.index()].accounts.is_empty()
    }

    pub fn subscribe(&mut self, id: StreamId) {
        self.sessions[id.index()].subscribed = true;
    }

    pub fn is_subscribed(&self, id: StreamId) -> bool {
        self.sessions[id.index()].subscribed
    }

    /// The ids of the accounts of a connection.
    pub fn account_ids(&self, id: StreamId) -> impl Iterator<Item = &str> {
        self.sessions[id.index()].accounts.iter().map(|account| self.account_id(*account))
    }

    /// Which account of the connection a message means, `None` if it is not authenticated there.
    #[inline]
    pub fn account(&self, id: StreamId, account_id: Option<&str>) -> Option<u32> {
        let accounts = &self.sessions[id.index()].accounts;
        let first = *accounts.first()?;
        let Some(account_id) = account_id else { return Some(first) };
        if *self.account_id(first) == *account_id {
            return Some(first);
        }
        self.by_id.get(account_id).copied().filter(|account| accounts.contains(account))
    }

    #[inline]
    pub fn account_id(&self, account: u32) -> &str {
        &self.accounts[account as usize].id
    }

    #[inline]
    pub fn sender(&self, id: StreamId) -> Sender {
        Sender::of(id, self.sessions[id.index()].generation)
    }

    /// Where a report about an order goes: to the connection that sent it while that is open, else to one that is
    /// subscribed to the account, else nowhere.
    #[inline]
    pub fn route(&self, sender: Sender, account: u32) -> Option<StreamId> {
        let home = &self.sessions[sender.stream.index()];
        if home.open && home.generation == sender.generation {
            return Some(sender.stream);
        }
        let connections = &self.accounts[account as usize].connections;
        connections.iter().copied().find(|id| self.sessions[id.index()].subscribed)
    }
}

fn check_account_id(account_id: &str) -> Result<(), AuthenticateError> {
    match (1..=ACCOUNT_ID_BYTES_MAX).contains(&account_id.len()) {
        true => Ok(()),
        false => Err(AuthenticateError::NoAccountId),
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;

//! Sessions: connected accounts, their tokens, and the connections that get their reports.
//!
//! A connection may authenticate several accounts, and an account may be authenticated on several
//! connections. A subscription belongs to the connection and covers all its accounts, earlier and
//! later ones. `cancel_on_disconnect` belongs to an account on a connection: the exchange cancels
//! an account's orders when the last connection that asked for it closes.
//!
//! An operator's connection has no accounts.

use crate::account::risk::KnownAccount;
use crate::account::session_table::SessionTable;
use crate::account::tokens::{TokenOwner, Tokens, is_account_id};
use crate::setup::limits::Limits;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use transport::StreamId;

/// The account of the exchange's own orders: the start book's and the flow's. No client can
/// authenticate it.
pub(crate) const EXCHANGE_ACCOUNT: u32 = 0;

/// The answer to a failed login.
pub(crate) const FAILED_LOGIN: &str = "unknown api_token";

/// Why an account can't be authenticated on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthenticateError {
    #[error("{FAILED_LOGIN}")]
    UnknownToken,
    #[error("the api_token is empty or longer than an account id (limit account_id_bytes_max)")]
    NoAccountId,
    #[error("too many accounts on this exchange (limit accounts_max)")]
    Accounts,
    #[error("too many accounts on this connection (limit accounts_per_connection_max)")]
    AccountsPerConnection,
    #[error("an operator's connection has no accounts; open another connection")]
    OperatorWithAccounts,
    #[error("the exchange's journal can't take this account now; try again")]
    NotLogged,
}

/// The account or operator that a valid token admits to a connection.
pub(crate) enum Admission {
    Operator(Box<str>),
    Account(Box<str>),
}

impl AuthenticateError {
    /// The limit that the error names.
    pub fn limit(self) -> Option<&'static str> {
        match self {
            AuthenticateError::UnknownToken
            | AuthenticateError::OperatorWithAccounts
            | AuthenticateError::NotLogged => None,
            AuthenticateError::NoAccountId => Some("account_id_bytes_max"),
            AuthenticateError::Accounts => Some("accounts_max"),
            AuthenticateError::AccountsPerConnection => Some("accounts_per_connection_max"),
        }
    }
}

/// The connection that sent an order. A stream's id is reused, the pair is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sender {
    pub stream: StreamId,
    generation: u32,
}

impl Sender {
    /// The sender of an order that was open before this exchange began.
    pub const NOBODY: Sender = Sender { stream: StreamId(u32::MAX), generation: u32::MAX };

    pub fn of(stream: StreamId, generation: u32) -> Sender {
        Sender { stream, generation }
    }
}

pub(crate) struct Account {
    id: Box<str>,
    /// The connections on which it is authenticated, oldest first.
    connections: Vec<StreamId>,
    /// The connections that asked for `cancel_on_disconnect`.
    cancel_on_disconnect: Vec<StreamId>,
    /// The account in the engine before this exchange began; `None` once its settings are sent.
    pub untold: Option<KnownAccount>,
}

impl Account {
    fn new(id: &str, untold: Option<KnownAccount>) -> Account {
        let (connections, cancel_on_disconnect) = (Vec::new(), Vec::new());
        Account { id: id.into(), connections, cancel_on_disconnect, untold }
    }

    /// Forgets that a connection asked for `cancel_on_disconnect`. Returns whether it did, and was
    /// the last.
    fn is_to_be_cancelled_without(&mut self, id: StreamId) -> bool {
        let asked = self.cancel_on_disconnect.contains(&id);
        self.cancel_on_disconnect.retain(|connection| *connection != id);
        asked && self.cancel_on_disconnect.is_empty()
    }
}

pub(crate) struct Sessions {
    tokens: Tokens,
    accounts_max: usize,
    accounts_per_connection_max: usize,
    sessions: SessionTable,
    accounts: Vec<Account>,
    by_id: HashMap<Box<str>, u32>,
}

impl Sessions {
    pub fn new(tokens: Tokens, limits: &Limits) -> Sessions {
        Sessions {
            tokens,
            // And the exchange's own account.
            accounts_max: limits.accounts_max as usize + 1,
            accounts_per_connection_max: limits.accounts_per_connection_max,
            sessions: SessionTable::new(limits.connections_max),
            accounts: vec![Account::new("house", None)],
            by_id: HashMap::new(),
        }
    }

    pub fn opened(&mut self, id: StreamId, peer: Option<SocketAddr>) {
        self.sessions.open(id, peer);
    }

    /// Ends a connection's session. Returns the accounts whose orders must be cancelled; a second
    /// call returns none.
    pub fn ended(&mut self, id: StreamId) -> Vec<u32> {
        let mut cancelled = Vec::new();
        let Some(session) = self.sessions.find_mut(id) else { return cancelled };
        session.open = false;
        session.subscribed = false;
        session.operator = None;
        for number in session.accounts.drain(..) {
            let account = &mut self.accounts[number as usize];
            account.connections.retain(|connection| *connection != id);
            if account.is_to_be_cancelled_without(id) {
                cancelled.push(number);
            }
        }
        cancelled
    }

    /// A session of SBE has a connection from now on.
    pub fn attached(&mut self, id: StreamId) {
        self.set_detached(id, false);
    }

    /// Whether nobody reads the session's reports now.
    pub fn set_detached(&mut self, id: StreamId, is_detached: bool) {
        self.sessions.get_mut(id).is_detached = is_detached;
    }

    /// A session of SBE has lost its connection. Returns the accounts whose orders must be
    /// cancelled.
    pub fn detached(&mut self, id: StreamId) -> Vec<u32> {
        let (session, accounts) = (self.sessions.get_mut(id), &mut self.accounts);
        session.is_detached = true;
        let mut cancelled = session.accounts.clone();
        cancelled.retain(|number| accounts[*number as usize].is_to_be_cancelled_without(id));
        cancelled
    }

    /// The account or operator that a token admits to a connection.
    pub fn admission(&self, id: StreamId, token: &str) -> Result<Admission, AuthenticateError> {
        let session = self.sessions.get(id);
        match self.tokens.owner(token).ok_or(AuthenticateError::UnknownToken)? {
            TokenOwner::Operator(_) if !session.accounts.is_empty() => {
                Err(AuthenticateError::OperatorWithAccounts)
            }
            TokenOwner::Operator(name) => Ok(Admission::Operator(name.into())),
            TokenOwner::Account(_) if session.operator.is_some() => {
                Err(AuthenticateError::OperatorWithAccounts)
            }
            TokenOwner::Account(account_id) => {
                if !is_account_id(account_id) {
                    return Err(AuthenticateError::NoAccountId);
                }
                let number = self.by_id.get(account_id);
                let here = number.is_some_and(|number| session.accounts.contains(number));
                if !here && session.accounts.len() >= self.accounts_per_connection_max {
                    return Err(AuthenticateError::AccountsPerConnection);
                }
                Ok(Admission::Account(account_id.into()))
            }
        }
    }

    /// Admits an operator to a connection.
    pub fn admit_operator(&mut self, id: StreamId, name: Box<str>) {
        self.sessions.get_mut(id).operator = Some(name);
    }

    /// Admits an account to a connection. A second call only changes `cancel_on_disconnect`.
    pub fn admit(&mut self, id: StreamId, account: u32, cancel_on_disconnect: Option<bool>) {
        let session = self.sessions.get_mut(id);
        let of_account = &mut self.accounts[account as usize];
        if !session.accounts.contains(&account) {
            session.accounts.push(account);
            of_account.connections.push(id);
        }
        if let Some(cancel) = cancel_on_disconnect {
            of_account.cancel_on_disconnect.retain(|connection| *connection != id);
            if cancel {
                of_account.cancel_on_disconnect.push(id);
            }
        }
    }

    /// Whether a connection of this account asked for `cancel_on_disconnect`.
    pub fn asks_to_cancel(&self, account: u32) -> bool {
        !self.accounts[account as usize].cancel_on_disconnect.is_empty()
    }

    /// Whether a new account may have this id.
    pub fn check_new(&self, account_id: &str) -> Result<(), AuthenticateError> {
        match (is_account_id(account_id), self.accounts.len() < self.accounts_max) {
            (false, _) => Err(AuthenticateError::NoAccountId),
            (true, false) => Err(AuthenticateError::Accounts),
            (true, true) => Ok(()),
        }
    }

    /// The number of the next new account.
    pub fn next_number(&self) -> u32 {
        self.accounts.len() as u32
    }

    /// Adds a new account and returns its number.
    pub fn add(&mut self, account_id: &str, known: KnownAccount) -> u32 {
        let account = self.next_number();
        self.by_id.insert(account_id.into(), account);
        self.accounts.push(Account::new(account_id, Some(known)));
        account
    }

    /// The account with this number.
    pub fn get_mut(&mut self, account: u32) -> &mut Account {
        &mut self.accounts[account as usize]
    }

    /// The number of a known account.
    pub fn number(&self, account_id: &str) -> Option<u32> {
        self.by_id.get(account_id).copied()
    }

    /// The connection comes from a gateway.
    pub fn behind_gateway(&mut self, id: StreamId) {
        self.sessions.get_mut(id).is_behind_gateway = true;
    }

    /// The client's own address; `None` if that is unknown.
    pub fn client(&self, id: StreamId) -> Option<IpAddr> {
        let session = self.sessions.get(id);
        session.peer.filter(|_| !session.is_behind_gateway).map(|peer| peer.ip())
    }

    /// Remote address of the connection, if known.
    pub fn peer(&self, id: StreamId) -> Option<SocketAddr> {
        self.sessions.get(id).peer
    }

    pub fn is_authenticated(&self, id: StreamId) -> bool {
        let session = self.sessions.get(id);
        !session.accounts.is_empty() || session.operator.is_some()
    }

    /// Whether nobody is logged on.
    pub fn is_empty(&self) -> bool {
        !self.sessions.in_use().any(|one| one.operator.is_some() || !one.accounts.is_empty())
    }

    /// The name of the connection's operator.
    pub fn operator(&self, id: StreamId) -> Option<&str> {
        self.sessions.get(id).operator.as_deref()
    }

    /// Whether the connection has an operator's rights. If any token is valid, every authenticated
    /// connection has them.
    pub fn may_operate(&self, id: StreamId) -> bool {
        self.operator(id).is_some()
            || (matches!(self.tokens, Tokens::Any) && self.is_authenticated(id))
    }

    /// Counts a message before authentication. Returns the number of them on this connection.
    pub fn strike(&mut self, id: StreamId) -> u32 {
        let strikes = &mut self.sessions.get_mut(id).strikes;
        *strikes += 1;
        *strikes
    }

    pub fn set_stamps(&mut self, id: StreamId, stamps: bool) {
        self.sessions.get_mut(id).stamps = stamps;
    }

    #[inline]
    pub fn wants_stamps(&self, id: StreamId) -> bool {
        self.sessions.get(id).stamps
    }

    pub fn subscribe(&mut self, id: StreamId) {
        self.sessions.get_mut(id).subscribed = true;
    }

    pub fn is_subscribed(&self, id: StreamId) -> bool {
        self.sessions.get(id).subscribed
    }

    /// The ids of the accounts of a connection.
    pub fn account_ids(&self, id: StreamId) -> impl Iterator<Item = &str> {
        self.sessions.get(id).accounts.iter().map(|account| self.account_id(*account))
    }

    /// The account of a message: the named one, or the connection's first; `None` if it is not
    /// authenticated on this connection.
    #[inline]
    pub fn account(&self, id: StreamId, account_id: Option<&str>) -> Option<u32> {
        let accounts = &self.sessions.get(id).accounts;
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
        Sender::of(id, self.sessions.get(id).generation)
    }

    /// The sender's connection, if it is still open.
    pub fn connection(&self, sender: Sender) -> Option<StreamId> {
        let home = self.sessions.find(sender.stream)?;
        (home.open && home.generation == sender.generation).then_some(sender.stream)
    }

    /// The connection that gets a report on an order: the one that sent the order if it is still
    /// open, else one that is subscribed to the account, else none.
    #[inline]
    pub fn route(&self, sender: Sender, account: u32) -> Option<StreamId> {
        // The sender of a recovered order has no session.
        if let Some(home) = self.sessions.find(sender.stream)
            && home.open
            && home.generation == sender.generation
        {
            return Some(sender.stream);
        }
        let connections = &self.accounts[account as usize].connections;
        let subscribed = || connections.iter().filter(|id| self.sessions.get(**id).subscribed);
        // A session without a client keeps the report, unless somebody can read it now.
        let now = subscribed().find(|id| !self.sessions.get(**id).is_detached);
        now.or_else(|| subscribed().next()).copied()
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;

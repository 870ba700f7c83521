//! Tokens that authenticate accounts and operators.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use wire::request::ACCOUNT_ID_BYTES_MAX;

/// The valid tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Any token authenticates the account of that name: for benchmarks. There is no operator.
    Any,
    /// Only these tokens.
    Set {
        /// Account id by token.
        accounts: BTreeMap<String, String>,
        /// Operator name by token.
        operators: BTreeMap<String, String>,
    },
}

/// The owner of a token.
pub(crate) enum TokenOwner<'a> {
    /// An account, by its id.
    Account(&'a str),
    /// An operator, by name.
    Operator(&'a str),
}

/// Why a file of tokens is invalid.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// The file can't be read.
    #[error("can't read the tokens from {file}: {source}; name a TOML file that exists")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not TOML, or a token or a name is invalid.
    #[error("{file}: {why}; write [tokens] and below it lines such as \"token\" = \"account\"")]
    Malformed {
        /// The file.
        file: String,
        /// The fault, without the token.
        why: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTokens {
    tokens: BTreeMap<String, String>,
    #[serde(default)]
    operators: BTreeMap<String, String>,
}

impl Tokens {
    /// Reads a TOML file with a table `tokens`: `"token" = "account id"`, and an optional table
    /// `operators`, whose tokens may halt instruments and throw kill switches: `"token" = "name"`.
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
        // Only the message: the whole error quotes the line with the token.
        let RawTokens { tokens: accounts, operators } =
            toml::from_str(text).map_err(|error| malformed(error.message().to_owned()))?;
        if accounts.is_empty() {
            return Err(malformed("there is no token".to_owned()));
        }
        for (token, name) in accounts.iter().chain(&operators) {
            if token.is_empty() || !is_account_id(name) {
                let why = format!("an empty token, or account {name:?} is empty or too long");
                return Err(malformed(why));
            }
        }
        if let Some((_, name)) = operators.iter().find(|(token, _)| accounts.contains_key(*token)) {
            let why = format!("the token of operator {name:?} is an account's, too");
            return Err(malformed(why));
        }
        Ok(Tokens::Set { accounts, operators })
    }

    /// The owner of a token; `None` if it is unknown.
    pub(crate) fn owner<'a>(&'a self, token: &'a str) -> Option<TokenOwner<'a>> {
        match self {
            Tokens::Any => Some(TokenOwner::Account(token)),
            Tokens::Set { accounts, operators } => {
                let account = accounts.get(token).map(|id| TokenOwner::Account(id));
                account.or_else(|| operators.get(token).map(|name| TokenOwner::Operator(name)))
            }
        }
    }
}

/// Whether it is a valid account id: 1 to [`ACCOUNT_ID_BYTES_MAX`] bytes.
pub(crate) fn is_account_id(account_id: &str) -> bool {
    (1..=ACCOUNT_ID_BYTES_MAX).contains(&account_id.len())
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;

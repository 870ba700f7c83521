//! Tokens: who proves with them to be which account, or an operator.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use wire::request::ACCOUNT_ID_BYTES_MAX;

/// Which tokens prove which account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tokens {
    /// Any token is the account of that name: for benchmarks. There is no operator.
    Any,
    /// These tokens.
    Set {
        /// Each with its account's id.
        accounts: BTreeMap<String, String>,
        /// Each with its operator's name.
        operators: BTreeMap<String, String>,
    },
}

/// Whom a token proves.
pub(crate) enum Owner<'a> {
    /// An account, by its id.
    Account(&'a str),
    /// An operator, by name.
    Operator(&'a str),
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
        // The message alone: the whole error quotes the line, and so the token.
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

    /// Whom a token proves; `None` if it proves nobody.
    pub(crate) fn owner<'a>(&'a self, token: &'a str) -> Option<Owner<'a>> {
        match self {
            Tokens::Any => Some(Owner::Account(token)),
            Tokens::Set { accounts, operators } => {
                let account = accounts.get(token).map(|id| Owner::Account(id));
                account.or_else(|| operators.get(token).map(|name| Owner::Operator(name)))
            }
        }
    }
}

/// Whether it can be an account's id: 1 to [`ACCOUNT_ID_BYTES_MAX`] bytes.
pub(crate) fn is_account_id(account_id: &str) -> bool {
    (1..=ACCOUNT_ID_BYTES_MAX).contains(&account_id.len())
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;

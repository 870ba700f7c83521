//! Tokens that authenticate accounts and operators.

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
        let [accounts, operators] = tables(text).map_err(malformed)?;
        if accounts.is_empty() {
            return Err(malformed("there is no token".to_owned()));
        }
        for (token, name) in accounts.iter().chain(&operators) {
            if token.is_empty() || !is_account_id(name) {
                let most = ACCOUNT_ID_BYTES_MAX;
                return Err(malformed(format!(
                    "a token is empty, or a name is empty or longer than {most} bytes"
                )));
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

/// The tables `tokens` and `operators`; or the fault, in words that quote nothing of the file: in a
/// file of another form, a token may stand anywhere.
fn tables(text: &str) -> Result<[BTreeMap<String, String>; 2], String> {
    let mut file: toml::Table = toml::from_str(text).map_err(|error| match error.span() {
        Some(span) => {
            let ends = text.bytes().take(span.start).filter(|byte| *byte == b'\n').count();
            format!("line {} is not TOML", ends + 1)
        }
        None => "it is not TOML".to_owned(),
    })?;
    let mut table = |name: &str| match file.remove(name) {
        Some(value) => value.try_into().map_err(|_| format!("{name} is not a table of texts")),
        None => Ok(BTreeMap::new()),
    };
    let tables = [table("tokens")?, table("operators")?];
    if !file.is_empty() {
        return Err("it has more than the tables tokens and operators".to_owned());
    }
    Ok(tables)
}

/// Whether it is a valid account id: 1 to [`ACCOUNT_ID_BYTES_MAX`] bytes.
pub(crate) fn is_account_id(account_id: &str) -> bool {
    (1..=ACCOUNT_ID_BYTES_MAX).contains(&account_id.len())
}

#[cfg(test)]
#[path = "tokens_tests.rs"]
mod tests;

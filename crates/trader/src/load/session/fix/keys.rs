//! Keys that sign Logons, from a file, so that no secret is in a plan or a record.

use fix::session::Proof;
use fix::signature::sign;
use toml::Value;

/// The longest account: SenderCompID, `TRADER-` and the account, has at most 32 bytes.
const ACCOUNT_BYTES_MAX: usize = 25;

/// Why a file of keys can't be used. Never with a secret.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file can't be read.
    #[error("can't read load.keys = {file}: {source}; name a TOML file that exists")]
    Unreadable {
        /// The file.
        file: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not TOML, or lacks the table, or the table has another form.
    #[error(
        "load.keys = {file}: {why}; write [keys] and below it lines such as \"account\" = \"secret\""
    )]
    Malformed {
        /// The file.
        file: String,
        /// The fault.
        why: String,
    },
    /// There are fewer keys than accounts.
    #[error("load.keys = {file} has {keys} keys, and load.accounts = {accounts}: each needs one")]
    TooFew {
        /// The file.
        file: String,
        /// Keys in it.
        keys: usize,
        /// Accounts of the load.
        accounts: usize,
    },
}

/// Accounts and their secrets, sorted by account.
pub(super) struct Keys(Vec<(String, String)>);

impl Keys {
    /// Reads a file with at least `accounts` keys.
    pub fn read(file: &str, accounts: usize) -> Result<Keys, KeysError> {
        let unreadable = |source| KeysError::Unreadable { file: file.to_owned(), source };
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        let keys =
            parse(&text).map_err(|why| KeysError::Malformed { file: file.to_owned(), why })?;
        if keys.len() < accounts {
            return Err(KeysError::TooFew { file: file.to_owned(), keys: keys.len(), accounts });
        }
        Ok(Keys(keys))
    }

    /// The name of an account of the load, and its proof.
    pub fn of(&self, account: usize) -> (String, Proof) {
        let (name, secret) = self.0[account].clone();
        let sign = Box::new(move |text: &[u8]| sign(text, &secret));
        (name.clone(), Proof::Signed { username: name, sign })
    }
}

/// The accounts in order; or the fault, in words that quote no value.
fn parse(text: &str) -> Result<Vec<(String, String)>, String> {
    // Only the message: the whole error quotes the line with the secret.
    let mut file: toml::Table = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let Some(Value::Table(table)) = file.remove("keys") else {
        return Err("it has no table keys".to_owned());
    };
    if !file.is_empty() {
        return Err("it has more than the table keys".to_owned());
    }
    let mut keys = Vec::new();
    for (account, secret) in table {
        let fits = (1..=ACCOUNT_BYTES_MAX).contains(&account.len());
        if !fits || !account.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!(
                "account {account:?} is not 1 to {ACCOUNT_BYTES_MAX} printable ASCII characters"
            ));
        }
        match secret {
            Value::String(secret) if !secret.is_empty() => keys.push((account, secret)),
            _ => return Err(format!("the secret of account {account} is not a text, or is empty")),
        }
    }
    keys.sort();
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, accounts: usize) -> Result<usize, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("keys.toml");
        std::fs::write(&file, text).unwrap();
        let keys = Keys::read(file.to_str().unwrap(), accounts);
        keys.map(|keys| keys.0.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_that_can_not_be_used_says_why_and_shows_no_secret() {
        assert_eq!(read("[keys]\nb = \"one\"\na = \"two\"\n", 2), Ok(2));
        let too_few = read("[keys]\na = \"s3cret\"\n", 2).unwrap_err();
        assert!(too_few.contains("has 1 keys, and load.accounts = 2"), "{too_few}");
        let long = format!("[keys]\n{} = \"s3cret\"", "x".repeat(ACCOUNT_BYTES_MAX + 1));
        for (text, fault) in [
            ("[keys]\na = \"s3cret\nb = \"", ""),
            ("[tokens]\na = \"s3cret\"", "no table keys"),
            ("keys = \"s3cret\"", "no table keys"),
            ("[keys]\na = \"s3cret\"\n[tokens]", "more than the table keys"),
            ("[keys]\na = [\"s3cret\"]", "the secret of account a is not a text"),
            ("[keys]\na = \"\"", "or is empty"),
            ("[keys]\n\"a b\" = \"s3cret\"", "account \"a b\" is not 1 to 25 printable"),
            (&long, "is not 1 to 25 printable"),
        ] {
            let malformed = read(text, 1).unwrap_err();
            assert!(malformed.contains("write [keys]") && malformed.contains(fault), "{malformed}");
            assert!(!malformed.contains("s3cret"), "{malformed}");
        }
        let missing = Keys::read("/no/such/file", 1).err().map(|error| error.to_string());
        assert!(missing.unwrap().contains("name a TOML file that exists"));
    }
}

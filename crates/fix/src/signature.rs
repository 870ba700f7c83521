//! Signed logons: RawData is the base64 of the HMAC-SHA-256 of [`signed_text`] with
//! the account's token as the key.
//!
//! [`signed_text`]: crate::session::signed_text

use crate::session::Logon;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// Whether the Logon is signed with that token. Takes the same time for every wrong signature.
pub fn is_signed_with(logon: &Logon, token: &str) -> bool {
    let Some(signature) = logon.signature.as_deref().and_then(|text| STANDARD.decode(text).ok())
    else {
        return false;
    };
    hmac::verify(&key(token), &logon.signed_text, &signature).is_ok()
}

/// The RawData of a Logon whose signed text is `text`.
pub fn sign(text: &[u8], token: &str) -> Vec<u8> {
    STANDARD.encode(hmac::sign(&key(token), text)).into_bytes()
}

fn key(token: &str) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, token.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_and_the_text_that_were_signed_fit() {
        let mut logon = Logon {
            sender: "FUND".to_owned(),
            target: "TICKPATH".to_owned(),
            username: Some("fund".to_owned()),
            password: None,
            signature: Some(sign(b"text", "secret")),
            cancels_on_disconnect: false,
            signed_text: b"text".to_vec(),
        };
        assert!(is_signed_with(&logon, "secret"));
        assert!(!is_signed_with(&logon, "other"));
        logon.signed_text = b"another text".to_vec();
        assert!(!is_signed_with(&logon, "secret"));
        logon.signature = Some(b"not base64".to_vec());
        assert!(!is_signed_with(&logon, "secret"));
    }
}

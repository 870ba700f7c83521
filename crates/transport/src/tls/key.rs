//! A server's private key, and why one can't be used.

use super::error::TlsError;
use rustls::crypto::ring::sign::any_supported_type;
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use std::path::Path;

/// Kinds of keys that OpenSSL makes and ring does not know, by their object identifiers in DER.
const UNSUPPORTED: [(&[u8], &str); 5] = [
    (&[0x06, 5, 0x2b, 0x81, 0x04, 0x00, 0x23], "it is on the curve P-521"),
    (&[0x06, 5, 0x2b, 0x81, 0x04, 0x00, 0x0a], "it is on the curve secp256k1"),
    (&[0x06, 3, 0x2b, 0x65, 0x71], "it is an Ed448 key"),
    (&[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x38, 0x04, 0x01], "it is a DSA key"),
    (
        &[0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01],
        "its RSA modulus is shorter than 2048 or longer than 8192 bits",
    ),
];

/// Reads a key in PEM that the handshake can sign with.
pub(super) fn private_key(pem: &[u8], path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let text = String::from_utf8_lossy(pem);
    if text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(TlsError::EncryptedKey { path: path.to_owned() });
    }
    let key = PrivateKeyDer::from_pem_slice(pem)
        .map_err(|error| TlsError::Key { path: path.to_owned(), why: error.to_string() })?;
    if any_supported_type(&key).is_err() {
        let der = key.secret_der();
        let has = |id: &[u8]| der.windows(id.len()).any(|window| window == id);
        let known = UNSUPPORTED.iter().find(|(id, _)| has(id));
        let why = known.map_or("it is of another kind, or damaged", |(_, why)| *why);
        return Err(TlsError::UnsupportedKey { path: path.to_owned(), why });
    }
    Ok(key)
}

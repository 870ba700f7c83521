//! How a client checks a server's certificate: by rustls, and one more case.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use std::sync::Arc;

/// The fault of a server's certificate that is an authority's, as `openssl req -x509` makes it. It
/// is found behind the check of the certificate's time.
const CA_AS_END_ENTITY: &str = "CaUsedAsEndEntity";

/// rustls' own checks, and a certificate of an authority for a server if the user has given that
/// very certificate.
#[derive(Debug)]
pub(super) struct PinnedVerifier {
    pub by_rustls: Arc<WebPkiServerVerifier>,
    pub given: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified =
            self.by_rustls.verify_server_cert(certificate, intermediates, name, ocsp, now);
        match verified {
            Err(Error::InvalidCertificate(CertificateError::Other(other)))
                if other.0.to_string() == CA_AS_END_ENTITY && self.given.contains(certificate) =>
            {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_rustls.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_rustls.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_rustls.supported_verify_schemes()
    }
}

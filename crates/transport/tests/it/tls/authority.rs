//! An authority of a test, and what it signs.

use plan::trust::Trust;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use transport::tls::CertificatePair;

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, "an authority of a test");
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for `name`, and its key.
    pub fn pair(&self, name: &str) -> CertificatePair {
        self.sign(CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// One whose time is over.
    pub fn expired(&self, name: &str) -> CertificatePair {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2020, 2, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> CertificatePair {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        CertificatePair { certificate: certificate.pem().into(), key: key.serialize_pem().into() }
    }

    pub fn pem(&self) -> String {
        self.0.as_ref().pem()
    }

    /// Trust in this authority, for `name`.
    pub fn trust(&self, name: &str) -> Trust {
        Trust { ca: None, ca_pem: Some(self.pem()), name: Some(name.to_owned()) }
    }
}

//! The TLS of a server: which certificate, its reload, and the log of failed handshakes.

use crate::cli::TlsArguments;
use crate::security_log;
use crate::signals;
use exchange::Limits;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use transport::tls::{Acceptor, CertificatePair, TlsError};

/// The TLS parts of a server.
pub(crate) struct Secure {
    acceptor: Arc<Acceptor>,
    /// The certificate that was made for this run, in PEM.
    certificate: Option<String>,
}

impl Secure {
    /// As the command line of a server at `listen` asks; `None` for plain text.
    pub(crate) fn new(arguments: &TlsArguments, listen: &str) -> anyhow::Result<Option<Secure>> {
        let (acceptor, certificate) = match (&arguments.tls_certificate, &arguments.tls_key) {
            (Some(certificate), Some(key)) => (Acceptor::read(certificate, key)?, None),
            _ if arguments.tls_self_signed => {
                let pair = CertificatePair::self_signed(&names(listen))?;
                let certificate = String::from_utf8(pair.certificate.clone())?;
                (Acceptor::of(&pair)?, Some(certificate))
            }
            _ => return Ok(None),
        };
        let patience = Duration::from_secs_f64(Limits::default().handshake_seconds_max);
        let acceptor = acceptor.patience(patience).failures(security_log::start_handshakes()?);
        Ok(Some(Secure { acceptor: Arc::new(acceptor), certificate }))
    }

    pub(crate) fn acceptor(&self) -> Arc<Acceptor> {
        Arc::clone(&self.acceptor)
    }

    pub(crate) fn certificate(&self) -> Option<&str> {
        self.certificate.as_deref()
    }

    /// The flag that ends the server. A hang-up reloads a certificate that was read from files,
    /// also where `others` use it; it leaves one that was made for this run, and ends a server
    /// without one.
    pub(crate) fn stop_flag(
        secure: Option<&Secure>,
        others: impl IntoIterator<Item = Reload>,
    ) -> anyhow::Result<Arc<AtomicBool>> {
        match secure {
            Some(Secure { certificate: Some(_), .. }) => signals::stop_flag_or_hang_up(|| {
                eprintln!("the TLS certificate was made for this run: it stays in use");
            }),
            Some(secure) => {
                let clients = reload(Arc::clone(&secure.acceptor));
                stop_flag_or_reload(others.into_iter().chain([clients]).collect())
            }
            None => signals::stop_flag(),
        }
    }

    /// Handshakes, for the last line.
    pub(crate) fn counts(&self) -> Value {
        let (handshakes, failed) = self.acceptor.counts();
        json!({ "handshakes": handshakes, "failed": failed })
    }
}

/// Reads a certificate and its key again.
pub(crate) type Reload = Box<dyn Fn() -> Result<(), TlsError> + Send>;

/// Reads those of a server again.
pub(crate) fn reload(acceptor: Arc<Acceptor>) -> Reload {
    Box::new(move || acceptor.reload())
}

/// A flag that ends a server. A hang-up does each of these, and prints the outcome.
pub(crate) fn stop_flag_or_reload(reloads: Vec<Reload>) -> anyhow::Result<Arc<AtomicBool>> {
    signals::stop_flag_or_hang_up(move || match reloads.iter().try_for_each(|reload| reload()) {
        Ok(()) => eprintln!("reloaded the TLS certificate and its key"),
        Err(error) => {
            eprintln!("warning: the previous TLS certificate stays in use: {error}");
        }
    })
}

/// The names and addresses of `HOST:PORT` on this machine.
fn names(listen: &str) -> Vec<String> {
    let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
    if !names.iter().any(|name| name == host) {
        names.push(host.to_owned());
    }
    names
}

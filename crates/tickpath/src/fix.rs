//! `tickpath exchange --fix`: the thread that accepts FIX sessions.

use crate::cli::ExchangeArguments;
use crate::process::{bind, raise_descriptors};
use crate::secure::Secure;
use anyhow::{Context, bail};
use clock::Clock;
use exchange::{Instruments, Limits, Tokens};
use fix::signature::is_signed_with;
use fix_gateway::{Counts, Login, Security, Settings};
use serde_json::{Value, json};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;
use transport::tls::{self, Connector};

/// The FIX thread.
pub(crate) struct FixThread {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    thread: JoinHandle<io::Result<Counts>>,
}

/// Parts of the exchange's process that the FIX thread shares.
pub(crate) struct Shared<'a> {
    pub(crate) clock: Clock,
    /// Where the exchange listens.
    pub(crate) exchange: SocketAddr,
    pub(crate) instruments: &'a Instruments,
    pub(crate) secure: Option<&'a Secure>,
    pub(crate) stop: Arc<AtomicBool>,
    /// The cores that the process was started with.
    pub(crate) allowed: Vec<usize>,
}

impl FixThread {
    /// As the command line asks; `None` without `--fix`.
    pub(crate) fn start(
        arguments: &ExchangeArguments,
        shared: Shared<'_>,
    ) -> anyhow::Result<Option<FixThread>> {
        let (Some(listen), Some(store)) = (&arguments.fix.fix, &arguments.fix.fix_store) else {
            return Ok(None);
        };
        let Shared { clock, exchange, instruments, secure, stop, allowed } = shared;
        std::fs::create_dir_all(store).with_context(|| {
            format!("cannot make the folder of --fix-store {}", store.display())
        })?;
        let tokens = match &arguments.tokens {
            Some(path) => Tokens::read(path)?,
            None => Tokens::Any,
        };
        let settings = settings(arguments, store, tokens, securities(instruments));
        // A session has a connection to its client, two to the exchange, and a file.
        let connections_max = settings.limits.connections_max as u64;
        raise_descriptors(connections_max + 4 * connections_max);
        let backend = match &arguments.fix.fix_backend {
            None => transport::backend(&arguments.backend)?,
            Some(name) => transport::backend(name).context("--fix-backend")?,
        };
        let acceptor = secure.map(Secure::acceptor);
        let listener = bind(listen).context("--fix")?;
        let address = listener.local_addr()?;
        let target = target(exchange, secure);
        let core = arguments.fix.fix_core;
        let work = move || {
            // It would inherit the core of the exchange's pinned thread.
            match core {
                Some(core) => host::thread::pin(core),
                None => host::thread::run_on(&allowed),
            }
            .map_err(io::Error::other)?;
            let mut streams = backend.open(clock)?;
            if let Some(acceptor) = acceptor {
                streams = tls::around(streams, Some(acceptor), clock);
            }
            streams.listen(listener)?;
            fix_gateway::serve(&mut *streams, target, settings, clock, &stop)
        };
        let report = move || work().inspect_err(|error| eprintln!("error: FIX has ended: {error}"));
        let thread = std::thread::Builder::new().name("fix".to_owned()).spawn(report)?;
        Ok(Some(FixThread { address, thread }))
    }

    /// Waits for its end, which the stop flag causes; its counts.
    pub(crate) fn join(self) -> anyhow::Result<Value> {
        match self.thread.join() {
            Ok(counts) => Ok(in_words(&counts.context("the FIX thread has failed")?)),
            Err(_) => bail!("the FIX thread panicked; this is a bug in tickpath"),
        }
    }
}

fn settings(
    arguments: &ExchangeArguments,
    store: &Path,
    tokens: Tokens,
    securities: Vec<Security>,
) -> Settings {
    let limits = Limits::default();
    Settings {
        comp_id: arguments.fix.fix_comp_id.clone(),
        store: store.to_owned(),
        login: Box::new(move |logon| login(&tokens, logon)),
        securities,
        limits: fix_gateway::Limits {
            connections_max: arguments.connections_max.unwrap_or(limits.connections_max),
            failed_login_ns: (limits.failed_login_seconds * 1e9) as u64,
            logon_ns_max: (limits.authentication_seconds_max * 1e9) as u64,
            ..fix_gateway::Limits::default()
        },
    }
}

/// The instruments of the exchange, as FIX lists them.
fn securities(instruments: &Instruments) -> Vec<Security> {
    let security = |instrument: &exchange::Instrument| Security {
        symbol: instrument.code.clone(),
        tick: instrument.tick,
        lot: instrument.lot,
        amount_min: instrument.amount(instrument.quantity_lots_min),
    };
    instruments.all().iter().map(security).collect()
}

/// The account of a Logon: by its password, which is the token, or by its signature with it.
fn login(tokens: &Tokens, logon: &fix_gateway::Logon) -> Option<Login> {
    let fits = |account: &str| logon.username.as_deref().is_none_or(|name| name == account);
    let login = match (&logon.password, tokens) {
        (Some(token), Tokens::Any) => Login { account: token.clone(), token: token.clone() },
        (Some(token), Tokens::Set { accounts, .. }) => {
            Login { account: accounts.get(token)?.clone(), token: token.clone() }
        }
        (None, Tokens::Any) => {
            let account = logon.username.clone().filter(|name| is_signed_with(logon, name))?;
            Login { token: account.clone(), account }
        }
        (None, Tokens::Set { accounts, .. }) => {
            let name = logon.username.as_ref()?;
            let mut of_account = accounts.iter().filter(|(_, account)| *account == name);
            let (token, account) = of_account.find(|(token, _)| is_signed_with(logon, token))?;
            Login { account: account.clone(), token: token.clone() }
        }
    };
    (!login.account.is_empty() && fits(&login.account)).then_some(login)
}

/// The exchange's own listener, and how to speak to it.
fn target(mut exchange: SocketAddr, secure: Option<&Secure>) -> fix_gateway::Exchange {
    if exchange.ip().is_unspecified() {
        exchange.set_ip(match exchange {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    let connector = secure.map(|secure| Connector::to_own(secure.acceptor()));
    let secure = Box::new(move |socket| match &connector {
        None => Ok(transport::Connection::from(socket)),
        Some(connector) => connector.connect(socket),
    });
    fix_gateway::Exchange { address: exchange, secure }
}

fn in_words(counts: &Counts) -> Value {
    json!({
        "connections": counts.connections,
        "logons": counts.logons,
        "rejected": {
            "connections": counts.rejected_connections,
            "no_logon": counts.no_logon,
            "failed_logins": counts.failed_logins,
            "duplicate_logons": counts.duplicate_logons,
            "unavailable": counts.unavailable,
            "slow_readers": counts.slow_readers,
        },
    })
}

//! `tickpath exchange --fix`: where it accepts FIX sessions.

use crate::cli::ExchangeArguments;
use crate::process::{bind, listen as listen_on, raise_descriptors};
use crate::secure::Secure;
use anyhow::Context;
use clock::Clock;
use exchange::{Config, Instruments, Limits, Tokens};
use fix::signature::is_signed_with;
use fix_gateway::{Counts, Login, Now, PastReport, Security, Sessions, Settings, SharedCounts};
use plan::backend as rows;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::PoisonError;
use transport::{SideSet, Streams, tls};

/// The FIX port before the exchange serves it.
pub(crate) struct FixDoor {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Its counts at the end.
    pub(crate) counts: SharedCounts,
    listener: TcpListener,
    clients: SideSet,
    settings: Settings,
    /// Whether the exchange's wait ends when a FIX client sends something.
    is_woken: bool,
}

impl FixDoor {
    /// As the command line asks; `None` without `--fix`. A standby has reserved its address.
    pub(crate) fn open(
        arguments: &ExchangeArguments,
        (sessions, reserved): (Option<Sessions>, Option<OwnedFd>),
        clock: Clock,
    ) -> anyhow::Result<Option<FixDoor>> {
        let (Some(listen), Some(sessions)) = (&arguments.fix.fix, sessions) else {
            return Ok(None);
        };
        let tokens = match &arguments.tokens {
            Some(path) => Tokens::read(path)?,
            None => Tokens::Any,
        };
        let settings = settings(arguments, sessions, tokens);
        // A session has a connection to its client, and a file.
        let connections_max = settings.limits.connections_max as u64;
        raise_descriptors(connections_max + 2 * connections_max);
        let (backend, gateways) = (&arguments.backend, arguments.gateways);
        let spins = transport::backend(backend)?.row.spins;
        let clients = SideSet::open(clock, spins)?;
        // Gateways wake their exchange without a descriptor.
        let is_woken = !spins && gateways == 0 && !rows::is_below(backend);
        let listener = match reserved {
            Some(reserved) => listen_on(reserved)?,
            None => bind(listen).context("--fix")?,
        };
        let address = listener.local_addr()?;
        let counts = SharedCounts::default();
        Ok(Some(FixDoor { address, counts, listener, clients, settings, is_woken }))
    }

    /// Rings when a client sends something, for streams that sleep.
    pub(crate) fn bell(&self) -> Option<BorrowedFd<'_>> {
        self.is_woken.then(|| self.clients.bell.as_fd())
    }

    /// The exchange's streams, with the sessions of FIX beside them.
    pub(crate) fn beside(
        self,
        inner: Box<dyn Streams>,
        secure: Option<&Secure>,
        clock: Clock,
    ) -> anyhow::Result<Box<dyn Streams>> {
        let FixDoor { counts, listener, clients, settings, is_woken, .. } = self;
        let mut clients = clients.streams;
        if let Some(secure) = secure {
            clients = tls::around(clients, Some(secure.acceptor()), clock);
        }
        clients.listen(listener)?;
        Ok(fix_gateway::beside(inner, (clients, is_woken), settings, clock, counts))
    }
}

fn settings(arguments: &ExchangeArguments, sessions: Sessions, tokens: Tokens) -> Settings {
    let limits = Limits::default();
    let of_accounts = tokens.clone();
    Settings {
        sessions,
        login: Box::new(move |logon| login(&tokens, logon)),
        token: Box::new(move |account| token(&of_accounts, account)),
        limits: fix_gateway::Limits {
            connections_max: arguments.connections_max.unwrap_or(limits.connections_max),
            failed_login_ns: (limits.failed_login_seconds * 1e9) as u64,
            logon_ns_max: (limits.authentication_seconds_max * 1e9) as u64,
            ..fix_gateway::Limits::default()
        },
    }
}

/// The sessions of `--fix-store`, with what the exchange's journal has about their open orders;
/// `None` without `--fix`. Call it before the exchange opens the journal.
pub(crate) fn sessions(
    arguments: &ExchangeArguments,
    config: &Config,
) -> anyhow::Result<Option<Sessions>> {
    let (Some(_), Some(store)) = (&arguments.fix.fix, &arguments.fix.fix_store) else {
        return Ok(None);
    };
    std::fs::create_dir_all(store)
        .with_context(|| format!("cannot make the folder of --fix-store {}", store.display()))?;
    let instruments = &config.instruments;
    let comp_id = &arguments.fix.fix_comp_id;
    let sessions =
        Sessions::open(store, comp_id, securities(instruments), config.journal.is_some())
            .with_context(|| {
                format!("cannot read the folder of --fix-store {}", store.display())
            })?;
    for fault in sessions.faults() {
        eprintln!("warning: a session of FIX can't log on: {fault}");
    }
    let Some(journal) = config.journal.as_ref().filter(|_| sessions.may_lack_reports()) else {
        return Ok(Some(sessions));
    };
    let sessions = RefCell::new(sessions);
    exchange::past_reports(
        &journal.directory,
        instruments,
        &mut |account, client_id, order_id| {
            sessions.borrow_mut().wants(account, client_id, order_id)
        },
        &mut |past| {
            let exchange::PastReport { account, client_id, order_id, open, time_ns, report } =
                *past;
            let report = report.map(<[u8]>::to_vec);
            let past = PastReport { client_id, order_id, open, time_ns, report };
            sessions.borrow_mut().add(account, past);
        },
    )?;
    Ok(Some(sessions.into_inner()))
}

/// Gives the sessions the reports that they lack.
pub(crate) fn recover(sessions: &mut Sessions, clock: Clock) -> anyhow::Result<()> {
    let now = Now { steady_ns: clock.now_ns(), utc_ns: clock::steady_wall_ns() };
    let made = sessions.recover(now).context("cannot write the message stores of --fix-store")?;
    if made > 0 {
        eprintln!("sessions of FIX lacked {made} reports, which were made from the journal");
    }
    Ok(())
}

/// The instruments of the exchange, as FIX lists them.
fn securities(instruments: &Instruments) -> Vec<Security> {
    let security = |instrument: &exchange::Instrument| Security {
        symbol: instrument.code.as_str().into(),
        tick: instrument.tick,
        lot: instrument.lot,
        amount_min: instrument.amount(instrument.quantity_lots_min),
    };
    instruments.all().iter().map(security).collect()
}

/// The token of an account.
fn token(tokens: &Tokens, account: &str) -> Option<String> {
    match tokens {
        Tokens::Any => Some(account.to_owned()),
        Tokens::Set { accounts, .. } => {
            accounts.iter().find(|(_, owner)| *owner == account).map(|(token, _)| token.clone())
        }
    }
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

/// The counts as an exchange's last line has them.
pub(crate) fn as_json(counts: &SharedCounts) -> Value {
    let counts: Counts = counts.lock().unwrap_or_else(PoisonError::into_inner).clone();
    json!({
        "connections": counts.connections,
        "logons": counts.logons,
        "rejected": {
            "connections": counts.rejected_connections,
            "no_logon": counts.no_logon,
            "failed_logins": counts.failed_logins,
            "duplicate_logons": counts.duplicate_logons,
            "unavailable": counts.unavailable,
            "unavailable_because": counts.unavailable_because,
            "slow_readers": counts.slow_readers,
        },
    })
}

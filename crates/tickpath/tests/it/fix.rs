//! `tickpath exchange --fix` as a whole process: over TLS, with signed logons, and after kill -9.

use crate::support::*;
use fix::session::Proof;
use fix::signature::sign;
use fix::store::MemoryStore;
use plan::trust::Trust;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;
use transport::Connection;
use transport::tls::Connector;

#[path = "../../../fix-gateway/tests/it/client.rs"]
pub mod client;

pub type Client = client::Client<Connection>;

/// An exchange with a FIX port, ended with the value.
pub struct Exchange {
    pub child: Child,
    lines: BufReader<ChildStdout>,
    /// The first line.
    pub ready: Value,
}

impl Exchange {
    pub fn start(store: &Path, more: &[&str]) -> Exchange {
        Exchange::start_with("empty", store, more)
    }

    /// With that book.
    pub fn start_with(book: &str, store: &Path, more: &[&str]) -> Exchange {
        let mut child = tickpath()
            .args(["exchange", "--listen", "127.0.0.1:0", "--backend", "block", "--book", book])
            .args(["--fix", "127.0.0.1:0", "--fix-store"])
            .arg(store)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let ready = serde_json::from_str(&line).unwrap();
        Exchange { child, lines, ready }
    }

    pub fn fix(&self) -> &str {
        self.ready["fix"].as_str().unwrap()
    }

    pub fn dial(&self) -> TcpStream {
        let stream = TcpStream::connect(self.fix()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Ends it with SIGTERM; its last line.
    fn end(mut self) -> Value {
        signal(self.child.id(), rustix::process::Signal::TERM);
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(self.child.wait().unwrap().success());
        serde_json::from_str(&line).unwrap()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn password(token: &str) -> Proof {
    password_of("fund", token)
}

pub fn password_of(account: &str, token: &str) -> Proof {
    Proof::Password { username: Some(account.to_owned()), password: token.to_owned() }
}

fn signed(token: &'static str) -> Proof {
    Proof::Signed { username: "fund".to_owned(), sign: Box::new(move |text| sign(text, token)) }
}

pub fn limit(id: &str, side: u8, quantity: &str) -> String {
    format!("35=D|11={id}|55=BTC_USDT|54={side}|60=@|38={quantity}|40=2|44=100")
}

/// The gateway's own connection to the exchange is over TLS then, too.
#[test]
fn signed_and_other_logons_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens.toml");
    std::fs::write(&tokens, "[tokens]\n\"secret\" = \"fund\"\n").unwrap();
    let store = folder.path().join("store");
    let tokens = tokens.display().to_string();
    let exchange = Exchange::start(&store, &["--tokens", &tokens, "--tls-self-signed"]);
    let ca_pem = exchange.ready["certificate"].as_str().map(str::to_owned);
    let trust = Trust { ca_pem, name: Some("localhost".to_owned()), ..Trust::default() };
    let connector = Connector::new(&trust, exchange.fix()).unwrap();
    let log_on = |comp_id: &str, proof: Proof| {
        let stream = connector.connect(exchange.dial()).unwrap();
        let mut client = Client::connect(stream, comp_id, proof, Default::default());
        client.next().map(|_| client)
    };
    let mut one = log_on("ONE", signed("secret")).unwrap_or_else(|why| panic!("{why}"));
    one.ask(&limit("a", 1, "2")).has("150=0|11=a|1=fund");
    let mut two = log_on("TWO", password("secret")).unwrap_or_else(|why| panic!("{why}"));
    two.ask(&limit("b", 1, "2")).has("150=0|11=b|1=fund");
    for wrong in [signed("other"), password("other"), Proof::None] {
        assert_eq!(log_on("THREE", wrong).err().as_deref(), Some("closed"));
    }
    let counts = exchange.end();
    assert_eq!(counts["counts"]["fix"]["logons"], 2, "{counts}");
    assert_eq!(counts["counts"]["fix"]["rejected"]["failed_logins"], 3, "{counts}");
}

/// Each report arrives once, and numbers go on, wherever the exchange was killed.
#[test]
fn a_session_goes_on_after_kill_9() {
    let folder = tempfile::tempdir().unwrap();
    let mut memory = MemoryStore::default();
    let mut reports: Vec<String> = Vec::new();
    for round in 0..3 {
        let mut exchange = Exchange::start(folder.path(), &["--any-token"]);
        let stream = Connection::from(exchange.dial());
        let mut client = Client::connect(stream, "FUND", password("fund"), (memory, false));
        assert_eq!(client.next().err(), None);
        for n in 0..4 {
            client.send(&limit(&format!("{round}-{n}"), 1, "2"));
        }
        // The kill comes between the reports of this round and their arrival.
        let report = client.read();
        report.has("150=0");
        reports.push(report.get(11).unwrap().to_owned());
        exchange.child.kill().unwrap();
        exchange.child.wait().unwrap();
        memory = client.cut();
    }
    let exchange = Exchange::start(folder.path(), &["--any-token"]);
    let stream = Connection::from(exchange.dial());
    let mut client = Client::connect(stream, "FUND", password("fund"), (memory, false));
    assert_eq!(client.next().err(), None);
    client.send("35=H|11=no-such|55=BTC_USDT|54=1");
    loop {
        let report = client.read();
        if report.get(11) == Some("no-such") {
            break;
        }
        reports.push(report.get(11).unwrap().to_owned());
    }
    let mut once = reports.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), reports.len(), "{reports:?}");
}

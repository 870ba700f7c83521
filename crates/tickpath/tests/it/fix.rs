//! `tickpath exchange --fix` as a whole process: over TLS, with signed logons, after kill -9, and
//! with QuickFIX/J.

use crate::support::*;
use fix::session::Proof;
use fix::signature::sign;
use fix::store::MemoryStore;
use plan::trust::Trust;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
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

    fn fix(&self) -> &str {
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
    Proof::Password { username: Some("fund".to_owned()), password: token.to_owned() }
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

/// QuickFIX/J in a process of its own.
struct QuickFix {
    child: Child,
    to: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl QuickFix {
    fn start(exchange: &Exchange, store: &Path) -> QuickFix {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients");
        let port = exchange.fix().rsplit(':').next().unwrap();
        let mut child = Command::new("java")
            .arg("-cp")
            .arg(format!("{0}/java-fix.jar:{0}/lib/*", peers().display()))
            .args(["FixClient", port, "QFJ", "qfj"])
            .arg(root.join("fix/tickpath-fix44.xml"))
            .arg(store)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        QuickFix { child, to, lines }
    }

    fn send(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    /// The next line that begins so.
    fn read(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "no line begins with {start}");
            if line.starts_with(start) {
                return line;
            }
            assert!(!line.contains("|35=3|"), "QuickFIX/J was sent a Reject: {line}");
        }
    }

    #[track_caller]
    fn expect(&mut self, fields: &[&str]) {
        let line = self.read("app ");
        for field in fields {
            assert!(line.contains(&format!("|{field}|")), "no {field} in {line}");
        }
    }
}

impl Drop for QuickFix {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where `make peers` puts QuickFIX/J and its client.
pub fn peers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/java-fix/target")
}

/// A foreign client logs on, trades, is away, and gets what came meanwhile.
#[test]
fn quickfix_j_trades_and_gets_missed_reports() {
    if !peers().join("java-fix.jar").exists() {
        testing::skip!(JavaPeers, "no QuickFIX/J: see clients/java-fix/README.md");
    }
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(&folder.path().join("ours"), &["--any-token"]);
    let mut quickfix = QuickFix::start(&exchange, &folder.path().join("theirs"));
    quickfix.read("logon");
    quickfix.send(&limit("a", 2, "3"));
    quickfix.expect(&["35=8", "150=0", "39=0", "11=a", "151=3"]);
    quickfix.send("35=G|41=a|11=b|55=BTC_USDT|54=2|60=@|38=4|40=2|44=100");
    quickfix.expect(&["35=8", "150=5", "11=b", "41=a", "38=4"]);
    quickfix.send("35=H|11=b|55=BTC_USDT|54=2");
    quickfix.expect(&["35=8", "150=I", "11=b", "151=4"]);
    quickfix.send("away");
    quickfix.read("away");
    let stream = Connection::from(exchange.dial());
    let mut taker = Client::connect(stream, "TAKER", password("taker"), Default::default());
    assert!(taker.next().is_err(), "fund is not the account of that token");
    let proof =
        Proof::Password { username: Some("taker".to_owned()), password: "taker".to_owned() };
    let stream = Connection::from(exchange.dial());
    let mut taker = Client::connect(stream, "TAKER", proof, Default::default());
    assert_eq!(taker.next().err(), None);
    taker.ask(&limit("t", 1, "1")).has("150=0");
    taker.read().has("150=F|39=2");
    quickfix.send("back");
    quickfix.expect(&["35=8", "43=Y", "150=F", "11=b", "32=1", "151=3"]);
    quickfix.send("35=F|41=b|11=c|55=BTC_USDT|54=2|60=@");
    quickfix.expect(&["35=8", "150=4", "11=c", "41=b", "14=1"]);
    quickfix.send("35=F|41=b|11=d|55=BTC_USDT|54=2|60=@");
    quickfix.expect(&["35=9", "11=d", "41=b", "102=0"]);
    quickfix.send("35=q|11=q|530=7|60=@");
    quickfix.expect(&["35=r", "11=q", "531=7", "533=0"]);
    quickfix.send("35=D|11=e|55=BTC_USDT|54=2|60=@|38=3|40=2");
    quickfix.expect(&["35=j", "372=D", "380=5"]);
}

/// A foreign client follows a book and trades by the messages alone, and lists the instruments.
#[test]
fn quickfix_j_follows_market_data() {
    if !peers().join("java-fix.jar").exists() {
        testing::skip!(JavaPeers, "no QuickFIX/J: see clients/java-fix/README.md");
    }
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(&folder.path().join("ours"), &["--any-token"]);
    let mut quickfix = QuickFix::start(&exchange, &folder.path().join("theirs"));
    quickfix.read("logon");
    quickfix.send("35=x|320=r|559=4");
    quickfix.expect(&["35=y", "320=r", "560=0", "893=Y", "55=BTC_USDT"]);
    let types = "267=3|269=0|269=1|269=2";
    quickfix.send(&format!("35=V|262=m|263=1|264=0|265=1|{types}|146=1|55=BTC_USDT"));
    // It prints no group without entries.
    quickfix.expect(&["35=W", "262=m", "55=BTC_USDT"]);
    quickfix.send(&limit("a", 2, "3"));
    let news = |quickfix: &mut QuickFix| {
        let mut line = quickfix.read("app ");
        while line.contains("|35=8|") {
            line = quickfix.read("app ");
        }
        line
    };
    let line = news(&mut quickfix);
    for field in ["35=X", "268=1", "279=0", "269=1", "55=BTC_USDT", "270=100", "271=3"] {
        assert!(line.contains(&format!("|{field}|")), "no {field} in {line}");
    }
    let proof =
        Proof::Password { username: Some("taker".to_owned()), password: "taker".to_owned() };
    let stream = Connection::from(exchange.dial());
    let mut taker = Client::connect(stream, "TAKER", proof, Default::default());
    assert_eq!(taker.next().err(), None);
    taker.ask(&limit("t", 1, "3")).has("150=0");
    let mut lines = String::new();
    // The trade, and the price at which nothing is left.
    while !(lines.contains("|269=2|") && lines.contains("|279=2|")) {
        lines += &news(&mut quickfix);
    }
    assert!(lines.contains("|278="), "a trade has an id: {lines}");
    quickfix.send(&format!("35=V|262=n|263=1|264=0|265=1|{types}|146=1|55=NO_SUCH"));
    quickfix.expect(&["35=Y", "262=n", "281=0"]);
}

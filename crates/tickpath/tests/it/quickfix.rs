//! The exchange's FIX port and foreign clients: QuickFIX/J, and QuickFIX in Python.

use crate::fix::{Client, Exchange, limit, password};
use crate::support::python::python_with;
use fix::session::Proof;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use testing::Need;
use transport::Connection;

/// A program of `make peers` with QuickFIX/J; `None` after counting the test as skipped.
pub fn java(program: &str) -> Option<Command> {
    if !peers().join("java-fix.jar").exists() {
        testing::skipped(Need::JavaPeers, "no QuickFIX/J: see clients/java-fix/README.md");
        return None;
    }
    let mut command = Command::new("java");
    command.arg("-cp").arg(format!("{0}/java-fix.jar:{0}/lib/*", peers().display())).arg(program);
    Some(command)
}

/// A verb of the same with QuickFIX in Python; `None` after counting the test as skipped.
pub fn python(verb: &str) -> Option<Command> {
    let mut command = python_with(Need::QuickFix, "quickfix", "TICKPATH_QUICKFIX")?;
    command.arg(clients().join("fix/quickfix_peer.py")).arg(verb);
    Some(command)
}

fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients")
}

/// Where `make peers` puts QuickFIX/J and its programs.
pub fn peers() -> PathBuf {
    clients().join("java-fix/target")
}

/// A foreign client in a process of its own.
struct QuickFix {
    child: Child,
    to: ChildStdin,
    lines: BufReader<ChildStdout>,
}

impl QuickFix {
    fn start(mut program: Command, exchange: &Exchange, store: &Path) -> QuickFix {
        let port = exchange.fix().rsplit(':').next().unwrap();
        let mut child = program
            .args([port, "QFJ", "qfj"])
            .arg(clients().join("fix/tickpath-fix44.xml"))
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
            assert!(!line.contains("|35=3|"), "it was sent a Reject: {line}");
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

/// A foreign client logs on, trades, is away, and gets what came meanwhile.
fn trades_and_gets_missed_reports(program: Command) {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(&folder.path().join("ours"), &["--any-token"]);
    let mut quickfix = QuickFix::start(program, &exchange, &folder.path().join("theirs"));
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
fn follows_market_data(program: Command) {
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(&folder.path().join("ours"), &["--any-token"]);
    let mut quickfix = QuickFix::start(program, &exchange, &folder.path().join("theirs"));
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

#[test]
fn quickfix_j_trades_and_gets_missed_reports() {
    if let Some(program) = java("FixClient") {
        trades_and_gets_missed_reports(program);
    }
}

#[test]
fn quickfix_in_python_trades_and_gets_missed_reports() {
    if let Some(program) = python("client") {
        trades_and_gets_missed_reports(program);
    }
}

#[test]
fn quickfix_j_follows_market_data() {
    if let Some(program) = java("FixClient") {
        follows_market_data(program);
    }
}

#[test]
fn quickfix_in_python_follows_market_data() {
    if let Some(program) = python("client") {
        follows_market_data(program);
    }
}

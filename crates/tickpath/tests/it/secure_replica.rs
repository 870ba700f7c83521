//! The connection between an exchange and its follower over TLS, as whole processes.

use crate::support::websocket::Client;
use crate::support::*;
use rustix::process::Signal;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use transport::tls::CertificatePair;

/// In the register of accounts, which is shipped.
const ACCOUNT: &str = "an-account-that-nobody-else-may-read";

/// Carries bytes to a follower, and keeps those of the exchange.
struct Tap {
    address: String,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn to(target: String) -> Tap {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect(&target) else { continue };
                let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
                std::thread::spawn(move || carry(back.0, back.1, &Mutex::default()));
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || carry(near, far, &kept));
            }
        });
        Tap { address, seen }
    }

    fn has_seen(&self, text: &str) -> bool {
        let seen = self.seen.lock().unwrap();
        seen.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, kept: &Mutex<Vec<u8>>) {
    let mut bytes = [0; 1 << 12];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        kept.lock().unwrap().extend_from_slice(&bytes[..n]);
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let both = std::net::Shutdown::Both;
    let _ = (from.shutdown(both), to.shutdown(both));
}

/// The certificate of that name for this host, and its key, as files.
fn pair(place: &Path, name: &str) -> [String; 2] {
    let made = CertificatePair::self_signed(&["127.0.0.1".to_owned()]).unwrap();
    let [certificate, key] = ["pem", "key"].map(|kind| place.join(format!("{name}.{kind}")));
    std::fs::write(&certificate, made.certificate).unwrap();
    std::fs::write(&key, made.key).unwrap();
    [certificate, key].map(|path| path.display().to_string())
}

struct Follower {
    child: Child,
    address: String,
}

impl Follower {
    fn start(copy: &Path, more: &[&str]) -> Follower {
        let mut command = tickpath();
        command.args(["follower", "--listen", "127.0.0.1:0", "--journal"]).arg(copy).args(more);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (_, address) = listening(&mut child);
        Follower { child, address }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        signal(self.child.id(), Signal::TERM);
        let _ = self.child.wait();
    }
}

/// An exchange, and the file with what it says on stderr.
fn exchange(place: &Path, name: &str, follower: &str, more: &[&str]) -> (Exchange, PathBuf) {
    let (log, said) = (place.join(name), place.join(format!("{name}.said")));
    let log = log.display().to_string();
    let own = ["--any-token", "--book", "empty", "--journal", &log];
    let replicate = ["--replicate", "sync", "--follower", follower];
    let stderr = std::fs::File::create(&said).unwrap();
    let arguments = [&own[..], &replicate, more].concat();
    (Exchange::start_telling(tickpath(), &arguments, stderr.into()), said)
}

fn wait_until_it_says(said: &Path, words: &str) {
    wait_for(words, || std::fs::read_to_string(said).unwrap().contains(words).then_some(()));
}

/// Places an order, which the exchange acknowledges once the follower has it.
fn trade(address: &str) {
    let mut client = Client::connect(address);
    let login = json!({"type": "AUTHENTICATE", "api_token": ACCOUNT}).to_string();
    client.send(1, login.as_bytes());
    assert!(client.next_text().contains("AUTHENTICATED"));
    let order = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
        "client_id": "o", "side": "BUY", "type": "LIMIT", "price": "100", "amount": "1",
        "time_in_force": "GOOD_TILL_CANCELLED"}});
    assert_eq!(client.ask(order.to_string().as_bytes()).unwrap()["type"], "BOOKED");
}

/// A tap reads the plain journal, and not the encrypted one.
#[test]
fn the_journal_is_encrypted_on_its_way() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let [certificate, key] = pair(place, "follower");
    let secure = ["--tls-certificate", &certificate, "--tls-key", &key];
    let checks = ["--follower-ca", &certificate];
    for (name, follower, exchange_has, is_readable) in
        [("plain", &[][..], &[][..], true), ("secure", &secure[..], &checks[..], false)]
    {
        let copy = place.join(format!("{name}-copy"));
        let follower = Follower::start(&copy, follower);
        let tap = Tap::to(follower.address.clone());
        let (exchange, _) = exchange(place, name, &tap.address, exchange_has);
        trade(&exchange.address);
        let counts = exchange.end();
        assert_eq!(
            counts["counts"]["replica"]["records"],
            counts["counts"]["replica"]["replicated"]
        );
        drop(follower);
        assert!(std::fs::read_to_string(copy.join("register")).unwrap().contains(ACCOUNT));
        assert_eq!(tap.has_seen(ACCOUNT), is_readable, "{name}");
        assert!(!tap.seen.lock().unwrap().is_empty());
    }
}

/// Each end rejects the other one's wrong certificate, and one that is missing.
#[test]
fn both_ends_are_checked() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let [ours, theirs, others] = ["exchange", "follower", "other"].map(|name| pair(place, name));
    let shows = |[certificate, key]: &[String; 2]| {
        ["--tls-certificate", certificate, "--tls-key", key].map(str::to_owned).to_vec()
    };
    let checks_exchange =
        [&shows(&theirs)[..], &["--primary-ca".to_owned(), ours[0].clone()]].concat();
    let checks_exchange: Vec<&str> = checks_exchange.iter().map(String::as_str).collect();
    let follower = Follower::start(&place.join("copy"), &checks_exchange);
    let as_one = |certificates: Vec<String>, authority: &str| {
        [certificates, vec!["--follower-ca".to_owned(), authority.to_owned()]].concat()
    };
    for (name, exchange_has, words) in [
        ("other-follower", as_one(shows(&ours), &others[0]), "server's certificate is rejected"),
        ("no-certificate", as_one(Vec::new(), &theirs[0]), "asks for a certificate"),
        ("other-certificate", as_one(shows(&others), &theirs[0]), "the other end gave up"),
        ("right", as_one(shows(&ours), &theirs[0]), "the follower needs record 0 next"),
        ("plain", Vec::new(), "speak TLS where this end does not"),
    ] {
        let exchange_has: Vec<&str> = exchange_has.iter().map(String::as_str).collect();
        let (_exchange, said) = exchange(place, name, &follower.address, &exchange_has);
        wait_until_it_says(&said, words);
    }
}

fn copy(pair: &[String; 2], to: &[String; 2]) {
    for (from, to) in pair.iter().zip(to) {
        std::fs::copy(from, to).unwrap();
    }
}

/// A renewed certificate counts after a hang-up, without a restart.
#[test]
fn a_follower_reads_its_certificate_again() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let used = ["used.pem", "used.key"].map(|name| place.join(name).display().to_string());
    let [before, after] = ["before", "after"].map(|name| pair(place, name));
    copy(&before, &used);
    let secure = ["--tls-certificate", &used[0], "--tls-key", &used[1]];
    let follower = Follower::start(&place.join("copy"), &secure);
    let checks = ["--follower-ca", &after[0]];
    let (exchange, said) = exchange(place, "log", &follower.address, &checks);
    wait_until_it_says(&said, "server's certificate is rejected");
    copy(&after, &used);
    signal(follower.child.id(), Signal::HUP);
    // Until then, no account can log on.
    wait_until_it_says(&said, "the follower acknowledges again");
    trade(&exchange.address);
}

/// The one that an exchange shows to its follower, too, and the follower's that it trusts.
#[test]
fn an_exchange_reads_its_certificates_for_the_follower_again() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let used = ["used.pem", "used.key"].map(|name| place.join(name).display().to_string());
    let trusted = place.join("trusted.pem").display().to_string();
    let [before, after, theirs] = ["before", "after", "follower"].map(|name| pair(place, name));
    copy(&before, &used);
    std::fs::copy(&before[0], &trusted).unwrap();
    let secure = ["--tls-certificate", &theirs[0], "--tls-key", &theirs[1]];
    let follower = [&secure[..], &["--primary-ca", &after[0]]].concat();
    let follower = Follower::start(&place.join("copy"), &follower);
    let shows = ["--tls-certificate", &used[0], "--tls-key", &used[1]];
    let more = [&shows[..], &["--follower-ca", &trusted]].concat();
    let (exchange, said) = exchange(place, "log", &follower.address, &more);
    wait_until_it_says(&said, "server's certificate is rejected");
    std::fs::copy(&theirs[0], &trusted).unwrap();
    signal(exchange.child.id(), Signal::HUP);
    wait_until_it_says(&said, "the other end gave up");
    copy(&after, &used);
    signal(exchange.child.id(), Signal::HUP);
    wait_until_it_says(&said, "the follower needs record 0 next");
}

/// A standby takes its primary over TLS, and rejects it there once it has taken over.
#[test]
fn a_standby_over_tls_takes_over_and_fences() {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let [ours, theirs] = ["exchange", "standby"].map(|name| pair(place, name));
    let copy = place.join("copy").display().to_string();
    let standby_said = place.join("standby.said");
    let mut child = tickpath()
        .args(["exchange", "--any-token", "--backend", "block", "--book", "empty"])
        .args(["--listen", "127.0.0.1:0", "--standby", "127.0.0.1:0", "--standby-seconds", "0.6"])
        .args(["--journal", &copy, "--tls-certificate", &theirs[0], "--tls-key", &theirs[1]])
        .args(["--primary-ca", &ours[0]])
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(&standby_said).unwrap())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
        serde_json::from_str::<serde_json::Value>(&line).unwrap()
    };
    let standby = line()["standby"].as_str().unwrap().to_owned();
    let shows = ["--tls-certificate", &ours[0], "--tls-key", &ours[1]];
    let more = [&shows[..], &["--follower-ca", &theirs[0]]].concat();
    let (mut first, said) = exchange(place, "log", &standby, &more);
    wait_until_it_says(&standby_said, "the copy is complete");
    signal(first.child.id(), Signal::STOP);
    assert!(line()["listening"].is_string());
    signal(first.child.id(), Signal::CONT);
    let status = wait_for("the end of the old exchange", || first.child.try_wait().unwrap());
    let said = std::fs::read_to_string(&said).unwrap();
    assert!(!status.success() && said.contains("term"), "{status}: {said}");
    signal(child.id(), Signal::TERM);
    assert!(child.wait().unwrap().success());
}

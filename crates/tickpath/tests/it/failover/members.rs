//! The two places where an exchange or its standby runs, and the way from one to the other.

use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Carries bytes between an exchange and its standby.
pub struct Link {
    address: String,
    /// Connections end, and none begins.
    is_cut: Arc<AtomicBool>,
    /// Nothing arrives, and connections stay open.
    is_silent: Arc<AtomicBool>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Link {
    fn to(target: String) -> Link {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let is_cut = Arc::new(AtomicBool::new(false));
        let open = Arc::new(Mutex::new(Vec::new()));
        let is_silent = Arc::new(AtomicBool::new(false));
        let (cut, silent, all) = (Arc::clone(&is_cut), Arc::clone(&is_silent), Arc::clone(&open));
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if cut.load(Ordering::SeqCst) {
                    continue;
                }
                let Ok(far) = TcpStream::connect(&target) else { continue };
                let ends = || [near.try_clone().unwrap(), far.try_clone().unwrap()];
                all.lock().unwrap().extend(ends());
                let [[near, far], [near_too, far_too]] = [ends(), ends()];
                for (from, to) in [(near, far), (far_too, near_too)] {
                    let silent = Arc::clone(&silent);
                    std::thread::spawn(move || carry(from, to, &silent));
                }
            }
        });
        Link { address, is_cut, is_silent, open }
    }

    /// While it is silent, bytes wait. Afterwards they arrive, as those that TCP sends again.
    pub fn set_silent(&self, is_silent: bool) {
        self.is_silent.store(is_silent, Ordering::SeqCst);
    }

    pub fn set_cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool) {
    let mut bytes = [0; 1 << 16];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        while is_silent.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if to.write_all(&bytes[..n]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// An address that nobody uses now, outside of the ports that the system gives to connections.
fn free_address() -> String {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let next = || format!("127.0.0.1:{}", first + TRIED.fetch_add(1, Ordering::SeqCst));
    std::iter::repeat_with(next).find(|address| TcpListener::bind(address).is_ok()).unwrap()
}

/// One of the two places where an exchange can run.
pub struct Member {
    pub directory: PathBuf,
    /// For clients, once it is the exchange.
    pub address: String,
    /// As a standby.
    standby: String,
    /// From the other member's exchange to this standby.
    pub link: Link,
}

impl Member {
    pub fn new(directory: PathBuf) -> Member {
        let (address, standby) = (free_address(), free_address());
        let link = Link::to(standby.clone());
        Member { directory, address, standby, link }
    }
}

pub struct Running {
    pub child: Child,
    lines: BufReader<ChildStdout>,
    /// The file of its stderr.
    pub said: PathBuf,
}

impl Running {
    /// Starts the exchange of `own`, with `other` as its standby; `standby`: first as a standby.
    pub fn start(own: &Member, other: &Member, standby: bool) -> Running {
        let said = own.directory.with_extension("said");
        let mut command = tickpath();
        command.args(["exchange", "--any-token", "--backend", "block", "--book", "empty"]);
        command.args(["--listen", &own.address, "--journal"]).arg(&own.directory);
        command.args(["--replicate", "sync", "--follower", &other.link.address]);
        if standby {
            command.args(["--standby", &own.standby, "--standby-seconds", "0.4"]);
        }
        let stderr = std::fs::File::create(&said).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, lines, said };
        let first = running.line();
        assert!(first["standby"].is_string() == standby, "{first}");
        running
    }

    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let said = || std::fs::read_to_string(&self.said).unwrap_or_default();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}: {}", said()))
    }

    pub fn wait_until_it_says(&self, words: &str) {
        wait_for(words, || {
            std::fs::read_to_string(&self.said).unwrap().contains(words).then_some(())
        });
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

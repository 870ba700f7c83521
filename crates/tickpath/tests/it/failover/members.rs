//! The two places where an exchange or its standby runs, and the way from one to the other.

use super::preload::Preload;
use crate::support::*;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The silence after which a standby takes over.
const STANDBY: Duration = Duration::from_millis(400);

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

/// One of the two places where an exchange can run.
pub struct Member {
    pub directory: PathBuf,
    /// For clients, once it is the exchange.
    pub address: String,
    /// As a standby.
    standby: String,
    /// From the other member's exchange to this standby.
    pub link: Link,
    /// Where its wall clock can be set.
    preload: Option<Preload>,
    /// The file of the stderr of what runs here.
    said: PathBuf,
}

impl Member {
    /// One whose journal is going to be in `directory`, and whose messages are in the file `said`.
    pub fn new(directory: PathBuf, preload: Option<Preload>, said: PathBuf) -> Member {
        let (address, standby) = (free_address(), free_address());
        let link = Link::to(standby.clone());
        Member { directory, address, standby, link, preload, said }
    }

    /// Sets by how many seconds the wall clock of what runs here is off.
    pub fn set_clock_off(&self, seconds: i64) {
        self.preload.as_ref().expect("a clock that can be set").set_clock_off(seconds);
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
        Running::start_by(tickpath(), own, other, standby.then_some(STANDBY))
    }

    /// The same by this program; `standby`: first as a standby, which takes over after this long.
    pub fn start_by(
        mut command: Command,
        own: &Member,
        other: &Member,
        standby: Option<Duration>,
    ) -> Running {
        let said = own.said.clone();
        command.args(["exchange", "--any-token", "--backend", "block", "--book", "empty"]);
        command.args(["--listen", &own.address, "--journal"]).arg(&own.directory);
        command.args(["--replicate", "sync", "--follower", &other.link.address]);
        if let Some(silence) = standby {
            let seconds = silence.as_secs_f64().to_string();
            command.args(["--standby", &own.standby, "--standby-seconds", &seconds]);
        }
        if let Some(preload) = &own.preload {
            preload.give_to(&mut command);
        }
        let stderr = std::fs::File::create(&said).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut running = Running { child, lines, said };
        let first = running.line();
        assert!(first["standby"].is_string() == standby.is_some(), "{first}");
        running
    }

    pub fn line(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let said = || std::fs::read_to_string(&self.said).unwrap_or_default();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}: {}", said()))
    }

    pub fn has_said(&self, words: &str) -> bool {
        std::fs::read_to_string(&self.said).unwrap().contains(words)
    }

    pub fn wait_until_it_says(&self, words: &str) {
        wait_for(words, || self.has_said(words).then_some(()));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A client that is stopped and goes on (Ctrl-Z and fg, a debugger, a machine that is moved) while
//! it logs on has lost some time, and nothing else. The kernel breaks off a read with a timeout
//! when the process goes on (signal(7)): once that ended the run with "Interrupted system call".

use crate::support::*;
use rustix::process::Signal;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Between a client and the exchange: it calls `hold` before it hands on the exchange's first word
/// after the upgrade.
fn between(listener: &TcpListener, exchange: &str, hold: impl FnOnce()) -> io::Result<()> {
    let (mut client, _) = listener.accept()?;
    let mut server = TcpStream::connect(exchange)?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let forth = thread::spawn(move || io::copy(&mut from, &mut to));
    let mut bytes = [0; 4096];
    let head = server.read(&mut bytes)?;
    client.write_all(&bytes[..head])?;
    let authenticated = server.read(&mut bytes)?;
    hold();
    client.write_all(&bytes[..authenticated])?;
    io::copy(&mut server, &mut client)?;
    let _ = forth.join();
    Ok(())
}

#[test]
fn a_client_that_is_stopped_while_it_logs_on_goes_on() {
    let exchange = Exchange::start(&["--any-token", "--book", "empty"]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["trade", "ping-pong", "--quiet", "--set", "warm_up_seconds=0.1"]);
    command.args(["--set", "seconds=0.2", "--set", "subject.rust.backend=block"]);
    command.args(["--connect", &listener.local_addr().unwrap().to_string(), "--hlog"]);
    command.arg(directory.path().join("trade.hlog"));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next()
    };
    let (held, is_held) = mpsc::channel();
    let (go_on, goes_on) = mpsc::channel();
    let address = exchange.address.clone();
    thread::spawn(move || {
        let hold = || {
            held.send(()).unwrap();
            let _ = goes_on.recv();
        };
        between(&listener, &address, hold)
    });
    is_held.recv_timeout(Duration::from_secs(10)).unwrap();
    signal(pid, Signal::STOP);
    wait_for("the stop", || (state() == Some('T')).then_some(()));
    signal(pid, Signal::CONT);
    wait_for("the continuation", || (state() != Some('T')).then_some(()));
    thread::sleep(Duration::from_millis(100));
    go_on.send(()).unwrap();
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("\"complete\":true"), "{}", text(&done.stdout));
}

/// When ssh drops, what was measured is still to be written; under nohup nothing ends. Both are
/// begun here: the tests may run under nohup themselves.
#[test]
fn a_terminal_that_is_gone_ends_in_order_but_under_nohup() {
    let arguments = ["--any-token", "--book", "empty"];
    let begun_by = |program: &str, words: &[&str]| {
        let mut program = Command::new(program);
        program.args(words).arg(tickpath().get_program());
        Exchange::start_by(program, &arguments)
    };
    let mut exchange = begun_by("env", &["--default-signal=HUP"]);
    signal(exchange.child.id(), Signal::HUP);
    let ended = wait_for("its end", || exchange.child.try_wait().unwrap());
    assert!(ended.success(), "{ended}");

    let exchange = begun_by("sh", &["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    signal(exchange.child.id(), Signal::HUP);
    thread::sleep(Duration::from_millis(200));
    assert_eq!(exchange.end()["orders"], 0);
}

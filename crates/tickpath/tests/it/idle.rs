//! An exchange that nobody uses leaves its core to others.

use crate::support::websocket::Client;
use crate::support::*;
use std::process::{Child, Stdio};
use std::time::Duration;

struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processor time of a process so far, in the kernel's ticks of 10 ms.
fn ticks(child: &Ends) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.0.id())).unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace();
    fields.skip(11).take(2).map(|field| field.parse::<u64>().unwrap()).sum()
}

/// Ticks within a second.
fn ticks_of_a_second(child: &Ends) -> u64 {
    let before = ticks(child);
    std::thread::sleep(Duration::from_secs(1));
    ticks(child) - before
}

/// With a backend that spins it sleeps until the first log-on, also where a client only connects,
/// and again after the last client has left. In between it spins. Ten ticks are a tenth of a core:
/// ten times what it takes, and less than a spinning thread gets on a busy machine. With gateway
/// threads it and they once spun all the time.
#[test]
fn an_exchange_spins_only_while_somebody_is_logged_on() {
    const FEW: u64 = 10;
    for (backend, tls, gateways) in [
        ("spin", false, "0"),
        ("spin", true, "0"),
        ("spin", false, "2"),
        ("io_uring_spin", false, "0"),
        ("io_uring_spin", false, "1"),
    ] {
        let mut command = tickpath();
        command.args(["exchange", "--any-token", "--book", "empty", "--backend", backend]);
        command.args(["--gateways", gateways]).args(tls.then_some("--tls-self-signed"));
        let mut child = Ends(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let Some((_lines, address)) = listening_or_not(&mut child.0) else {
            testing::skip!(Kernel, "no {backend} here");
        };
        let of = format!("{backend}, TLS {tls}, {gateways} gateways");
        assert!(ticks_of_a_second(&child) < FEW, "{of}: idle");
        if tls {
            continue;
        }
        let mut client = Client::connect(&address);
        assert!(ticks_of_a_second(&child) < FEW, "{of}: connected");
        client.send(1, br#"{"type":"AUTHENTICATE","api_token":"1"}"#);
        client.told();
        wait_for("a spinning exchange", || (ticks_of_a_second(&child) > FEW).then_some(()));
        drop(client);
        wait_for("an idle exchange", || (ticks_of_a_second(&child) < FEW).then_some(()));
        // It wakes for the next one.
        let mut client = Client::connect(&address);
        client.send(1, br#"{"type":"AUTHENTICATE","api_token":"1"}"#);
        assert_eq!(client.told().len(), 1);
    }
}

/// As [`listening`]; `None` if it ends without a line.
fn listening_or_not(child: &mut Child) -> Option<(impl Sized + use<>, String)> {
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut lines, &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).ok()?;
    Some((lines, ready["listening"].as_str().unwrap().to_owned()))
}

//! Many connections, and one that does not read.

use crate::running::{Client, Running, cancel, config, order, read_to_end};
use clock::{Clock, Deadline};
use std::io::Write;
use std::time::Duration;
use transport::{Streams, gateway};
use tungstenite::Message;

/// Descriptors this process may have; each connection takes two, since both ends are here.
fn descriptors_max() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap_or(usize::MAX)
}

#[test]
fn a_thousand_connections() {
    let mut connections = 1000;
    if descriptors_max() < 2 * connections + 400 {
        connections = (descriptors_max() - 400) / 2;
        println!("only {connections} connections: raise ulimit -n to 2400 for a thousand");
    }
    let mut config = config();
    config.limits.connections_max = connections;
    config.limits.accounts_max = 1000;
    let running = Running::start(config);
    let mut clients: Vec<_> =
        (0..connections).map(|n| running.login(&format!("account-{n}"))).collect();
    // One more gets the reason, and a freed place can be used again.
    let rejected = String::from_utf8(read_to_end(&mut running.dial())).unwrap();
    assert!(rejected.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{rejected}");
    assert!(rejected.contains("limit connections_max"), "{rejected}");
    for client in &mut clients {
        // The same client id on all: each account has its own.
        client.send(&order("mine", "BUY", "1", "1"));
        client.send(&cancel("mine"));
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let uid = format!(r#""uid":"account-{n}""#);
        let (booked, done) = (client.read(), client.read());
        assert!(booked.contains("BOOKED") && booked.contains(&uid), "{booked}");
        assert!(done.contains("CANCELLED") && done.contains(&uid), "{done}");
    }
    drop(clients.pop());
    // The exchange sees the end of a connection a moment after its client does.
    let again =
        || tungstenite::client(format!("ws://{}/", running.address), running.dial()).is_ok();
    assert!((0..1000).any(|_| again()));
    let (exchange, rejected) = running.stop();
    assert!(rejected.connections >= 1);
    let counts = exchange.counts();
    assert_eq!((counts.booked, counts.done["CANCELLED"]), (connections as u64, connections as u64));
    assert_eq!(counts.with_rejected(rejected).limits["connections_max"], rejected.connections);
    assert_eq!(exchange.replay_check().equal, Some(true));
}

/// The exchange closes a connection that does not read at `outbound_bytes_max`; another trades.
#[test]
fn a_client_that_does_not_read_is_cut_off() {
    for backend in ["block", "spin"] {
        let mut config = config();
        config.limits.outbound_bytes_max = 64 * 1024;
        let running = Running::start_on(backend, config);
        let mut polite = running.login("polite");
        let mut silent = running.login("silent");
        let mut frame = Vec::new();
        let text = cancel("unknown");
        let (opcode, mask) = (wire::frame::Opcode::Text, Some([1, 2, 3, 4]));
        wire::frame::write_frame(&mut frame, true, opcode, mask, text.as_bytes());
        let many = frame.repeat(100);
        let mut cut_off = false;
        let deadline = Deadline::after(Duration::from_secs(30));
        while !deadline.left().is_zero() {
            if silent.socket.get_mut().write_all(&many).is_err() {
                cut_off = true;
                break;
            }
            assert!(polite.ask(&order("mine", "BUY", "1", "1")).contains("BOOKED"));
            assert!(polite.ask(&cancel("mine")).contains("CANCELLED"));
        }
        assert!(cut_off);
        polite.socket.send(Message::Ping(b"".to_vec().into())).unwrap();
        assert_eq!(polite.socket.read().unwrap(), Message::Pong(b"".to_vec().into()));
        let (exchange, rejected) = running.stop();
        assert_eq!(rejected.slow_readers, 1);
        assert_eq!(exchange.counts().with_rejected(rejected).limits["outbound_bytes_max"], 1);
    }
}

/// One message may lead to far more than `outbound_bytes_max`: a client that reads gets all of it.
#[test]
fn a_client_that_reads_gets_a_mass_cancel_of_twenty_thousand_orders() {
    const ORDERS: usize = 20_000;
    const AT_ONCE: usize = 1_000;
    let open = |gateways| {
        move |clock: Clock| -> Box<dyn Streams> {
            let backend = transport::backend("block").unwrap();
            match gateways {
                0 => backend.open(clock).unwrap(),
                count => gateway::open(count, backend, None, clock, |_| Ok(())).unwrap(),
            }
        }
    };
    for gateways in [0, 1] {
        if gateways > 0
            && let Err(error) =
                gateway::open(gateways, &transport::BACKENDS[0], None, Clock::calibrate(), |_| {
                    Ok(())
                })
                .map(drop)
        {
            testing::skip!(Kernel, "no gateways here: {error}");
        }
        let mut config = config();
        config.limits.open_orders_max = ORDERS as u32;
        config.limits.outbound_bytes_max = 64 * 1024;
        let running = Running::start_over(open(gateways), config);
        let mut client: Client = running.login("3001");
        for first in (0..ORDERS).step_by(AT_ONCE) {
            (first..first + AT_ONCE)
                .for_each(|n| client.send(&order(&format!("o{n}"), "BUY", "1", "1")));
            (0..AT_ONCE).for_each(|_| assert!(client.read().contains("BOOKED")));
        }
        client.send(r#"{"type":"MASS_CANCEL","client_id":"all"}"#);
        for n in 0..ORDERS {
            assert!(client.read().contains("CANCELLED"), "{n} with {gateways} gateways");
        }
        let last = client.read();
        assert!(last.contains("MASS_CANCELLED") && last.contains(r#""count":20000"#), "{last}");
        let (_, rejected) = running.stop();
        assert_eq!(rejected.slow_readers, 0);
    }
}

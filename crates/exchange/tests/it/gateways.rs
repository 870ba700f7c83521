//! The exchange with its sockets in its own thread, and with gateway threads: the same transcript
//! gives the same answers byte for byte, the same counts and the same state.

use crate::running::{Client, Running, cancel, config, immediate, order};
use clock::Clock;
use clock::random::SplitMix64;
use exchange::{Config, Counts};
use transport::gateway::{self, GatewaysError};
use tungstenite::Message;

const ACCOUNTS: usize = 5;
const MESSAGES: usize = 400;

/// A message and its connection.
fn transcript(seed: u64) -> Vec<(usize, String)> {
    let mut random = SplitMix64::new(seed);
    let step = |_| {
        let client_id = format!("c{}", random.below(100));
        let side = if random.below(2) == 0 { "BUY" } else { "SELL" };
        let price = format!("{}.5", 100 + random.below(20));
        let text = match random.below(10) {
            0..6 => order(&client_id, side, &price, "0.25"),
            6 => immediate(&client_id, side, &price, "1.5"),
            7..9 => cancel(&client_id),
            _ => r#"{"type":"SING"}"#.to_owned(),
        };
        (random.below(ACCOUNTS as u32) as usize, text)
    };
    (0..MESSAGES).map(step).collect()
}

/// The replies before the pong: by then the exchange has handled all earlier requests.
fn answers(client: &mut Client) -> Vec<String> {
    client.socket.send(Message::Ping(b"p"[..].into())).unwrap();
    let mut texts = Vec::new();
    loop {
        match client.socket.read().unwrap() {
            Message::Text(text) => texts.push(text.to_string()),
            Message::Pong(_) => return texts,
            other => panic!("{other:?}"),
        }
    }
}

/// All messages to all connections, the counts and the state.
fn told(backend: &'static str, gateways: usize, seed: u64) -> (Vec<Vec<String>>, Counts, u64) {
    let open = move |clock| {
        let backend = transport::backend(backend).unwrap();
        match gateways {
            0 => backend.open(clock).unwrap(),
            count => gateway::open(count, backend, None, clock, |_| Ok(())).unwrap(),
        }
    };
    // At one instant, so that times don't differ.
    let config = Config { wall_ns: || 1_700_000_000_000_000_000, ..config() };
    let running = Running::start_over(open, config);
    let account = |index| running.login(&format!("account-{index}"));
    let mut clients: Vec<Client> = (0..ACCOUNTS).map(account).collect();
    let mut texts = vec![Vec::new(); ACCOUNTS];
    for (account, text) in transcript(seed) {
        clients[account].send(&text);
        texts[account].extend(answers(&mut clients[account]));
    }
    for (texts, client) in texts.iter_mut().zip(&mut clients) {
        texts.extend(answers(client));
    }
    let (exchange, rejected) = running.stop();
    assert_eq!(exchange.replay_check().equal, Some(true));
    (texts, exchange.counts().with_rejected(rejected), exchange.state_hash())
}

#[test]
fn gateways_change_no_answer() {
    let tried = gateway::open(1, &transport::BACKENDS[0], None, Clock::calibrate(), |_| Ok(()));
    if let Err(GatewaysError::Ring(error)) = tried.map(drop) {
        testing::skip!(Kernel, "no gateways here: {error}");
    }
    for seed in [1, 2] {
        let (texts, counts, state_hash) = told("block", 0, seed);
        assert!(counts.trades > 10 && counts.errors > 10, "{counts:?}");
        for (backend, gateways) in [("block", 1), ("block", 2), ("spin", 1), ("block", 7)] {
            let (others, other_counts, other_hash) = told(backend, gateways, seed);
            assert_eq!(others, texts, "{backend} with {gateways}");
            assert_eq!(other_counts, counts, "{backend} with {gateways}");
            assert_eq!(other_hash, state_hash, "{backend} with {gateways}");
        }
    }
}

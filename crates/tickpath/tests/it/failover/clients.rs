//! Two clients of one account under load, each at whichever exchange answers. Their requests and
//! the answers are recorded.

use super::checker::{Answer, Recording, Request};
use crate::support::websocket::Client;
use clock::random::SplitMix64;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::OrderId;

/// A client that waits longer for an answer tries the other address; the default.
const PATIENCE: Duration = Duration::from_millis(400);
/// Between two requests, so that many rounds stay small.
const PAUSE: Duration = Duration::from_millis(2);
/// Between two connections: an exchange that executes nothing rejects each request at once.
const RECONNECT: Duration = Duration::from_millis(20);
/// How many clients a load has.
pub const COUNT: usize = 2;
/// A placing's number is in its price and its amount.
pub const PRICES: u64 = 1000;

/// The order id that was acknowledged, by the placing's number.
pub type Acknowledged = HashMap<u64, u64>;

/// The clients.
pub struct Load {
    shared: Arc<Shared>,
    threads: [JoinHandle<()>; COUNT],
}

struct Shared {
    account: String,
    addresses: [String; 2],
    patience: Duration,
    stop: AtomicBool,
    /// The next placing's number.
    next: AtomicU64,
    acknowledged: Mutex<Acknowledged>,
    silence: Mutex<Silence>,
    recording: Recording,
}

/// The time without acknowledgements.
struct Silence {
    since: Instant,
    longest: Duration,
}

/// One of the two. It cancels only orders of the other one: the exchange tells the owner of an
/// order about a cancel, too, and that would look like the answer to the owner's own.
struct Trader {
    shared: Arc<Shared>,
    index: u32,
    /// Orders that it has placed.
    placed: u32,
    random: SplitMix64,
}

impl Load {
    /// Starts both for that account. Placings are numbered from `next` on.
    pub fn start(account: String, addresses: [String; 2], next: u64) -> Load {
        Load::with_patience(PATIENCE, account, addresses, next)
    }

    /// The same with clients that wait for an answer for at most `patience`.
    pub fn with_patience(
        patience: Duration,
        account: String,
        addresses: [String; 2],
        next: u64,
    ) -> Load {
        let shared = Arc::new(Shared {
            account,
            addresses,
            patience,
            stop: AtomicBool::new(false),
            next: AtomicU64::new(next),
            acknowledged: Mutex::default(),
            silence: Mutex::new(Silence { since: Instant::now(), longest: Duration::ZERO }),
            recording: Recording::default(),
        });
        let threads = [0, 1].map(|index| {
            let random = SplitMix64::new(next + u64::from(index));
            let mut trader = Trader { shared: Arc::clone(&shared), index, placed: 0, random };
            std::thread::spawn(move || trader.trade())
        });
        Load { shared, threads }
    }

    pub fn acknowledged(&self) -> usize {
        self.shared.acknowledged.lock().unwrap().len()
    }

    /// The orders that were acknowledged so far.
    pub fn orders(&self) -> Acknowledged {
        self.shared.acknowledged.lock().unwrap().clone()
    }

    /// The longest time between two acknowledgements since this was asked last.
    pub fn longest_silence(&self) -> Duration {
        std::mem::take(&mut self.shared.silence.lock().unwrap().longest)
    }

    /// Ends both. Returns the orders that were acknowledged, all answers, and the next placing's
    /// number.
    pub fn end(self) -> (Acknowledged, Recording, u64) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let shared = Arc::into_inner(self.shared).unwrap();
        let acknowledged = shared.acknowledged.into_inner().unwrap();
        (acknowledged, shared.recording, shared.next.into_inner())
    }
}

impl Trader {
    fn must_stop(&self) -> bool {
        self.shared.stop.load(Ordering::SeqCst)
    }

    /// Goes from one address to the other until it is stopped.
    fn trade(&mut self) {
        let shared = Arc::clone(&self.shared);
        for address in shared.addresses.iter().cycle() {
            // How a connection ended does not matter.
            let _ = self.connection(address);
            if self.must_stop() {
                return;
            }
            std::thread::sleep(RECONNECT);
        }
    }

    fn connection(&mut self, address: &str) -> io::Result<()> {
        let mut client = Client::try_connect(address, self.shared.patience)?;
        let login = json!({"type": "AUTHENTICATE", "api_token": self.shared.account});
        client.try_send(1, login.to_string().as_bytes())?;
        let mut told = Vec::new();
        client.try_told(&mut told)?;
        if !told.iter().any(|one| one["type"] == "AUTHENTICATED") {
            // A new account is an entry of the journal, which may take none while there is no
            // standby. The requests of an unknown client would be rejected, and no book explains
            // that.
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        while !self.must_stop() {
            let request = self.choose();
            let call = self.shared.recording.begin(request);
            let answer = self.ask(&mut client, request)?;
            self.shared.recording.end(call, answer);
            if answer == Answer::Unavailable {
                // Without a standby nothing is executed: the other member may be the exchange.
                return Err(io::ErrorKind::Unsupported.into());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn choose(&mut self) -> Request {
        let any = |random: &mut SplitMix64, placed: u32, index: u32| {
            2 * random.below(placed.max(1)) + index
        };
        let other = 1 - self.index;
        match self.random.below(100) {
            0..55 => {
                self.placed += 1;
                Request::Place(2 * (self.placed - 1) + self.index)
            }
            // A number is free again when its order has ended.
            55..62 => Request::Place(any(&mut self.random, self.placed, self.index)),
            62..75 => Request::Cancel(any(&mut self.random, self.placed, other)),
            75..86 => Request::Status(any(&mut self.random, self.placed, other)),
            86..97 => Request::Status(any(&mut self.random, self.placed, self.index)),
            _ => Request::CancelAll,
        }
    }

    /// Sends a request and reads everything up to the answer to a ping, which comes after its own.
    fn ask(&self, client: &mut Client, request: Request) -> io::Result<Answer> {
        let number = self.shared.next.fetch_add(1, Ordering::SeqCst);
        let (client_id, text) = encode(request, number);
        client.try_send(1, text.to_string().as_bytes())?;
        let mut told = Vec::new();
        let ended = client.try_told(&mut told);
        // An error is about a question that the exchange does not answer now.
        let is_about_it = |one: &&Value| one["client_id"] == client_id || one["type"] == "ERROR";
        let mut about_it = told.iter().filter(is_about_it);
        let answer = about_it.find_map(|one| read(request, one));
        if let Some((Answer::Booked, order_id)) = answer {
            let order_id = order_id.expect("an order id");
            let before = self.shared.acknowledged.lock().unwrap().insert(number, order_id);
            assert_eq!(before, None, "acknowledged twice");
            let mut silence = self.shared.silence.lock().unwrap();
            let since = std::mem::replace(&mut silence.since, Instant::now());
            silence.longest = silence.longest.max(since.elapsed());
            // Nothing else looks like this, so it counts even if the connection has ended.
            return Ok(Answer::Booked);
        }
        ended?;
        Ok(answer.unwrap_or_else(|| panic!("{request:?}: {told:?}")).0)
    }
}

/// The client id and the text of a request.
fn encode(request: Request, number: u64) -> (String, Value) {
    let id = |number: u32| format!("c{number}");
    match request {
        Request::Place(order) => {
            let text = json!({"type": "CREATE_ORDER", "order": {"instrument_code": "BTC_USDT",
                "client_id": id(order), "side": "BUY", "type": "LIMIT",
                "price": (100 + number % PRICES).to_string(),
                "amount": (1 + number / PRICES).to_string(),
                "time_in_force": "GOOD_TILL_CANCELLED"}});
            (id(order), text)
        }
        Request::Cancel(order) => {
            let text = json!({"type": "CANCEL_ORDER", "instrument_code": "BTC_USDT",
                "client_id": id(order)});
            (id(order), text)
        }
        Request::Status(order) => {
            (id(order), json!({"type": "ORDER_STATUS", "client_id": id(order)}))
        }
        Request::CancelAll => {
            let all = format!("all{number}");
            (all.clone(), json!({"type": "MASS_CANCEL", "client_id": all}))
        }
    }
}

/// The answer to a request and the id of a placed order; `None` if this is not the answer.
fn read(request: Request, told: &Value) -> Option<(Answer, Option<u64>)> {
    let answer = match (request, told["type"].as_str()?) {
        (Request::Place(_), "BOOKED") => {
            let order_id = OrderId::parse(told["order_id"].as_str()?)?.to_u64();
            return Some((Answer::Booked, order_id));
        }
        (Request::Cancel(_), "DONE") => Answer::Cancelled,
        (Request::Status(_), "OPEN") => Answer::Open,
        (Request::Status(_), "ENDED") => Answer::Ended,
        (Request::CancelAll, "MASS_CANCELLED") => Answer::AllCancelled(told["count"].as_u64()?),
        (_, "REJECTED" | "ERROR") => {
            let reason = told["reason"].as_str()?;
            match reason.contains("journal") || reason.contains("follower") {
                true => Answer::Unavailable,
                false => Answer::Rejected,
            }
        }
        _ => return None,
    };
    Some((answer, None))
}

//! An exchange on a thread of its own, and clients that talk to it over real sockets.

#![allow(dead_code, reason = "each test file uses its part")]

use clock::Clock;
use exchange::{Config, Exchange, Instruments, Limits, Risk, StartBook, Tokens};
use host::network::Networks;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use transport::Streams;
use transport::serve::{Rejections, serve};
use tungstenite::{Message, WebSocket};

/// Set in a program of tests whose exchanges run over AF_XDP: see `below`.
pub const BELOW: &str = "TICKPATH_TEST_BELOW";

/// Small limits, so that a test starts at once, and an empty book.
pub fn config() -> Config {
    Config {
        tokens: Tokens::Any,
        instruments: Instruments::shipped(),
        risk: Risk::default(),
        start_book: StartBook::Empty,
        limits: Limits {
            connections_max: 32,
            accounts_max: 100,
            open_orders_max: 1000,
            price_levels_max: 100,
            failed_login_seconds: 0.0,
            ..Limits::default()
        },
        feed: None,
        feed_device: None,
        flow: None,
        process: exchange::ProcessInfo::default(),
        clock: None,
        journal: None,
        delivery_window_us: None,
        feed_allowed: Vec::new(),
        failed_logins: None,
        replay_inputs_max: 100_000,
        wall_ns: clock::wall_ns,
    }
}

pub struct Running {
    pub address: SocketAddr,
    /// Where the clients are, if the exchange runs below the kernel.
    pub networks: Option<Arc<Networks>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<(Exchange, Rejections)>>,
}

impl Running {
    pub fn start(config: Config) -> Running {
        if std::env::var_os(BELOW).is_none() {
            return Running::start_on("block", config);
        }
        let open = |clock| transport::backend("af_xdp").unwrap().open(clock).unwrap();
        Running::start_below(Networks::create().unwrap(), open, config)
    }

    pub fn start_on(backend: &'static str, config: Config) -> Running {
        let open = |clock| transport::backend(backend).unwrap().open(clock).unwrap();
        Running::start_over(open, config)
    }

    /// Starts an exchange whose thread opens its streams.
    pub fn start_over(
        open: impl FnOnce(Clock) -> Box<dyn Streams> + Send + 'static,
        config: Config,
    ) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        Running::start_in(None, config, move |clock| {
            let mut streams = open(clock);
            streams.listen(listener).unwrap();
            (streams, address)
        })
    }

    /// Starts one whose streams have no sockets of the kernel, in a network of its own. Its clients
    /// are in the other one.
    pub fn start_below(
        networks: Networks,
        open: impl FnOnce(Clock) -> Box<dyn Streams> + Send + 'static,
        config: Config,
    ) -> Running {
        let listen = format!("{}:0", networks.exchange().address());
        Running::start_in(Some(Arc::new(networks)), config, move |clock| {
            let mut streams = open(clock);
            let address = streams.listen_at(&listen).unwrap();
            (streams, address)
        })
    }

    fn start_in(
        networks: Option<Arc<Networks>>,
        config: Config,
        listen: impl FnOnce(Clock) -> (Box<dyn Streams>, SocketAddr) + Send + 'static,
    ) -> Running {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, its_networks) = (stop.clone(), networks.clone());
        let clock = config.clock.unwrap_or_else(Clock::calibrate);
        let mut exchange = Exchange::new(config).unwrap();
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let work = || {
                let (mut streams, address) = listen(clock);
                tell.send(address).unwrap();
                let limits = exchange.limits().serve();
                let served = serve(&mut *streams, &mut exchange, limits, clock, &stopped);
                (exchange, served.unwrap())
            };
            match its_networks {
                None => work(),
                Some(networks) => networks.exchange().within(work).unwrap(),
            }
        });
        let address = told.recv().unwrap();
        Running { address, networks, stop, thread: Some(thread) }
    }

    /// A TCP connection.
    pub fn dial(&self) -> TcpStream {
        let stream = dial(self.address, self.networks.as_deref()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_nodelay(true).unwrap();
        stream
    }

    /// A WebSocket connection.
    pub fn connect(&self) -> Client {
        let url = format!("ws://{}/", self.address);
        let (socket, _) = tungstenite::client(url, self.dial()).unwrap();
        Client { socket }
    }

    /// A connection on which `account` is authenticated.
    pub fn login(&self, account: &str) -> Client {
        let mut client = self.connect();
        client.authenticate(account);
        client
    }

    /// Stops the exchange and returns it.
    pub fn stop(mut self) -> (Exchange, Rejections) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A TCP connection of the kernel, in the clients' network if there is one.
pub fn dial(address: SocketAddr, networks: Option<&Networks>) -> std::io::Result<TcpStream> {
    let connect = || TcpStream::connect(address);
    networks.map_or_else(connect, |networks| networks.trader().within(connect).unwrap())
}

pub struct Client {
    pub socket: WebSocket<TcpStream>,
}

impl Client {
    pub fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).unwrap();
    }

    /// The next text message with its time set to 0; only the time may differ between runs.
    pub fn read(&mut self) -> String {
        match self.socket.read().unwrap() {
            Message::Text(text) => timeless(&text),
            other => panic!("expected a text, got {other:?}"),
        }
    }

    pub fn ask(&mut self, text: &str) -> String {
        self.send(text);
        self.read()
    }

    pub fn authenticate(&mut self, account: &str) {
        let asked = format!(r#"{{"type":"AUTHENTICATE","api_token":"{account}"}}"#);
        assert_eq!(self.ask(&asked), r#"{"type":"AUTHENTICATED"}"#);
    }

    pub fn subscribe(&mut self) -> String {
        self.ask(r#"{"type":"SUBSCRIBE","channels":[{"name":"ORDERS"}]}"#)
    }

    /// The code of the close frame that comes next.
    pub fn closed(&mut self) -> u16 {
        match self.socket.read().unwrap() {
            Message::Close(Some(close)) => close.code.into(),
            other => panic!("expected a close, got {other:?}"),
        }
    }

    /// Checks that no other message is due: the reply to a new request comes next.
    pub fn nothing_more(&mut self) {
        let reply = self.ask(r#"{"type":"SUBSCRIBE","channels":[]}"#);
        assert!(reply.ends_with(r#""type":"SUBSCRIPTIONS"}"#), "{reply}");
    }
}

/// An order of BTC_USDT.
pub fn order(client_id: &str, side: &str, price: &str, amount: &str) -> String {
    order_in(client_id, side, price, amount, "GOOD_TILL_CANCELLED")
}

pub fn immediate(client_id: &str, side: &str, price: &str, amount: &str) -> String {
    order_in(client_id, side, price, amount, "IMMEDIATE_OR_CANCELLED")
}

fn order_in(client_id: &str, side: &str, price: &str, amount: &str, tif: &str) -> String {
    format!(
        r#"{{"type":"CREATE_ORDER","order":{{"instrument_code":"BTC_USDT","client_id":"{client_id}","side":"{side}","type":"LIMIT","price":"{price}","amount":"{amount}","time_in_force":"{tif}"}}}}"#
    )
}

pub fn cancel(client_id: &str) -> String {
    format!(r#"{{"type":"CANCEL_ORDER","client_id":"{client_id}","instrument_code":"BTC_USDT"}}"#)
}

/// A text with its time set to 0.
pub fn timeless(text: &str) -> String {
    let Some(at) = text.find(r#""time":"#) else { return text.to_owned() };
    let digits = &text[at + 7..];
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    assert!(end >= 13, "a time in milliseconds, in {text}");
    format!("{}0{}", &text[..at + 7], &digits[end..])
}

/// All that a connection sends until it ends.
pub fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

/// A WebSocket connection without a library, for bytes that no library sends.
pub fn upgrade(running: &Running) -> TcpStream {
    let mut stream = running.dial();
    let key = wire::http::UpgradeKey::from_nonce([7; 16]);
    let mut request = Vec::new();
    wire::http::upgrade_request(&mut request, "localhost", "/", &key, &[]);
    stream.write_all(&request).unwrap();
    let mut response = Vec::new();
    let mut byte = [0];
    while !response.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        response.extend_from_slice(&byte);
    }
    wire::http::check_upgrade_response(&response, &key, &[]).unwrap().unwrap();
    stream
}

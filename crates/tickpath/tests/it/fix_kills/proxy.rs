//! A proxy that lets a number of bytes pass in one direction, and then no more.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    ToExchange,
    ToClient,
}

/// Leads connections to its address to an exchange.
pub struct Proxy {
    pub address: String,
    shared: Arc<Mutex<Shared>>,
    cuts: Receiver<()>,
}

struct Shared {
    target: String,
    /// The next cut: where, and after how many bytes.
    cut: Option<(Direction, usize)>,
    open: Vec<TcpStream>,
    told: Sender<()>,
}

impl Proxy {
    pub fn start(target: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (told, cuts) = channel();
        let shared = Shared { target: target.to_owned(), cut: None, open: Vec::new(), told };
        let shared = Arc::new(Mutex::new(shared));
        let of_thread = Arc::clone(&shared);
        // It ends with the process.
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let target = with(&of_thread, |shared| shared.target.clone());
                let Ok(exchange) = TcpStream::connect(target) else { continue };
                for (from, to, way) in [
                    (&client, &exchange, Direction::ToExchange),
                    (&exchange, &client, Direction::ToClient),
                ] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let shared = Arc::clone(&of_thread);
                    std::thread::spawn(move || pass(from, to, way, &shared));
                }
                with(&of_thread, |shared| shared.open.extend([client, exchange]));
            }
        });
        Proxy { address, shared, cuts }
    }

    /// Connections from now on lead there.
    pub fn lead_to(&self, target: &str) {
        with(&self.shared, |shared| shared.target = target.to_owned());
    }

    /// Waits until `bytes` more have passed that way; none passes after them. Returns whether
    /// they came in time.
    pub fn cut_after(&self, way: Direction, bytes: usize, patience: Duration) -> bool {
        with(&self.shared, |shared| shared.cut = Some((way, bytes)));
        self.cuts.recv_timeout(patience).is_ok()
    }

    /// Closes all connections.
    pub fn close(&self) {
        for stream in with(&self.shared, |shared| std::mem::take(&mut shared.open)) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn with<T>(shared: &Mutex<Shared>, act: impl FnOnce(&mut Shared) -> T) -> T {
    act(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

fn pass(mut from: TcpStream, mut to: TcpStream, way: Direction, shared: &Mutex<Shared>) {
    let mut bytes = [0; 4096];
    loop {
        let n = match from.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(n) => n,
        };
        let left = with(shared, |shared| match &mut shared.cut {
            Some((cut, left)) if *cut == way => {
                let before = *left;
                *left = before.saturating_sub(n);
                before
            }
            _ => usize::MAX,
        });
        if to.write_all(&bytes[..n.min(left)]).is_err() {
            break;
        }
        if n >= left {
            with(shared, |shared| {
                shared.cut = None;
                let _ = shared.told.send(());
            });
            // Until both ends are closed.
            return;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

//! The client that is killed: it trades without end, and writes down each report that it gets.
//!
//! Its session stores a number before it gives the message away. So a report that it had not
//! written down when it was killed must come again: the next process begins with the number after
//! the last one that is written down.

use crate::fix::client::now;
use fix::dictionary::Dictionary;
use fix::message::Message;
use fix::session::{Event, Proof, Role, Session, Settings};
use fix::store::{FileStore, Store};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Names its folder to the process.
pub const PLACE: &str = "TICKPATH_TEST_FIX_CLIENT";
/// Names the address of the exchange.
pub const ADDRESS: &str = "TICKPATH_TEST_FIX_ADDRESS";
/// A line for each report, in its folder.
pub const LOG: &str = "log";
/// A file in its folder that asks it to end.
pub const STOP: &str = "stop";
/// Begins the ClOrdID of the last order: the exchange reports about all others before it.
const END: &str = "end";
/// Between two orders.
const PAUSE: Duration = Duration::from_millis(2);

/// Number and ExecID of each report that is written down. Only the last line can be cut.
pub fn logged(log: &Path) -> Vec<(u64, String)> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let lines = whole.lines().map(|line| line.split_once(' ').unwrap());
    lines.map(|(seq, exec_id)| (seq.parse().unwrap(), exec_id.to_owned())).collect()
}

/// The whole life of the process.
pub fn run(place: &Path, address: &str) {
    // It ends with its parent.
    std::thread::spawn(|| {
        let _ = io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
    let path = place.join(LOG);
    let written = logged(&path);
    let mut store = FileStore::open(&place.join("client.fix")).unwrap();
    store.set_next_in(written.last().map_or(1, |(seq, _)| seq + 1)).unwrap();
    let log = OpenOptions::new().create(true).append(true).open(&path).unwrap();
    let whole: usize =
        written.iter().map(|(seq, exec_id)| format!("{seq} {exec_id}\n").len()).sum();
    log.set_len(whole as u64).unwrap();
    let proof = Proof::Password { username: Some("fund".to_owned()), password: "fund".to_owned() };
    let settings = Settings { proof, ..Settings::new(Role::Initiator, "FUND", "TICKPATH") };
    let session = Session::new(settings, Arc::new(Dictionary::tickpath()), store);
    let stop = place.join(STOP);
    let mut follower = Follower { session, log, stop, life: now().utc_ns, orders: 0 };
    while follower.connection(address).is_err() {
        follower.session.disconnected();
        std::thread::sleep(Duration::from_millis(10));
    }
}

struct Follower {
    session: Session<FileStore>,
    log: File,
    stop: PathBuf,
    /// Makes ids unique between processes.
    life: u64,
    orders: u64,
}

impl Follower {
    /// Trades over one connection until that ends, which is an error, or the last report has come.
    fn connection(&mut self, address: &str) -> io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PAUSE))?;
        let (mut out, mut bytes, mut has_asked) = (Vec::new(), [0; 4096], false);
        self.session.connected(now(), &mut out)?;
        loop {
            if self.take(&mut out)? {
                self.session.log_out("", now(), &mut out)?;
                return stream.write_all(&out);
            }
            if self.session.is_active() && !has_asked {
                has_asked = self.ask(&mut out)?;
            }
            stream.write_all(&out)?;
            out.clear();
            match stream.read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => assert_eq!(self.session.receive(&bytes[..n]), n),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes down the reports that have come. Returns whether the last one has.
    fn take(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        while let Some(event) = self.session.poll(now(), out)? {
            match event {
                Event::Application(message) if message.msg_type() == b"8" => {
                    self.log.write_all(line(message).as_bytes())?;
                    let is_last = message.text(11).is_some_and(|id| id.starts_with(END));
                    if is_last && message.get(39) == Some(b"2") {
                        return Ok(true);
                    }
                }
                Event::Application(message) => panic!("{:?}", message.bytes().escape_ascii()),
                Event::End(why) => return Err(io::Error::other(why.to_string())),
                Event::LoggedOn | Event::Garbled(_) => {}
            }
        }
        Ok(false)
    }

    /// Sends an order that trades at once. Returns whether it was the last one.
    fn ask(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let is_last = self.stop.exists();
        self.orders += 1;
        let id = format!("{}{}-{}", if is_last { END } else { "" }, self.life, self.orders);
        let time_ns = now().utc_ns;
        let fill = |body: &mut fix::encode::Body<'_>| {
            body.text(11, &id).text(55, "BTC_USDT").char(54, '1').time(60, time_ns);
            body.text(38, "0.0001").char(40, '1');
        };
        self.session.send("D", now(), out, fill).map(|_| is_last)
    }
}

fn line(report: Message<'_>) -> String {
    let seq = report.number(fix::tag::MSG_SEQ_NUM).unwrap();
    format!("{seq} {}\n", report.text(17).unwrap())
}

//! A client that speaks FIX by our own session, as initiator, over any stream.

#![allow(dead_code, reason = "each test uses its part")]

use fix::dictionary::Dictionary;
use fix::message::Message;
use fix::session::{Event, Now, Proof, Role, Session, Settings};
use fix::store::MemoryStore;
use std::io::{Read, Write};
use std::sync::Arc;

/// The fields of a message that a test looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received(Vec<(u32, String)>);

impl Received {
    fn of(message: Message<'_>) -> Received {
        let value = |field| String::from_utf8_lossy(message.value(field)).into_owned();
        Received(message.fields().iter().map(|field| (field.tag, value(*field))).collect())
    }

    pub fn get(&self, tag: u32) -> Option<&str> {
        self.0.iter().find(|(t, _)| *t == tag).map(|(_, value)| value.as_str())
    }

    /// The values of a field that comes several times.
    pub fn all(&self, tag: u32) -> Vec<&str> {
        let fields = self.0.iter().filter(|(t, _)| *t == tag);
        fields.map(|(_, value)| value.as_str()).collect()
    }

    /// Asserts that it has these fields: `35=8|150=0`; `-` is a field that is not there.
    #[track_caller]
    pub fn has(&self, wanted: &str) -> &Received {
        for pair in wanted.split('|') {
            let (tag, value) = pair.split_once('=').unwrap();
            let wanted = Some(value).filter(|value| *value != "-");
            assert_eq!(self.get(tag.parse().unwrap()), wanted, "tag {tag} of {self:?}");
        }
        self
    }
}

/// A client.
pub struct Client<S> {
    session: Session<MemoryStore>,
    stream: S,
    out: Vec<u8>,
}

impl<S: Read + Write> Client<S> {
    /// Sends a Logon.
    pub fn connect(
        stream: S,
        comp_id: &str,
        proof: Proof,
        (store, cancels_on_disconnect): (MemoryStore, bool),
    ) -> Client<S> {
        let settings = Settings::new(Role::Initiator, comp_id, "TICKPATH");
        let settings = Settings { proof, cancels_on_disconnect, ..settings };
        let dictionary = Arc::new(Dictionary::tickpath());
        let session = Session::new(settings, dictionary, store);
        let mut client = Client { session, stream, out: Vec::new() };
        client.session.connected(now(), &mut client.out).unwrap();
        client.flush();
        client
    }

    /// Its memory, for another connection; this one breaks.
    pub fn cut(self) -> MemoryStore {
        self.session.store().clone()
    }

    fn flush(&mut self) {
        self.stream.write_all(&self.out).unwrap();
        self.out.clear();
    }

    /// The next message of the application, or `None` for a logon; an error if the connection ends.
    pub fn next(&mut self) -> Result<Option<Received>, String> {
        let mut bytes = [0; 4096];
        loop {
            let found = match self.session.poll(now(), &mut self.out).unwrap() {
                Some(Event::Application(message)) => Some(Ok(Some(Received::of(message)))),
                Some(Event::LoggedOn) => Some(Ok(None)),
                Some(Event::End(why)) => Some(Err(why.to_string())),
                Some(Event::Garbled(why)) => panic!("garbled: {why}"),
                None => None,
            };
            if !matches!(found, Some(Err(_))) {
                self.flush();
            }
            if let Some(found) = found {
                return found;
            }
            let n = self.stream.read(&mut bytes).unwrap_or(0);
            if n == 0 {
                return Err("closed".to_owned());
            }
            assert_eq!(self.session.receive(&bytes[..n]), n);
        }
    }

    /// The next message.
    #[track_caller]
    pub fn read(&mut self) -> Received {
        self.next().unwrap().expect("a message")
    }

    /// Sends a message of the application: `35=D|11=a`.
    pub fn send(&mut self, line: &str) {
        let mut pairs = line.split('|').map(|pair| pair.split_once('=').unwrap());
        let (_, msg_type) = pairs.next().unwrap();
        let utc_ns = now().utc_ns;
        self.session
            .send(msg_type, now(), &mut self.out, |body| {
                for (tag, value) in pairs {
                    match value {
                        "@" => body.time(tag.parse().unwrap(), utc_ns),
                        _ => body.text(tag.parse().unwrap(), value),
                    };
                }
            })
            .unwrap();
        self.flush();
    }

    #[track_caller]
    pub fn ask(&mut self, line: &str) -> Received {
        self.send(line);
        self.read()
    }

    pub fn log_out(&mut self) -> String {
        self.session.log_out("", now(), &mut self.out).unwrap();
        self.flush();
        self.next().unwrap_err()
    }
}

pub fn now() -> Now {
    Now { steady_ns: clock::monotonic_ns(), utc_ns: clock::wall_ns() }
}

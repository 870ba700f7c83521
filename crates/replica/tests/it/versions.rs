//! Primary and follower of different builds: each is told why they don't work together.

use crate::ends::{Follower, listener, options};
use engine::EngineLimits;
use journal::{Identity, LogName, Mode};
use replica::fence::Fence;
use replica::frame::{Frame, Frames, Hello, VERSION};
use replica::ship::{ShipEvent, ShipSettings, Shipper};
use replica::term::{self, Term};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const HEAD_BYTES: usize = 8;
const PATIENCE: Duration = Duration::from_secs(20);

/// The first frame of a primary of another version: with further fields behind the version.
fn later_hello(log: LogName) -> Vec<u8> {
    let terms = vec![Term { term: 1, primary: 5, first: 0 }];
    let hello = Hello { silence_ms: 1000, is_sync: true, written: 0, log, terms };
    let mut bytes = Vec::new();
    Frame::Hello(hello).encode(&mut bytes);
    bytes.extend_from_slice(&[7; 13]);
    // After the kind.
    bytes[HEAD_BYTES + 1..HEAD_BYTES + 5].copy_from_slice(&(VERSION + 1).to_le_bytes());
    let body = &bytes[HEAD_BYTES..];
    let (length, check) = (body.len() as u32, crc32c::crc32c(body));
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes[4..HEAD_BYTES].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// The answer to these bytes.
fn answer(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(bytes).unwrap();
    let (mut frames, mut all) = (Frames::default(), Vec::new());
    // It ends the connection after its answer.
    stream.read_to_end(&mut all).unwrap();
    frames.push(&all);
    match frames.next_frame().unwrap() {
        Some(Frame::Rejected { is_fenced: false, why }) => why.to_owned(),
        other => panic!("{other:?}"),
    }
}

/// A journal that has begun a term.
fn journal(path: &Path) -> journal::Appender {
    let identity = Identity { instruments: 1, limits: EngineLimits::matching_only(10, 10) };
    let (appender, replayed) = journal::open(path, identity, options(Mode::Sync)).unwrap();
    term::begin(path, replayed.next_sequence, true).unwrap();
    std::fs::write(path.join("register"), crate::ends::HEAD).unwrap();
    appender
}

#[test]
fn a_primary_of_another_version_is_told_so() {
    let place = tempfile::tempdir().unwrap();
    let (of_fence, copy) = (place.path().join("a"), place.path().join("b"));
    journal(&of_fence).close().unwrap();
    let hello = later_hello(LogName::of(&of_fence).unwrap().unwrap());
    let (listening, address) = listener();
    let follower = Follower::start(&copy, &listening);
    let by_follower = answer(address, &hello);
    follower.end();
    // A standby that has taken over.
    let (listening, address) = listener();
    let fence = Fence::start(listening, &of_fence, None, || ()).unwrap();
    let by_fence = answer(address, &hello);
    drop(fence);
    let versions = format!("version {} of the replication protocol", VERSION + 1);
    assert!(by_follower.contains(&versions), "{by_follower}");
    assert!(by_follower.contains(&format!("follower version {VERSION}")), "{by_follower}");
    assert_eq!(by_fence, by_follower);
}

/// The primary's message about a follower that gives these answers to its first frame.
fn told_by(answers: &[Frame<'_>]) -> String {
    let place = tempfile::tempdir().unwrap();
    let appender = journal(place.path());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let settings = ShipSettings {
        journal: place.path().to_owned(),
        follower: listener.local_addr().unwrap().to_string(),
        limit: PATIENCE,
        is_sync: true,
        lag_max: 1,
        tls: None,
    };
    let (tell, told) = mpsc::channel();
    let report = move |event: &ShipEvent| {
        if let ShipEvent::Broken(why) = event {
            let _ = tell.send(why.clone());
        }
    };
    let shipper = Shipper::start(settings, appender.shipping().unwrap(), report, || {}).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    let mut first = [0; HEAD_BYTES];
    stream.read_exact(&mut first).unwrap();
    let mut body = vec![0; u32::from_le_bytes(*first.first_chunk().unwrap()) as usize];
    stream.read_exact(&mut body).unwrap();
    let mut bytes = Vec::new();
    answers.iter().for_each(|answer| answer.encode(&mut bytes));
    stream.write_all(&bytes).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let told = told.recv_timeout(PATIENCE).unwrap();
    drop((stream, listener, shipper));
    appender.close().unwrap();
    told
}

#[test]
fn a_primary_says_why_a_follower_of_another_version_rejects_it() {
    let rejected = Frame::Rejected { is_fenced: false, why: "unknown record" };
    for answers in [vec![rejected.clone()], vec![Frame::Welcome { next: 0 }, rejected]] {
        let told = told_by(&answers);
        assert_eq!(told, "the follower rejects this primary: unknown record");
    }
    // As earlier builds do it.
    let told = told_by(&[]);
    assert!(told.contains("may be of an earlier version"), "{told}");
}

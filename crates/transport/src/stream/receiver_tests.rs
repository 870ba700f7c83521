//! Over real sockets: whose stamp a read has.

use super::*;
use crate::tls::properties::sessions;
use clock::Deadline;
use std::net::TcpListener;
use std::time::Duration;

fn pair() -> (TcpStream, StreamReceiver, Clock) {
    pair_with(None)
}

/// `session` is the receiver's.
fn pair_with(session: Option<Box<Session>>) -> (TcpStream, StreamReceiver, Clock) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    theirs.set_nodelay(true).unwrap();
    theirs.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let (socket, _) = listener.accept().unwrap();
    let clock = Clock::calibrate();
    (theirs, StreamReceiver::new(Connection { socket, session }, true, clock).unwrap(), clock)
}

/// The next read that is not empty.
fn read(receiver: &mut StreamReceiver, into: &mut [u8]) -> StreamRead {
    let deadline = Deadline::after(Duration::from_secs(10));
    loop {
        match receiver.read(into) {
            StreamRead::Empty => assert!(!deadline.left().is_zero(), "nothing came"),
            other => return other,
        }
    }
}

#[test]
fn a_read_that_takes_all_has_the_stamp_of_its_last_segment() {
    let (mut theirs, mut receiver, clock) = pair();
    let Some(bound_ns) = receiver.wall().map(Wall::bound_ns) else {
        testing::skip!(Kernel, "this kernel puts no receive stamps on streams");
    };
    let first_ns = clock.now_ns();
    theirs.write_all(&[1; 100]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let second_ns = clock.now_ns();
    theirs.write_all(&[2; 100]).unwrap();
    let mut into = [0; 300];
    // Both segments are there, and the later one counts.
    let StreamRead::Bytes { n: 200, stamp_ns } = read(&mut receiver, &mut into) else { panic!() };
    let kernel_ns = receiver.kernel_ns();
    assert!(kernel_ns + bound_ns >= second_ns, "{kernel_ns} {first_ns} {second_ns}");
    assert!(kernel_ns <= stamp_ns + bound_ns, "{kernel_ns} {stamp_ns}");
    assert_eq!(receiver.kernel_stamps(), "software");
}

/// The kernel reports the stamp of a segment that was merged with later bytes.
#[test]
fn a_read_that_leaves_bytes_behind_has_no_stamp() {
    let (mut theirs, mut receiver, _) = pair();
    theirs.write_all(&[1; 100]).unwrap();
    theirs.write_all(&[2; 100]).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    let mut into = [0; 100];
    assert!(matches!(read(&mut receiver, &mut into), StreamRead::Bytes { n: 100, .. }));
    assert_eq!(receiver.kernel_ns(), 0);
    // Whether a full buffer was all that was there is unknown, too.
    assert!(matches!(read(&mut receiver, &mut into), StreamRead::Bytes { n: 100, .. }));
    assert_eq!(receiver.kernel_ns(), 0);
}

#[test]
fn what_it_sends_arrives_and_an_end_is_seen() {
    use std::io::Read;
    let (mut theirs, mut receiver, _) = pair();
    receiver.send(b"pong").unwrap();
    let mut got = [0; 4];
    theirs.read_exact(&mut got).unwrap();
    assert_eq!(&got, b"pong");
    drop(theirs);
    assert!(matches!(read(&mut receiver, &mut [0; 10]), StreamRead::Closed));
}

/// Both records came with one read, and the kernel has one stamp for both.
#[test]
fn a_record_has_a_stamp_if_no_other_lies_behind_it() {
    let (client, mut server) = sessions();
    let (mut theirs, mut receiver, clock) = pair_with(Some(Box::new(client)));
    let sent_ns = clock.now_ns();
    let mut records = Vec::new();
    for plain in [b"one", b"two"] {
        server.write_to(&mut records, plain).unwrap();
    }
    theirs.write_all(&records).unwrap();
    let mut into = [0; 3];
    let StreamRead::Bytes { n: 3, stamp_ns } = read(&mut receiver, &mut into) else { panic!() };
    assert_eq!((&into, receiver.has_more(), receiver.kernel_ns()), (b"one", true, 0));
    let again = receiver.read(&mut into);
    assert!(matches!(again, StreamRead::Bytes { n: 3, stamp_ns: same } if same == stamp_ns));
    assert_eq!((&into, receiver.has_more()), (b"two", false));
    let Some(bound_ns) = receiver.wall().map(Wall::bound_ns) else {
        testing::skip!(Kernel, "this kernel puts no receive stamps on streams");
    };
    let kernel_ns = receiver.kernel_ns();
    assert!((sent_ns..=stamp_ns + 2 * bound_ns).contains(&(kernel_ns + bound_ns)), "{kernel_ns}");
}

#[test]
fn in_tls_both_ends_hear_each_other_and_the_end() {
    let (client, mut server) = sessions();
    let (mut theirs, mut receiver, _) = pair_with(Some(Box::new(client)));
    receiver.send(b"pong").unwrap();
    let mut got = [0; 4];
    assert_eq!(server.read_from(&mut theirs, &mut got).unwrap(), 4);
    assert_eq!(&got, b"pong");
    drop(receiver);
    assert_eq!(server.read_from(&mut theirs, &mut got).unwrap(), 0);
    assert!(server.has_more(), "the end was said, and not only the connection closed");
}

#[test]
fn what_the_session_did_not_seal_is_no_content() {
    let (client, _) = sessions();
    let (mut theirs, mut receiver, _) = pair_with(Some(Box::new(client)));
    theirs.write_all(b"{\"type\":\"BOOK\"}").unwrap();
    assert!(matches!(read(&mut receiver, &mut [0; 64]), StreamRead::Failed(_)));
}

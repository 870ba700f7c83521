//! Over real sockets: whose stamp a read has.

use super::*;
use clock::Deadline;
use std::net::TcpListener;
use std::time::Duration;

fn pair() -> (TcpStream, StreamReceiver, Clock) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    theirs.set_nodelay(true).unwrap();
    let (ours, _) = listener.accept().unwrap();
    let clock = Clock::calibrate();
    (theirs, StreamReceiver::new(ours.into(), true, clock).unwrap(), clock)
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
    let bound_ns = receiver.wall().unwrap().bound_ns();
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

//! Ticks over a real connection, however they are cut or joined.

use super::*;
use crate::tick::frames::FrameReceiver;
use clock::{Clock, Deadline};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;
use transport::datagram::Datagram;

struct Bench {
    ticker: TcpStream,
    receiver: FrameReceiver<RawFrames>,
    /// The receiver's socket.
    peeked: TcpStream,
    into: [u8; 64],
}

fn bench(tick_bytes: usize) -> Bench {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (ticker, _) = listener.accept().unwrap();
    let peeked = ours.try_clone().unwrap();
    let frames = RawFrames::new(tick_bytes);
    let receiver = FrameReceiver::new(ours.into(), frames, true, Clock::calibrate()).unwrap();
    Bench { ticker, receiver, peeked, into: [0; 64] }
}

impl Bench {
    /// Sends, and waits until all of it can be read at once.
    fn send(&mut self, bytes: &[u8]) {
        self.ticker.write_all(bytes).unwrap();
        let deadline = Deadline::after(Duration::from_secs(10));
        while !self.peeked.peek(&mut [0; 4096]).is_ok_and(|n| n >= bytes.len()) {
            assert!(!deadline.left().is_zero(), "nothing arrived");
        }
    }

    /// One look at the socket: a tick and whether the kernel's stamp is its own.
    fn look(&mut self) -> Option<(Vec<u8>, bool)> {
        match self.receiver.receive(&mut self.into) {
            Datagram::Bytes { n, .. } => {
                let is_stamped = self.receiver.kernel_ns() > 0;
                Some((self.into[..n].to_vec(), is_stamped))
            }
            Datagram::Empty => None,
            Datagram::Failed(error) => panic!("{error}"),
        }
    }
}

#[test]
fn ticks_are_whole_and_the_last_of_a_read_has_the_stamp() {
    let mut bench = bench(24);
    assert_eq!(bench.look(), None);
    bench.send(&[[1; 24], [2; 24]].concat());
    assert_eq!(bench.look(), Some((vec![1; 24], false)));
    assert_eq!(bench.look(), Some((vec![2; 24], true)));
    assert_eq!(bench.look(), None);
    bench.send(&[3; 23]);
    assert_eq!(bench.look(), None, "it is not whole");
    bench.send(&[3, 4, 4]);
    assert_eq!(bench.look(), Some((vec![3; 24], false)));
    bench.send(&[4; 22]);
    assert_eq!(bench.look(), Some((vec![4; 24], true)));
}

/// More than the buffer holds, and no tick ends where it does.
#[test]
fn a_long_stream_is_cut_at_its_ticks() {
    let mut bench = bench(61);
    let mut sent = 0;
    for _ in 0..200 {
        let batch: Vec<u8> = (0..50).flat_map(|at| [(sent + at) as u8; 61]).collect();
        bench.send(&batch[..]);
        for _ in 0..50 {
            assert_eq!(bench.look().map(|(tick, _)| tick), Some(vec![sent as u8; 61]));
            sent += 1;
        }
    }
    assert_eq!(bench.look(), None);
}

#[test]
fn a_tick_that_finds_no_room_is_an_error() {
    let mut bench = bench(65);
    bench.send(&[1; 65]);
    let Datagram::Failed(error) = bench.receiver.receive(&mut bench.into) else {
        panic!("65 bytes came into 64")
    };
    assert!(error.to_string().contains("a message of 65 bytes"), "{error}");
}

use super::*;
use measure::clock::Deadline;
use std::time::Duration;

const ANY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
const OPTIONS: ReceiveOptions =
    ReceiveOptions { receive_buffer_bytes: 1 << 20, kernel_stamps: true, multicast: None };

fn pair(options: &ReceiveOptions) -> (DatagramReceiver, DatagramSender, SocketAddr, Clock) {
    let clock = Clock::calibrate();
    let receiver = DatagramReceiver::bind(ANY, options, clock).unwrap();
    let sender = DatagramSender::bind(ANY, &SendOptions::default()).unwrap();
    let to = receiver.local_addr().unwrap();
    (receiver, sender, to, clock)
}

/// The next datagram, waited for.
fn next(receiver: &mut DatagramReceiver, into: &mut [u8]) -> Option<(usize, u64, u64)> {
    let deadline = Deadline::after(Duration::from_millis(500));
    while !deadline.left().is_zero() {
        match receiver.receive(into) {
            Datagram::Bytes { n, kernel_ns, read_ns } => return Some((n, kernel_ns, read_ns)),
            Datagram::Empty => std::thread::yield_now(),
            Datagram::Failed(error) => panic!("{error}"),
        }
    }
    None
}

fn send(sender: &mut DatagramSender, to: SocketAddr, bytes: &[u8]) {
    assert!(matches!(sender.send(to, bytes), Sent::Whole));
}

#[test]
fn a_datagram_comes_as_it_was_sent() {
    let (mut receiver, mut sender, to, clock) = pair(&OPTIONS);
    let before_ns = clock.now_ns();
    send(&mut sender, to, b"tick");
    let mut into = [0; 64];
    let (n, _, read_ns) = next(&mut receiver, &mut into).unwrap();
    assert_eq!(&into[..n], b"tick");
    assert!((before_ns..=clock.now_ns()).contains(&read_ns));
    assert!(matches!(receiver.receive(&mut into), Datagram::Empty));
    assert!(receiver.receive_buffer_bytes() > 0);
}

use super::*;
use clock::Deadline;
use proptest::prelude::*;
use std::net::IpAddr;
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

/// The next datagram, waited for: its length, the kernel's stamp, ours.
fn next(receiver: &mut DatagramReceiver, into: &mut [u8]) -> Option<(usize, u64, u64)> {
    let deadline = Deadline::after(Duration::from_secs(5));
    while !deadline.left().is_zero() {
        match receiver.receive(into) {
            Datagram::Bytes { n, read_ns } => return Some((n, receiver.kernel_ns(), read_ns)),
            Datagram::Empty => std::thread::yield_now(),
            Datagram::Failed(error) => panic!("{error}"),
        }
    }
    None
}

/// The first byte of each datagram that is there now. Over loopback a sent datagram has arrived.
fn all_there(receiver: &mut DatagramReceiver) -> Vec<u8> {
    let (mut came, mut empty, mut into) = (Vec::new(), 0, [0; 64]);
    // A harmed receiver is empty where it swallows one.
    while empty < 100 {
        match receiver.receive(&mut into) {
            Datagram::Bytes { .. } => {
                came.push(into[0]);
                empty = 0;
            }
            Datagram::Empty => empty += 1,
            Datagram::Failed(error) => panic!("{error}"),
        }
    }
    came
}

fn send(sender: &mut DatagramSender, to: SocketAddr, bytes: &[u8]) {
    let sent = sender.send(to, bytes);
    assert!(matches!(sent, SendOutcome::Whole), "{sent:?}");
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
    send(&mut sender, to, b"");
    assert_eq!(next(&mut receiver, &mut into).unwrap().0, 0);
}

/// A datagram waits in the socket for 20 ms: the kernel stamps its arrival, we stamp the read.
#[test]
fn the_kernels_stamp_is_when_it_came() {
    const WAITS: Duration = Duration::from_millis(20);
    let (mut receiver, mut sender, to, clock) = pair(&OPTIONS);
    let mut into = [0; 64];
    for _ in 0..3 {
        receiver.refresh_wall();
        let before_ns = clock.now_ns();
        send(&mut sender, to, b"tick");
        let after_ns = clock.now_ns();
        std::thread::sleep(WAITS);
        let (_, kernel_ns, read_ns) = next(&mut receiver, &mut into).unwrap();
        if receiver.kernel_stamps().is_empty() {
            testing::skip!(Kernel, "this kernel puts no receive stamps on datagrams");
        }
        let wall = receiver.wall().unwrap();
        if wall.steps() > 0 {
            testing::skip!(QuietCore, "somebody sets the wall clock");
        }
        // A tenth of the wait is a hundred times the bound of a quiet machine.
        let slack_ns = wall.bound_ns() + 2_000_000;
        let came = before_ns.saturating_sub(slack_ns)..=after_ns + slack_ns;
        assert!(came.contains(&kernel_ns), "{came:?} {kernel_ns}");
        assert!(read_ns - kernel_ns >= WAITS.as_nanos() as u64 - slack_ns);
    }
}

#[test]
fn without_being_asked_the_kernel_does_not_stamp() {
    let options = ReceiveOptions { kernel_stamps: false, ..OPTIONS };
    let (mut receiver, mut sender, to, _) = pair(&options);
    send(&mut sender, to, b"tick");
    let (_, kernel_ns, _) = next(&mut receiver, &mut [0; 64]).unwrap();
    assert_eq!((kernel_ns, receiver.kernel_stamps(), receiver.wall().is_none()), (0, "", true));
}

#[test]
fn what_the_buffer_has_no_room_for_is_counted() {
    let options = ReceiveOptions { receive_buffer_bytes: 8 * 1024, ..OPTIONS };
    let (mut receiver, mut sender, to, _) = pair(&options);
    for _ in 0..200 {
        send(&mut sender, to, &[b'x'; 1000]);
    }
    let came = all_there(&mut receiver).len() as u64;
    assert!((1..200).contains(&came), "{came}");
    let asked = receiver.dropped();
    // The kernel's other way to tell: with the next datagram that finds room.
    send(&mut sender, to, b"y");
    assert_eq!(all_there(&mut receiver), b"y");
    receiver.kernel_ns();
    let told = receiver.source.socket().unwrap().dropped;
    if told == 0 && asked == 0 {
        testing::skip!(Kernel, "this kernel tells of no drops");
    }
    assert!(asked == 0 || told == 0 || asked == u64::from(told));
    assert_eq!(receiver.dropped() + came, 200);
    receiver.count_drops();
    assert_eq!(receiver.dropped(), 0);
    for _ in 0..200 {
        send(&mut sender, to, &[b'x'; 1000]);
    }
    let came = all_there(&mut receiver).len() as u64;
    assert_eq!(receiver.dropped() + came, 200);
}

#[test]
fn a_buffer_as_large_as_asked_is_read_back() {
    let (small, ..) = pair(&ReceiveOptions { receive_buffer_bytes: 64 * 1024, ..OPTIONS });
    let (large, ..) = pair(&ReceiveOptions { receive_buffer_bytes: 128 * 1024, ..OPTIONS });
    assert!(small.receive_buffer_bytes().unwrap() >= 64 * 1024);
    assert_eq!(large.receive_buffer_bytes(), small.receive_buffer_bytes().map(|bytes| 2 * bytes));
    let (most, ..) = pair(&ReceiveOptions { receive_buffer_bytes: usize::MAX, ..OPTIONS });
    assert!(most.receive_buffer_bytes() >= large.receive_buffer_bytes());
}

#[test]
fn a_datagram_longer_than_the_buffer_is_cut_and_counted() {
    let (mut receiver, mut sender, to, _) = pair(&OPTIONS);
    send(&mut sender, to, &[7; 100]);
    assert_eq!(next(&mut receiver, &mut [0; 10]).unwrap().0, 10);
    assert_eq!(receiver.cut(), 1);
    let too_long = vec![0; DATAGRAM_BYTES_MAX + 1];
    assert!(matches!(sender.send(to, &too_long), SendOutcome::Failed(_)));
    send(&mut sender, to, &too_long[1..]);
    let (n, ..) = next(&mut receiver, &mut vec![0; DATAGRAM_BYTES_MAX]).unwrap();
    assert_eq!((n, receiver.cut()), (DATAGRAM_BYTES_MAX, 1));
}

/// Two followers on one machine, and a third of another group at the same port.
#[test]
fn a_group_reaches_all_who_joined_it_and_nobody_else() {
    let group = Ipv4Addr::new(239, 255, 77, 1);
    let interface = Ipv4Addr::LOCALHOST;
    let clock = Clock::calibrate();
    let join = |group, port| {
        let options = ReceiveOptions { multicast: Some((group, interface)), ..OPTIONS };
        DatagramReceiver::bind(SocketAddr::new(ANY.ip(), port), &options, clock)
    };
    let mut first = match join(group, 0) {
        Ok(first) => first,
        Err(error) => testing::skip!(Multicast, "{error}"),
    };
    let to = first.local_addr().unwrap();
    let mut second = join(group, to.port()).unwrap();
    let mut other = join(Ipv4Addr::new(239, 255, 77, 2), to.port()).unwrap();
    let options = SendOptions { multicast_interface: Some(interface), ..SendOptions::default() };
    let mut sender = match DatagramSender::bind(ANY, &options) {
        Ok(sender) => sender,
        // An emulator of another processor has not all options.
        Err(error) => testing::skip!(Multicast, "{error}"),
    };
    send(&mut sender, to, b"tick");
    for receiver in [&mut first, &mut second] {
        assert_eq!(next(receiver, &mut [0; 64]).unwrap().0, 4);
    }
    assert!(all_there(&mut other).is_empty());
}

#[test]
fn an_address_that_is_taken_is_told() {
    let (receiver, ..) = pair(&OPTIONS);
    let taken = receiver.local_addr().unwrap();
    let error = DatagramReceiver::bind(taken, &OPTIONS, Clock::calibrate()).err().unwrap();
    assert!(error.to_string().contains(&taken.to_string()), "{error}");
    let no_group = Some((Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST));
    let no_group = ReceiveOptions { multicast: no_group, ..OPTIONS };
    let error = DatagramReceiver::bind(ANY, &no_group, Clock::calibrate()).err().unwrap();
    assert!(error.to_string().contains("unicast"), "{error}");
}

fn harmed(harm: DatagramHarm, datagrams: u8) -> Vec<u8> {
    let options = ReceiveOptions { kernel_stamps: false, ..OPTIONS };
    let (receiver, mut sender, to, _) = pair(&options);
    let mut receiver = receiver.harmed_by(harm);
    (1..=datagrams).for_each(|number| send(&mut sender, to, &[number]));
    all_there(&mut receiver)
}

#[test]
fn harm_is_done_by_count() {
    let none = DatagramHarm::default();
    assert_eq!(harmed(none, 4), [1, 2, 3, 4]);
    assert_eq!(harmed(DatagramHarm { drop_every: 3, ..none }, 7), [1, 2, 4, 5, 7]);
    assert_eq!(harmed(DatagramHarm { duplicate_every: 2, ..none }, 5), [1, 2, 2, 3, 4, 4, 5]);
    assert_eq!(harmed(DatagramHarm { reorder_every: 2, ..none }, 5), [1, 3, 2, 5, 4]);
    // Without a successor it does not come.
    assert_eq!(harmed(DatagramHarm { reorder_every: 2, ..none }, 4), [1, 3, 2]);
    let all = DatagramHarm { drop_every: 5, duplicate_every: 3, reorder_every: 2 };
    assert_eq!(harmed(all, 8), [1, 3, 3, 2, 6, 6, 4, 7]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(32)))]
    /// Under any faults nothing arrives that was not sent, everything that is neither dropped nor
    /// last arrives, and a datagram overtakes at most one other.
    #[test]
    fn harm_makes_nothing_up(drop_every in 0_u64..6, duplicate_every in 0_u64..6, reorder_every in 0_u64..6) {
        let came = harmed(DatagramHarm { drop_every, duplicate_every, reorder_every }, 40);
        for number in 1..39_u8 {
            let times = came.iter().filter(|one| **one == number).count();
            let is_due = |every| every > 0 && u64::from(number).is_multiple_of(every);
            let expected = if is_due(drop_every) { 0 } else { 1 + usize::from(is_due(duplicate_every)) };
            prop_assert!(times == expected, "{number} came {times} times: {came:?}");
        }
    }
}

/// A datagram wakes a sleeping thread as a stream does.
#[test]
fn a_wait_that_sleeps_ends_when_a_datagram_comes() {
    let (mut receiver, mut sender, to, clock) = pair(&OPTIONS);
    let backend = crate::backend("block").unwrap();
    let mut streams = backend.open_beside(clock, &[receiver.socket().unwrap()]).unwrap();
    let mut into = [0; 64];
    for _ in 0..3 {
        let sends = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            send(&mut sender, to, b"tick");
            sender
        });
        let mut ready = Vec::new();
        let deadline = Deadline::after(Duration::from_secs(5));
        while ready.is_empty() && !deadline.left().is_zero() {
            streams.wait(clock.now_ns() + 5_000_000_000, &mut ready).unwrap();
        }
        assert_eq!(ready, [crate::Ready::Readable(crate::BELL)]);
        assert_eq!(next(&mut receiver, &mut into).unwrap().0, 4);
        sender = sends.join().unwrap();
    }
}

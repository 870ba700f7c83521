use super::*;
use clock::Deadline;
use std::net::UdpSocket;
use std::time::Duration;

/// `None`, with a message, without the permission or the tools.
fn networks() -> Option<Networks> {
    match Networks::create() {
        Ok(networks) => Some(networks),
        Err(error) => {
            testing::skipped(testing::Need::Root, format_args!("{error}"));
            None
        }
    }
}

fn own() -> std::path::PathBuf {
    std::fs::read_link(OWN).unwrap()
}

fn bind(address: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address, 0))?;
    socket.set_read_timeout(Some(Duration::from_secs(5)))?;
    Ok(socket)
}

/// Stopping a process interrupts its waits with a timeout, and some machines stop all of theirs.
fn receive(socket: &UdpSocket, into: &mut [u8]) -> (usize, std::net::SocketAddr) {
    loop {
        match socket.recv_from(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            received => return received.unwrap(),
        }
    }
}

#[test]
fn what_is_sent_in_one_comes_out_in_the_other_and_nowhere_else() {
    let Some(networks) = networks() else { return };
    let (exchange, trader) = (networks.exchange(), networks.trader());
    let sends = exchange.within(|| bind(exchange.address())).unwrap().unwrap();
    let receives = trader.within(|| bind(trader.address())).unwrap().unwrap();
    sends.send_to(b"tick", receives.local_addr().unwrap()).unwrap();
    let mut into = [0; 8];
    let (n, from) = receive(&receives, &mut into);
    assert_eq!((&into[..n], from), (&b"tick"[..], sends.local_addr().unwrap()));
    assert!(bind(exchange.address()).is_err(), "this network has not that address");
    // Multicast also uses the cable.
    let group = Ipv4Addr::new(239, 255, 1, 1);
    receives.join_multicast_v4(&group, &trader.address()).unwrap();
    let any = trader.within(|| bind(Ipv4Addr::UNSPECIFIED)).unwrap().unwrap();
    any.join_multicast_v4(&group, &trader.address()).unwrap();
    sends.send_to(b"all", (group, any.local_addr().unwrap().port())).unwrap();
    assert_eq!(receive(&any, &mut into).0, 3);
}

/// Only the exchange's network reaches the other zone, over a cable of its own.
#[test]
fn the_other_zone_has_a_cable_of_its_own() {
    let Some(networks) = networks() else { return };
    assert!(networks.zone().is_none());
    let networks = networks.with_zone().unwrap();
    let zone = networks.zone().unwrap();
    let there = zone.within(|| bind(zone.address())).unwrap().unwrap();
    let to = there.local_addr().unwrap();
    let [exchange, trader] = [networks.exchange(), networks.trader()]
        .map(|end| end.within(|| bind(Ipv4Addr::UNSPECIFIED)).unwrap().unwrap());
    exchange.send_to(b"record", to).unwrap();
    let mut into = [0; 8];
    let (n, from) = receive(&there, &mut into);
    assert_eq!((&into[..n], from.ip()), (&b"record"[..], ZONE_ADDRESSES[0].into()));
    assert!(trader.send_to(b"order", to).is_err(), "the client's network has no way there");
}

#[test]
fn a_cut_cable_loses_everything_until_it_is_mended() {
    let Some(networks) = networks() else { return };
    let [one, other] = [networks.exchange(), networks.trader()];
    let [here, there] =
        [one, other].map(|end| end.within(|| bind(end.address())).unwrap().unwrap());
    let mut into = [0; 8];
    let mut passes = |from: &UdpSocket, to: &UdpSocket, text: &[u8]| {
        from.send_to(text, to.local_addr().unwrap()).unwrap();
        loop {
            match to.recv_from(&mut into) {
                Ok((n, _)) => break &into[..n] == text,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break false,
            }
        }
    };
    assert!(passes(&here, &there, b"a") && passes(&there, &here, b"b"));
    networks.set_cut(true).unwrap();
    for end in [&here, &there] {
        end.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    }
    assert!(!passes(&here, &there, b"c") && !passes(&there, &here, b"d"));
    networks.set_cut(false).unwrap();
    for end in [&here, &there] {
        end.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    }
    assert!(passes(&here, &there, b"e") && passes(&there, &here, b"f"));
}

#[test]
fn a_process_that_is_started_there_stays_there_and_the_thread_comes_back() {
    let Some(networks) = networks() else { return };
    let before = own();
    let end = networks.trader();
    let mut ip = Command::new("ip");
    ip.args(["-o", "address", "show", "dev", DEVICE]);
    let output = end.within(|| ip.output()).unwrap().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains(&end.address().to_string()), "{shown}");
    assert_eq!(own(), before);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        end.within(|| panic!("on purpose"))
    }));
    assert!(panicked.is_err());
    assert_eq!(own(), before);
    // Two runs at a time are separate.
    let others = Networks::create().unwrap();
    assert_eq!(others.trader().address(), end.address());
}

/// When the last holder of a namespace ends, the kernel removes its device and, with it, the other
/// end of the cable.
#[test]
fn a_released_network_disappears() {
    let Some(Networks { ends: [first, second], .. }) = networks() else { return };
    let has_device = || {
        let mut ip = Command::new("ip");
        ip.args(["link", "show", "dev", DEVICE]);
        first.within(|| ip.output()).unwrap().unwrap().status.success()
    };
    assert!(has_device());
    // A child of another test's thread may hold it between fork and exec.
    drop(second);
    let deadline = Deadline::after(Duration::from_secs(10));
    while has_device() {
        assert!(!deadline.left().is_zero(), "the cable is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn who_may_not_is_told_what_it_takes() {
    let source = io::Error::from_raw_os_error(libc::EPERM);
    let error = NetworkError::Kernel { what: "make a network namespace", source };
    assert!(error.to_string().contains("run as root"), "{error}");
}

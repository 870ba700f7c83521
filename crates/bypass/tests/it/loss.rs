//! Packets that are lost on purpose, between the kernel's own sockets.

use crate::bench::{PATIENCE, addresses, networks};
use bypass::loss::{Loss, LossCounts};
use bypass::routes::Interface;
use clock::random::SplitMix64;
use host::network::{DEVICE, Networks};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

const SEED: u64 = 7;

/// Loses what the trader's network receives; `None` after counting the test as skipped.
fn lossy(networks: &Networks, percent: f64) -> Option<Loss> {
    let start = || Loss::start(&Interface::named(DEVICE).unwrap(), percent, SEED);
    match networks.trader().within(start).unwrap() {
        Ok(loss) => Some(loss),
        Err(why) => {
            testing::skipped(testing::Need::Kernel, why);
            None
        }
    }
}

/// Sends datagrams that each have a number. Those that `survives` says arrive, and no others.
fn send(networks: &Networks, datagrams: u32, mut survives: impl FnMut() -> bool) -> u64 {
    let [ours, theirs] = addresses(networks);
    let from = networks.exchange().within(|| UdpSocket::bind((ours, 0)).unwrap()).unwrap();
    let to = networks.trader().within(|| UdpSocket::bind((theirs, 0)).unwrap()).unwrap();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    let address = to.local_addr().unwrap();
    let mut lost = 0;
    for number in 0..datagrams {
        from.send_to(&number.to_le_bytes(), address).unwrap();
        if !survives() {
            lost += 1;
            continue;
        }
        let mut came = [0; 4];
        // Stopping a process interrupts its waits with a timeout.
        while let Err(why) = to.recv(&mut came) {
            assert_eq!(why.kind(), ErrorKind::Interrupted, "{number}: {why}");
        }
        assert_eq!(u32::from_le_bytes(came), number);
    }
    lost
}

/// Which packets are lost is known before: the draws of the seed's generator say so.
#[test]
fn exactly_the_drawn_packets_are_lost_and_counted() {
    const DATAGRAMS: u32 = 2_000;
    const PERCENT: f64 = 12.5;
    let Some(networks) = networks() else { return };
    let Some(loss) = lossy(&networks, PERCENT) else { return };
    let mut random = SplitMix64::new(SEED);
    let dropped = send(&networks, DATAGRAMS, || random.bits() >> 32 >= 1 << 29);
    assert_eq!(
        wait_for(&loss, DATAGRAMS.into()),
        LossCounts { packets: DATAGRAMS.into(), dropped }
    );
    assert!((200..300).contains(&dropped), "{dropped} of {DATAGRAMS}");
    drop(loss);
    assert_eq!(send(&networks, 100, || true), 0, "it is over");
    for (percent, survives) in [(0.0, true), (100.0, false)] {
        let Some(loss) = lossy(&networks, percent) else { return };
        let dropped = send(&networks, 50, || survives);
        assert_eq!(wait_for(&loss, 50), LossCounts { packets: 50, dropped });
    }
}

/// The counts once this many packets have come.
fn wait_for(loss: &Loss, packets: u64) -> LossCounts {
    let deadline = clock::Deadline::after(PATIENCE);
    loop {
        let counts = loss.counts().unwrap();
        if counts.packets >= packets || deadline.left().is_zero() {
            return counts;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A connection repairs the losses: everything arrives, in order.
#[test]
fn tcp_goes_on_over_an_interface_that_loses_packets() {
    const BYTES: usize = 300_000;
    let Some(networks) = networks() else { return };
    let Some(loss) = lossy(&networks, 2.0) else { return };
    let [_, theirs] = addresses(&networks);
    let listener = networks.trader().within(|| TcpListener::bind((theirs, 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let content: Vec<u8> = (0..BYTES).map(|at| (at / 251) as u8).collect();
    let sent = content.clone();
    let (mut stream, sender) = networks
        .exchange()
        .within(|| {
            let mut out = TcpStream::connect_timeout(&address, PATIENCE).unwrap();
            let sender = std::thread::spawn(move || out.write_all(&sent).unwrap());
            (listener.accept().unwrap().0, sender)
        })
        .unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut received, mut bytes) = (Vec::new(), [0; 1 << 16]);
    while received.len() < BYTES {
        match stream.read(&mut bytes) {
            Ok(n) => received.extend_from_slice(&bytes[..n]),
            Err(why) => assert_eq!(why.kind(), ErrorKind::Interrupted, "{why}"),
        }
    }
    sender.join().unwrap();
    assert!(received == content);
    let LossCounts { packets, dropped } = loss.counts().unwrap();
    // A packet has at most 1 460 bytes: the kernel joins none below this program.
    assert!(packets > (BYTES / 1460) as u64 && dropped > 0, "{dropped} of {packets}");
}

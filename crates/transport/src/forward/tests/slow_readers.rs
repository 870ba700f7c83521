//! Clients that send and don't read.

use super::*;

/// Plays an exchange that takes everything, and replies with the same bytes as fast as they are
/// taken. Returns what came when it has ended.
fn echo(exchange: TcpStream) -> JoinHandle<Vec<u8>> {
    let (replies, mut taken) = (channel(), exchange.try_clone().unwrap());
    let (to_reply, reply) = replies;
    std::thread::spawn(move || {
        let mut exchange = exchange;
        for part in reply {
            let part: Vec<u8> = part;
            if exchange.write_all(&part).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let (mut all, mut part) = (Vec::new(), vec![0; 64 << 10]);
        while let Ok(n @ 1..) = taken.read(&mut part) {
            all.extend_from_slice(&part[..n]);
            let _ = to_reply.send(part[..n].to_vec());
        }
        all
    })
}

/// It was read on while its replies waited, so the exchange had to keep them, and cut it off. Now
/// its own socket fills, as without a gateway in front of a peer that is slow.
#[test]
fn a_client_that_takes_no_replies_is_not_read() {
    each(|backend| {
        let (listener, address) = exchange();
        let gateway = Gateway::start(backend, &[address], Limits::default());
        let mut client = gateway.connect();
        let exchange = echo(accept(&listener));
        let bytes = pattern(1 << 20).repeat(96);
        let sent = clog(&mut client, &bytes);
        let mut other = gateway.connect();
        let mut other_exchange = accept(&listener);
        (0..20).for_each(|_| ping(&mut other, &mut other_exchange));
        // It is read again once it takes its replies, and gets each of them.
        let mut got = vec![0; sent];
        client.read_exact(&mut got).unwrap();
        assert!(got == bytes[..sent], "{backend}");
        client.write_all(b"more").unwrap();
        client.read_exact(&mut got[..4]).unwrap();
        assert_eq!(&got[..4], b"more", "{backend}");
        drop(client);
        assert_eq!(exchange.join().unwrap().len(), sent + 4, "{backend}");
        assert_eq!(gateway.end().slow_readers, 0, "{backend}");
    });
}

/// Otherwise such clients would fill the gateway's places for ever.
#[test]
fn a_client_that_takes_nothing_for_long_is_cut_off() {
    each(|backend| {
        let (listener, address) = exchange();
        let limits = Limits { stuck_ns_max: 300_000_000, connections_max: 2, ..Limits::default() };
        let gateway = Gateway::start(backend, &[address], limits);
        let mut client = gateway.connect();
        let exchange = echo(accept(&listener));
        let mut other = gateway.connect();
        let mut other_exchange = accept(&listener);
        let bytes = pattern(1 << 20).repeat(96);
        let mut left = &bytes[..];
        // It ends while it writes, or as soon as it has written all that fits.
        client.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
        let began = Instant::now();
        while !exchange.is_finished() {
            assert!(began.elapsed() < PATIENCE, "{backend}: it is still connected");
            if let Ok(n) = client.write(left) {
                left = &left[n..];
            }
            ping(&mut other, &mut other_exchange);
        }
        assert_eq!(gateway.end().slow_readers, 1, "{backend}");
    });
}

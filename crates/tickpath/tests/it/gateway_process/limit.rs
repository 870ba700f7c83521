//! A gateway whose places are all taken.

use super::*;

/// In plain text and over TLS: those that are served go on, one more sees the end at once, and a
/// place that becomes free is the next one's. It is counted.
#[test]
fn a_full_gateway_serves_its_clients_and_closes_one_more() {
    const PLACES: usize = 3;
    for tls in [false, true] {
        let exchange = Exchange::start(&["--any-token", "--book", "empty"]);
        let more = ["--connections-max", "3", "--tls-self-signed"];
        let gateway = Gateway::start(&exchange.address, &more[..if tls { 3 } else { 2 }]);
        let trust = Trust {
            ca_pem: gateway.ready["certificate"].as_str().map(str::to_owned),
            ..Trust::default()
        };
        let health = || -> std::io::Result<Vec<u8>> {
            let mut stream = TcpStream::connect(&gateway.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(20)))?;
            let ask = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
            let mut answer = Vec::new();
            if tls {
                let connector = Connector::new(&trust, &gateway.address).unwrap();
                let mut secure = connector.connect(stream).map_err(std::io::Error::other)?;
                secure.write_all(ask)?;
                secure.read_to_end(&mut answer)?;
            } else {
                stream.write_all(ask)?;
                stream.read_to_end(&mut answer)?;
            }
            Ok(answer)
        };
        // Clients that only hold their places; over TLS they are silent.
        let mut held: Vec<TcpStream> =
            (0..PLACES).map(|_| TcpStream::connect(&gateway.address).unwrap()).collect();
        let full = || match health() {
            Ok(answer) => answer.is_empty(),
            Err(error) => {
                assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "TLS {tls}: no end");
                true
            }
        };
        (0..5).for_each(|_| assert!(full(), "TLS {tls}"));
        if !tls {
            let mut served = &held[0];
            served.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            served.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
            let mut status = [0; 12];
            served.read_exact(&mut status).unwrap();
            assert_eq!(&status, b"HTTP/1.1 200");
        }
        drop(held.pop());
        wait_for("a free place", || {
            health().is_ok_and(|answer| answer.starts_with(b"HTTP/1.1 200")).then_some(())
        });
        let last = gateway.end();
        assert!(last["refused"]["connections_max"].as_u64() >= Some(5), "{last}");
        let counts = exchange.end();
        assert_eq!(counts["orders"], 0, "{counts}");
    }
}

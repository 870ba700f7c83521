//! `tickpath exchange --echo --feed …`: the exchange's end of the floor of a tick's way.

use crate::support::Exchange;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;
use transport::echo::EchoMessage;
use transport::echo::ticker::{ENDED, START, SUBSCRIBE, Tick, subscription};

fn send(stream: &mut TcpStream, kind: u8, sequence: u64) {
    let mut bytes = Vec::new();
    EchoMessage { length_bytes: 16, reply_bytes: 0, kind, sequence }.encode(&mut bytes);
    stream.write_all(&bytes).unwrap();
}

fn receive(stream: &mut TcpStream) -> (u8, u64) {
    let mut bytes = [0; 16];
    stream.read_exact(&mut bytes).unwrap();
    let message = EchoMessage::decode(&bytes).unwrap().unwrap();
    (message.kind, message.sequence)
}

#[test]
fn raw_datagrams_come_on_the_schedule_of_the_command_line() {
    let flow = ["--feed-bytes", "321", "--flow-rate", "500", "--flow-seconds", "0.1"];
    let exchange = Exchange::start(&[&["--echo", "--feed", "unicast"], &flow[..]].concat());
    let mut stream = TcpStream::connect(&exchange.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let SocketAddr::V4(address) = socket.local_addr().unwrap() else { panic!("IPv4 was asked") };
    send(&mut stream, SUBSCRIBE, subscription(address));
    assert_eq!(receive(&mut stream), (SUBSCRIBE, 1));
    send(&mut stream, START, 0);
    assert_eq!(receive(&mut stream), (START, 50));
    let mut into = [0; 1024];
    for number in 1..=50 {
        assert_eq!(socket.recv(&mut into).unwrap(), 321);
        assert_eq!(Tick::decode(&into).unwrap().number, number);
    }
    assert_eq!(receive(&mut stream), (ENDED, 50));
    let said = exchange.end();
    assert_eq!(said["ticker"]["datagrams"], 50, "{said}");
}

#[test]
fn a_ticker_out_of_range_is_rejected() {
    let output =
        crate::support::output(&["exchange", "--echo", "--feed", "unicast", "--flow-rate", "0"]);
    assert_eq!(output.status.code(), Some(2));
    let error = crate::support::text(&output.stderr);
    assert!(error.contains("rate"), "{error}");
}

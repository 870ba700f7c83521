//! A client of the exchange, by hand.

use super::text;
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A WebSocket connection by hand. Its mask is zero, which leaves texts as they are.
pub struct Client(TcpStream);

impl Client {
    pub fn connect(address: &str) -> Client {
        Client::try_connect(address, Duration::from_secs(20)).unwrap()
    }

    /// The same where nobody may listen; waits for each answer for at most `patience`.
    pub fn try_connect(address: &str, patience: Duration) -> io::Result<Client> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        stream.write_all(
            b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        )?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        assert!(head.starts_with(b"HTTP/1.1 101"), "{}", text(&head));
        Ok(Client(stream))
    }

    pub fn send(&mut self, opcode: u8, payload: &[u8]) {
        self.try_send(opcode, payload).unwrap();
    }

    pub fn try_send(&mut self, opcode: u8, payload: &[u8]) -> io::Result<()> {
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        let mut frame = vec![0x80 | opcode, 0x80 | 126, length[0], length[1], 0, 0, 0, 0];
        if payload.len() < 126 {
            frame = vec![0x80 | opcode, 0x80 | length[1], 0, 0, 0, 0];
        }
        self.0.write_all(&[&frame, payload].concat())
    }

    fn receive(&mut self) -> (u8, Vec<u8>) {
        self.try_receive().unwrap()
    }

    fn try_receive(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.0.read_exact(&mut head)?;
        let mut length = u16::from(head[1]);
        if length == 126 {
            let mut bytes = [0; 2];
            self.0.read_exact(&mut bytes)?;
            length = u16::from_be_bytes(bytes);
        }
        let mut payload = vec![0; usize::from(length)];
        self.0.read_exact(&mut payload)?;
        Ok((head[0] & 15, payload))
    }

    /// Sends a text of at least 126 bytes and returns the next text, or how the connection ended.
    pub fn ask(&mut self, payload: &[u8]) -> io::Result<Value> {
        let length = u16::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [0x81, 0x80 | 126, length[0], length[1], 0, 0, 0, 0];
        self.0.write_all(&[&head, payload].concat())?;
        let (opcode, payload) = self.try_receive()?;
        match opcode {
            1 => Ok(serde_json::from_slice(&payload).unwrap()),
            _ => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }

    /// Whether the connection ends, without more than a close frame.
    pub fn ends(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty() || rest[0] & 15 == 8,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }

    /// The texts until the connection ends.
    pub fn texts_until_it_ends(&mut self) -> Vec<String> {
        let received = std::iter::from_fn(|| self.try_receive().ok());
        received.filter(|(opcode, _)| *opcode == 1).map(|(_, payload)| text(&payload)).collect()
    }

    /// The next text.
    pub fn next_text(&mut self) -> String {
        let (opcode, payload) = self.receive();
        assert_eq!(opcode, 1, "{}", text(&payload));
        text(&payload)
    }

    /// Everything that it is told until a ping is answered, without times.
    pub fn told(&mut self) -> Vec<Value> {
        let mut texts = Vec::new();
        self.try_told(&mut texts).unwrap();
        texts
    }

    /// The same, or how the connection ended. `texts` has what it was told until then.
    pub fn try_told(&mut self, texts: &mut Vec<Value>) -> io::Result<()> {
        self.try_send(9, b"p")?;
        loop {
            match self.try_receive()? {
                (1, payload) => {
                    let mut told: Value = serde_json::from_slice(&payload).unwrap();
                    told.as_object_mut().unwrap().remove("time");
                    texts.push(told);
                }
                (10, _) => return Ok(()),
                (8, _) => return Err(io::ErrorKind::ConnectionAborted.into()),
                other => panic!("{other:?}"),
            }
        }
    }
}

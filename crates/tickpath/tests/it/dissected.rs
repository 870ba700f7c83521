//! FIX on the wire, from the exchange and its clients, read by a stranger: Wireshark.

use crate::fix::{Client, Exchange, limit, password};
use crate::support::*;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;
use transport::Connection;

/// The group of Wireshark's remarks on TCP itself, such as a repeated segment (`PI_SEQUENCE`).
const OF_TCP: &str = "33554432";

/// Wireshark on the loopback interface, ended with the value.
struct Dissector {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Dissector {
    /// Reads what goes to and from that address, from its first packet on.
    fn start(address: &str) -> Dissector {
        let port = address.rsplit(':').next().unwrap();
        let fields = ["fix.MsgType", "_ws.malformed", "_ws.expert.group", "_ws.expert.message"];
        let mut child = Command::new("tshark")
            .args(["-i", "lo", "-l", "-f", &format!("tcp port {port}"), "-T", "fields"])
            .args(fields.iter().flat_map(|field| ["-e", field]))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut dissector = Dissector { child, lines };
        // It says too early that it captures: so somebody calls until it sees that.
        let address = address.to_owned();
        let (seen, stop) = std::sync::mpsc::channel();
        let caller = std::thread::spawn(move || {
            while stop.recv_timeout(Duration::from_millis(50)).is_err() {
                drop(std::net::TcpStream::connect(&address));
            }
        });
        dissector.line();
        seen.send(()).unwrap();
        caller.join().unwrap();
        dissector
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.lines.read_line(&mut line).unwrap() > 0, "tshark has ended");
        line
    }

    /// The types of the messages up to one of `last`, and its remarks on them.
    fn read_to(&mut self, last: &str) -> (Vec<String>, Vec<String>) {
        let (mut types, mut remarks) = (Vec::new(), Vec::new());
        loop {
            let line = self.line();
            let [messages, malformed, groups, _] =
                line.trim_end_matches('\n').split('\t').collect::<Vec<_>>()[..]
            else {
                panic!("four fields are expected: {line:?}")
            };
            let messages = messages.split(',').filter(|one| !one.is_empty());
            types.extend(messages.map(str::to_owned));
            let bad = groups.split(',').any(|group| !group.is_empty() && group != OF_TCP);
            if bad || !malformed.is_empty() {
                remarks.push(line);
            }
            if types.last().is_some_and(|one| one == last) {
                return (types, remarks);
            }
        }
    }
}

impl Drop for Dissector {
    fn drop(&mut self) {
        // SIGTERM: it removes its own file of packets.
        signal(self.child.id(), rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

/// All that it remarks on is a checksum that is wrong on purpose.
#[test]
fn wireshark_reads_our_fix_without_a_remark() {
    let root = rustix::process::getuid().is_root();
    if !root || Command::new("tshark").arg("--version").output().is_err() {
        testing::skip!(Tshark, "it needs root and tshark: scripts/setup tests");
    }
    let folder = tempfile::tempdir().unwrap();
    let exchange = Exchange::start(folder.path(), &["--any-token"]);
    let mut dissector = Dissector::start(exchange.ready["fix"].as_str().unwrap());
    let stream = Connection::from(exchange.dial());
    let mut client = Client::connect(stream, "FUND", password("fund"), Default::default());
    assert_eq!(client.next().err(), None);
    client.ask(&limit("a", 2, "3")).has("150=0");
    client.ask("35=G|41=a|11=b|55=BTC_USDT|54=2|60=@|38=4|40=2|44=100").has("150=5");
    client.ask("35=H|11=b|55=BTC_USDT|54=2").has("150=I");
    client.ask("35=F|41=b|11=c|55=BTC_USDT|54=2|60=@").has("150=4");
    client.ask("35=F|41=b|11=d|55=BTC_USDT|54=2|60=@").has("35=9");
    client.ask("35=q|11=q|530=7|60=@").has("35=r");
    client.ask("35=x|320=r|559=4").has("35=y");
    let book = "35=V|262=m|263=1|264=0|265=1|267=2|269=0|269=1|146=1|55=BTC_USDT";
    client.ask(book).has("35=W");
    client.ask(&book.replace("BTC_USDT", "NO_SUCH").replace("262=m", "262=n")).has("35=Y");
    // Report and increment come over two connections of the gateway, in either order.
    client.ask(&limit("m", 2, "3"));
    client.read();
    client.ask("35=D|11=e|55=BTC_USDT|54=2|60=@|38=3|40=2").has("35=j");
    let (types, remarks) = dissector.read_to("j");
    assert_eq!(remarks, Vec::<String>::new(), "of {types:?}");
    let types = types.concat().replace("D8X", "DX8");
    assert_eq!(types, "AAD8G8H8F8F9qrxyVWVYDX8Dj");

    let mut stranger = exchange.dial();
    stranger.write_all(b"8=FIX.4.4\x019=5\x0135=0\x0110=000\x01").unwrap();
    let (_, remarks) = dissector.read_to("0");
    assert!(remarks.len() == 1 && remarks[0].contains("Bad checksum"), "{remarks:?}");
}

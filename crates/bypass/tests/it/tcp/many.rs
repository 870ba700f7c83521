//! Many bytes, and many connections one after another. `scripts/weekly` asks for more of both.

use super::ends::{Bench, kernels_states, listener};
use crate::bench::networks;
use bypass::TcpLimits;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// The number that a variable asks for, or the usual one.
fn number(variable: &str, usual: usize) -> usize {
    let asked = std::env::var(variable).ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

fn connections() -> usize {
    number("TICKPATH_TCP_CONNECTIONS", 400)
}

fn bytes() -> usize {
    number("TICKPATH_TCP_BYTES", 8 << 20)
}

/// So many bytes each way at the same time: the kernel connects, then the stack does.
#[test]
fn megabytes_each_way_are_equal_byte_for_byte() {
    for is_client in [false, true] {
        let Some(networks) = networks() else { return };
        let Some(mut bench) = Bench::new(&networks, TcpLimits::default()) else { return };
        let (kernel, id) = match is_client {
            true => bench.dialled(&listener(&networks)),
            false => {
                bench.stack.listen(bench.local.port());
                bench.accepted(&networks)
            }
        };
        bench.talk(id, kernel, [bytes(); 2]);
    }
}

/// A hundred bytes come back, and both ends end.
fn reads_to_its_end(bench: &mut Bench, kernel: &mut TcpStream) -> Vec<u8> {
    kernel.set_nonblocking(true).unwrap();
    let mut back = Vec::new();
    bench.until("the end", |_| kernel.read_to_end(&mut back).is_ok().then_some(()));
    back
}

/// More connections, one after another, than there are sockets: those in TIME-WAIT give way. The
/// bytes are right each time, half-closed by the kernel first in every second one.
#[test]
fn connections_past_the_limit_reuse_what_has_ended() {
    let limits = TcpLimits { connections_max: 4, backlog: 2, ..TcpLimits::default() };
    let Some(networks) = networks() else { return };
    let Some(mut bench) = Bench::new(&networks, limits) else { return };
    bench.stack.listen(bench.local.port());
    for n in 0..connections() {
        let sent = [n as u8; 100];
        let (mut kernel, id) = bench.accepted(&networks);
        kernel.write_all(&sent).unwrap();
        if n % 2 == 0 {
            kernel.shutdown(Shutdown::Write).unwrap();
        }
        let (mut into, mut came) = ([0; 200], 0);
        bench.until("bytes", |bench| {
            came += bench.stack.read(id, &mut into[came..]).unwrap_or(0);
            (came == 100).then_some(())
        });
        bench.stack.write(id, &into[..came]).unwrap();
        bench.stack.close(id);
        assert_eq!(reads_to_its_end(&mut bench, &mut kernel), sent, "connection {n}");
    }
    assert_eq!(bench.stack.counts().connections, connections() as u64);
}

/// The same two ends again and again, each time after TIME-WAIT, with the stack as the client.
#[test]
fn two_ends_are_connected_again_and_again() {
    let limits = TcpLimits { connections_max: 2, backlog: 1, ..TcpLimits::default() };
    let Some(networks) = networks() else { return };
    let Some(mut bench) = Bench::new(&networks, limits) else { return };
    let listener = listener(&networks);
    bench.haste = 0;
    for n in 0..connections() {
        let (mut kernel, id) = bench.dialled(&listener);
        let sent = [n as u8; 100];
        bench.stack.write(id, &sent).unwrap();
        bench.stack.close(id);
        assert_eq!(reads_to_its_end(&mut bench, &mut kernel), sent, "connection {n}");
        drop(kernel);
        let local = bench.local;
        bench.until("the kernel's end", |_| {
            kernels_states(&networks, local).is_empty().then_some(())
        });
        bench.pass(Duration::from_secs(10));
    }
    assert_eq!(bench.stack.counts().connections, connections() as u64);
}

//! All bytes arrive, whatever happens to the frames, if not to all of them.

use super::ends::{Bench, hasten_the_kernel, listener};
use crate::bench::{networks, port};
use crate::harm::Harm;
use bypass::TcpLimits;
use host::network::Networks;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use rustix::net::sockopt::set_socket_recv_buffer_size;
use std::cell::Cell;

/// The stack waits for a second before it sends a segment again.
const HASTE: u64 = 20;
/// Bytes that an end sends at most.
const BYTES_MAX: usize = 60_000;
/// Full windows that an end sends at most.
const WINDOWS_MAX: usize = 100;

#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    /// Whether the stack connects, and the kernel listens.
    is_client: bool,
    /// On the way in and on the way out.
    harm: [Harm; 2],
    limits: TcpLimits,
    /// The kernel's receive buffer, if it is not the usual one.
    kernels_buffer: Option<usize>,
    /// From the stack, and from the kernel.
    bytes: [usize; 2],
}

/// Not more: with each loss that no later segment shows, `smoltcp` waits twice as long, until bytes
/// that it had never sent are acknowledged. After some six of them it is silent for a minute, and
/// that ends a connection.
fn harm() -> impl Strategy<Value = Harm> {
    let share = |max: u32| prop_oneof![1 => Just(0_u32), 3 => 0..=max];
    (share(25), share(60), share(150), share(60), share(15)).prop_map(
        |(lost, doubled, swapped, late, corrupted)| Harm {
            lost,
            doubled,
            swapped,
            late,
            corrupted,
        },
    )
}

/// A buffer: smaller than a segment, of a few, or the usual one.
fn buffer() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 1_usize..1_000, 2 => 1_000_usize..8_000, 2 => Just(256 * 1024)]
}

fn plans() -> impl Strategy<Value = Plan> {
    let kernels = prop_oneof![Just(None), (6_000_usize..20_000).prop_map(Some)];
    let buffers = (buffer(), buffer(), kernels);
    let bytes = [0..=1000_usize, 0..=1000_usize];
    (any::<u64>(), any::<bool>(), [harm(), harm()], buffers, bytes).prop_map(
        |(seed, is_client, harm, (receive, send, kernels_buffer), shares)| {
            let windows = [send.min(kernels_buffer.unwrap_or(send)), receive];
            let most = windows.map(|window| BYTES_MAX.min(window * WINDOWS_MAX));
            let limits = TcpLimits {
                receive_buffer_bytes: receive,
                send_buffer_bytes: send,
                ..TcpLimits::default()
            };
            let bytes = [most[0] * shares[0] / 1000, most[1] * shares[1] / 1000];
            Plan { seed, is_client, harm, limits, kernels_buffer, bytes }
        },
    )
}

/// Harm that was done on the way in and on the way out.
fn carry_out(networks: &Networks, plan: &Plan) -> [Harm; 2] {
    let bench = Bench::harmed(networks, plan.limits, plan.seed, plan.harm);
    let mut bench = bench.expect("a port, as before");
    bench.haste = HASTE;
    let (kernel, id) = match plan.is_client {
        true => {
            let listener = listener(networks);
            if let Some(bytes) = plan.kernels_buffer {
                set_socket_recv_buffer_size(&listener, bytes).unwrap();
            }
            bench.dialled(&listener)
        }
        false => {
            bench.stack.listen(bench.local.port());
            bench.accepted(networks)
        }
    };
    if let Some(bytes) = plan.kernels_buffer {
        set_socket_recv_buffer_size(&kernel, bytes).unwrap();
    }
    bench.talk(id, kernel, plan.bytes);
    let rejected = bench.stack.counts().rejected;
    let frames = bench.stack.frames();
    let corrupted = u64::from(frames.inbound.done.corrupted);
    // Each of them, and nothing else.
    assert!(rejected <= corrupted, "{rejected} of {corrupted}");
    assert!(rejected + frames.inbound.waiting() as u64 >= corrupted, "{rejected} of {corrupted}");
    [frames.inbound.done, frames.outbound.done]
}

/// Frames are lost, doubled, late, out of order and corrupted, the first and the last ones of a
/// connection too, and windows are tiny. A failed plan is printed, and not made smaller: the
/// kernel's own timers make each try another one.
#[test]
fn harm_on_the_way_does_not_show() {
    let Some(networks) = networks() else { return };
    if port(&networks).is_none() {
        return;
    }
    hasten_the_kernel(&networks);
    let config = Config {
        failure_persistence: None,
        max_shrink_iters: 0,
        ..Config::with_cases(testing::cases(48))
    };
    let done = Cell::new(Harm::NONE);
    let ran = TestRunner::new(config).run(&plans(), |plan| {
        for harm in carry_out(&networks, &plan) {
            let mut sum = done.get();
            sum.lost += harm.lost;
            sum.doubled += harm.doubled;
            sum.swapped += harm.swapped;
            sum.late += harm.late;
            sum.corrupted += harm.corrupted;
            done.set(sum);
        }
        Ok(())
    });
    ran.unwrap_or_else(|why| panic!("{why}"));
    let Harm { lost, doubled, swapped, late, corrupted } = done.get();
    let least = [lost, doubled, swapped, late, corrupted].into_iter().min();
    assert!(least > Some(0), "no harm of one kind was done: {:?}", done.get());
}

/// A window of a few segments is full most of the time; nothing else happens.
#[test]
fn small_windows_are_enough() {
    let Some(networks) = networks() else { return };
    let small =
        TcpLimits { receive_buffer_bytes: 4_000, send_buffer_bytes: 4_000, ..TcpLimits::default() };
    let Some(mut bench) = Bench::new(&networks, small) else { return };
    bench.stack.listen(bench.local.port());
    let (kernel, id) = bench.accepted(&networks);
    bench.talk(id, kernel, [1 << 20; 2]);
}

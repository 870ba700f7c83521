//! The faults of connections over AF_XDP: the tests of `gateway` again, in a program of their own.
//! They need root.

use crate::running::BELOW;
use clock::Clock;
use host::network::Networks;
use std::process::Command;

/// Two networks in which an exchange over AF_XDP can run; `None` after counting the test as
/// skipped.
pub fn networks() -> Option<Networks> {
    let networks = match Networks::create() {
        Ok(networks) => networks,
        Err(why) => {
            testing::skipped(testing::Need::Root, why);
            return None;
        }
    };
    let listen = || {
        let mut streams = transport::backend("af_xdp").unwrap().open(Clock::calibrate())?;
        streams.listen_at(&format!("{}:0", networks.exchange().address())).map(drop)
    };
    let listened = networks.exchange().within(|| testing::opens("af_xdp", listen)).unwrap();
    listened.then_some(networks)
}

/// Broken and half frames, half-open connections, silence, abrupt ends: each gets its answer, and
/// no other client is harmed.
#[test]
fn faults_of_a_connection_are_answered_below_the_kernel() {
    if std::env::var_os(BELOW).is_some() || !testing::child::is_possible() || networks().is_none() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let tests = ["gateway::", "--test-threads=1"];
    let done = Command::new(program).args(tests).env(BELOW, "1").output().unwrap();
    let printed = String::from_utf8_lossy(&done.stdout);
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{printed}\n{errors}");
    assert!(printed.contains("an_abrupt_close_leaves_the_orders_and_the_others ... ok"));
    assert!(printed.contains("half_a_head_and_silence_is_closed ... ok"), "{printed}");
}

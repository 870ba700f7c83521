//! Every dialect's codec, in memory.

use super::*;
use counting::calls;

fn plan(wire: Wire) -> OrdersPlan {
    OrdersPlan {
        subject: "t".into(),
        target: "exchange.test:1".into(),
        wire,
        backend: "block".into(),
        queue: Default::default(),
        core: None,
        scheduling: host::Scheduling::Other,
        load: Load { accounts: 1, connections: 1, ..Load::default() },
        warm_up_seconds: 0.0,
        seconds: 1.0,
        tls: None,
        inject: Default::default(),
        bulk: None,
        exchange_process: None,
        silence_ms_max: None,
        hlog: String::new(),
        progress: false,
    }
}

const WIRES: [Wire; 3] = [Wire::WebsocketJson, Wire::Sbe, Wire::Fix];

#[test]
fn each_dialect_has_a_cost_and_a_raw_echo_none() {
    let clock = Clock::calibrate();
    for wire in WIRES {
        let run = measure(&plan(wire), clock).unwrap().unwrap();
        assert!(run.orders >= BATCHES_MIN as u64 * BATCH, "{wire:?}: {run:?}");
        assert!(run.encode_ps > 0 && run.decode_ps > 0, "{wire:?}: {run:?}");
    }
    assert!(measure(&plan(Wire::Raw(Default::default())), clock).is_none());
}

/// Calls to the allocator while orders are encoded and acknowledgements decoded, after the first.
fn allocations<E: OrderProtocol>(mut entry: E, mut peer: InMemory<impl Answer>) -> u64 {
    let clock = Clock::calibrate();
    entry.log_on(0, &mut peer, &[0]).unwrap();
    let (mut orders, mut aside) = (Vec::with_capacity(1 << 20), Vec::new());
    let mut spent = 0;
    for batch in 0..20 {
        orders.clear();
        let before = calls();
        encode(&mut entry, batch * BATCH, &mut orders, clock);
        let encoded = calls() - before;
        io::Write::write_all(&mut peer, &orders).unwrap();
        let before = calls();
        decode(&mut entry, &mut peer, &mut aside, clock).unwrap();
        // A buffer may grow to its usual length at first.
        if batch > 0 {
            spent += encoded + calls() - before;
        }
    }
    spent
}

#[test]
fn no_dialect_allocates_for_an_order_or_its_acknowledgement() {
    let clock = Clock::calibrate();
    let [json, sbe, fix] = WIRES.map(plan);
    assert_eq!(allocations(WebSocket::new(&json), json::peer()), 0, "JSON");
    assert_eq!(allocations(Sbe::new(&sbe), sbe::peer(&sbe.load)), 0, "SBE");
    let peer = fix::peer(&fix.load, clock).unwrap();
    assert_eq!(allocations(Fix::new(&fix, clock).unwrap(), peer), 0, "FIX");
}

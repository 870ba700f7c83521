//! Prints what an exchange recovered from its journal.

use exchange::Exchange;

/// A journal that is further ahead of the clock than this is reported. Two readings of a slewed
/// clock may differ by less.
const AHEAD_NS_REPORTED: u64 = 1_000_000_000;

/// Prints the recovery from the journal, if there is one.
pub(crate) fn tell_recovery(exchange: &Exchange) {
    let Some(recovery) = exchange.recovery() else { return };
    if let Some(cut) = &recovery.cut {
        eprintln!("warning: {cut}");
    }
    for refused in &recovery.snapshots_refused {
        eprintln!("warning: skipped a snapshot: {refused}");
    }
    if recovery.ahead_ns >= AHEAD_NS_REPORTED {
        eprintln!(
            "warning: the journal's last input is {} s later than this machine's clock; until the clock \
             catches up, orders don't expire and rate limits don't reset: if the clock is wrong, stop the exchange and set it",
            recovery.ahead_ns / 1_000_000_000
        );
    }
    for instrument in &recovery.instruments {
        eprintln!("warning: {instrument}");
    }
    if recovery.inputs > 0 {
        eprintln!(
            "recovered {} records from the journal, in place of the initial book. {} client orders are \
             open",
            recovery.inputs, recovery.client_orders
        );
    }
    if recovery.flow_inputs > 0 {
        eprintln!("the flow goes on after its first {} inputs", recovery.flow_inputs);
    }
    if recovery.orders_without_client_id > 0 {
        eprintln!(
            "warning: {} open orders are from an earlier version, whose journals have no client ids: \
             address these orders by order_id",
            recovery.orders_without_client_id
        );
    }
}

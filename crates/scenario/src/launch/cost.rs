//! Costs of a run that only its starter knows.

use host::network::{Network, Networks};
use host::{Root, packets};
use plan::backend;
use record::Load;

/// Packets that the devices of both ends dropped so far, if each has a network of its own.
pub(super) fn packets_dropped(networks: Option<&Networks>) -> Option<u64> {
    let networks = networks?;
    let of = |end: &Network| end.within(|| packets::dropped(&Root::system())).ok().flatten();
    of(networks.exchange())?.checked_add(of(networks.trader())?)
}

/// Adds to a client's load whether an exchange with that backend spins, and the packets that were
/// dropped since `before`.
pub(super) fn complete(load: &mut Load, backend: &str, now: Option<u64>, before: Option<u64>) {
    let since = |(now, before): (u64, u64)| now.saturating_sub(before);
    load.packets_dropped = now.zip(before).map(since);
    let spins = backend::find(backend).is_ok_and(|backend| backend.spins);
    if let Some(processor) = load.processor.as_mut().filter(|_| spins) {
        processor.spinning.push("exchange".to_owned());
    }
}

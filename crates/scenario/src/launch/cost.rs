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

/// Adds to a client's load whether our own exchange spins, by its backend (`None`: it runs
/// elsewhere), and the packets that were dropped since `before`.
pub(super) fn complete(load: &mut Load, own: Option<&str>, now: Option<u64>, before: Option<u64>) {
    let since = |(now, before): (u64, u64)| now.saturating_sub(before);
    load.packets_dropped = now.zip(before).map(since);
    let spins = own.is_some_and(backend::spins);
    if let Some(processor) = load.processor.as_mut().filter(|_| spins) {
        processor.spinning.push("exchange".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::processor::Processor;

    /// Nothing is known about an exchange elsewhere, whatever the scenario says of its own.
    #[test]
    fn only_our_own_exchange_is_known_to_spin() {
        for (own, spinning) in [(Some("spin"), 1), (Some("block"), 0), (None, 0)] {
            let mut load = Load { processor: Some(Processor::default()), ..Load::default() };
            complete(&mut load, own, Some(7), Some(5));
            assert_eq!(load.processor.unwrap().spinning.len(), spinning, "{own:?}");
            assert_eq!(load.packets_dropped, Some(2));
        }
    }
}

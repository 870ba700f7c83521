//! Whether a way below the kernel can run here: its replicator copies some messages before anything
//! is measured.
//!
//! Rights, kernel and driver decide, and not all of them answer with an error: a veth drops the
//! frames of programs in silence if its other end can't take them.

use super::{CLIENT, plan, replicate};
use crate::conduct::ConductError;
use crate::launch::Launch;
use crate::progress::Teller;
use host::network::DEVICE;
use plan::backend::{BLOCK, SPIN, XDP};
use plan::process::fan_out::FanOutPlan;

/// Messages of one trial, and how fast they are sent.
const MESSAGES: u64 = 20;
const MESSAGES_PER_SECOND: f64 = 200.0;
/// Trials until a way is taken as one that loses everything: a busy machine may be late.
const TRIALS: u32 = 3;

/// Why this entrant's way can't run; `None` if it can.
pub(super) fn of(launch: &Launch) -> Result<Option<String>, ConductError> {
    let scenario = &launch.conduct.scenario;
    let way = scenario.replicator(&scenario.subject[launch.entrant.index]);
    // Sockets need nothing that the namespaces and the clients don't need.
    if [SPIN.name, BLOCK.name].contains(&way) || !scenario.exchange.start {
        return Ok(None);
    }
    let offload = take_frames(launch)?;
    let mut sent = 0;
    for _ in 0..TRIALS {
        match copies(launch) {
            Ok((arrived, _)) if arrived > 0 => return Ok(None),
            Ok((_, replicated)) => sent += replicated,
            // Ctrl-C ends the processes, too.
            Err(error) if launch.interrupt.is_set() => return Err(error),
            Err(ConductError::Process { who, why }) => {
                return Ok(Some(format!("{who} failed: {why}")));
            }
            Err(error) => return Err(error),
        }
    }
    let is_xdp = way == XDP.name;
    Ok(Some(nothing_arrives(sent, launch.networks.is_some() && is_xdp, offload)))
}

/// Copies some messages. Returns how many copies arrived, and how many messages reached the
/// replicator.
fn copies(launch: &Launch) -> Result<(u64, u64), ConductError> {
    let mut silent = Teller::new(None, launch.conduct, &[]);
    let (result, replicated) = replicate(launch, |ready| {
        let plan = FanOutPlan {
            warm_up_messages: 0,
            messages: MESSAGES,
            rate_per_second: MESSAGES_PER_SECOND,
            hold_ns: 0,
            search_messages: 0,
            ..plan(launch, ready)
        };
        launch.run_client(CLIENT, &plan, &mut silent)
    })?;
    let failed = |why| ConductError::Process { who: super::REPLICATOR.to_owned(), why };
    Ok((result.load.received, replicated.map_err(failed)?.received))
}

/// Where some replicator's copies leave by XDP, the other end of the cable must take frames of
/// programs: it does with GRO. It has it in front of all rows, so that they differ in nothing else.
/// Returns why it can't.
fn take_frames(launch: &Launch) -> Result<Option<String>, ConductError> {
    let scenario = &launch.conduct.scenario;
    let is_xdp = |subject| scenario.replicator(subject) == XDP.name;
    let (Some(networks), true) = (launch.networks, scenario.subject.iter().any(is_xdp)) else {
        return Ok(None);
    };
    let set = || host::ethtool::set(DEVICE, "gro", 1);
    Ok(networks.trader().within(set)?.err().map(|error| error.to_string()))
}

/// Why a way can't run whose copies don't arrive. `replicated` is the number of messages that
/// reached the replicator; `offload` is why the subscribers' end can't have GRO.
fn nothing_arrives(replicated: u64, is_xdp_over_veth: bool, offload: Option<String>) -> String {
    let sent = MESSAGES * u64::from(TRIALS);
    let lost = match replicated {
        0 => format!("none of {sent} messages reached the replicator"),
        some => format!("{some} of {sent} messages reached the replicator, and no copy arrived"),
    };
    let advice = match (is_xdp_over_veth, offload) {
        (false, _) => "check the driver, firewalls and routes".to_owned(),
        (true, offload) => {
            let because = offload.map_or(String::new(), |error| format!(" ({error})"));
            format!(
                "a veth drops the frames of XDP programs if its other end has neither GRO nor a \
                 program: {DEVICE} of the subscribers needs `ethtool -K {DEVICE} gro on`{because}"
            )
        }
    };
    format!("{lost}; {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_that_loses_everything_says_where_and_what_to_try() {
        let veth = nothing_arrives(60, true, Some("Operation not supported".to_owned()));
        assert!(veth.contains("60 of 60 messages reached the replicator, and no copy"), "{veth}");
        assert!(veth.contains("ethtool -K tick0 gro on` (Operation not supported)"), "{veth}");
        let other = nothing_arrives(0, false, None);
        assert!(other.contains("none of 60") && other.contains("firewalls"), "{other}");
    }
}

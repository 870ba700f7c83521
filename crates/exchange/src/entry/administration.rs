//! An operator's requests about the exchange: start its own flow, `DESCRIBE`.

use crate::entry::state::OrderEntry;
use crate::entry::turn::feed_position;
use crate::reply::rejections::NO_OPERATOR;
use crate::reply::text::send;
use clock::time_base::TimeBase;
use transport::StreamId;
use wire::administration::{Description, Notice, encode_notice};

/// Starts the exchange's own flow.
#[cold]
pub(crate) fn start_flow(entry: &mut OrderEntry, from: StreamId, out: &mut Vec<u8>) {
    let OrderEntry { core, flow, .. } = entry;
    let started = match (core.sessions.may_operate(from), flow) {
        (false, _) => Err(NO_OPERATOR.reason),
        (true, None) => Err("this exchange has no flow of its own"),
        (true, Some(flow)) => flow.start(core.sessions.sender(from), feed_position(core)),
    };
    match started {
        Ok(()) => send(out, |out| encode_notice(out, &Notice::FlowStarted)),
        Err(reason) => core.rejections.error(out, &reason),
    }
}

/// Handles `DESCRIBE`. Takes some milliseconds if many orders rest or to ask the time daemon, so
/// don't use it during a measurement.
#[cold]
pub(crate) fn describe(entry: &mut OrderEntry, from: StreamId, out: &mut Vec<u8>) {
    let OrderEntry { core, process, .. } = entry;
    if !core.sessions.may_operate(from) {
        return core.rejections.error(out, &NO_OPERATOR.reason);
    }
    let subscribers = core.plant.as_mut().and_then(|plant| plant.subscribers.as_mut());
    let departures = subscribers.and_then(|subscribers| subscribers.departures(from));
    let plant = core.plant.as_ref();
    let time_base = core.observed.clock.map(|clock| TimeBase {
        boot_id: process.boot_id.clone(),
        clock,
        wall: clock.beside_wall(),
        utc: (process.utc)(),
    });
    let description = Description {
        tool: process.tool.clone(),
        session: plant.map_or_else(String::new, |plant| plant.session().to_string()),
        state_hash: format!("{:016x}", core.sequencer.state_hash()),
        feeds: plant.map_or_else(Vec::new, |plant| {
            plant.states(&core.instruments, core.sequencer.engine())
        }),
        time_base: serde_json::to_value(time_base).unwrap_or_default(),
        machine: process.machine.clone(),
        departures,
    };
    let notice = Notice::Description(Box::new(description));
    send(out, |out| encode_notice(out, &notice));
}

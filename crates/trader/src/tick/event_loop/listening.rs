//! The stream of replies: polled between datagrams, read once, and each reply applied.

use crate::session::codec::Reply;
use crate::tick::event_loop::state::TickLoop;
use crate::tick::event_loop::upkeep;
use crate::tick::logic::TradingLogic;
use crate::tick::session::{OrderSession, StampedReply};
use crate::tick::stages::Stages;

/// A backend that sleeps wakes at least this often.
const SLEEP_NS_MAX: u64 = 20_000_000;

/// Polls for replies, then does everything else.
pub(super) fn listen<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    may_sleep: bool,
) {
    ticks.datagrams = 0;
    let now_ns = ticks.parts.clock.now_ns();
    match ticks.parts.connection.wait(if may_sleep { now_ns + SLEEP_NS_MAX } else { 0 }) {
        Ok((is_readable, is_writable)) => {
            if is_readable {
                read(ticks);
            }
            if is_writable {
                ticks.write();
            }
            upkeep::look_after(ticks, now_ns);
        }
        Err(why) => ticks.lose(why),
    }
}

/// Reads the stream once.
fn read<M: TradingLogic, L: OrderSession>(ticks: &mut TickLoop<M, L>) {
    let session = &mut ticks.stages.session;
    let read_bytes = match ticks.parts.connection.read(session.space()) {
        Ok(Some((n, stamp_ns))) => {
            session.filled(n, stamp_ns);
            n
        }
        Ok(None) => return,
        Err(why) => return ticks.lose(why),
    };
    let unsent_bytes = ticks.stages.outbox.bytes.len();
    let (mut decoded_bytes, mut ended_read) = (0, false);
    loop {
        let Stages { session, outbox, .. } = &mut ticks.stages;
        match session.next(&mut outbox.bytes) {
            Ok(Some(reply)) => {
                decoded_bytes += reply.bytes;
                let was_answered = ticks.parts.stamped_answer().is_some();
                apply(ticks, reply);
                ended_read = ticks.parts.stamped_answer().is_some() && !was_answered;
            }
            Ok(None) => break,
            Err(why) => return ticks.lose(why),
        }
    }
    // Send a pong at once.
    if ticks.stages.outbox.bytes.len() > unsent_bytes {
        ticks.write();
    }
    if let Some(place) = ticks.parts.stamped_answer() {
        ticks.parts.take_stamps(place, ended_read && decoded_bytes == read_bytes);
    }
}

/// Does what a reply asks for.
fn apply<M: TradingLogic, L: OrderSession>(
    ticks: &mut TickLoop<M, L>,
    StampedReply { reply, first_byte_ns, bytes }: StampedReply,
) {
    let course = &mut ticks.course;
    match reply {
        Reply::Execution(report) => {
            let trail = ticks.parts.trail.as_mut();
            let answered = ticks.stages.apply(&report, first_byte_ns, bytes, trail);
            if let Some(place) = answered.and_then(|order| order.sample) {
                ticks.parts.replied(place, report.stamps, first_byte_ns);
            }
        }
        Reply::FlowStarted => (course.flow_has_started, course.awaits) = (true, false),
        Reply::FlowEnded(ended) => {
            course.flow_ended = Some(course.followed.last(&ended));
        }
        Reply::FeedRejected => {
            ticks.stages.logic.feed_rejected();
            ticks.recover(first_byte_ns);
        }
        Reply::Description(description) => {
            (course.description, course.awaits) = (Some(description), false);
        }
        Reply::Aside => {}
        Reply::Unexpected => {
            ticks.stages.counts.unexpected += 1;
            if !course.flow_has_started {
                let complaint =
                    ticks.stages.session.first_complaint().unwrap_or("it says something else");
                let why = format!("the exchange does not begin its flow: {complaint}");
                ticks.fail(why);
            }
        }
    }
}

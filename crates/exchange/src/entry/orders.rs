//! New orders, cancels and amendments.

use crate::entry::entering::EnteringRequest;
use crate::entry::{commands, deliveries, entering, leading};
use crate::execution::Execution;
use crate::execution::deliveries::{WaitingInput, WaitingRequest};
use crate::reply::rejections::DELIVERY_FULL;
use crate::reply::reports::{RequestKind, Requester};
use engine::Command;
use fair::window::{Answer, WindowFull};
use transport::StreamId;
use transport::serve::Outbound;
use wire::request::{AmendOrder, CancelOrder, CreateOrder, DeliveryClock};

#[inline]
pub(crate) fn create(
    core: &mut Execution,
    from: StreamId,
    create: &CreateOrder<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    core.counts.orders += 1;
    let (sender, client_id) = (core.sessions.sender(from), &create.client_id);
    let entering = EnteringRequest { from: Some(from), sender, client_id, answer: None };
    let rejection = match commands::new_order(&core.sessions, &core.instruments, from, create) {
        Ok(new) => match wait(core, &entering, create.delivery, || WaitingInput::New(new)) {
            Ok(Wait::Yes) => return,
            Ok(Wait::No(answer)) => {
                let entering = EnteringRequest { answer, ..entering };
                return entering::enter(core, &entering, new, time_ns, outbound);
            }
            Err(WindowFull) => DELIVERY_FULL,
        },
        Err(rejection) => rejection,
    };
    let account_id = create.account_id.as_deref();
    let request = core.rejected_request(from, account_id, Some(client_id), time_ns);
    core.rejections.reject((&core.sessions, &mut core.sbe), &request, &rejection, outbound);
}

/// Whether a request waits for its delivery window; if not, its part in a race, if it has one.
enum Wait {
    Yes,
    No(Option<Answer>),
}

/// Lets a request wait for its delivery window if it names a tick.
#[inline]
fn wait(
    core: &mut Execution,
    entering: &EnteringRequest<'_>,
    clock: Option<DeliveryClock>,
    input: impl FnOnce() -> WaitingInput,
) -> Result<Wait, WindowFull> {
    let Some(deliveries) = &mut core.deliveries else { return Ok(Wait::No(None)) };
    let Some(clock) = clock else {
        deliveries.counts.without_clock += 1;
        return Ok(Wait::No(None));
    };
    let EnteringRequest { sender, client_id, .. } = *entering;
    let cause_ns = core.observed.cause_ns;
    let request = WaitingRequest { sender, client_id: *client_id, input: input(), cause_ns };
    let answer = deliveries.arrives(clock, request)?;
    Ok(if answer.is_some() { Wait::No(answer) } else { Wait::Yes })
}

#[inline]
pub(crate) fn cancel(
    core: &mut Execution,
    from: StreamId,
    cancel: &CancelOrder<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    core.counts.cancels += 1;
    let client_id = Some(&cancel.client_id);
    if core.deliveries.is_some() {
        let account = core.sessions.account(from, cancel.account_id.as_deref());
        deliveries::sequence_named(core, account, &cancel.client_id, time_ns, outbound);
    }
    match commands::cancel(&core.sessions, &core.instruments, &core.orders, from, cancel) {
        Ok(command) => {
            let (account, kind) = (command.account, RequestKind::Cancel);
            let requester = Requester { from: Some(from), client_id, account, kind };
            core.execute(&requester, Command::Cancel(command), time_ns, outbound);
        }
        Err(rejection) => {
            let account_id = cancel.account_id.as_deref();
            let request = core.rejected_request(from, account_id, client_id, time_ns);
            let (asking, to) =
                ((&mut core.sequencer, &mut core.rejections), (&core.sessions, &mut core.sbe));
            leading::reject(asking, to, &request, &rejection, outbound);
        }
    }
}

pub(crate) fn amend(
    core: &mut Execution,
    from: StreamId,
    amend: &AmendOrder<'_>,
    time_ns: u64,
    outbound: &mut Outbound,
) {
    core.counts.amends += 1;
    let (sender, client_id) = (core.sessions.sender(from), &amend.client_id);
    if core.deliveries.is_some() {
        let account = core.sessions.account(from, amend.account_id.as_deref());
        deliveries::sequence_named(core, account, client_id, time_ns, outbound);
    }
    let entering = EnteringRequest { from: Some(from), sender, client_id, answer: None };
    let (sessions, instruments, orders) = (&core.sessions, &core.instruments, &core.orders);
    let rejection = match commands::amend(sessions, instruments, orders, from, amend) {
        Ok((command, new_client_id)) => {
            let input =
                || WaitingInput::Amend { amend: command, new_client_id: new_client_id.copied() };
            match wait(core, &entering, amend.delivery, input) {
                Ok(Wait::Yes) => return,
                Ok(Wait::No(answer)) => {
                    let entering = EnteringRequest { answer, ..entering };
                    let amendment = (command, new_client_id);
                    return entering::amend(core, &entering, amendment, time_ns, outbound);
                }
                Err(WindowFull) => DELIVERY_FULL,
            }
        }
        Err(rejection) => rejection,
    };
    let account_id = amend.account_id.as_deref();
    let request = core.rejected_request(from, account_id, Some(client_id), time_ns);
    let (asking, to) =
        ((&mut core.sequencer, &mut core.rejections), (&core.sessions, &mut core.sbe));
    leading::reject(asking, to, &request, &rejection, outbound);
}

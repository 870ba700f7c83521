//! One run of one plan: connect, log on, warm up, measure, drain, report.

use crate::load::addresses::first_of;
use crate::load::bulk::BulkFlows;
use crate::load::card::{self, Card};
use crate::load::desk::Desk;
use crate::load::desk::redial::Redial;
use crate::load::desk::silence::Silence;
use crate::load::desk::stamping::Stamping;
use crate::load::dialler::{Dialler, dial, dial_datagrams, first_address, log_on, log_on_below};
use crate::load::error::TraderError;
use crate::load::finish::{FinishedLoad, finish};
use crate::load::open_loop::{self, Agenda};
use crate::load::progress::Teller;
use crate::load::rows::{Rows, series};
use crate::load::session::OrderProtocol;
use crate::load::session::fix::Fix;
use crate::load::session::raw::{HELLO_PATIENCE, Raw, greet};
use crate::load::session::sbe::Sbe;
use crate::load::session::websocket::WebSocket;
use crate::load::{bare, codec, one_way, ping_pong};
use clock::Clock;
use clock::recorder::{self, Drain, Recorder, SECONDS_IN_MEMORY_MAX};
use host::Scheduling;
use host::measuring::{MeasuringRun, Report, Reporter};
use host::processor::ProcessorMeter;
use host::ptp::CardReader;
use plan::backend;
use plan::faults::DatagramHarm;
use plan::process::orders::{AckedPlan, DatagramPlan, OrdersPlan, Wire};
use plan::tables::load::Model;
use record::processor::Processor;
use record::progress::Second;
use record::{self, ClientResult, MessageBytes};
use std::sync::atomic::{AtomicBool, Ordering};
use transport::echo::bare::Bare;
use transport::{Connection, StreamId, Streams, acked, inject};

/// Time after which a message of a floor over datagrams is lost, ms.
const FLOOR_PATIENCE_MS: u64 = 1_000;

/// Carries the plan out. Returns soon after `stop` is set, with what was measured so far.
///
/// Measures on a pinned thread of its own. The caller's thread writes the log: after the run or,
/// if the run is longer than a minute, during it. If the plan asks for progress it calls `tell` as
/// each second ends, and sleeps in between: keep that thread off the measured cores.
///
/// # Errors
/// If there is no result. A run that broke off has a result that says so.
pub fn run(
    plan: &OrdersPlan,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(&Second),
) -> Result<ClientResult, TraderError> {
    plan.check()?;
    let mut teller = Teller::new(plan.load.model, plan.wire, tell);
    let mut watch = |report: Report<'_>| match report {
        Report::Interval(interval) if plan.progress => teller.tell(interval),
        _ => {}
    };
    let measuring = MeasuringRun {
        subject: &plan.subject,
        hlog: &plan.hlog,
        core: plan.core,
        writes_meanwhile: plan.seconds > SECONDS_IN_MEMORY_MAX,
        progress: plan.progress,
        stop,
    };
    let bulk = plan
        .bulk
        .as_ref()
        .map(|bulk| BulkFlows::start(bulk, plan.warm_up_seconds, plan.seconds))
        .transpose()?;
    let clock = one_way::planned_clock(plan).unwrap_or_else(Clock::calibrate);
    // Before the measuring thread pins itself: the card's clock has a thread, too.
    let card = card::reader(plan, clock);
    let measured = |reporter| measure(plan, stop, (clock, card), &reporter);
    let mut result = measuring.carry_out(measured, &mut watch)?;
    match bulk.filter(|_| result.complete).map(BulkFlows::finish) {
        Some(Ok(run)) => result.load.bulk.push(run),
        Some(Err(why)) => result.fail(why),
        None => {}
    }
    Ok(result)
}

/// The measuring thread.
fn measure(
    plan: &OrdersPlan,
    stop: &AtomicBool,
    (planned, card): (Clock, Option<CardReader>),
    reporter: &Reporter,
) -> Result<ClientResult, TraderError> {
    let (given, two_clocks) =
        one_way::clocks(plan).map_err(|source| TraderError::connect(&plan.target, 0, source))?;
    let clock = given.unwrap_or(planned);
    // The card's clock is converted to the planned one; that of an echo on this host differs.
    let card = card.filter(|_| clock == planned);
    let clocks = (clock, two_clocks, card);
    let lanes = plan.load.connections;
    let codec = codec::measure(plan, clock).transpose().map_err(TraderError::Codec)?;
    let mut result = match plan.wire {
        Wire::WebsocketJson => measure_over(plan, stop, clocks, WebSocket::new(plan), reporter),
        Wire::Sbe | Wire::SbeUdp(_) => measure_over(plan, stop, clocks, Sbe::new(plan), reporter),
        Wire::Fix => measure_over(plan, stop, clocks, Fix::new(plan, clock)?, reporter),
        Wire::Raw(bytes) | Wire::Requests(bytes) => {
            measure_over(plan, stop, clocks, Raw::new(bytes, lanes, false), reporter)
        }
        Wire::RawDatagrams(bytes) => {
            measure_over(plan, stop, clocks, Raw::new(bytes, lanes, true), reporter)
        }
        Wire::Datagrams(DatagramPlan { bytes, .. }) => {
            let raw = Raw::new(bytes, lanes, true).stamped(given.is_some());
            measure_over(plan, stop, clocks, raw, reporter)
        }
        Wire::Bare(bytes) | Wire::BareRequests(bytes) | Wire::BareDatagrams(bytes) => {
            measure_bare(plan, stop, clock, bytes, reporter)
        }
    }?;
    result.load.codec.extend(codec);
    Ok(result)
}

fn measure_over<E: OrderProtocol>(
    plan: &OrdersPlan,
    stop: &AtomicBool,
    (clock, two_clocks, card): (Clock, Option<one_way::Other>, Option<CardReader>),
    mut entry: E,
    reporter: &Reporter,
) -> Result<ClientResult, TraderError> {
    let load = &plan.load;
    let rows = Rows::of(plan, two_clocks.is_some());
    let is_open = load.model == Model::Open;
    let agenda = is_open.then(|| Agenda::new(plan, rows.by_intensity)).transpose()?;
    let targets = plan.targets();
    let current = first_of(&targets)?;
    let (streams, ids) = open_streams(plan, targets[current], stop, clock, &mut entry)?;
    let stack = streams.stack().map(|stack| format!("client: {stack}"));
    let (two_clocks, drain_of_ways) = two_clocks.unzip();
    let (card, drain_of_card) = card.map(|reader| Card::new(reader, plan.seconds)).unzip();
    let (recorder, drain): (Recorder, Drain) = recorder::recorder(&rows.all, plan.seconds);
    let mut desk = Desk::new(clock, streams, &ids, entry, recorder);
    desk.processor = ProcessorMeter::new(plan.exchange_process);
    desk = desk.with_redial(Redial::new(plan, current, clock.now_ns()));
    desk.ledger.silence = plan.silence_ms_max.map(Silence::new);
    if let Some(row) = rows.stamped {
        let keeps = card.is_some() || two_clocks.is_some();
        let kept = if keeps { card::messages(plan) } else { 0 };
        desk = desk.stamped(Stamping::new(load.stamp_every, ids.len(), row, clock).keeping(kept));
    }
    if plan.wire.is_requests() {
        desk = desk.of_requests();
    }
    if let Some(Flows { patience_ms, .. }) = flows(plan) {
        let rate_per_second = if is_open { plan.load.rate_per_second } else { 0.0 };
        let patience_ns = patience_ms * 1_000_000;
        let directions = one_way::directions(plan.wire, two_clocks.as_ref());
        desk = desk.over_datagrams(patience_ns, rate_per_second, directions);
    }
    // Last, so that the set-up above does not run in a real-time class.
    host::thread::set_scheduling(plan.scheduling)?;
    let start_ns = clock.now_ns();
    reporter.start(drain, start_ns);
    for drain in drain_of_ways.into_iter().chain(drain_of_card) {
        reporter.start(drain, start_ns);
    }
    let complete = match agenda {
        Some(agenda) => open_loop::run(&mut desk, agenda, stop),
        None => ping_pong::run(&mut desk, load, plan.warm_up_seconds, plan.seconds, stop),
    };
    let measured_from_ns = desk.ledger.measured_from_ns;
    let processor = processor(&plan.backend, desk.processor.used_ns());
    let FinishedLoad { load: mut counted, failure, entry, ways, times } = finish(desk);
    counted.processor = processor;
    counted.model = load.model.name().to_owned();
    counted.stacks.extend(stack);
    let complaint =
        entry.first_complaint().map(|complaint| format!("first complaint: {complaint}"));
    let from_to_ns = (measured_from_ns, clock.now_ns());
    let course = card.and_then(|card| card.finish(&times, counted.stamped.as_mut(), from_to_ns));
    let mut unkept = None;
    if let (Some(two_clocks), Some(ways)) = (two_clocks, ways) {
        // It calculates for some time, which a real-time class would take from others.
        host::thread::set_scheduling(Scheduling::Other)?;
        let stamped = (counted.stamped.as_ref(), &times[..]);
        let (between, failure) = two_clocks.record(&ways, stamped, course.as_ref(), from_to_ns);
        counted.between.push(between);
        unkept = failure;
    }
    Ok(ClientResult {
        complete: complete && unkept.is_none(),
        failures: unkept.into_iter().chain(failure).chain(complaint).collect(),
        load: counted,
        clock: record::Clock::of(&clock),
        exchange: None,
    })
}

/// Processor time of both ends in the measured part. Whether the other end's thread spins is added
/// by the process that started it.
pub(crate) fn processor(backend: &str, [own, exchange_ns]: [Option<u64>; 2]) -> Option<Processor> {
    let spinning = backend::spins(backend).then(|| "client".to_owned()).into_iter().collect();
    own.map(|client_ns| Processor { client_ns, exchange_ns, spinning })
}

/// The connections of the plan's load, logged on, or its flows of datagrams.
fn open_streams<E: OrderProtocol>(
    plan: &OrdersPlan,
    target: &str,
    stop: &AtomicBool,
    clock: Clock,
    entry: &mut E,
) -> Result<(Box<dyn Streams>, Vec<StreamId>), TraderError> {
    let open_failed = |source| TraderError::Open { backend: plan.backend.clone(), source };
    let backend = &transport::backend(&plan.backend)?.on(plan.queue);
    let flows = flows(plan);
    let streams = match (plan.wire, flows) {
        (Wire::SbeUdp(AckedPlan { harm }), _) => {
            first_address(target).and_then(|server| acked::dialling(backend, server, harm, clock))
        }
        (_, None) => backend.open(clock),
        (_, Some(_)) => backend.open_flows(clock),
    };
    let mut streams = streams.map_err(open_failed)?;
    // Below TLS and the harm on purpose: it needs the sockets themselves.
    if plan.load.stamp_every > 0 {
        streams = transport::stamped::around(streams, clock, backend.row.spins);
    }
    let dialler = Dialler::new(target, plan.tls.as_ref())?.over_datagrams(flows.is_some());
    let streams = dialler.around(streams, clock);
    let mut streams = inject::around(streams, &plan.inject, clock);
    if let Some(harm) = flows.map(|flows| flows.harm).filter(|harm| !harm.is_none()) {
        streams = inject::harmed(streams, harm);
    }
    let mut ids = Vec::new();
    for lane in 0..plan.load.connections {
        if stop.load(Ordering::Relaxed) {
            return Err(TraderError::Interrupted);
        }
        let dials = backend::is_below(&plan.backend) || matches!(plan.wire, Wire::SbeUdp(_));
        let added = match dials {
            true => log_on_below(&mut *streams, plan, lane, entry, clock),
            false => {
                log_on(&dialler, plan, lane, entry).and_then(|connection| streams.add(connection))
            }
        };
        let failed = |source| TraderError::connect(target, lane, source);
        ids.push(added.map_err(failed)?);
    }
    Ok((streams, ids))
}

/// Flows of datagrams without acknowledgements.
#[derive(Clone, Copy)]
struct Flows {
    patience_ms: u64,
    harm: DatagramHarm,
}

fn flows(plan: &OrdersPlan) -> Option<Flows> {
    match plan.wire {
        Wire::Datagrams(DatagramPlan { patience_ms, harm, .. }) => {
            Some(Flows { patience_ms, harm })
        }
        Wire::RawDatagrams(_) => {
            Some(Flows { patience_ms: FLOOR_PATIENCE_MS, harm: DatagramHarm::default() })
        }
        _ => None,
    }
}

fn measure_bare(
    plan: &OrdersPlan,
    stop: &AtomicBool,
    clock: Clock,
    bytes: MessageBytes,
    reporter: &Reporter,
) -> Result<ClientResult, TraderError> {
    let failed = |source| TraderError::Connect { target: plan.target.clone(), lane: 0, source };
    let spins = transport::backend(&plan.backend)?.row.spins;
    let ended = match plan.wire {
        Wire::BareDatagrams(_) => dial_datagrams(&plan.target)
            .and_then(|flow| {
                flow.set_read_timeout(Some(HELLO_PATIENCE))?;
                greet(&mut Connection::of_datagrams(flow.try_clone()?)).map(|()| flow)
            })
            .and_then(|flow| Bare::of_datagrams(flow, spins)),
        _ => dial(&plan.target).and_then(|stream| Bare::new(stream, spins)),
    };
    let bare = ended.map_err(failed)?;
    let (recorder, drain): (Recorder, Drain) =
        recorder::recorder(series(plan.wire, false), plan.seconds);
    host::thread::set_scheduling(plan.scheduling)?;
    reporter.start(drain, clock.now_ns());
    let phases = (plan.warm_up_seconds, plan.seconds);
    let ends = (bare, spins, !plan.wire.is_requests());
    let finished = bare::run(ends, clock, bytes, phases, recorder, stop);
    let bare::BareResult { mut load, complete, failure } = finished;
    load.model = plan.load.model.name().to_owned();
    Ok(ClientResult {
        complete,
        failures: failure.into_iter().collect(),
        load,
        clock: record::Clock::of(&clock),
        exchange: None,
    })
}

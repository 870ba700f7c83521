//! Opens a journal for writing.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use engine::Engine;
use ipc::region::RegionBacking;
use ipc::ring::{Producer, Producers, Ring, Shape};
use ipc::wait::Wait;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::client_ids::ClientIds;
use crate::counts::{EventCounts, InputCounts};
use crate::error::JournalError;
use crate::file::directory::{Access, Directory, Lock};
use crate::file::header::{FileKind, Header, Identity};
use crate::file::mark::{self, Mark};
use crate::file::record::RECORD_BYTES;
use crate::file::segment::Segment;
use crate::read::inputs::LogEnd;
use crate::read::replay::{self, ReplayedJournal};
use crate::read::segment::Log;
use crate::write::ahead::{Maker, SegmentMaker};
use crate::write::appender::{Appender, AppenderParts, MESSAGE_BYTES_MAX};
use crate::write::log::LogWriter;
use crate::write::options::Options;
use crate::write::renew::renew;
use crate::write::state::WriterState;
use crate::write::writer::Writer;

/// Makes the journal in the directory `path`, or recovers an existing one and continues after its
/// last complete record. Recovery cuts anything after it, durably. If [`ReplayedJournal::cut`] says
/// so, report it to the operator.
///
/// # Errors
/// Options out of range; another writer; the journal of another engine; damage other than a torn
/// tail; no room for a segment; a system error.
pub fn open(
    path: &Path,
    identity: Identity,
    options: Options,
) -> Result<(Appender, ReplayedJournal), JournalError> {
    options.check()?;
    identity.limits.check(identity.instruments)?;
    let directory = Directory::new(path);
    directory.create()?;
    let lock = directory.lock(Access::Write)?;
    directory.remove_unfinished()?;
    let (log, replayed, end) = match replay::find(&directory)? {
        Some(Log { number, identity: found }) if found == identity => {
            let log = Log { number, identity };
            let (replayed, end) = replay::recover(&directory, log, options.ended_orders_max)?;
            renew(&directory, log, end.next)?;
            (log, replayed, end)
        }
        Some(Log { identity: found, .. }) => {
            return Err(JournalError::OtherEngine {
                path: path.to_owned(),
                found,
                wanted: identity,
            });
        }
        None => {
            // Only the mark exists: all files of its log are missing.
            mark::check(&directory, None, 0)?;
            begin(identity)?
        }
    };
    let segment = segment_to_write(&directory, log, &end, &options)?;
    let appender = start(directory, lock, segment, end.next, options)?;
    Ok((appender, replayed))
}

/// A new, empty log.
fn begin(identity: Identity) -> Result<(Log, ReplayedJournal, LogEnd), JournalError> {
    let mut number = [0; 8];
    getrandom(&mut number, GetRandomFlags::empty()).map_err(|errno| {
        JournalError::system("draw a number from", Path::new("getrandom"), errno)
    })?;
    let log = Log { number: u64::from_le_bytes(number), identity };
    let engine = Engine::new(identity.instruments, identity.limits);
    let replayed = ReplayedJournal {
        state_hash: engine.state_hash(),
        engine,
        client_ids: ClientIds::default(),
        identity,
        next_sequence: 0,
        from_snapshot: None,
        snapshots_rejected: Vec::new(),
        inputs: InputCounts::default(),
        events: EventCounts::default(),
        cut: None,
    };
    Ok((log, replayed, LogEnd { next: 0, segment: None, later: Vec::new(), cut: None }))
}

/// The segment with room for the next input.
pub(crate) fn segment_to_write(
    directory: &Directory,
    log: Log,
    end: &LogEnd,
    options: &Options,
) -> Result<Segment, JournalError> {
    // Prepared by an earlier writer, perhaps with another size.
    for first in &end.later {
        directory.remove(&directory.segment(*first))?;
    }
    if let Some((header, dirty_end)) = end.segment {
        return Segment::open(directory, header, end.next, dirty_end);
    }
    let records = options.segment_records();
    let Log { number, identity } = log;
    let header =
        Header { kind: FileKind::Segment, log: number, sequence: end.next, records, identity };
    Segment::create(directory, header, options.zeroed)
}

/// Starts the writer.
fn start(
    directory: Directory,
    lock: Lock,
    segment: Segment,
    next: u64,
    options: Options,
) -> Result<Appender, JournalError> {
    let shape = Shape {
        slots: options.ring_slots,
        message_bytes_max: MESSAGE_BYTES_MAX,
        producers: Producers::One,
        may_sleep: matches!(options.wait, Wait::Futex { .. }),
    };
    let ring = Ring::create(RegionBacking::Memory, shape)?;
    let producer: Producer = ring.producer()?;
    let consumer = ring.consumer()?;
    let shared = Arc::new(WriterState::new(next, segment.end()));
    let path = directory.path().to_owned();
    let mark = Mark::create(&directory, segment.header().log, next, Arc::clone(&shared))?;
    let failed = |doing| move |source: io::Error| JournalError::System { doing, path, source };
    let group_inputs_max = options.group_inputs_max as usize;
    let of_writer = Arc::clone(&shared);
    let (said, hear) = sync_channel(1);
    let header = Header { records: options.segment_records(), ..*segment.header() };
    let cores = options.cores.clone();
    let work = move || {
        let first = segment.end();
        let maker =
            Maker { directory, header, zeroed: options.zeroed, shared: Arc::clone(&of_writer) };
        // Threads inherit the affinity of the thread that starts them.
        let placed = match &cores[..] {
            [] => Ok(()),
            cores => host::thread::run_on(cores).map_err(io::Error::other),
        };
        let ahead = placed.and_then(|()| SegmentMaker::start(maker, first));
        let ahead = match ahead {
            Ok(ahead) => ahead,
            Err(error) => return drop(said.send(Err(error))),
        };
        let _ = said.send(Ok(()));
        let group = Vec::with_capacity(2 * group_inputs_max * RECORD_BYTES);
        let shared = of_writer;
        let wait = options.wait;
        let log = LogWriter { segment, next, group, shared, ahead, mark, lock };
        Writer { consumer, wait, group_inputs_max, log }.run();
    };
    let writer = std::thread::Builder::new().name("journal".into()).spawn(work);
    let writer = writer.map_err(failed.clone()("start a thread for"))?;
    match hear.recv() {
        Ok(Err(source)) => Err(failed("place or start the threads of")(source)),
        _ => Ok(Appender::new(AppenderParts { producer, shared, options, writer, next })),
    }
}

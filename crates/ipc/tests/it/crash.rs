//! Processes that are killed at random, many times. Every message must stay complete and in order.
//! No message is lost that its sender knows to be sent, and only those of the interrupted call of a
//! consumer come twice.
//!
//! This binary starts itself again for each process, which runs [`child`]. Number of kills:
//! `TICKPATH_IPC_KILLS`, 60 by default.

use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use clock::Deadline;
use clock::random::SplitMix64;
use ipc::distributor::{self, Distributor, Reader};
use ipc::region::{Region, RegionBacking, RegionKind};
use ipc::ring::{self, Producers, Ring};
use ipc::wait::Wait;

/// Longest message: long, so that many kills hit in the middle of one.
const MESSAGE_BYTES: usize = 8192;
/// Most messages of one call, sent or received.
const CALL_MESSAGES: usize = 8;
/// Most processes of a test.
const LIVES_MAX: usize = 2000;
const KEYS: usize = 3;
/// Time after which a step counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// The processes' notes, a word each, in shared memory, so that a kill loses none.
struct Notes(Region);

impl Notes {
    const WORDS: usize = 2 + KEYS * 2 + LIVES_MAX * 3;

    fn create(folder: &Path) -> Notes {
        let (place, bytes) = (folder.join("notes"), Notes::WORDS as u64 * 8);
        // It lacks a ring's geometry, so it can't be opened as one.
        let region =
            Region::create(RegionBacking::File(&place), RegionKind::Ring, [0; 8], bytes, |_| {});
        Notes(region.unwrap())
    }

    fn open(folder: &Path) -> Notes {
        Notes(Region::open(&folder.join("notes"), RegionKind::Ring).unwrap())
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        &self.0.words()[at]
    }
    /// 1: senders stop. 2: receivers stop too, when nothing is left.
    fn stop(&self) -> &AtomicU64 {
        self.word(0)
    }
    /// Messages that came twice.
    fn repeats(&self) -> &AtomicU64 {
        self.word(1)
    }
    /// Highest number about to be published for a key.
    fn intended(&self, key: usize) -> &AtomicU64 {
        self.word(2 + key)
    }
    /// Highest number that was published for a key.
    fn published(&self, key: usize) -> &AtomicU64 {
        self.word(2 + KEYS + key)
    }
    /// Whether a process has its role.
    fn began(&self, life: usize) -> &AtomicU64 {
        self.word(2 + KEYS * 2 + life)
    }
    /// Messages that a producer knows to be sent.
    fn sent(&self, life: usize) -> &AtomicU64 {
        self.word(2 + KEYS * 2 + LIVES_MAX + life)
    }
    /// Received messages of a producer.
    fn received(&self, life: usize) -> &AtomicU64 {
        self.word(2 + KEYS * 2 + LIVES_MAX * 2 + life)
    }
}

/// A message or value: two numbers, then bytes derived from them.
fn fill(buffer: &mut Vec<u8>, first: u64, second: u64, length: usize) {
    buffer.clear();
    buffer.extend(first.to_ne_bytes());
    buffer.extend(second.to_ne_bytes());
    buffer.resize(length.max(16), (first ^ second) as u8);
}

fn whole(bytes: &[u8]) -> (u64, u64) {
    let (words, _) = bytes.as_chunks::<8>();
    let (first, second) = (u64::from_ne_bytes(words[0]), u64::from_ne_bytes(words[1]));
    let rest = &bytes[16..];
    // Compare each byte with the one before, which is fast, so that most time goes into sending,
    // where kills should hit.
    let same =
        rest.is_empty() || rest[0] == (first ^ second) as u8 && rest[1..] == rest[..rest.len() - 1];
    assert!(same, "torn: {first} {second}");
    (first, second)
}

/// The work of a child process; returns at once in an ordinary test run.
#[test]
fn child() {
    let Ok(role) = std::env::var("TICKPATH_IPC_ROLE") else { return };
    let mut parts = role.split(' ');
    let mut part = || parts.next().unwrap();
    let (role, life, folder) = (part(), part().parse().unwrap(), part());
    let folder = Path::new(folder);
    let notes = Notes::open(folder);
    match role {
        "producer" => produce(&Ring::open(&folder.join("it")).unwrap(), &notes, life),
        "consumer" => consume(&Ring::open(&folder.join("it")).unwrap(), &notes, life),
        "writer" => write(&Distributor::open(&folder.join("it")).unwrap(), &notes, life),
        "reader" => read(&Distributor::open(&folder.join("it")).unwrap(), &notes, life),
        role => panic!("{role}"),
    }
}

/// Sends numbered messages, single ones and batches, and notes those that are sent.
fn produce(ring: &Ring, notes: &Notes, life: usize) {
    let mut producer = ring.producer().unwrap();
    let mut random = SplitMix64::new(life as u64);
    let mut buffers = vec![Vec::new(); CALL_MESSAGES];
    let deadline = Deadline::after(PATIENCE);
    notes.began(life).store(1, SeqCst);
    let mut next = 0;
    while notes.stop().load(Relaxed) == 0 {
        let messages = &mut buffers[..1 + random.below(CALL_MESSAGES as u32) as usize];
        for (number, message) in (next..).zip(messages.iter_mut()) {
            fill(message, life as u64, number, random.below(MESSAGE_BYTES as u32 + 1) as usize);
        }
        let sent = if messages.len() == 1 {
            u64::from(producer.try_send(&messages[0]).is_ok())
        } else {
            producer.try_send_batch(messages).sent as u64
        };
        next += sent;
        notes.sent(life).store(next, SeqCst);
        if sent == 0 {
            assert!(!deadline.left().is_zero(), "nobody receives");
            std::thread::yield_now();
        }
    }
}

/// Checks each message against the previous ones.
fn consume(ring: &Ring, notes: &Notes, life: usize) {
    let mut consumer = ring.consumer().unwrap();
    let one_after_the_other = ring.shape().producers == Producers::One;
    notes.began(life).store(1, SeqCst);
    let (mut first_call, mut last_producer) = (true, 0);
    loop {
        let stop = notes.stop().load(SeqCst);
        let wait = Wait::Futex { spins: 20 };
        let patience = Duration::from_millis(100);
        let received = consumer.receive_within(wait, patience, CALL_MESSAGES, |message| {
            let (producer, number) = whole(message);
            let received = notes.received(producer as usize);
            let expected = received.load(Relaxed);
            assert!(number <= expected, "{producer}: lost {expected} to {number}");
            if number == expected {
                received.store(number + 1, SeqCst);
            } else {
                assert!(first_call, "{producer}: {number} twice, expected {expected}");
                notes.repeats().fetch_add(1, SeqCst);
            }
            assert!(!one_after_the_other || producer >= last_producer, "a dead one's came late");
            last_producer = producer;
        });
        first_call &= received == 0;
        if received == 0 && stop == 2 {
            return;
        }
    }
}

/// Publishes increasing numbers, above all that an earlier writer intended.
fn write(distributor: &Distributor, notes: &Notes, life: usize) {
    let mut writer = distributor.writer().unwrap();
    let mut random = SplitMix64::new(life as u64);
    let mut value = Vec::new();
    notes.began(life).store(1, SeqCst);
    while notes.stop().load(Relaxed) == 0 {
        let key = random.below(KEYS as u32) as usize;
        let number = notes.intended(key).load(Relaxed) + 1;
        notes.intended(key).store(number, SeqCst);
        fill(&mut value, key as u64, number, random.below(MESSAGE_BYTES as u32 + 1) as usize);
        writer.publish(key as u32, &value).unwrap();
        notes.published(key).store(number, SeqCst);
    }
}

fn read(distributor: &Distributor, notes: &Notes, life: usize) {
    let mut reader = distributor.reader();
    notes.began(life).store(1, SeqCst);
    follow(&mut reader, notes);
}

/// Reads until the end; returns the last number of each key.
fn follow(reader: &mut Reader, notes: &Notes) -> [u64; KEYS] {
    let mut last = [0; KEYS];
    loop {
        let stop = notes.stop().load(SeqCst);
        let wait = Wait::Futex { spins: 20 };
        let shown = reader.poll_within(wait, Duration::from_millis(100), |key, value, missed| {
            let (of_key, number) = whole(value);
            assert_eq!(of_key, u64::from(key));
            let last = &mut last[key as usize];
            assert!(number > *last, "{key}: {number} after {last}");
            // Fewer if a writer died between intending and publishing, but never more.
            assert!(*last == 0 || missed < number - *last, "{key}: {missed}, {last} to {number}");
            *last = number;
        });
        if shown == 0 && stop == 2 {
            assert_eq!(reader.damaged(), 0);
            return last;
        }
    }
}

/// The child processes, their roles, and their ends.
struct Lives<'a> {
    folder: &'a Path,
    notes: &'a Notes,
    next: usize,
    running: Vec<(&'static str, usize, Child)>,
}

impl Lives<'_> {
    /// Starts a process in a role and waits until it has the role.
    fn start(&mut self, role: &'static str) {
        let life = self.next;
        self.next += 1;
        assert!(life < LIVES_MAX);
        let mut child = spawn(self.folder, role, life).unwrap();
        let deadline = Deadline::after(PATIENCE);
        while self.notes.began(life).load(SeqCst) == 0 {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{role} {life} ended: {ended:?}");
            assert!(!deadline.left().is_zero(), "{role} {life} has not begun");
            std::thread::sleep(Duration::from_micros(200));
        }
        self.running.push((role, life, child));
    }

    /// Kills a random process, and starts another in its role.
    fn kill_one(&mut self, random: &mut SplitMix64) {
        std::thread::sleep(Duration::from_micros(u64::from(random.below(5000))));
        let victim = random.below(self.running.len() as u32) as usize;
        let (role, life, mut child) = self.running.swap_remove(victim);
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "{role} {life} ended by itself: {ended:?}");
        child.kill().unwrap();
        child.wait().unwrap();
        self.start(role);
    }

    /// Lets all processes end by themselves: first senders, then receivers.
    fn end(&mut self, senders: &str) {
        for (stop, of_senders) in [(1, true), (2, false)] {
            self.notes.stop().store(stop, SeqCst);
            for (role, life, child) in &mut self.running {
                if (*role == senders) == of_senders {
                    let status = child.wait().unwrap();
                    assert!(status.success(), "{role} {life}: {status}");
                }
            }
        }
    }
}

impl Drop for Lives<'_> {
    fn drop(&mut self) {
        // Also ends a reader in this process after a failed test.
        self.notes.stop().store(2, SeqCst);
        for (_, _, child) in &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn spawn(folder: &Path, role: &str, life: usize) -> std::io::Result<Child> {
    let role = format!("{role} {life} {}", folder.display());
    testing::child::again(&testing::test_name!(child))
        .env("TICKPATH_IPC_ROLE", role)
        .stdout(Stdio::null())
        .spawn()
}

/// On tmpfs if possible.
fn folder() -> tempfile::TempDir {
    let shared = Path::new("/dev/shm");
    let on_tmpfs = tempfile::tempdir_in(shared);
    on_tmpfs.or_else(|_| tempfile::tempdir()).unwrap()
}

fn kills() -> usize {
    let asked = std::env::var("TICKPATH_IPC_KILLS");
    asked.map_or(60, |text| text.parse().expect("TICKPATH_IPC_KILLS is a number"))
}

fn ring_survives(producers: Producers, at_a_time: usize) {
    let folder = folder();
    let folder = folder.path();
    let notes = Notes::create(folder);
    if !testing::child::is_possible() {
        return;
    }
    let message_bytes_max = MESSAGE_BYTES;
    let shape = ring::Shape { slots: 32, message_bytes_max, producers, may_sleep: true };
    let ring = Ring::create(RegionBacking::File(&folder.join("it")), shape).unwrap();
    let mut lives = Lives { folder, notes: &notes, next: 0, running: Vec::new() };
    lives.start("consumer");
    (0..at_a_time).for_each(|_| lives.start("producer"));
    let mut random = SplitMix64::new(at_a_time as u64);
    (0..kills()).for_each(|_| lives.kill_one(&mut random));
    lives.end("producer");

    let mut messages = 0;
    for life in 0..lives.next {
        let (sent, received) = (notes.sent(life).load(SeqCst), notes.received(life).load(SeqCst));
        let range = sent..=sent + CALL_MESSAGES as u64;
        assert!(range.contains(&received), "{life}: {received} of {sent}");
        messages += received;
    }
    let (counts, repeats) = (ring.counts(), notes.repeats().load(SeqCst));
    assert!(repeats <= (kills() * CALL_MESSAGES) as u64);
    assert_eq!(counts.damaged, 0);
    // Each killed producer leaves at most one claim; a single producer has none.
    let abandoned_max = if producers == Producers::Many { kills() as u64 } else { 0 };
    assert!(counts.abandoned <= abandoned_max);
    assert!(messages > 0);
    eprintln!("{} kills, {messages} messages, {repeats} again, {counts:?}", kills());
}

#[test]
fn a_ring_of_one_producer_survives_kills() {
    ring_survives(Producers::One, 1);
}

#[test]
fn a_ring_of_many_producers_survives_kills() {
    ring_survives(Producers::Many, 3);
}

#[test]
fn a_distributor_survives_kills() {
    let folder = folder();
    let folder = folder.path();
    let notes = Notes::create(folder);
    if !testing::child::is_possible() {
        return;
    }
    let value_bytes_max = MESSAGE_BYTES;
    let shape =
        distributor::Shape { keys: KEYS as u32, slots: 2, value_bytes_max, may_sleep: true };
    let distributor = Distributor::create(RegionBacking::File(&folder.join("it")), shape).unwrap();
    let mut reader = distributor.reader();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| follow(&mut reader, &notes));
        let mut lives = Lives { folder, notes: &notes, next: 0, running: Vec::new() };
        lives.start("writer");
        lives.start("reader");
        let mut random = SplitMix64::new(7);
        (0..kills()).for_each(|_| lives.kill_one(&mut random));
        lives.end("writer");
        let last = reading.join().unwrap();
        let published: [u64; KEYS] = std::array::from_fn(|key| notes.published(key).load(SeqCst));
        assert_eq!(last, published);
        eprintln!("{} kills, {} values", kills(), published.iter().sum::<u64>());
    });
}

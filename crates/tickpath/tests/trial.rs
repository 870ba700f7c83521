//! `tickpath tune trial` finds what is planted. A program of its own: it disturbs a core on
//! purpose, and needs both cores for itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use record::tune::{NOISE_SHARE, Trial, TriedSetting};
use stats::verdict::Outcome;
use tempfile::TempDir;
use testing::skip;

/// The disturbed core is one: its tests take turns.
static TURN: Mutex<()> = Mutex::new(());

/// A disturbing thread has its core for this part of the time.
const BUSY: Duration = Duration::from_millis(4);
const IDLE: Duration = Duration::from_millis(4);
/// While its file says 0 it only looks at the file.
const ASLEEP: Duration = Duration::from_millis(20);

/// A thread that takes its share of a core while a file says 1.
fn disturb(core: usize, file: PathBuf, stop: Arc<AtomicBool>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        host::thread::pin(core).unwrap();
        while !stop.load(Ordering::Relaxed) {
            let is_on = fs::read_to_string(&file).is_ok_and(|text| text.trim() == "1");
            let begin = Instant::now();
            while is_on && begin.elapsed() < BUSY {
                std::hint::spin_loop();
            }
            thread::sleep(if is_on { IDLE } else { ASLEEP });
        }
    })
}

/// A machine on which one setting moves a disturbing thread off the measured core, one puts
/// another there, and some do nothing.
struct Planted {
    directory: TempDir,
    stop: Arc<AtomicBool>,
    threads: Vec<thread::JoinHandle<()>>,
    /// In the order in which they are tried.
    ids: Vec<String>,
    cores: [usize; 2],
    _turn: MutexGuard<'static, ()>,
}

impl Planted {
    /// `None` without two cores. The order of the settings is that of `seed`.
    fn plant(nothing: usize, seed: usize) -> Option<Planted> {
        let [server, client, ..] = host::thread::allowed().unwrap()[..] else { return None };
        let mut ids: Vec<String> =
            (1..=nothing).map(|number| format!("nothing-{number}")).collect();
        ids.insert(seed * 5 % (ids.len() + 1), "helps".to_owned());
        ids.insert(seed * 7 % (ids.len() + 1), "hurts".to_owned());
        let mut planted = Planted {
            directory: tempfile::tempdir().unwrap(),
            stop: Arc::default(),
            threads: Vec::new(),
            ids,
            cores: [server, client],
            _turn: TURN.lock().unwrap_or_else(PoisonError::into_inner),
        };
        for id in &planted.ids {
            fs::write(planted.file(id), format!("{}\n", before(id))).unwrap();
        }
        for id in ["helps", "hurts"] {
            let thread = disturb(client, planted.file(id), planted.stop.clone());
            planted.threads.push(thread);
        }
        Some(planted)
    }

    fn file(&self, id: &str) -> PathBuf {
        self.directory.path().join(id)
    }

    fn trial(&self, budget: &str, more: &[&str]) -> Output {
        let mut command = self.command(budget);
        for id in &self.ids {
            let after = if before(id) == "0" { "1" } else { "0" };
            command.args(["--plant", &format!("{id}={}={after}", self.file(id).display())]);
        }
        command.args(more).output().unwrap()
    }

    fn command(&self, budget: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tickpath"));
        command.stdin(Stdio::null()).current_dir(self.directory.path());
        // Open loop: with one message in flight a pause hits a single message, however long it is,
        // and a second thread that takes the same core shows in nothing.
        command.args(["tune", "trial", "--scenario", "order-to-ack", "--json", "--quiet"]);
        command.args(["--budget", budget, "--state", "state"]);
        let [server, client] = self.cores;
        let cores =
            [format!("exchange.cores=[{server}]"), format!("subject.rust.cores=[{client}]")];
        let short = ["seconds=0.2", "warm_up_seconds=0.05", "hiccup_seconds=0"];
        let book = ["exchange.book=empty", "exchange.replay_inputs_max=0"];
        for set in cores.iter().map(String::as_str).chain(short).chain(book) {
            command.args(["--set", set]);
        }
        command
    }

    fn check_that_all_is_as_before(&self) {
        for id in &self.ids {
            let now = fs::read_to_string(self.file(id)).unwrap();
            assert_eq!(now, format!("{}\n", before(id)), "{id}");
        }
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// The value of a setting outside of a trial; the setting changes it to the other one.
fn before(id: &str) -> &'static str {
    if id == "helps" { "1" } else { "0" }
}

fn read_trial(done: &Output) -> Trial {
    serde_json::from_slice(&done.stdout).unwrap_or_else(|error| {
        let said = [&done.stdout, &done.stderr].map(|text| String::from_utf8_lossy(text));
        panic!("{error}: {}{}", said[0], said[1]);
    })
}

fn of<'a>(trial: &'a Trial, id: &str) -> &'a TriedSetting {
    trial.tried.iter().find(|one| one.id == id).unwrap_or_else(|| panic!("no {id}: {trial:?}"))
}

/// Faults of a trial of planted settings; empty if it found them and nothing else.
fn missed(trial: &Trial) -> Vec<String> {
    let is_right = |one: &&TriedSetting| match one.id.as_str() {
        "helps" => one.outcome == Outcome::Better,
        "hurts" => one.outcome == Outcome::Worse,
        _ => !one.outcome.is_difference(),
    };
    let wrong = trial.tried.iter().filter(|one| !is_right(one));
    let mut missed: Vec<String> =
        wrong.map(|one| format!("{} {}", one.id, one.outcome.name())).collect();
    missed.extend(trial.not_tried.iter().map(|one| format!("{} not tried", one.id)));
    if trial.confirmation.as_ref().is_none_or(|one| one.outcome != Outcome::Better) {
        missed.push("not confirmed".to_owned());
    }
    missed
}

/// A setting that does nothing is in the trial, and its verdict is not checked here: by its very
/// nature it is wrong once in twenty trials or less.
#[test]
fn a_short_trial_finds_what_helps_and_what_hurts() {
    let cores = host::thread::allowed().unwrap();
    let [_, client, ..] = cores[..] else { skip!(Cores, "a server and a client") };
    let look = || {
        let on_core = thread::spawn(move || {
            host::thread::pin(client).unwrap();
            testing::cores::share_taken(Duration::from_millis(500))
        });
        on_core.join().unwrap()
    };
    // Other work on the core is in the runs with and without a setting.
    if !testing::cores::is_quiet_by(0.05, look) {
        return;
    }
    let Some(planted) = Planted::plant(1, 0) else { skip!(Cores, "a server and a client") };
    let done = planted.trial("4m", &[]);
    if String::from_utf8_lossy(&done.stderr).contains("raise it, or shorten the runs") {
        skip!(QuietCore, "runs so slow that three settings don't fit into four minutes");
    }
    let trial = read_trial(&done);
    if trial.tried.len() < 3 {
        skip!(QuietCore, "runs that became slower: {:?}", trial.not_tried);
    }
    assert!(trial.took_seconds < trial.budget_seconds, "{} s", trial.took_seconds);
    assert_eq!(of(&trial, "helps").outcome, Outcome::Better, "{:?}", of(&trial, "helps"));
    assert_eq!(of(&trial, "hurts").outcome, Outcome::Worse, "{:?}", of(&trial, "hurts"));
    assert!(trial.chosen.contains(&"helps".to_owned()), "{:?}", trial.chosen);
    assert!(!trial.chosen.contains(&"hurts".to_owned()), "{:?}", trial.chosen);
    assert_eq!(trial.confirmation.map(|one| one.outcome), Some(Outcome::Better));
    planted.check_that_all_is_as_before();
    let below = planted.directory.path().join("runs");
    assert_eq!(fs::read_dir(below).unwrap().count(), 1, "one directory for all records");
}

#[test]
fn a_budget_that_is_too_short_says_what_a_run_takes() {
    let Some(planted) = Planted::plant(0, 0) else { skip!(Cores, "a server and a client") };
    let done = planted.trial("1s", &[]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("a run takes") && said.contains("raise it"), "{said}");
    planted.check_that_all_is_as_before();
}

/// The core lock, tickpath.toml and `--out` are those of every command that measures.
#[test]
fn it_waits_its_turn_and_reads_the_projects_defaults() {
    let Some(planted) = Planted::plant(0, 0) else { skip!(Cores, "a server and a client") };
    let Some(locks) = host::core_lock::directory() else { skip!(Kernel, "a place for locks") };
    let Ok(Ok(_held)) = host::core_lock::CoreLocks::take(&locks, &[planted.cores[1]], "a test")
    else {
        skip!(QuietCore, "the core is being measured on");
    };
    let done = planted.trial("1s", &["--no-wait"]);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(said.contains("a test measures on core"), "{said}");
    fs::write(planted.file("tickpath.toml"), "[set]\nseconds = -1\n").unwrap();
    let done = planted.trial("1s", &["--no-wait", "--set", "runs=1"]);
    let said = String::from_utf8_lossy(&done.stderr);
    // --set comes after the file: its seconds win over the wrong ones there.
    assert!(said.contains("a test measures on core"), "{said}");
    fs::write(planted.file("tickpath.toml"), "[sett]\n").unwrap();
    let done = planted.trial("1s", &[]);
    assert!(String::from_utf8_lossy(&done.stderr).contains("no key \"sett\""));
}

/// A machine as files: GRUB, and a clock that ticks on all cores at once.
fn grub_machine(at: &Path) {
    let write = |path: &str, text: &str| {
        let path = at.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n");
    write("proc/sys/kernel/random/boot_id", "first\n");
    write("sys/devices/system/cpu/online", "0-3\n");
    write("boot/grub/grub.cfg", "menuentry 'x' {\n\tlinux /vmlinuz root=/dev/sda1 ro quiet\n}\n");
    write("etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n");
}

/// Runs on this machine; the setting's files and the restart are a tree of files.
#[test]
fn a_trial_goes_on_after_a_reboot() {
    let Some(planted) = Planted::plant(0, 0) else { skip!(Cores, "a server and a client") };
    let root = planted.file("root");
    grub_machine(&root);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let before = [read("boot/grub/grub.cfg"), read("etc/default/grub")];
    let at = ["--root", root.to_str().unwrap(), "--cores", "3"];
    let trial = |more: &[&str]| planted.command("2m").args(at).args(more).output().unwrap();
    let said = |done: &Output| String::from_utf8_lossy(&done.stderr).into_owned();

    assert!(said(&trial(&["--resume"])).contains("no trial waits"));
    let begin = ["--reboot", "--yes", "--setting", "kernel.skew_tick"];
    let begun = trial(&begin);
    if said(&begun).contains("runs were made before") {
        skip!(QuietCore, "six runs of 0.2 s in a minute: {}", said(&begun));
    }
    assert_eq!(begun.status.code(), Some(0), "{}", said(&begun));
    assert!(read("boot/grub/grub.cfg").contains("skew_tick=1"));
    assert!(String::from_utf8_lossy(&begun.stdout).contains("trial --resume"));
    assert!(said(&trial(&begin)).contains("waits already"));
    assert!(said(&trial(&["--resume"])).contains("not been restarted"));
    fs::write(root.join("proc/sys/kernel/random/boot_id"), "second\n").unwrap();
    assert!(said(&trial(&["--resume"])).contains("not in effect after the restart"));
    let line = "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet skew_tick=1\n";
    fs::write(root.join("proc/cmdline"), line).unwrap();
    let done = trial(&["--resume"]);
    let found = read_trial(&done);
    let one = of(&found, "kernel.skew_tick");
    assert!(one.pairs >= 6 && one.figures.len() == 4, "{one:?}");
    // It does nothing here; whatever it is, a verdict has figures or a reason.
    for figure in &one.figures {
        assert!(figure.effect.is_some() || !figure.why.is_empty(), "{figure:?}");
    }
    let better = one.outcome == Outcome::Better;
    assert_eq!(done.status.code(), Some(if better { 0 } else { 4 }));
    assert!(said(&trial(&["--resume"])).contains("no trial waits"), "it is over");
    // Before the next trial of this machine everything goes back.
    let plan = [read("boot/grub/grub.cfg"), read("etc/default/grub")];
    assert_ne!(plan, before);
}

/// The proof of issue 17, made once; docs/guide/tuning.md has the table.
#[test]
#[ignore = "takes five minutes a trial of a machine without other load"]
fn trials_find_what_is_planted_among_ten_that_do_nothing() {
    let number = |name: &str, usual: usize| -> usize {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let first = number("TRIAL_FIRST", 1);
    let trials = number("TRIALS", 10);
    let mut bad = 0;
    for trial in first..first + trials {
        let Some(planted) = Planted::plant(10, trial) else { skip!(Cores, "two cores") };
        let done = planted.trial(&number("TRIAL_MINUTES", 5).to_string(), &[]);
        planted.check_that_all_is_as_before();
        let found = read_trial(&done);
        println!("{}", row(trial, &found));
        bad += usize::from(!missed(&found).is_empty());
        if let Some(directory) = std::env::var_os("TRIAL_KEEP") {
            let file = Path::new(&directory).join(format!("trial-{trial}.json"));
            fs::write(file, &done.stdout).unwrap();
        }
    }
    assert!(10 * bad <= trials, "{bad} of {trials} trials were wrong");
}

/// A row of the guide's table.
fn row(number: usize, trial: &Trial) -> String {
    let share = |id: &str| {
        let Some(one) = trial.tried.iter().find(|one| one.id == id) else {
            return "not tried".to_owned();
        };
        let figure = one.figures.iter().find(|one| one.figure == NOISE_SHARE);
        let points = figure.and_then(|one| one.effect.as_ref()).map(|effect| effect.added_ns);
        let points = points.map_or("unknown".to_owned(), |ppm| format!("{:+.1}", ppm as f64 / 1e4));
        format!("{}, {points} points", one.outcome.name())
    };
    let confirmed = trial.confirmation.as_ref().map_or("none", |one| one.outcome.name());
    let others = trial
        .tried
        .iter()
        .filter(|one| one.id.starts_with("nothing") && one.outcome.is_difference());
    let others: Vec<String> =
        others.map(|one| format!("{} {}", one.id, one.outcome.name())).collect();
    let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
    format!(
        "| {number} | {} | {} | {others} | {confirmed} | {} | {:.0} |",
        share("helps"),
        share("hurts"),
        trial.pairs,
        trial.took_seconds
    )
}

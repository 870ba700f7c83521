//! The live view of `tickpath run`, on a pseudo-terminal: it is there where a person looks on,
//! nowhere else, and changes nothing.

use crate::support::*;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A process with its stderr on a terminal.
struct OnTerminal {
    pid: u32,
    output: std::thread::JoinHandle<Output>,
    shown: mpsc::Receiver<Vec<u8>>,
    seen: String,
    /// The terminal's own end, kept open so that everything can be read.
    terminal: File,
}

impl OnTerminal {
    fn start(mut command: Command, columns: u16) -> OnTerminal {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let terminal = open();
        resize(&terminal, columns);
        let child =
            command.env("TERM", "xterm").stdout(Stdio::piped()).stderr(open()).spawn().unwrap();
        let (sender, shown) = mpsc::channel();
        std::thread::spawn(move || {
            let mut controller = File::from(controller);
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = controller.read(&mut bytes) {
                let _ = sender.send(bytes[..n].to_vec());
            }
        });
        let pid = child.id();
        let output = std::thread::spawn(move || child.wait_with_output().unwrap());
        OnTerminal { pid, output, shown, seen: String::new(), terminal }
    }

    fn wait_for(&mut self, what: &str) {
        while !self.seen.contains(what) {
            match self.shown.recv_timeout(Duration::from_secs(30)) {
                Ok(bytes) => self.seen += &text(&bytes),
                Err(_) => panic!("{what:?} did not come; seen: {:?}", self.seen),
            }
        }
    }

    /// Everything that was shown, and what was printed.
    fn end(mut self) -> (String, Output) {
        let output = self.output.join().unwrap();
        drop(self.terminal);
        while let Ok(bytes) = self.shown.recv_timeout(Duration::from_millis(200)) {
            self.seen += &text(&bytes);
        }
        (self.seen, output)
    }
}

fn resize(terminal: &File, columns: u16) {
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

/// A short run into `out` that is measured for `seconds`.
fn run(out: &tempfile::TempDir, seconds: &str, more: &[&str]) -> Command {
    let mut command = tickpath();
    command
        .args(SHORT)
        .args(["--out", &out.path().display().to_string()])
        .args(["--set", &format!("seconds={seconds}")])
        .args(more);
    command
}

fn on_terminal(command: Command) -> (String, Output) {
    OnTerminal::start(command, 100).end()
}

/// The final text on a terminal of many rows that knows only the sequences of the view.
fn screen(seen: &str) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut row = 0;
    let mut rest = seen;
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\x1b[") {
            let end = sequence.find(|one: char| one.is_alphabetic()).unwrap();
            match (&sequence[..end], &sequence[end..=end]) {
                ("", "J") => {
                    rows.truncate(row + 1);
                    rows[row].clear();
                }
                // A colour of the table.
                (_, "m") => {}
                (up, "A") => row -= up.parse::<usize>().unwrap(),
                other => panic!("unknown sequence {other:?}"),
            }
            rest = &sequence[end + 1..];
            continue;
        }
        match character {
            '\n' => {
                row += 1;
                rows.resize(rows.len().max(row + 1), String::new());
            }
            '\r' => {}
            other => rows[row].push(other),
        }
        rest = &rest[character.len_utf8()..];
    }
    rows
}

#[test]
fn a_person_who_looks_on_sees_who_is_measured_and_how_fast() {
    let runs = tempfile::tempdir().unwrap();
    let command = run(&runs, "2.2", &["--json", "--set", "runs=2", "--set", "floor_seconds=1.2"]);
    let (seen, output) = on_terminal(command);
    for shown in [
        "looking at the machine",
        "run 1 of 2: hiccup, the same cores without load",
        "run 1 of 2: rust, warming up",
        "1 000 messages/s offered",
        "run 1 of 2: rust, 1 of 2.2 s",
        "of 1 000 messages/s; order response p50 ",
        "run 2 of 2: floor, 1 of 1.2 s",
        " left",
    ] {
        assert!(seen.contains(shown), "no {shown:?} in {seen:?}");
    }
    // The first thing measured of the first run has everything before it.
    assert!(seen.contains("0:07 left"), "{seen:?}");
    assert_eq!(screen(&seen), [""], "nothing stays: {seen:?}");
    assert_eq!(
        printed_record(&output),
        record(&only_run(runs.path())),
        "--json is the record and nothing else"
    );
}

/// The same schedule, the same counts, whoever looks on.
#[test]
fn a_log_is_the_same_whether_somebody_looks_on_or_not() {
    let mut counts = Vec::new();
    for looks_on in [true, false] {
        let runs = tempfile::tempdir().unwrap();
        let mut command = run(&runs, "1.2", &[]);
        if looks_on {
            let (seen, _) = on_terminal(command);
            assert!(seen.contains("messages/s;"), "{seen:?}");
        } else {
            let done = command.output().unwrap();
            assert_eq!(text(&done.stderr), "", "nobody looks on");
        }
        let log = std::fs::read(only_run(runs.path()).join("001.hlog")).unwrap();
        let totals = record::hlog::totals(&log[..]).unwrap();
        let of = |tag: &str| totals[tag].len();
        counts.push(["rust.order.response", "rust.cancel.service", "rust.send.lateness"].map(of));
    }
    assert_eq!(counts, [[600, 600, 1200]; 2]);
}

#[test]
fn quiet_is_quiet_and_a_dumb_terminal_is_left_alone() {
    let runs = tempfile::tempdir().unwrap();
    assert_eq!(on_terminal(run(&runs, "0.3", &["--quiet"])).0, "");
    let runs = tempfile::tempdir().unwrap();
    let mut command = Command::new("env");
    command
        .args(["TERM=dumb", "TICKPATH_LOCKS=", env!("CARGO_BIN_EXE_tickpath")])
        .stdin(Stdio::null());
    command.args(run(&runs, "0.3", &[]).get_args());
    let seen = on_terminal(command).0;
    // A run that takes more than some seconds, on a busy machine, says so in a line.
    assert!(!seen.contains('\x1b'), "{seen:?}");
    assert!(seen.lines().all(|line| line.starts_with("run 1 of 1: ")), "{seen:?}");
}

#[test]
fn a_narrow_terminal_and_one_that_is_resized_stay_in_order() {
    let runs = tempfile::tempdir().unwrap();
    let mut run = OnTerminal::start(run(&runs, "2.5", &["--set", "floor_seconds=0"]), 100);
    run.wait_for("rust, 1 of 2.5 s");
    resize(&run.terminal, 20);
    run.wait_for("rust, 2\r");
    let (seen, _) = run.end();
    let after = &seen[seen.rfind("rust, 1 of 2.5 s").unwrap()..];
    let drawn = after.split("\x1b[J").nth(1).unwrap();
    assert!(drawn.lines().all(|line| line.trim_end().chars().count() < 20), "{drawn:?}");
    // Three lines had been wrapped into more rows.
    let up = after.split("\x1b[").nth(1).unwrap();
    let rows: usize = up.strip_suffix('A').unwrap().parse().unwrap();
    assert!(rows > 4, "{after:?}");
}

#[test]
fn ctrl_c_leaves_a_clean_terminal() {
    let runs = tempfile::tempdir().unwrap();
    let mut run = OnTerminal::start(run(&runs, "60", &["--set", "floor_seconds=0"]), 100);
    run.wait_for("rust, 1 of 60 s");
    signal(run.pid, Signal::INT);
    let (seen, output) = run.end();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(screen(&seen), [""], "{seen:?}");
    assert!(!seen.contains("\x1b[?25l"), "the cursor is never hidden");
    let record = record(&only_run(runs.path()));
    assert!(record["void_because"].to_string().contains("interrupted"), "{record}");
}

/// Drawing and writing stay off the cores that are measured.
#[test]
fn what_is_not_measured_keeps_off_the_measured_cores() {
    let allowed = host::thread::allowed().unwrap();
    let [measured, .., _] = allowed[..] else { testing::skip!(Cores, "needs two cores") };
    let runs = tempfile::tempdir().unwrap();
    let place = |key: &str| format!("{key}.cores=[{measured}]");
    let sets = ["--set", &place("exchange"), "--set", &place("subject.rust")];
    let more = [&sets[..], &["--set", "floor_seconds=0"]].concat();
    let mut run = OnTerminal::start(run(&runs, "60", &more), 100);
    run.wait_for("rust, 1 of 60 s");
    let cores = |pid: u32| -> Vec<Vec<usize>> {
        std::fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .map(|thread| {
                let status =
                    std::fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
                let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
                host::topology::parse_core_list(list.unwrap()).unwrap()
            })
            .collect()
    };
    let others: Vec<usize> = allowed.iter().copied().filter(|core| *core != measured).collect();
    let [exchange, trade] = ["exchange", "trade"].map(|word| children(run.pid, word)[0]);
    let main_thread = cores(run.pid)[0].clone();
    let mut of_client = cores(trade);
    let of_exchange = cores(exchange);
    signal(run.pid, Signal::INT);
    run.end();
    assert_eq!(main_thread, others);
    let is_measured = |cores: &Vec<usize>| cores == &[measured];
    assert!(of_exchange.iter().any(is_measured), "{of_exchange:?}");
    assert_eq!(of_client.iter().filter(|cores| is_measured(cores)).count(), 1, "{of_client:?}");
    of_client.retain(|cores| !is_measured(cores));
    assert!(of_client.iter().all(|cores| cores == &others), "{of_client:?}");
}

#[test]
fn a_client_by_hand_is_looked_on_too() {
    let exchange = Exchange::start(&["--any-token"]);
    let directory = tempfile::tempdir().unwrap();
    for (number, quiet) in [("1", false), ("2", true)] {
        let hlog = directory.path().join(number).display().to_string();
        let mut command = tickpath();
        command.args(["trade", "ping-pong", "--connect", &exchange.address, "--hlog", &hlog]);
        command.args(["--set", "seconds=1.2", "--set", "warm_up_seconds=0.1"]);
        command.args(["--set", "subject.rust.backend=block"]);
        command.args(quiet.then_some("--quiet"));
        let (seen, output) = on_terminal(command);
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["complete"], true, "{result}");
        for shown in ["run 1 of 1: rust, 1 of 1.2 s", " messages/s; order service p50 "] {
            assert_eq!(seen.contains(shown), !quiet, "{shown:?} in {seen:?}");
        }
        assert_eq!(screen(&seen), [""]);
    }
}

/// An error stands alone on the terminal; a warning is shown as it comes.
#[test]
fn what_goes_wrong_is_shown() {
    let runs = tempfile::tempdir().unwrap();
    let silent = r#"subject.rust.command=["/bin/sh", "-c", "echo broken hardware >&2; exit 7"]"#;
    let (seen, output) = on_terminal(run(&runs, "0.3", &["--set", silent]));
    assert_eq!(output.status.code(), Some(2));
    let left = screen(&seen);
    assert!(left[0].starts_with("error: rust failed"), "{left:?}");

    let counts = ["sent", "received", "lost", "duplicated", "rejected", "unexpected"];
    let counts = counts.map(|count| format!(r#"\"{count}\": 0"#)).join(", ");
    let failures = r#"\"failures\": [\"a slow disk\", \"and more\"]"#;
    let told = format!(r#"'{{\"complete\": true, {failures}, \"load\": {{{counts}}}}}'"#);
    let liar = format!(r#"subject.rust.command=["/bin/sh", "-c", "echo {told}"]"#);
    let (seen, output) =
        on_terminal(run(&runs, "0.3", &["--set", &liar, "--set", "floor_seconds=0"]));
    assert_eq!(output.status.code(), Some(3));
    assert!(seen.contains("1 warning: a slow disk"), "{seen:?}");
    assert!(seen.contains("2 warnings, the latest: and more"), "{seen:?}");
}

/// A client of another language may be silent, may tell of seconds, and may talk nonsense
/// meanwhile.
#[test]
fn a_foreign_client_may_say_what_it_likes() {
    let own = env!("CARGO_BIN_EXE_tickpath");
    let silent = format!(r#"sed 's/"progress":true/"progress":false/' | {own} trade --plan -"#);
    let noisy = format!(
        r#"echo hello; echo '{{"progress": 7}}'; echo '[1'; head -c 3000000 /dev/zero; echo
           echo '{{"progress":{{"seconds":1e300,"messages_per_second":-5,"series":"\u001b[2J"}}}}'
           {own} trade --plan -"#
    );
    for (client, expected) in [(silent, "rust, warming up"), (noisy, "-5 of 1 000 messages/s; [2J")]
    {
        let runs = tempfile::tempdir().unwrap();
        let script = runs.path().join("client.sh");
        std::fs::write(&script, client).unwrap();
        let out = tempfile::tempdir().unwrap();
        let set = format!(r#"subject.rust.command=["/bin/sh", "{}"]"#, script.display());
        let (seen, output) = on_terminal(run(&out, "1.2", &["--set", &set]));
        assert!(seen.contains(expected), "{seen:?}");
        assert_eq!(screen(&seen), [""], "{seen:?}");
        let record = record(&only_run(out.path()));
        assert_eq!(record["complete"], true, "{}{record}", text(&output.stderr));
        assert_eq!(record["subjects"][0]["load"]["received"], 1200);
    }
}

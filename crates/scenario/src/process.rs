//! One process of a run: started in a group of its own (so that Ctrl-C reaches it through us alone),
//! listened to line by line, ended in time.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Ctrl-C, from whoever hears it to whoever must end. Signals go to the whole group of a process: a
/// client may be started by a script.
#[derive(Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    running: Arc<Mutex<Vec<Pid>>>,
}

impl Interrupt {
    /// Ends the run: who runs now is told to finish, nothing new is started.
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for &pid in self.running.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // It may just have ended by itself.
            let _ = kill_process_group(pid, Signal::INT);
        }
    }

    /// Whether the run shall end.
    pub fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag, for code that runs in this process.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Who runs now, and hears of an interrupt.
    pub(crate) fn watch(&self, pids: &[Pid]) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = pids.to_vec();
        // It was started while we were interrupted, and has not heard of it.
        if !pids.is_empty() && self.is_set() {
            self.interrupt();
        }
    }
}

/// What is longer counts as several lines: nobody's output fills our memory.
const LINE_BYTES_MAX: u64 = 1 << 20;

pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Sends SIGKILL at the deadline unless its sender is dropped before.
    watchdog: Option<(mpsc::Sender<()>, JoinHandle<bool>)>,
}

impl Process {
    /// Starts `command`, gives it `input` on stdin and nothing more, its stderr to `stderr`, and `deadline`
    /// to end.
    pub(crate) fn start(
        command: Command,
        input: &str,
        stderr: File,
        deadline: Duration,
    ) -> io::Result<Process> {
        let mut process = Process::start_to_tell(command, input, stderr, deadline)?;
        process.stdin = None;
        Ok(process)
    }

    /// The same for a process that is told more later, by [`Process::tell`].
    pub(crate) fn start_to_tell(
        mut command: Command,
        input: &str,
        stderr: File,
        deadline: Duration,
    ) -> io::Result<Process> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| io::Error::other("no stdout"))?;
        let stdout = BufReader::new(stdout);
        let stdin = child.stdin.take();
        let mut process = Process { child, stdin, stdout, watchdog: None };
        process.tell(input);
        process.deadline(deadline);
        Ok(process)
    }

    /// Writes `text` to its stdin.
    pub(crate) fn tell(&mut self, text: &str) {
        if let Some(stdin) = &mut self.stdin {
            // A program that ends without reading says why on stderr.
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    /// From now on it has so long to end; then it is killed.
    pub(crate) fn deadline(&mut self, deadline: Duration) {
        self.disarm();
        let pid = self.pid();
        let (sender, receiver) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let timed_out = receiver.recv_timeout(deadline) == Err(mpsc::RecvTimeoutError::Timeout);
            if timed_out {
                // Nobody has reaped the child yet, so the pid is still its own.
                let _ = kill_process_group(pid, Signal::KILL);
            }
            timed_out
        });
        self.watchdog = Some((sender, thread));
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// The next line of its stdout; `None` when there will be none.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.stdout.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }

    /// The last line of its stdout, when it has ended.
    pub(crate) fn last_line(&mut self) -> Option<String> {
        self.last_line_after(&mut |_| false)
    }

    /// As [`Process::last_line`]; lines that `take` takes as they come don't count.
    pub(crate) fn last_line_after(&mut self, take: &mut dyn FnMut(&str) -> bool) -> Option<String> {
        std::iter::from_fn(|| self.line()).filter(|line| !line.is_empty() && !take(line)).last()
    }

    pub(crate) fn terminate(&self) {
        let _ = kill_process_group(self.pid(), Signal::TERM);
    }

    /// Waits for its end; says how it was, and whether it had to be killed at its deadline.
    pub(crate) fn wait(mut self) -> io::Result<(ExitStatus, bool)> {
        // Not reaped here, so that the watchdog has a process to kill until the end.
        until_ended(self.pid());
        let timed_out = self.disarm();
        let status = self.child.wait()?;
        Ok((status, timed_out))
    }

    fn disarm(&mut self) -> bool {
        match self.watchdog.take() {
            Some((sender, thread)) => {
                drop(sender);
                thread.join().unwrap_or(false)
            }
            None => false,
        }
    }
}

/// Waits for the end of a process of ours, and leaves it to be reaped.
fn until_ended(pid: Pid) {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
}

/// Tells `other` to finish when `one` has ended: of two that work together, nobody waits long for who is
/// gone. Returns then. Both are processes of ours that nobody reaps meanwhile.
pub(crate) fn finish_after(one: Pid, other: Pid) {
    until_ended(one);
    // It may have ended too.
    let _ = kill_process_group(other, Signal::INT);
}

impl Drop for Process {
    /// Nothing that we started outlives us. (If we are killed ourselves, our own processes die with
    /// us, and a client of another language by its contract: the exchange has closed its connections.)
    fn drop(&mut self) {
        if self.watchdog.is_some() {
            self.disarm();
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

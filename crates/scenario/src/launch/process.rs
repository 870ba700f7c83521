//! One process of a run, in a process group of its own, so that Ctrl-C reaches it through us alone.
//! It is read line by line and ends by a deadline.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

/// Passes Ctrl-C on to the running processes. The whole group of a process gets the signal, because
/// a script may have started the client.
#[derive(Clone, Default)]
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    running: Arc<Mutex<Vec<Pid>>>,
}

impl Interrupt {
    /// Ends the run: running processes are told to finish, and no new one starts.
    pub fn interrupt(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for &pid in self.running.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // It may already have ended.
            let _ = kill_process_group(pid, Signal::INT);
        }
    }

    /// Whether the run should end.
    pub fn is_set(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag, for code that runs in this process.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Sets the processes that an interrupt reaches.
    pub(crate) fn watch(&self, pids: &[Pid]) {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = pids.to_vec();
        // It started after the interrupt, and must be told.
        if !pids.is_empty() && self.is_set() {
            self.interrupt();
        }
    }
}

/// A longer line counts as several, so that no output fills our memory.
const LINE_BYTES_MAX: u64 = 1 << 20;

pub(crate) struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    /// Sends SIGKILL at the deadline, unless its sender is dropped first.
    watchdog: Option<(mpsc::Sender<()>, JoinHandle<bool>)>,
}

impl Process {
    /// Starts `command` with `input` on stdin and its stderr in `stderr`. It has `deadline` to end.
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

    /// The same with a stdin that stays open for [`Process::tell`].
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
            // A program that ends without reading explains itself on stderr.
            let _ = stdin.write_all(text.as_bytes());
        }
    }

    /// Sets a new deadline from now on; the process is killed when it passes.
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

    /// The next line of its stdout; `None` at its end.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        match self.stdout.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }

    /// The lines that it has written to its stdout so far and that were not read yet.
    pub(crate) fn lines_so_far(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while self.has_output() {
            let Some(line) = self.line() else { break };
            lines.push(line);
        }
        lines
    }

    /// Whether a read of its stdout returns at once.
    fn has_output(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut stdout = [PollFd::new(self.stdout.get_ref(), PollFlags::IN)];
        !self.stdout.buffer().is_empty() || poll(&mut stdout, Some(&at_once)).is_ok_and(|n| n > 0)
    }

    /// The last line of its stdout, after it has ended.
    pub(crate) fn last_line(&mut self) -> Option<String> {
        self.last_line_after(&mut |_| false)
    }

    /// As [`Process::last_line`], without the lines that `take` accepts.
    pub(crate) fn last_line_after(&mut self, take: &mut dyn FnMut(&str) -> bool) -> Option<String> {
        std::iter::from_fn(|| self.line()).filter(|line| !line.is_empty() && !take(line)).last()
    }

    pub(crate) fn terminate(&self) {
        let _ = kill_process_group(self.pid(), Signal::TERM);
    }

    /// Waits for its end. Returns the status, and whether it had to be killed at its deadline.
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

/// Waits for the end of a child process without reaping it.
fn until_ended(pid: Pid) {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), ended) {}
}

/// Waits until `one` has ended, then tells `other` to finish, so that neither waits long for the
/// other. Nobody may reap either process meanwhile.
pub(crate) fn finish_after(one: Pid, other: Pid) {
    until_ended(one);
    // It may have ended too.
    let _ = kill_process_group(other, Signal::INT);
}

impl Drop for Process {
    /// No process that we started outlives us. If we are killed, our own processes die with us; a
    /// client of another language does so by its contract, because the exchange has closed its
    /// connections.
    fn drop(&mut self) {
        if self.watchdog.is_some() {
            self.disarm();
            let _ = kill_process_group(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

//! `/dev/cpu_dma_latency` counts while a process holds it open. A process of ours opens it and
//! waits to be ended; a file in `/run` identifies that process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use clock::Deadline;
use rustix::process::{Pid, Signal, kill_process};

const DEVICE: &str = "/dev/cpu_dma_latency";
/// Number and start time of the holding process.
const HOLDER: &str = "/run/tickpath-cpu-dma-latency";
/// Time limit for the process to start or to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The latency that our process holds, us, or `free`. `None` without the device.
pub(crate) fn held() -> io::Result<Option<String>> {
    if !Path::new(DEVICE).exists() {
        return Ok(None);
    }
    Ok(Some(holder().map_or("free".to_owned(), |(_, latency)| latency)))
}

/// Starts a process that holds the device at `value` us, or ends it for `free`.
pub(crate) fn hold(value: Option<&str>) -> io::Result<()> {
    release()?;
    let Some(latency) = value.map(str::trim).filter(|value| *value != "free") else {
        return Ok(());
    };
    let latency: u32 = latency.parse().map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["tune", "hold", &latency.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Deadline::after(PATIENCE);
    while !deadline.left().is_zero() {
        if holder().is_some() {
            return Ok(());
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("the process that holds {DEVICE}: {status}")));
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    Err(io::ErrorKind::TimedOut.into())
}

/// Ends the process, if it runs.
fn release() -> io::Result<()> {
    if let Some((pid, _)) = holder() {
        kill_process(pid, Signal::TERM)?;
        let deadline = Deadline::after(PATIENCE);
        while holder().is_some() && !deadline.left().is_zero() {
            thread::sleep(Duration::from_millis(5));
        }
    }
    match fs::remove_file(HOLDER) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The process in the file, if it still runs.
fn holder() -> Option<(Pid, String)> {
    let text = fs::read_to_string(HOLDER).ok()?;
    let mut words = text.split_whitespace();
    let (pid, started, latency) = (words.next()?, words.next()?, words.next()?);
    let number: i32 = pid.parse().ok()?;
    (start_time(pid)? == started).then_some((Pid::from_raw(number)?, latency.to_owned()))
}

/// Start time of a process, in ticks since boot; `None` if it has ended.
fn start_time(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may contain spaces. State is field 3, the start time field 22 (proc(5)).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18).map(str::to_owned)).flatten()
}

/// The work of the holding process: opens the device, reports that, waits to be ended.
///
/// # Errors
/// If the device or the file can't be written.
pub fn run(latency_us: u32) -> io::Result<()> {
    // It must survive the terminal of the process that started it.
    let _ = rustix::process::setsid();
    let mut device = OpenOptions::new().read(true).write(true).open(DEVICE)?;
    device.write_all(&latency_us.to_ne_bytes())?;
    let pid = std::process::id().to_string();
    let started = start_time(&pid).ok_or(io::ErrorKind::NotFound)?;
    fs::write(HOLDER, format!("{pid} {started} {latency_us}\n"))?;
    loop {
        thread::park();
    }
}

/// The smallest latency that any process requests, us, which the kernel obeys.
///
/// # Errors
/// Without the device, or without permission to open it.
pub fn effective_us() -> io::Result<u32> {
    let mut bytes = [0; 4];
    File::open(DEVICE)?.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

//! `/dev/cpu_dma_latency` counts while a process holds it open: a process of ours does, and a file
//! in `/run` says which. It opens the device and waits to be ended; nothing else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use clock::Deadline;
use rustix::process::{Pid, Signal, kill_process};

const DEVICE: &str = "/dev/cpu_dma_latency";
/// The process that holds it, by its number and start time.
const HOLDER: &str = "/run/tickpath-cpu-dma-latency";
/// How long the process may take to come up or to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// The latency that a process of ours holds, us, or `free`. `None` without the device.
pub(crate) fn held() -> io::Result<Option<String>> {
    if !Path::new(DEVICE).exists() {
        return Ok(None);
    }
    Ok(Some(holder().map_or("free".to_owned(), |(_, latency)| latency)))
}

/// Starts a process that holds the device at `value` us, or ends it: `free`.
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

/// Ends the process, if it is there.
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

/// The process that the file names, if it is still that one.
fn holder() -> Option<(Pid, String)> {
    let text = fs::read_to_string(HOLDER).ok()?;
    let mut words = text.split_whitespace();
    let (pid, started, latency) = (words.next()?, words.next()?, words.next()?);
    let number: i32 = pid.parse().ok()?;
    (start_time(pid)? == started).then_some((Pid::from_raw(number)?, latency.to_owned()))
}

/// When a process started, in ticks since the machine did; `None` if it has ended.
fn start_time(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold spaces. State is field 3, the start time field 22 (proc(5)).
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then(|| fields.nth(18).map(str::to_owned)).flatten()
}

/// What the process does: opens the device, says so, waits to be ended.
///
/// # Errors
/// If the device or the file can't be written.
pub fn run(latency_us: u32) -> io::Result<()> {
    // The terminal that started this process may close; it goes on.
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

/// The latency that all processes together ask for, us: what the kernel goes by.
///
/// # Errors
/// Without the device, or without the right to open it.
pub fn effective_us() -> io::Result<u32> {
    let mut bytes = [0; 4];
    File::open(DEVICE)?.read_exact(&mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

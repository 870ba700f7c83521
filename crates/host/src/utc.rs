//! This machine's time: its boot id, its PTP clocks, and the wall clock's distance from UTC by
//! chrony.

use crate::root::Root;
use clock::time_base::TimeBase;
use clock::utc::{Utc, chrony_bound_ns};
use clock::{Clock, Deadline};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time limit for chrony's client, which asks a daemon on this machine.
const CHRONY_PATIENCE: Duration = Duration::from_secs(1);
/// Longest answer that is read, bytes.
const ANSWER_BYTES_MAX: u64 = 4096;

/// Identifies this machine's boot (random(4)); empty if it can't be read.
pub fn boot_id(root: &Root) -> String {
    let text = root.read("proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

/// The clocks of this machine, with `clock` for stamps. Off the path: it starts a process.
pub fn time_base(clock: Clock) -> TimeBase {
    let boot_id = boot_id(&Root::system());
    TimeBase { boot_id, clock, wall: clock.beside_wall(), utc: of_this_machine() }
}

/// Largest distance of this machine's wall clock from UTC now. Off the path: it starts a process.
pub fn of_this_machine() -> Utc {
    utc(&Root::system(), "chronyc")
}

/// Largest distance of the wall clock from UTC, by `chronyc -n -c tracking`; `chronyc` is the
/// client's path.
pub fn utc(root: &Root, chronyc: &str) -> Utc {
    let ptp_clocks = ptp_clocks(root);
    let told = tracking(chronyc)
        .and_then(|answer| chrony_bound_ns(&answer).map_err(|error| error.to_string()));
    match told {
        Ok(bound_ns) => Utc {
            bound_ns: Some(bound_ns),
            from: "chrony".to_owned(),
            why: String::new(),
            ptp_clocks,
        },
        Err(mut why) => {
            if !ptp_clocks.is_empty() {
                why += "; there is a PTP clock, but only phc2sys knows the wall clock's distance from it, and does not report it";
            }
            Utc { bound_ns: None, from: String::new(), why, ptp_clocks }
        }
    }
}

/// The names of the PTP clocks, as `ptp0 (ena-ptp-05)`.
fn ptp_clocks(root: &Root) -> Vec<String> {
    let numbers = root.numbered("sys/class/ptp", "ptp").unwrap_or_default();
    let name = |number| {
        let name = root.read_text(format!("sys/class/ptp/ptp{number}/clock_name"));
        format!("ptp{number} ({})", name.as_deref().unwrap_or("without a name"))
    };
    numbers.into_iter().map(name).collect()
}

/// The output of chrony's client, or why there is none.
fn tracking(chronyc: &str) -> Result<String, String> {
    let mut command = Command::new(chronyc);
    command.args(["-n", "-c", "tracking"]).stdin(Stdio::null()).stderr(Stdio::null());
    let mut client = match command.stdout(Stdio::piped()).spawn() {
        Ok(client) => client,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("chrony is not installed (no `{chronyc}`)"));
        }
        Err(error) => return Err(format!("`{chronyc}` can't be started: {error}")),
    };
    let has_ended = ends(&mut client, CHRONY_PATIENCE);
    if !has_ended {
        let _ = client.kill();
    }
    let status = client.wait();
    if !has_ended {
        return Err(format!("`{chronyc}` did not answer within {CHRONY_PATIENCE:?}"));
    }
    let mut answer = String::new();
    let stdout = client.stdout.take().expect("it was asked for");
    // Ignore invalid UTF-8: it is not chrony's answer. The pipe's buffer is larger than an answer.
    let _ = stdout.take(ANSWER_BYTES_MAX).read_to_string(&mut answer);
    match status {
        Ok(status) if status.success() => Ok(answer),
        Ok(status) => Err(format!("chrony does not answer: {} ({status})", answer.trim())),
        Err(error) => Err(format!("`{chronyc}` could not be waited for: {error}")),
    }
}

fn ends(client: &mut Child, patience: Duration) -> bool {
    let deadline = Deadline::after(patience);
    loop {
        match client.try_wait() {
            Ok(Some(_)) => return true,
            Ok(None) if !deadline.left().is_zero() => {
                std::thread::sleep(Duration::from_millis(5));
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    /// A machine with two PTP clocks, and a client that prints `answer` and ends with `status`.
    fn machine(answer: &str, status: u8) -> (TempDir, String) {
        let directory = tempfile::tempdir().unwrap();
        for (number, name) in [(0, "ena-ptp-05"), (1, "KVM virtual PTP")] {
            let clock = directory.path().join(format!("sys/class/ptp/ptp{number}"));
            fs::create_dir_all(&clock).unwrap();
            fs::write(clock.join("clock_name"), format!("{name}\n")).unwrap();
        }
        let client = directory.path().join("chronyc");
        let script = format!(
            "#!/bin/sh\n[ \"$*\" = '-n -c tracking' ] || exit 9\necho '{answer}'\nexit {status}\n"
        );
        fs::write(&client, script).unwrap();
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
        let client = client.display().to_string();
        (directory, client)
    }

    const SYNCHRONISED: &str = "CB00710F,203.0.113.15,3,1485509367.1,-0.000001000,0,0,0,0,0,0.000010000,0.000002000,64.2,Normal";

    #[test]
    fn chronys_word_is_taken() {
        let (directory, client) = machine(SYNCHRONISED, 0);
        let utc = utc(&Root::at(directory.path()), &client);
        assert_eq!(
            (utc.bound_ns, utc.from.as_str(), utc.why.as_str()),
            (Some(8_000), "chrony", "")
        );
        assert_eq!(utc.ptp_clocks, ["ptp0 (ena-ptp-05)", "ptp1 (KVM virtual PTP)"]);
    }

    #[test]
    fn without_its_word_nobody_knows_and_why_is_said() {
        let (directory, client) = machine("506 Cannot talk to daemon", 1);
        let root = Root::at(directory.path());
        let silent = utc(&root, &client);
        assert_eq!(silent.bound_ns, None);
        assert!(silent.why.contains("506") && silent.why.contains("phc2sys"), "{}", silent.why);
        let absent = utc(&Root::at(directory.path().join("nothing")), "/nowhere/chronyc");
        // An emulator starts a missing program, which then ends with 127.
        let is_said = absent.why.contains("not installed") || absent.why.contains("127");
        assert!(is_said && !absent.why.contains("PTP"), "{}", absent.why);
    }

    #[test]
    fn this_machine_is_one_to_itself() {
        let clock = Clock::calibrate();
        let (one, other) = (time_base(clock), time_base(clock));
        if one.boot_id.is_empty() {
            testing::skip!(Kernel, "/proc/sys/kernel/random/boot_id can't be read");
        }
        assert!(one.is_of(&other.boot_id) && one.clock == other.clock);
    }
}

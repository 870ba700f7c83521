//! This machine's time: its boot id, its PTP clocks, and the wall clock's distance from UTC by
//! chrony.

use crate::root::Root;
use clock::clock_bound::{ClockBoundError, clock_bound_ns};
use clock::time_base::TimeBase;
use clock::utc::{Claim, Utc, chrony_bound_ns};
use clock::{Clock, Deadline, monotonic_ns};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time limit for chrony's client, which asks a daemon on this machine.
const CHRONY_PATIENCE: Duration = Duration::from_secs(1);
/// Where ClockBound's daemon shares its bound, versions 2 and 1.
const CLOCK_BOUND: [&str; 2] = ["var/run/clockbound/shm0", "var/run/clockbound/shm"];
/// How often its memory is read until the daemon has not written meanwhile.
const CLOCK_BOUND_TRIES: usize = 10;
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

/// Largest distance of the wall clock from UTC: the tightest bound of those that chrony
/// (`chronyc -n -c tracking`; `chronyc` is the client's path) and ClockBound's daemon state.
pub fn utc(root: &Root, chronyc: &str) -> Utc {
    let ptp_clocks = ptp_clocks(root);
    let cards = card_bounds(root);
    let card_ns = cards.iter().filter_map(|claim| claim.bound_ns).max();
    let told = ask(chronyc, "tracking")
        .and_then(|answer| chrony_bound_ns(&answer, card_ns).map_err(|error| error.to_string()));
    let chrony = Claim::of("chrony", told);
    let clock_bound = clock_bound(root).map(|bound| Claim::of("ClockBound", bound));
    let of_the_wall: Vec<Claim> = [Some(chrony), clock_bound].into_iter().flatten().collect();
    let tightest = of_the_wall.iter().filter(|claim| claim.bound_ns.is_some());
    let tightest = tightest.min_by_key(|claim| claim.bound_ns).cloned();
    let mut why: Vec<&str> = of_the_wall.iter().map(|claim| claim.why.as_str()).collect();
    if !ptp_clocks.is_empty() {
        why.push(
            "there is a PTP clock, but only phc2sys knows the wall clock's distance from it, and \
             does not report it",
        );
    }
    let why = why.join("; ");
    let claims = of_the_wall.iter().cloned().chain(cards).collect();
    match tightest {
        Some(Claim { bound_ns, from, .. }) => {
            Utc { bound_ns, from, why: String::new(), ptp_clocks, claims }
        }
        None => Utc { bound_ns: None, from: String::new(), why, ptp_clocks, claims },
    }
}

/// How far each card says that its own clock is from UTC: `phc_error_bound` of the driver ENA, ns
/// (Documentation/networking/device_drivers/ethernet/amazon/ena.rst).
fn card_bounds(root: &Root) -> Vec<Claim> {
    let nics = root.names("sys/class/net").unwrap_or_default();
    let bound = |nic: &String| {
        let path = format!("sys/class/net/{nic}/device/phc_error_bound");
        let from = format!("phc_error_bound of {nic}");
        let unreadable = || "the driver states none now".to_owned();
        root.exists(&path).then(|| Claim::of(&from, root.read_value(&path).ok_or_else(unreadable)))
    };
    nics.iter().filter_map(bound).collect()
}

/// The bound of ClockBound's daemon; `None` where there is no such daemon.
fn clock_bound(root: &Root) -> Option<Result<u64, String>> {
    let path = CLOCK_BOUND.iter().map(|path| root.path(path)).find(|path| path.exists())?;
    for _ in 0..CLOCK_BOUND_TRIES {
        let read = || std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()));
        let (first, second) = match (read(), read()) {
            (Ok(first), Ok(second)) => (first, second),
            (Err(why), _) | (_, Err(why)) => return Some(Err(why)),
        };
        // The daemon may write while it is read.
        if first == second {
            match clock_bound_ns(&first, monotonic_ns()) {
                Err(ClockBoundError::Unfinished) => {}
                told => return Some(told.map_err(|error| error.to_string())),
            }
        }
    }
    Some(Err(ClockBoundError::Unfinished.to_string()))
}

/// chrony's sources, as `chronyc -n -c sources` prints them.
///
/// # Errors
/// Why there are none: chrony is not installed, or does not answer.
pub fn chrony_sources() -> Result<String, String> {
    ask("chronyc", "sources")
}

/// The names of the PTP clocks, as `ptp0 (ena-ptp-05)`.
pub fn ptp_clocks(root: &Root) -> Vec<String> {
    let numbers = root.numbered("sys/class/ptp", "ptp").unwrap_or_default();
    let name = |number| {
        let name = root.read_text(format!("sys/class/ptp/ptp{number}/clock_name"));
        format!("ptp{number} ({})", name.as_deref().unwrap_or("without a name"))
    };
    numbers.into_iter().map(name).collect()
}

/// The answer of chrony's client, or why there is none.
fn ask(chronyc: &str, question: &str) -> Result<String, String> {
    let mut command = Command::new(chronyc);
    command.args(["-n", "-c", question]).stdin(Stdio::null()).stderr(Stdio::null());
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

    /// The card's bound is about the card, and is added where chrony follows it. The bound of
    /// ClockBound, which is wider here, is shown too.
    #[test]
    fn all_claims_are_shown_and_the_tightest_about_the_wall_clock_counts() {
        let phc = SYNCHRONISED.replace("CB00710F,203.0.113.15", "50484330,PHC0");
        let (directory, client) = machine(&phc, 0);
        let root = Root::at(directory.path());
        let file = |path: &str, bytes: &[u8]| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        };
        let without = utc(&root, &client);
        assert_eq!(without.bound_ns, None);
        assert!(without.why.contains("phc_error_bound"), "{}", without.why);
        file("sys/class/net/ens5/device/phc_error_bound", b"25000\n");
        file("sys/class/net/lo/mtu", b"65536\n");
        let with = utc(&root, &client);
        assert_eq!((with.bound_ns, with.from.as_str()), (Some(8_000 + 25_000), "chrony"));
        assert_eq!(with.claims[1], Claim::of("phc_error_bound of ens5", Ok(25_000)));
        let mut segment = [0x414D_5A4E_u32, 0x4342_0200, 72].map(u32::to_ne_bytes).concat();
        segment.extend([1u16, 2].map(u16::to_ne_bytes).concat());
        segment.extend([0i64, 0, i64::MAX / 2, 0, 60_000].map(i64::to_ne_bytes).concat());
        segment.extend([0u32, 0, 1, 0].map(u32::to_ne_bytes).concat());
        file("var/run/clockbound/shm", &segment);
        let both = utc(&root, &client);
        assert_eq!((both.bound_ns, both.from.as_str()), (Some(33_000), "chrony"));
        assert_eq!(both.claims[1], Claim::of("ClockBound", Ok(60_000)));
        let alone = utc(&root, "/nowhere/chronyc");
        assert_eq!((alone.bound_ns, alone.from.as_str()), (Some(60_000), "ClockBound"));
        file("var/run/clockbound/shm", b"something else, of another program");
        let broken = utc(&root, "/nowhere/chronyc");
        assert_eq!(broken.bound_ns, None);
        assert!(broken.why.contains("not a segment"), "{}", broken.why);
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

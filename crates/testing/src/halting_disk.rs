//! Tests on disks that halt: file systems on loop devices, in a mount namespace of its own. While
//! one is frozen (fsfreeze), writes to it wait in the kernel, as on a disk that takes very long.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::mounts;

const PLACE: &str = "TICKPATH_TEST_HALTING_DISKS";

/// A disk that can be halted.
pub struct HaltingDisk(PathBuf);

/// A disk that takes nothing. Dropped, it waits until the disk works again.
pub struct HaltedDisk(Child);

/// Runs `check` with as many empty disks of that size; without them, if they can't be mounted.
/// Then the test counts as skipped, too.
///
/// The test starts its own program again for `test`, its own name by
/// [`test_name!`](crate::test_name); in that child `check` runs with the disks.
///
/// # Panics
/// If the child fails; the message has what it printed.
pub fn on<const N: usize>(bytes: u64, test: &str, check: impl FnOnce(Option<[HaltingDisk; N]>)) {
    let names: [String; N] = std::array::from_fn(|index| format!("disk{index}"));
    if let Some(place) = std::env::var_os(PLACE) {
        return check(Some(names.map(|name| HaltingDisk(Path::new(&place).join(name)))));
    }
    let place = tempfile::tempdir().unwrap();
    let disk = |name: String| {
        format!(
            r#"truncate -s "$2" "$1/{name}.image" && mkfs.ext4 -q -F "$1/{name}.image" &&
            mkdir "$1/{name}" && mount -o loop "$1/{name}.image" "$1/{name}""#
        )
    };
    let mount = names.map(disk).join(" && ");
    // Loop devices belong to the machine's own root.
    let words = (place.path(), bytes.to_string());
    if !mounts::with(&["--mount"], &mount, (words.0, &words.1), (test, PLACE)) {
        check(None);
    }
}

impl HaltingDisk {
    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Halts it for that long, or until [`HaltedDisk::end`]. It takes nothing any more when this
    /// returns. It works again afterwards even if the test has ended.
    ///
    /// # Panics
    /// If the kernel rejects it.
    pub fn halt(&self, time: Duration) -> HaltedDisk {
        let run = r#"fsfreeze -f "$1" && echo halted
            timeout "$2" cat; fsfreeze -u "$1""#;
        let mut child = Command::new("sh")
            .args(["-c", run, "sh"])
            .arg(&self.0)
            .arg(time.as_secs_f64().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "halted\n", "the disk of {} was not frozen", self.0.display());
        HaltedDisk(child)
    }
}

impl HaltedDisk {
    /// Lets it work again now.
    pub fn end(mut self) {
        // The end of its input ends the halt; the drop waits for it.
        self.0.stdin = None;
    }
}

impl Drop for HaltedDisk {
    fn drop(&mut self) {
        // `wait` would close its input, which ends the halt: only of a test that has failed.
        let input = self.0.stdin.take().filter(|_| !std::thread::panicking());
        let ended = self.0.wait();
        drop(input);
        if !std::thread::panicking() {
            assert!(ended.is_ok_and(|status| status.success()), "the disk was not thawed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::Instant;

    const HALT: Duration = Duration::from_millis(300);
    /// Far more than it takes to halt a disk and to end that.
    const HALT_MAX: Duration = Duration::from_secs(60);

    #[test]
    fn a_halted_disk_takes_nothing_until_it_works_again() {
        let name = crate::test_name!(a_halted_disk_takes_nothing_until_it_works_again);
        on(16 << 20, &name, |disks| {
            let Some([halted, other]) = disks else { return };
            let [mut slow, mut fast] = [&halted, &other]
                .map(|disk| std::fs::File::create(disk.path().join("file")).unwrap());
            let begin = Instant::now();
            let is_halted = halted.halt(HALT);
            fast.write_all(b"taken").unwrap();
            fast.sync_data().unwrap();
            slow.write_all(b"taken").unwrap();
            assert!(begin.elapsed() >= HALT);
            drop(is_halted);
            assert!(begin.elapsed() >= HALT);
            let begin = Instant::now();
            halted.halt(HALT_MAX).end();
            slow.write_all(b"taken").unwrap();
            assert!(begin.elapsed() < HALT_MAX);
        });
    }
}

//! Reads a PTP hardware clock beside the wall clock (include/uapi/linux/ptp_clock.h), once or all
//! the time.

use crate::root::Root;
use clock::Clock;
use clock::phc::{OFFSET_BYTES, PRECISE_BYTES, PhcCourse, PhcReading, narrowest, precise};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// `PTP_SYS_OFFSET_PRECISE`: `_IOWR('=', 8, struct ptp_sys_offset_precise)`.
const SYS_OFFSET_PRECISE: libc::Ioctl = 0xc040_3d08_u32 as libc::Ioctl;
/// `PTP_SYS_OFFSET_EXTENDED`: `_IOWR('=', 9, struct ptp_sys_offset_extended)`.
const SYS_OFFSET_EXTENDED: libc::Ioctl = 0xc4c0_3d09_u32 as libc::Ioctl;
/// Samples to take; the narrowest counts.
const SAMPLES: u32 = 10;
/// How often a [`CardReader`] reads.
const READING_INTERVAL: Duration = Duration::from_millis(500);
/// Readings that it keeps, more than six days of them.
const READINGS_MAX: usize = 1 << 20;

/// The kernel fills this structure, whose length is in the call's number.
#[repr(C, align(8))]
struct Offset([u8; OFFSET_BYTES]);

/// As [`Offset`].
#[repr(C, align(8))]
struct PreciseOffset([u8; PRECISE_BYTES]);

/// The clock at `device` (`/dev/ptp0`) and the wall clock, at one moment: in hardware where the
/// driver can, or else by the narrowest of some readings.
///
/// # Errors
/// If the device can't be opened (mostly, only root may), or its driver can't read both clocks
/// together.
pub fn read(device: &Path) -> io::Result<PhcReading> {
    let clock = File::open(device)?;
    if let Some(reading) = read_precisely(&clock) {
        return Ok(reading);
    }
    let mut offset = Offset([0; OFFSET_BYTES]);
    offset.0[..4].copy_from_slice(&SAMPLES.to_ne_bytes());
    // SAFETY: the descriptor is open, and the kernel reads and writes no more than the structure,
    // which lives until the call returns.
    let result = unsafe { libc::ioctl(clock.as_raw_fd(), SYS_OFFSET_EXTENDED, &mut offset) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    narrowest(&offset.0).ok_or_else(|| io::Error::other("the driver returned no reading"))
}

/// `None` if the hardware can't, which few can.
fn read_precisely(clock: &File) -> Option<PhcReading> {
    let mut offset = PreciseOffset([0; PRECISE_BYTES]);
    // SAFETY: as above; the structure is the one whose length is in this call's number.
    let result = unsafe { libc::ioctl(clock.as_raw_fd(), SYS_OFFSET_PRECISE, &mut offset) };
    (result >= 0).then(|| precise(&offset.0)).flatten()
}

/// The PTP clock of a network interface's card; `None` if it has none.
pub fn of_interface(root: &Root, name: &str) -> Option<PathBuf> {
    let clocks = root.names(format!("sys/class/net/{name}/device/ptp"))?;
    clocks.into_iter().min().map(|clock| Path::new("/dev").join(clock))
}

/// Reads a card's clock all the time, on a thread of its own: a reading may take some 100 us.
pub struct CardReader {
    stop: Sender<()>,
    thread: JoinHandle<Vec<PhcReading>>,
}

impl CardReader {
    /// Reads the clock at `device` from now on, and converts it to `clock`.
    ///
    /// # Errors
    /// As [`read`].
    pub fn start(device: PathBuf, clock: Clock) -> io::Result<CardReader> {
        let mut readings = vec![read_beside(&device, clock)?];
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || {
            loop {
                let waited = stopped.recv_timeout(READING_INTERVAL);
                // One that fails leaves a longer line.
                if let Ok(reading) = read_beside(&device, clock)
                    && readings.len() < READINGS_MAX
                {
                    readings.push(reading);
                }
                if waited != Err(RecvTimeoutError::Timeout) {
                    return readings;
                }
            }
        });
        Ok(CardReader { stop, thread })
    }

    /// Reads once more and ends. `None` if the card's stamps can't be converted; see [`PhcCourse`].
    pub fn finish(self) -> Option<PhcCourse> {
        drop(self.stop);
        self.thread.join().ok().and_then(PhcCourse::through)
    }
}

/// A reading whose `wall_ns` is on `clock`.
fn read_beside(device: &Path, clock: Clock) -> io::Result<PhcReading> {
    let reading = read(device)?;
    let pair = clock.beside_wall();
    Ok(beside(reading, pair))
}

/// The reading by the clock of `pair`, which was read right after it. Meanwhile the wall clock may
/// have run faster or slower by the 500 ppm of a slew.
fn beside(reading: PhcReading, pair: clock::Pair) -> PhcReading {
    let since_ns = pair.wall_ns.saturating_sub(reading.wall_ns);
    PhcReading {
        wall_ns: pair.clock_ns.saturating_sub(since_ns),
        bound_ns: reading.bound_ns + pair.bound_ns + since_ns / 2_000 + 1,
        ..reading
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_ptp_clock_is_an_error() {
        let error = read(Path::new("/dev/null")).unwrap_err();
        // An emulator of another processor does not know the request at all.
        let expected = [libc::ENOTTY, libc::ENOSYS].map(Some);
        assert!(expected.contains(&error.raw_os_error()), "{error}");
        assert!(read(Path::new("/no/such/ptp")).is_err());
        assert!(CardReader::start("/dev/null".into(), Clock::calibrate()).is_err());
    }

    /// Where there is one, as in virtual machines with ptp_kvm.
    #[test]
    fn a_clock_of_this_machine_is_read() {
        let device = Path::new("/dev/ptp0");
        match read(device) {
            Ok(reading) => assert!(reading.bound_ns < 1_000_000_000, "{reading:?}"),
            Err(why) => testing::skip!(Kernel, "{}: {why}", device.display()),
        }
    }

    #[test]
    fn a_card_has_the_clock_below_its_device() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("sys/class/net/ens5/device/ptp/ptp1"))
            .unwrap();
        std::fs::create_dir_all(directory.path().join("sys/class/net/lo")).unwrap();
        let root = Root::at(directory.path());
        assert_eq!(of_interface(&root, "ens5"), Some("/dev/ptp1".into()));
        assert_eq!(of_interface(&root, "lo"), None);
    }

    /// The wall clock was read 40 us after the card.
    #[test]
    fn a_reading_moves_to_our_clock() {
        let wall_ns = 1_795_000_000_000_000_000;
        let reading = PhcReading { phc_ns: 77, wall_ns, bound_ns: 300 };
        let pair = clock::Pair { clock_ns: 5_000_000, wall_ns: wall_ns + 40_000, bound_ns: 30 };
        let expected = PhcReading { phc_ns: 77, wall_ns: 4_960_000, bound_ns: 300 + 30 + 20 + 1 };
        assert_eq!(beside(reading, pair), expected);
    }
}

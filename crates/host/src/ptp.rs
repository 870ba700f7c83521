//! Reads a PTP hardware clock beside the wall clock (include/uapi/linux/ptp_clock.h).

use clock::phc::{OFFSET_BYTES, PhcReading, narrowest};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// `PTP_SYS_OFFSET_EXTENDED`: `_IOWR('=', 9, struct ptp_sys_offset_extended)`.
const SYS_OFFSET_EXTENDED: libc::Ioctl = 0xc4c0_3d09_u32 as libc::Ioctl;
/// Samples to take; the narrowest counts.
const SAMPLES: u32 = 10;

/// The kernel writes so many bytes to this structure, whose length is in the call's number.
#[repr(C, align(8))]
struct Offset([u8; OFFSET_BYTES]);

/// The clock at `device` (`/dev/ptp0`) and the wall clock, at one moment.
///
/// # Errors
/// If the device can't be opened (mostly, only root may), or its driver can't read both clocks
/// together.
pub fn read(device: &Path) -> io::Result<PhcReading> {
    let clock = File::open(device)?;
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
}

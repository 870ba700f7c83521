//! Puts an XDP program on an interface, for as long as its link lives.

use crate::assembler::Instruction;
use crate::bpf::{self, Link, Role};
use crate::error::BypassError;
use crate::queue::Failure;
use crate::routes::Interface;
use rustix::io::Errno;
use std::fmt;
use std::os::fd::AsFd;
use std::time::Duration;

/// Attempts to have a queue that is taken, [`BUSY_PAUSE`] apart: the kernel gives up those of a
/// process that has ended a little later.
const BUSY_ATTEMPTS: u32 = 50;
const BUSY_PAUSE: Duration = Duration::from_millis(10);
/// `XDP_FLAGS_*` (linux/if_link.h).
pub(crate) const GENERIC: u32 = 1 << 1;
pub(crate) const NATIVE: u32 = 1 << 2;

/// Where the XDP program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// In the driver, before the kernel makes a packet of a frame.
    Native,
    /// After that, because the driver can't.
    Generic {
        /// The driver's reason.
        because: String,
    },
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attachment::Native => f.write_str("native XDP"),
            Attachment::Generic { because } => write!(f, "generic XDP (native: {because})"),
        }
    }
}

/// Where a program may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// In the driver only.
    Native,
    /// In the driver, or after it.
    Any,
}

/// Loads a program and attaches it to an interface. It goes when the link is dropped, which the
/// kernel does when the process ends, however it ends.
pub(crate) fn install(
    interface: &Interface,
    program: &[Instruction],
    places: Places,
) -> Result<(Link, Attachment), BypassError> {
    let failed = |step| {
        let interface = interface.name.clone();
        move |source| BypassError::Kernel { interface, step, source }
    };
    let program = bpf::load(program, Role::Receive).map_err(failed("load the XDP program"))?;
    let attach = |flags| {
        while_busy(|| {
            bpf::attach(program.as_fd(), interface.index, flags)
                .map_err(|why| Failure("attach the XDP program", why))
        })
    };
    let unsupported = |why: &Failure| Errno::from_io_error(&why.1) == Some(Errno::OPNOTSUPP);
    let attached = match attach(NATIVE) {
        Err(why) if places == Places::Any && unsupported(&why) => {
            let because = why.1.to_string();
            attach(GENERIC).map(|link| (link, Attachment::Generic { because }))
        }
        native => native.map(|link| (link, Attachment::Native)),
    };
    attached.map_err(|Failure(step, source)| failed(step)(source))
}

/// Tries until nobody else has it, for half a second.
pub(crate) fn while_busy<T>(attempt: impl Fn() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 0..BUSY_ATTEMPTS {
        match attempt() {
            Err(Failure(_, why)) if Errno::from_io_error(&why) == Some(Errno::BUSY) => {
                std::thread::sleep(BUSY_PAUSE);
            }
            done => return done,
        }
    }
    attempt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembler::{Assembler, XDP_PASS};
    use host::network::{DEVICE, Networks};

    /// Another thread's fork holds all descriptors until it starts its program. An interface went
    /// on losing packets for that long.
    #[test]
    fn a_program_goes_although_another_process_holds_its_link() {
        let networks = match Networks::create() {
            Ok(networks) => networks,
            Err(why) => return testing::skipped(testing::Need::Root, why),
        };
        let mut text = Assembler::default();
        text.exit(XDP_PASS);
        let text = text.finish();
        networks
            .trader()
            .within(|| {
                let interface = Interface::named(DEVICE).unwrap();
                let (link, _) = match install(&interface, &text, Places::Native) {
                    Ok(installed) => installed,
                    Err(why) => return testing::skipped(testing::Need::Kernel, why),
                };
                let held = link.descriptor.try_clone().unwrap();
                let again = install(&interface, &text, Places::Native);
                assert!(again.is_err(), "one program at a time");
                drop(link);
                install(&interface, &text, Places::Native).expect("nothing is attached");
                drop(held);
            })
            .unwrap();
    }
}

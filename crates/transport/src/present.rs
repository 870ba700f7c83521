//! Tests only: the backends that this kernel has.

use crate::{BACKENDS, Backend};
use clock::Clock;
use testing::{Need, skipped};

/// Those that can be opened; the others are noted as skipped. User-mode emulators have no io_uring.
pub(crate) fn backends() -> Vec<&'static Backend> {
    let is_here = |backend: &&'static Backend| {
        let backend = *backend;
        // In a thread of its own: some time after a ring was closed, the kernel breaks off a system
        // call of the thread that had it.
        let open = move || backend.open(Clock::calibrate()).map(drop);
        let opened = std::thread::spawn(open).join().unwrap();
        if let Err(error) = &opened {
            skipped(Need::Kernel, format_args!("{} is not here: {error}", backend.name));
        }
        opened.is_ok()
    };
    BACKENDS.iter().filter(is_here).collect()
}

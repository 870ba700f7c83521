//! The ways in which a server has its streams: each backend, in one thread and with gateways.

use clock::Clock;
use std::fmt;
use transport::gateway::{self, GatewaysError};
use transport::{BACKENDS, Backend, Streams};

#[derive(Clone, Copy)]
pub struct Way {
    backend: &'static Backend,
    /// 0: the server's own thread.
    gateways: usize,
}

pub fn ways() -> Vec<Way> {
    let most = match gateway::open(1, &BACKENDS[0], None, Clock::calibrate(), |_| Ok(())) {
        Ok(_) => 2,
        // User-mode emulators have no sealed memfd.
        Err(GatewaysError::Ring(error)) => {
            testing::skipped(testing::Need::Kernel, format_args!("no gateways here: {error}"));
            0
        }
        Err(error) => panic!("{error}"),
    };
    let is_here = |backend: &&Backend| {
        testing::opens(backend.row.name, || backend.open(Clock::calibrate()).map(drop))
    };
    let backends: Vec<_> = BACKENDS.iter().filter(is_here).collect();
    let ways =
        (0..=most).flat_map(|gateways| backends.iter().map(move |backend| (*backend, gateways)));
    ways.map(|(backend, gateways)| Way { backend, gateways }).collect()
}

/// The same as names and numbers of gateways.
pub fn all() -> Vec<(&'static str, usize)> {
    ways().into_iter().map(|way| (way.backend.row.name, way.gateways)).collect()
}

impl Way {
    /// Whether its waits sleep.
    pub fn sleeps(self) -> bool {
        !self.backend.row.spins
    }

    pub fn open(self, clock: Clock) -> Box<dyn Streams> {
        match self.gateways {
            0 => self.backend.open(clock).unwrap(),
            count => gateway::open(count, self.backend, None, clock, |_| Ok(())).unwrap(),
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} with {} gateways", self.backend.row.name, self.gateways)
    }
}

//! The wall clock related to the [`Clock`]: converts stamps of the kernel and of other machines
//! (UTC) to our timeline, and our stamps to dates, each with a bound of the error.
//!
//! Over a short time, both clocks run at constant rates that differ by some parts per million (the
//! counter's calibration, NTP's correction). Two readings of the pair make a line; each further
//! reading shows the line's error.

use crate::{Clock, Pair};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Length of the first line. Two readings, each good to 50 ns, give a rate good to 0.5 ppm, which
/// is 0.5 us after a second. Longer lines are better.
const FIRST_LINE: Duration = Duration::from_millis(200);
/// NTP slews by at most 500 ppm, and a counter's calibration is off by some tens. A larger
/// difference means that the wall clock was set.
const STEP_PARTS_PER_MILLION: u64 = 1_000;
/// Longest line: the temperature, and with it the rates, change.
const LINE_NS_MAX: u64 = 10_000_000_000;

/// How good a [`Wall`] was so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WallLine {
    /// See [`Wall::bound_ns`].
    pub bound_ns: u64,
    /// See [`Wall::steps`].
    pub steps: u64,
}

/// The first reading of a [`Wall`], for a thread that can't sleep until the second one.
#[derive(Clone, Copy, Debug)]
pub struct FirstReading {
    clock: Clock,
    from: Pair,
}

impl FirstReading {
    /// Reads the pair.
    pub fn take(clock: Clock) -> FirstReading {
        FirstReading { clock, from: clock.beside_wall() }
    }

    /// Reads it again at `now_ns` of the [`Clock`]; `None` if the line would be too short.
    pub fn wall(&self, now_ns: u64) -> Option<Wall> {
        let is_long = now_ns.saturating_sub(self.from.clock_ns) >= FIRST_LINE.as_nanos() as u64;
        is_long.then(|| Wall::through(self.clock, self.from, self.clock.beside_wall()))
    }
}

/// The wall clock as a line over the [`Clock`].
#[derive(Clone, Copy, Debug)]
pub struct Wall {
    clock: Clock,
    /// The line's first point.
    from: Pair,
    /// Its latest point.
    at: Pair,
    /// Wall nanoseconds gained over the clock's, in 2^-40 parts.
    gain: i64,
    bound_ns: u64,
    steps: u64,
}

impl Wall {
    /// Reads the pair twice, some 200 ms apart.
    pub fn read(clock: Clock) -> Wall {
        let from = clock.beside_wall();
        std::thread::sleep(FIRST_LINE);
        Wall::through(clock, from, clock.beside_wall())
    }

    fn through(clock: Clock, from: Pair, at: Pair) -> Wall {
        let mut wall = Wall { clock, from, at, gain: 0, bound_ns: 0, steps: 0 };
        wall.gain = gain(&from, &at);
        wall.bound_ns = from.bound_ns + at.bound_ns;
        wall
    }

    /// Reads the pair again (a few microseconds of work) and starts the line there. Widens the
    /// bound if the line was off. Call it off the path, about once a second.
    pub fn refresh(&mut self) {
        let now = self.clock.beside_wall();
        self.go_on(now);
    }

    fn go_on(&mut self, now: Pair) {
        let elapsed_ns = now.clock_ns.saturating_sub(self.at.clock_ns);
        let off_ns = self.wall_ns(now.clock_ns).abs_diff(now.wall_ns);
        let reading_ns = now.bound_ns + self.at.bound_ns;
        if off_ns > reading_ns + elapsed_ns / 1_000_000 * STEP_PARTS_PER_MILLION {
            // Keep the rate; the old position of the line is wrong after a step.
            self.steps += 1;
            (self.from, self.at) = (now, now);
            return;
        }
        self.bound_ns = self.bound_ns.max(off_ns + reading_ns);
        if now.clock_ns.saturating_sub(self.from.clock_ns) > LINE_NS_MAX {
            self.from = self.at;
        }
        self.at = now;
        if self.at.clock_ns.saturating_sub(self.from.clock_ns) >= FIRST_LINE.as_nanos() as u64 {
            self.gain = gain(&self.from, &self.at);
        }
    }

    /// The moment on the [`Clock`], ns, at which the wall clock showed `wall_ns`; 0 if that is
    /// before the clock's beginning.
    #[inline]
    pub fn clock_ns(&self, wall_ns: u64) -> u64 {
        let since_ns = i128::from(wall_ns) - i128::from(self.at.wall_ns);
        // The gain is some parts per million, so its square is negligible.
        let since_ns = since_ns - ((since_ns * i128::from(self.gain)) >> 40);
        u64::try_from(i128::from(self.at.clock_ns) + since_ns).unwrap_or(0)
    }

    /// The wall clock at a moment on the [`Clock`], nanoseconds since 1970.
    #[inline]
    pub fn wall_ns(&self, clock_ns: u64) -> u64 {
        let since_ns = i128::from(clock_ns) - i128::from(self.at.clock_ns);
        let since_ns = since_ns + ((since_ns * i128::from(self.gain)) >> 40);
        u64::try_from(i128::from(self.at.wall_ns) + since_ns).unwrap_or(0)
    }

    /// The latest reading.
    pub fn latest(&self) -> Pair {
        self.at
    }

    /// Largest error of a converted stamp so far, ns: the worst that a reading found, and the
    /// reading's own error.
    pub fn bound_ns(&self) -> u64 {
        self.bound_ns
    }

    /// The bound and the steps so far.
    pub fn line(&self) -> WallLine {
        WallLine { bound_ns: self.bound_ns, steps: self.steps }
    }

    /// How often the wall clock was set between two readings. A stamp converted between a step and
    /// the next reading is wrong by the size of the step.
    pub fn steps(&self) -> u64 {
        self.steps
    }
}

fn gain(from: &Pair, to: &Pair) -> i64 {
    let clock = i128::from(to.clock_ns) - i128::from(from.clock_ns);
    let wall = i128::from(to.wall_ns) - i128::from(from.wall_ns);
    if clock <= 0 {
        return 0;
    }
    // A gain this large is no clock; below it, the product with 64 bits of time fits in 128.
    let gain = ((wall - clock) << 40) / clock;
    gain.clamp(-1 << 39, 1 << 39) as i64
}

#[cfg(test)]
#[path = "wall_tests.rs"]
mod tests;

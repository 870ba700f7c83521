//! The addresses of an exchange and its standby: which one is in use, and what losses have cost.

use clock::Clock;
use plan::process::ticks::TickPlan;
use record::Outage;
use record::tick::{AT_EXCHANGE, Sample};

/// The addresses of an exchange, and what its losses have cost so far.
pub(crate) struct Addresses {
    /// Its target is the list of all.
    pub(crate) plan: TickPlan,
    /// Which address is in use.
    pub(crate) current: usize,
    is_lost: bool,
    /// The next exchange's flow waits for the book.
    starts_flow: bool,
    /// When the last tick came, or the run began.
    ticked_ns: u64,
    /// The outage that no tick has ended yet.
    open: Option<Outage>,
    outages: Vec<Outage>,
    /// The exchange's stamps from this sample on are of that clock; `None`: of an unknown one.
    clocks: Vec<(usize, Option<Clock>)>,
}

impl Addresses {
    /// `None` if the plan has one address. `current` is the one in use.
    pub(crate) fn new(plan: &TickPlan, current: usize) -> Option<Box<Addresses>> {
        let addresses = Addresses {
            plan: plan.clone(),
            current,
            is_lost: false,
            starts_flow: false,
            ticked_ns: 0,
            open: None,
            outages: Vec::new(),
            clocks: Vec::new(),
        };
        (plan.targets().len() > 1).then(|| Box::new(addresses))
    }

    /// Notes a tick that was read then, which ends an outage.
    #[inline]
    pub(crate) fn ticked(&mut self, read_ns: u64) {
        if let Some(outage) = self.open.take() {
            self.end(outage, read_ns);
        }
        self.ticked_ns = read_ns;
    }

    /// The exchange was lost; the run can go on only with its flow under way.
    pub(crate) fn lose(&mut self, is_flowing: bool) {
        self.is_lost = is_flowing;
    }

    /// Whether to go on at another one, once for each loss.
    pub(crate) fn takes_another(&mut self) -> bool {
        std::mem::take(&mut self.is_lost)
    }

    /// The outage in which another exchange was looked for. It goes on if that one is lost before
    /// its first tick.
    pub(crate) fn outage(&mut self, lost_ns: u64, connecting_ns: u64) -> Outage {
        let mut outage = self.open.take().unwrap_or(Outage { lost_ns, ..Outage::default() });
        outage.connecting_ns += connecting_ns;
        outage
    }

    /// Notes that another exchange was found. From sample `from_sample` on, stamps are on `clock`;
    /// `None`: its clock is unknown.
    pub(crate) fn join(&mut self, outage: Outage, from_sample: usize, clock: Option<Clock>) {
        self.open = Some(outage);
        self.clocks.push((from_sample, clock));
        self.starts_flow = true;
    }

    /// Once, when the next exchange's flow is to start: the time of the last tick.
    pub(crate) fn start_flow(&mut self) -> Option<u64> {
        std::mem::take(&mut self.starts_flow).then_some(self.ticked_ns)
    }

    fn end(&mut self, outage: Outage, at_ns: u64) {
        let silence_ns = at_ns.saturating_sub(self.ticked_ns);
        self.outages.push(Outage { silence_ns, ..outage });
    }

    /// All outages. One that no tick has ended lasts to the end of the run. Converts the stamps of
    /// later exchanges to our clock, or removes them where it can't.
    pub(crate) fn finish(
        mut self,
        samples: &mut [Sample],
        ours: &Clock,
        ended_ns: u64,
    ) -> Vec<Outage> {
        if let Some(outage) = self.open.take() {
            self.end(outage, ended_ns);
        }
        for (index, (from, clock)) in self.clocks.iter().enumerate() {
            let to = self.clocks.get(index + 1).map_or(samples.len(), |(next, _)| *next);
            for sample in &mut samples[*from..to] {
                for point in AT_EXCHANGE {
                    let stamp = &mut sample.stamps[point as usize];
                    let converted = clock.and_then(|theirs| ours.stamp_of(&theirs, *stamp));
                    // 0 is no stamp.
                    *stamp = if *stamp > 0 { converted.unwrap_or(0) } else { 0 };
                }
            }
        }
        self.outages
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::tick::{POINTS, Point};

    fn addresses(target: &str) -> Option<Box<Addresses>> {
        let text = format!(
            r#"{{"subject":"rust","target":"{target}","backend":"block","core":null,"instrument":"X",
            "first_token":1,"warm_up_seconds":0,"seconds":1,"hlog":"h","samples":"s","feed":{{}}}}"#
        );
        Addresses::new(&serde_json::from_str(&text).unwrap(), 0)
    }

    #[test]
    fn the_silence_lasts_from_tick_to_tick_or_to_the_end() {
        assert!(addresses("a:1").is_none());
        let mut two = addresses("a:1, b:2").unwrap();
        two.ticked(100);
        two.open = Some(Outage { rejected: 1, ..Outage::default() });
        two.ticked(700);
        two.ticked(800);
        two.open = Some(Outage { rejected: 2, ..Outage::default() });
        let found = two.finish(&mut [], &Clock::calibrate(), 1_000);
        let found: Vec<(u64, u64)> =
            found.iter().map(|outage| (outage.silence_ns, outage.rejected)).collect();
        assert_eq!(found, [(600, 1), (200, 2)]);
    }

    /// The trader's own stamps stay; those of a clock that is not known are removed.
    #[test]
    fn stamps_of_later_exchanges_come_to_our_clock_or_go() {
        let ours = Clock::calibrate();
        let [theirs, third] = [(); 2].map(|()| Clock::calibrate());
        let now_ns = ours.now_ns();
        let mut samples = [Sample { number: 1, stamps: [now_ns; POINTS] }; 4];
        samples[2].stamps = [theirs.stamp_of(&ours, now_ns).unwrap(); POINTS];
        let read = Point::Read as usize;
        samples[2].stamps[read] = now_ns;
        samples[2].stamps[Point::GatewayOut as usize] = 0;
        let mut two = addresses("a:1,b:2").unwrap();
        two.clocks = vec![(1, None), (2, Some(theirs)), (3, Some(third))];
        two.finish(&mut samples, &ours, 0);
        let at = |sample: usize, point: Point| samples[sample].stamps[point as usize];
        assert_eq!(samples[0].stamps, [now_ns; POINTS]);
        assert_eq!((at(1, Point::Published), at(1, Point::GatewayIn)), (0, 0));
        assert!(at(2, Point::Published).abs_diff(now_ns) <= 2);
        assert_eq!((at(2, Point::GatewayOut), at(2, Point::Read)), (0, now_ns));
        assert!((1..4).all(|sample| at(sample, Point::Read) == now_ns));
    }
}

//! Watches while the processes of an entrant measure.

use crate::launch::Launch;
use crate::progress::Teller;
use noise::beside::DisturbanceCollector;
use record::directory;

/// Passes progress on and, with `--noise`, finds out what disturbs the measured cores.
pub(crate) struct Observer<'a, 's> {
    pub teller: &'a mut Teller<'s>,
    pub beside: Option<&'a mut DisturbanceCollector>,
}

impl<'s> Observer<'_, 's> {
    /// Runs `work`, during which the processes of `launch` measure.
    pub(crate) fn during<T>(
        &mut self,
        launch: &Launch,
        work: impl FnOnce(&mut Teller<'s>) -> T,
    ) -> T {
        let teller = &mut *self.teller;
        match &mut self.beside {
            None => work(teller),
            Some(beside) => {
                let hlog = directory::hlog(launch.path, launch.number);
                let name = &launch.entrant.name;
                beside.during(launch.number, name, launch.clock, &hlog, || work(teller))
            }
        }
    }
}

//! The sources of time of a machine.

use clock::phc::PhcReading;
use host::{Root, processes, ptp, utc};
use std::path::Path;

/// Programs that set the wall clock, by their names in /proc (at most 15 bytes).
const SETTERS: [(&str, &str); 5] = [
    ("chronyd", "chronyd"),
    ("ntpd", "ntpd"),
    ("systemd-timesyn", "systemd-timesyncd"),
    ("phc2sys", "phc2sys"),
    ("openntpd", "openntpd"),
];
/// Switch of the driver ENA, where it has one.
pub(crate) const ENA_PHC: &str = "sys/module/ena/parameters/phc_enable";

/// Clocks of this machine, and programs that set them.
#[derive(Clone, Debug, Default)]
pub struct TimeSources {
    /// Its PTP clocks, as `ptp0 (ena-ptp-05)`.
    pub ptp_clocks: Vec<String>,
    /// Whether the driver ENA shows its PTP clock; `None` if it has no such switch.
    pub ena_phc: Option<bool>,
    /// Programs that set the wall clock; `None` if processes can't be listed.
    pub setters: Option<Vec<String>>,
    /// The PTP clocks that this process may read, each with the wall clock at the same moment.
    pub readings: Vec<(String, PhcReading)>,
    /// Output of `chronyc -n -c sources`, or why there is none; `None` if it was not asked.
    pub chrony: Option<Result<String, String>>,
}

impl TimeSources {
    /// Reads files, and asks chrony's daemon on this machine if it runs.
    pub fn read(root: &Root) -> TimeSources {
        let setters = processes::read(root).map(|all| {
            let runs = |name: &str| all.values().any(|process| process.name == name);
            let setter = |(name, known): &(&str, &str)| runs(name).then(|| (*known).to_owned());
            SETTERS.iter().filter_map(setter).collect::<Vec<String>>()
        });
        let has_chrony = setters.iter().flatten().any(|name| name == "chronyd");
        let ptp_clocks = utc::ptp_clocks(root);
        let read = |name: &String| {
            let device = name.split(' ').next().filter(|_| root.is_system())?;
            let reading = ptp::read(&Path::new("/dev").join(device)).ok()?;
            Some((name.clone(), reading))
        };
        let ena_phc = root.read_value::<u32>(ENA_PHC).map(|value| value > 0);
        TimeSources {
            readings: ptp_clocks.iter().filter_map(read).collect(),
            ptp_clocks,
            ena_phc,
            setters,
            chrony: (root.is_system() && has_chrony).then(utc::chrony_sources),
        }
    }

    /// The PTP clock that should be followed, or the one that is off.
    pub(crate) fn unused(&self) -> Option<String> {
        match (&self.ptp_clocks[..], self.ena_phc) {
            ([], Some(false)) => Some("the PTP clock of the driver ENA, which is off".to_owned()),
            ([], _) => None,
            (clocks, _) => Some(clocks.join(", ")),
        }
    }
}

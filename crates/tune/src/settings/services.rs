//! Programs in the background.

use crate::goal::Profile;
use crate::setting::{BASE, Risk, Setting, Wishes};

pub(super) static SETTINGS: [Setting; 6] = [
    Setting {
        id: "service.ssm",
        tier: 3,
        wanted: "inactive",
        why: "An agent that polls, logs and updates itself.",
        cost: "No Session Manager: be sure that you can log in otherwise.",
        what_to_do: "systemctl disable --now amazon-ssm-agent.service \
              snap.amazon-ssm-agent.amazon-ssm-agent.service",
        source: "systemctl(1)",
        removes: &["thread.NAME"],
        risk: Risk::High,
        wishes: Wishes::Stopped(&[
            "amazon-ssm-agent.service",
            "snap.amazon-ssm-agent.amazon-ssm-agent.service",
        ]),
        ..BASE
    },
    Setting {
        id: "service.cloudwatch",
        tier: 3,
        wanted: "inactive",
        why: "Collects and sends metrics every minute.",
        cost: "No metrics of the agent.",
        what_to_do: "systemctl disable --now amazon-cloudwatch-agent.service",
        source: "systemctl(1)",
        removes: &["thread.NAME"],
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade],
        wishes: Wishes::Stopped(&["amazon-cloudwatch-agent.service"]),
        ..BASE
    },
    Setting {
        id: "service.updates",
        tier: 2,
        wanted: "inactive",
        why: "Updates unpack, relink and restart while you trade.",
        cost: "Nothing is updated until you do it.",
        what_to_do: "systemctl disable --now unattended-upgrades.service apt-daily.timer \
              apt-daily-upgrade.timer dnf-automatic.timer dnf-makecache.timer packagekit.service",
        source: "systemctl(1)",
        removes: &["thread.NAME"],
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Stopped(&[
            "unattended-upgrades.service",
            "apt-daily.timer",
            "apt-daily-upgrade.timer",
            "dnf-automatic.timer",
            "dnf-makecache.timer",
            "packagekit.service",
        ]),
        ..BASE
    },
    Setting {
        id: "service.cron",
        tier: 3,
        wanted: "inactive",
        why: "Jobs start on the minute, as many strategies do.",
        cost: "No job runs: log rotation among them.",
        what_to_do: "systemctl disable --now cron.service crond.service anacron.timer",
        source: "systemctl(1)",
        removes: &["thread.NAME"],
        risk: Risk::High,
        wishes: Wishes::Stopped(&["cron.service", "crond.service", "anacron.timer"]),
        ..BASE
    },
    Setting {
        id: "service.maintenance",
        tier: 3,
        wanted: "inactive",
        why: "Indexes, trims and statistics at times of their own.",
        cost: "Their work is left undone.",
        what_to_do: "systemctl disable --now fstrim.timer man-db.timer mlocate.timer \
              plocate-updatedb.timer logrotate.timer sysstat-collect.timer",
        source: "systemctl(1)",
        removes: &["thread.NAME"],
        profiles: &[Profile::TickToTrade, Profile::Measure],
        wishes: Wishes::Stopped(&[
            "fstrim.timer",
            "man-db.timer",
            "mlocate.timer",
            "plocate-updatedb.timer",
            "logrotate.timer",
            "sysstat-collect.timer",
        ]),
        ..BASE
    },
    Setting {
        id: "service.tuned",
        tier: 2,
        wanted: "inactive",
        why: "Another tuner writes the same settings, at times of its own.",
        cost: "Its profile no longer applies.",
        what_to_do: "systemctl disable --now tuned.service power-profiles-daemon.service",
        source: "systemctl(1)",
        removes: &["thread.NAME"],
        risk: Risk::Medium,
        profiles: &[Profile::TickToTrade, Profile::Exchange, Profile::Measure],
        wishes: Wishes::Stopped(&["tuned.service", "power-profiles-daemon.service"]),
        ..BASE
    },
];

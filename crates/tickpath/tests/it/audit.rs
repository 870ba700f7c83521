//! `tickpath audit` on a log that the logger wrote, and on what became of it.

use audit::{Record, Settings, start};
use clock::Clock;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tickpath(arguments: &[&str], log: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickpath"));
    command.arg("audit").args(arguments).arg(log).output().unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A log of ten answered orders.
fn log(directory: &Path) -> PathBuf {
    let file = directory.join("001.audit");
    let settings = Settings {
        scenario: "tick-to-trade".to_owned(),
        ..Settings::new(file.clone(), Clock::calibrate())
    };
    let (mut auditor, logger) = start(settings).unwrap();
    for order in 0..10 {
        let stamps = [order; 4];
        auditor.tell(&Record::Ack {
            order,
            order_id: order,
            accepted: true,
            replied_ns: order,
            stamps,
        });
    }
    drop(auditor);
    assert_eq!(logger.finish().audit.lost, 0);
    file
}

#[test]
fn a_log_is_told_in_words_in_json_and_record_by_record() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path());
    let words = tickpath(&[], &log);
    assert_eq!(words.status.code(), Some(0), "{}", said(&words.stderr));
    assert!(said(&words.stdout).contains("ack 10"), "{}", said(&words.stdout));
    let json: serde_json::Value =
        serde_json::from_slice(&tickpath(&["--json"], &log).stdout).unwrap();
    assert_eq!((&json["records"]["ack"], &json["end"]["how"]), (&10.into(), &"finished".into()));
    assert_eq!(json["scenario"], "tick-to-trade");
    let lines = said(&tickpath(&["--records"], &log).stdout);
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines[0]["header"]["time"]["clock"].is_object(), "{}", lines[0]);
    let acks: Vec<&serde_json::Value> =
        lines.iter().filter(|line| line["record"] == "ack").collect();
    assert_eq!((acks.len(), &acks[9]["order"]), (10, &9.into()));
    assert_eq!(lines.last().unwrap()["record"], "end");
}

#[test]
fn damage_is_rejected_with_3_and_a_torn_tail_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let log = log(directory.path());
    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&log, &bytes[..bytes.len() - 70]).unwrap();
    let torn = tickpath(&[], &log);
    assert_eq!(torn.status.code(), Some(0));
    assert!(said(&torn.stdout).contains("TORN"), "{}", said(&torn.stdout));
    let mut damaged = bytes.clone();
    damaged[4096 + 2 * 64 + 9] ^= 1;
    std::fs::write(&log, damaged).unwrap();
    let damaged = tickpath(&[], &log);
    assert_eq!(damaged.status.code(), Some(3));
    assert!(said(&damaged.stderr).contains("record 2"), "{}", said(&damaged.stderr));
    for (bytes, why) in [(&b"no log"[..], "not an audit log"), (&bytes[..100], "shorter")] {
        std::fs::write(&log, bytes).unwrap();
        let foreign = tickpath(&["--json"], &log);
        assert_eq!(foreign.status.code(), Some(2));
        assert!(said(&foreign.stderr).contains(why), "{}", said(&foreign.stderr));
    }
}

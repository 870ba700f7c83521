//! The peers in Java, in the same scenario as ours, by the same contract (clients/IPC.md).

use crate::support::*;
use std::path::Path;

#[test]
fn javas_rings_and_queue_are_measured_and_judged_like_ours() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join("clients/java-ipc/target/java-ipc.jar").exists() {
        testing::skip!(JavaPeers, "the peers in Java are not built; `make peers` does it");
    }
    for (scenario, subjects) in [
        ("ring", &["ring", "aeron", "agrona", "disruptor"][..]),
        ("queue", &["queue", "chronicle"]),
    ] {
        let (runs, files) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let done = tickpath()
            .current_dir(&root)
            .args(["run", &format!("scenarios/peers/{scenario}.toml"), "--quiet"])
            .args(["--set", "runs=1", "--set", "warm_up_seconds=0.2", "--set", "seconds=0.5"])
            .args(["--set", "hiccup_seconds=0", "--set", "load.rate_per_second=2000"])
            .args(["--set", "ipc.block_bytes=1048576"])
            .args(["--set", &format!("ipc.directory={}", files.path().display())])
            .arg("--out")
            .arg(runs.path())
            .output()
            .unwrap();
        assert!(matches!(done.status.code(), Some(0 | 3)), "{}", text(&done.stderr));
        let record = record(&only_run(runs.path()));
        assert_eq!(record["complete"], true, "{}", record["void_because"]);
        for subject in subjects {
            for held in ["complete", "replies", "recorded"] {
                let rule = rule(&record, &format!("{subject}.{held}"));
                assert_eq!(rule["verdict"], "held", "{rule}");
            }
            let count = &series(&record, subject, "message", "response")["pooled"]["count"];
            assert_eq!(*count, 1_000, "{subject}");
        }
        assert!(std::fs::read_dir(files.path()).unwrap().next().is_none(), "files stayed");
    }
}

//! `tickpath run` with requests to the raw echo: whole processes and real sockets.

use crate::support::*;

const SHORT: [&str; 6] = [
    "runs=2",
    "warm_up_seconds=0.1",
    "seconds=0.5",
    "hiccup_seconds=0",
    "load.rate_per_second=2000",
    "request.reply_bytes=64",
];

#[test]
fn every_request_has_its_reply_and_the_record_says_what_the_machine_lacks() {
    let runs = tempfile::tempdir().unwrap();
    let mut command = tickpath();
    command.args(["run", "irq-topology", "--quiet"]).arg("--out").arg(runs.path());
    for set in SHORT {
        command.args(["--set", set]);
    }
    let done = command.output().unwrap();
    let table = text(&done.stdout);
    let record = record(&only_run(runs.path()));
    assert_eq!(record["complete"], true, "{}{table}", text(&done.stderr));
    assert_eq!(done.status.code(), Some(status_of(&record)), "{table}");
    for held in ["complete", "sent", "replies", "recorded"] {
        let rule = rule(&record, &format!("baseline.{held}"));
        assert_eq!(rule["verdict"], "held", "{rule}");
    }
    for kind in ["response", "service"] {
        let request = series(&record, "baseline", "request", kind);
        assert_eq!(request["pooled"]["count"], 2_000, "{request}");
    }
    let subjects = record["subjects"].as_array().unwrap();
    let load = &subjects[0]["load"]["message_bytes"];
    let lengths = ["order", "order_reply", "cancel", "cancel_reply"].map(|name| &load[name]);
    assert_eq!(lengths, [256, 64, 256, 64], "{load}");
    // Both ends on one host: no interrupt is on the way, whatever sockets there are.
    assert_eq!(subjects.len(), 1, "{table}");
    let warnings = record["warnings"].to_string();
    assert!(warnings.contains("left out: crossed-1, inverted, crossed-2"), "{warnings}");
    assert!(warnings.contains("a second host"), "{warnings}");
}

/// The echo of another host, here by its address, and only placements that cannot be made.
#[test]
fn nothing_runs_where_no_placement_can_be_made() {
    let runs = tempfile::tempdir().unwrap();
    let file = runs.path().join("crossed.toml");
    let only = "name = \"crossed\"\nkind = \"network\"\n[[subject]]\nname = \"far\"\n\
                placement = \"crossed-1\"\n";
    std::fs::write(&file, only).unwrap();
    let done = tickpath().arg("run").arg(&file).arg("--out").arg(runs.path()).output().unwrap();
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("left out: far") && said.contains("lacks"), "{said}");
}

//! `report.html`: its figures are the record's, in a real browser, and it asks nobody for anything.

use crate::support::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// A browser, if this machine has one.
fn chromium() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let asked = Command::new(name).arg("--version").stdout(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    });
    if found.is_none() {
        testing::skipped(
            testing::Need::Browser,
            format_args!("no chromium here (scripts/setup installs it where it may)"),
        );
    }
    found
}

/// Whom the browser itself calls at its start, whatever it opens.
const BROWSERS_OWN: [&str; 2] = ["google.com/", "googleapis.com/"];

/// The document as a browser understood it, and the addresses that it asked for over the network.
fn opened(browser: &str, page: &Path, scratch: &Path) -> (String, Vec<String>) {
    let log = scratch.join("net.json");
    let done = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--disable-extensions"])
        .args(["--no-first-run", "--disable-default-apps", "--dump-dom"])
        .arg(format!("--user-data-dir={}", scratch.join("profile").display()))
        .arg(format!("--log-net-log={}", log.display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert!(done.status.success());
    let log = std::fs::read_to_string(log).unwrap();
    let mut asked: Vec<String> = log
        .split(r#""url":""#)
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    asked.retain(|url| !BROWSERS_OWN.iter().any(|host| url.contains(host)));
    asked.sort();
    asked.dedup();
    (text(&done.stdout), asked)
}

/// The attributes of every element of `html` that has `name`.
fn elements<'a>(html: &'a str, name: &str) -> Vec<BTreeMap<&'a str, &'a str>> {
    let tags = html.split('<').filter_map(|rest| rest.split('>').next());
    let attributes = |tag: &'a str| {
        let pieces: Vec<&str> = tag.split('"').collect();
        let pairs = pieces.chunks_exact(2);
        pairs
            .map(|pair| (pair[0].rsplit(' ').next().unwrap().trim_end_matches('='), pair[1]))
            .collect()
    };
    tags.map(attributes).filter(|found: &BTreeMap<_, _>| found.contains_key(name)).collect()
}

/// The figures of run.json, as `series percentile` to ns.
fn figures(record: &Value) -> BTreeMap<String, u64> {
    let mut figures = BTreeMap::new();
    for subject in record["subjects"].as_array().unwrap() {
        for series in subject["series"].as_array().unwrap() {
            let part = |key: &str| series[key].as_str().unwrap();
            if part("kind") == "lateness" {
                continue;
            }
            let tag =
                format!("{}.{}.{}", subject["name"].as_str().unwrap(), part("name"), part("kind"));
            for (name, value) in series["pooled"].as_object().unwrap() {
                if !["min", "below_1us"].contains(&name.as_str())
                    && let Some(value) = value.as_u64()
                {
                    figures.insert(format!("{tag} {name}"), value);
                }
            }
        }
    }
    figures
}

fn shown(html: &str) -> BTreeMap<String, u64> {
    let figure = |cell: BTreeMap<&str, &str>| {
        let (name, value) = match cell.get("data-count") {
            Some(count) => ("count", count),
            None => (cell["data-percentile"], cell.get("data-ns")?),
        };
        Some((format!("{} {name}", cell["data-series"]), value.parse().unwrap()))
    };
    elements(html, "data-series").into_iter().filter_map(figure).collect()
}

/// Nothing that a browser would fetch stands in the text.
fn assert_fetches_nothing(html: &str) {
    // Headings link to themselves.
    let html = &html.replace("href=\"#", "");
    for word in ["src=", "href=", "url(", "@import", "<link", "<iframe", "<object", "<img"] {
        assert!(!html.contains(word), "{word} in the page");
    }
    // The only script is the record, which browsers don't run.
    assert_eq!(html.matches("<script").count(), 1);
    assert!(html.contains(r#"<script type="application/json" id="record">"#));
}

fn embedded(html: &str) -> Value {
    let after = html.split_once(r#"id="record">"#).unwrap().1;
    serde_json::from_str(after.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn the_page_of_a_real_run_shows_its_record_and_fetches_nothing() {
    let runs = tempfile::tempdir().unwrap();
    let out = runs.path().display().to_string();
    tickpath().args(SHORT).args(["--out", &out, "--set", "runs=2"]).output().unwrap();
    let run = only_run(runs.path());
    let record = record(&run);
    let page = run.join("report.html");
    let html = std::fs::read_to_string(&page).unwrap();
    assert_fetches_nothing(&html);
    assert_eq!(embedded(&html), record);
    assert!(figures(&record).len() > 30);
    assert_eq!(shown(&html), figures(&record));
    assert!(html.contains("rust order response p90: "), "no curve");
    assert!(html.contains(" s a column"), "nothing over time");

    let Some(browser) = chromium() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let (dom, asked) = opened(browser, &page, scratch.path());
    assert_eq!(shown(&dom), figures(&record));
    assert_eq!(embedded(&dom), record);
    let verdict = if is_void(&record) { ">VOID: " } else { "hold" };
    assert!(dom.contains(verdict));
    assert!(asked.is_empty(), "{asked:?}");

    // And one that did ask would have been seen.
    let control = scratch.path().join("control.html");
    std::fs::write(&control, r#"<img src="http://asked.invalid/x.png">"#).unwrap();
    let (_, asked) = opened(browser, &control, scratch.path());
    assert_eq!(asked, ["http://asked.invalid/x.png"]);
}

/// A record without its logs, without machine.json and with few keys is still a page.
#[test]
fn what_lies_beside_a_record_may_be_missing() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run.json");
    let name = "a-name-that-is-far-longer-than-any-name-ought-to-be-<b>&\\\"'";
    let record = format!(
        r#"{{"schema": 1, "tool": "tickpath 0.1.0", "scenario": "old </script>", "complete": false,
            "valid": false, "invalid_because": ["<b>"], "runs": 1, "runs_void": 0, "warnings": [],
            "subjects": [{{"name": "{name}", "series": [{{"name": "order", "kind": "response",
              "unit": "ns", "pooled": {{"count": 120, "min": 5, "p50": 7, "max": 9}}}}]}}]}}"#
    );
    std::fs::write(&run, record).unwrap();
    let page = directory.path().join("page.html");
    let made = |path: &Path| {
        let paths = [path.display().to_string(), page.display().to_string()];
        let done = output(&["report", &paths[0], "--html", &paths[1]]);
        assert_eq!(done.status.code(), Some(3), "{}", text(&done.stderr));
        std::fs::read_to_string(&page).unwrap()
    };
    let html = made(directory.path());
    assert_fetches_nothing(&html);
    for said in ["there is no .hlog file beside it", "The fingerprint can't be read", "&lt;b&gt;"] {
        assert!(html.contains(said), "no {said:?}");
    }
    assert!(!html.contains("<b>"));
    assert_eq!(made(&run), html, "a run.json named is as good as its directory");

    // A log that is damaged is said, and what is whole in it is drawn.
    std::fs::write(directory.path().join("001.hlog"), "Tag=a,0.1,1.0,2.0,HISTFAAAAB\n").unwrap();
    let html = made(directory.path());
    assert!(html.contains("The logs are not whole") && html.contains("001.hlog line 1: "));
}

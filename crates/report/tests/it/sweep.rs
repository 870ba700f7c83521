//! A small sweep, as a person sees it in a terminal and on its page.

use expect_test::expect;
use record::sweep::SweepRecord;
use serde_json::{Value, json};

fn point(rate: f64, achieved: f64, outcome: &str, p99: u64, why: &[&str]) -> Value {
    let series = |kind: &str, p50: u64, p99: u64| {
        json!({"name": "order", "kind": kind, "unit": "ns", "uncertain": ["p99"],
            "interval": {"p50": [p50 - 100, p50 + 100]},
            "pooled": {"count": 2_000, "p50": p50, "p99": p99, "max": 10 * p99}})
    };
    json!({
        "rate_per_second_offered": rate, "rate_per_second_achieved": achieved,
        "record": "2026-11-22T00-00-00Z-order-to-ack", "valid": why.is_empty(),
        "invalid_because": why, "outcome": outcome, "objective_ns": p99,
        "subjects": [
            {"name": "rust", "load": {"rate_per_second_achieved": achieved},
             "series": [series("response", 9_400, p99), series("service", 9_100, 21_000)]},
            {"name": "floor", "series": [series("service", 7_000, 12_000)]}]
    })
}

fn sweep(change: impl FnOnce(&mut Value)) -> SweepRecord {
    let mut value = json!({
        "schema": 1, "tool": "tickpath 0.1.0", "scenario": "order-to-ack",
        "command": ["tickpath", "sweep", "order-to-ack"], "complete": true, "runs": 3,
        "objective": "p99 < 100us",
        "points": [
            point(10e3, 10e3, "met", 22_000, &[]),
            point(40e3, 39_999.0, "met", 45_200, &[]),
            point(80e3, 79_990.0, "missed", 312_000, &[]),
            point(160e3, 98_220.0, "overloaded", 48_000_000, &[
                "rust.sent: run 1: 400000 of 640000 messages were sent", "rust.complete: run 1"]),
            point(320e3, 0.0, "void", 48_000_000, &["rust.replies: run 1: 3 lost <b>"])]
    });
    change(&mut value);
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_sweep_with_every_outcome() {
    let table = report::sweep::table(&sweep(|_| ()), 100);
    assert!(table.lines().all(|line| line.chars().count() <= 100));
    expect![[r#"
        order-to-ack sweep · complete · 5 rates · 3 runs each
          highest rate that met p99 < 100us: 40 000/s (next: 80 000/s missed, p99 312 us)

        us  messages/s  achieved  service p50     p99  response p50      p99              verdict
                10 000    10 000        9.10?  ~21.0?         9.40?   ~22.0?     met, p99 22.0 us
                40 000    39 999        9.10?  ~21.0?         9.40?   ~45.2?     met, p99 45.2 us
                80 000    79 990        9.10?  ~21.0?         9.40?    ~312?   missed, p99 312 us
               160 000    98 220        9.10?  ~21.0?         9.40?  ~48000?  overloaded (61.3 %)
               320 000         0        9.10?  ~21.0?         9.40?  ~48000?                 VOID
          Latencies of orders.
          ? does not hold: disturbance may be more than a tenth of it; ~ fewer than 100 samples lie beyond
          it; - fewer than 10, not shown

          ! 160 000/s: rust.sent: run 1: 400000 of 640000 messages were sent (1 more in
            2026-11-22T00-00-00Z-order-to-ack/run.json)
          ! 320 000/s: rust.replies: run 1: 3 lost <b>
    "#]]
    .assert_eq(&table);
}

#[test]
fn the_headline_says_what_is_known_and_no_more() {
    let headline = |change: fn(&mut Value)| {
        let table = report::sweep::table(&sweep(change), 100);
        let words: Vec<&str> = table.split("\n\n").next().unwrap().split_whitespace().collect();
        words.join(" ")
    };
    let shown = [
        headline(|sweep| sweep["points"].as_array_mut().unwrap().truncate(2)),
        headline(|sweep| sweep["points"] = json!([point(10e3, 10e3, "missed", 312_000, &[])])),
        headline(|sweep| {
            sweep["points"] = json!([]);
            sweep["complete"] = json!(false);
            sweep["failures"] = json!(["it was interrupted"]);
        }),
        headline(|sweep| {
            sweep["objective"] = Value::Null;
            sweep["points"].as_array_mut().unwrap().remove(2);
            sweep["injected"] = json!(["rust stall_ms=10 stall_every_ms=1000"]);
        }),
        headline(|sweep| sweep["points"][4] = point(320e3, 320e3, "met", 90_000, &[])),
    ];
    expect![[r#"
        order-to-ack sweep · complete · 2 rates · 3 runs each highest rate that met p99 < 100us: 40 000/s, the highest tried
        order-to-ack sweep · complete · 1 rate · 3 runs each no rate met p99 < 100us (lowest tried: 10 000/s missed, p99 312 us)
        order-to-ack sweep · INCOMPLETE · 0 rates · 3 runs each ! it was interrupted nothing was measured
        order-to-ack sweep · complete · 4 rates · 3 runs each · faults injected: rust stall_ms=10 stall_every_ms=1000 highest rate that was reached: 40 000/s (next: 160 000/s overloaded (61.3 %))
        order-to-ack sweep · complete · 5 rates · 3 runs each highest rate that met p99 < 100us: 40 000/s (next: 80 000/s missed, p99 312 us); but 320 000/s did again: between runs this machine changes more than between rates"#]].assert_eq(&shown.join("\n"));
}

#[test]
fn several_subjects_have_a_row_each_within_the_width() {
    let table = report::sweep::table(
        &sweep(|sweep| {
            for point in sweep["points"].as_array_mut().unwrap() {
                let mut other = point["subjects"][0].clone();
                other["name"] = json!("a-client-with-a-long-name");
                point["subjects"].as_array_mut().unwrap().push(other);
            }
        }),
        100,
    );
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    assert!(table.matches("a-client-~-long-name").count() >= 5, "{table}");
}

#[test]
fn the_page_has_every_figure_and_fetches_nothing() {
    let sweep = sweep(|_| ());
    let page = report::sweep::page(&sweep);
    for figure in [
        "9.10",
        "~312",
        "~48000",
        "overloaded (61.3 %)",
        "knee: 40 000/s",
        "median over runs within 9.00-9.20 us",
        "floor, service p50",
        "response p99",
    ] {
        assert!(page.contains(figure), "no {figure}");
    }
    for fetching in ["src=", "url(", "<link", "@import", "NaN", "<b>"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
    let links = page.matches("href=").count() - page.matches("href=\"#").count();
    assert_eq!(links, page.matches("/report.html\">2026").count());
    let (_, after) = page.split_once(r#"id="sweep">"#).unwrap();
    let json = after.split_once("</script>").unwrap().0;
    let again: SweepRecord = serde_json::from_str(json).unwrap();
    assert_eq!(serde_json::to_value(&again).unwrap(), serde_json::to_value(&sweep).unwrap());
}

/// A damaged or interrupted sweep must render, too.
#[test]
fn a_sweep_without_points_has_a_page() {
    let empty = sweep(|sweep| sweep["points"] = json!([]));
    assert!(report::sweep::page(&empty).contains("nothing was measured"));
    let bare = sweep(|sweep| {
        sweep["points"][0]["subjects"] = json!([]);
        sweep["points"][1]["rate_per_second_offered"] = json!(0.0);
        sweep["objective"] = json!("service.max <= 1s");
    });
    assert!(!report::sweep::page(&bare).contains("NaN"));
    assert!(report::sweep::table(&bare, 100).lines().count() > 8);
}

/// Ticks and messages between threads have no orders.
#[test]
fn without_an_objective_the_first_series_is_shown() {
    let table = report::sweep::table(
        &sweep(|sweep| {
            sweep["objective"] = Value::Null;
            for point in sweep["points"].as_array_mut().unwrap() {
                for series in point["subjects"][0]["series"].as_array_mut().unwrap() {
                    series["name"] = json!("tick_to_gateway");
                }
            }
        }),
        100,
    );
    assert!(table.contains("Latencies of tick_to_gateways") && table.contains("9.10"), "{table}");
}

/// The ratio at each rate, and a machine with two speeds: no p50 between them is printed or drawn.
#[test]
fn the_ratio_and_both_regimes_are_shown() {
    let two = sweep(|sweep| {
        let series = &mut sweep["points"][0]["subjects"][0]["series"][1];
        series["over_floor"] = json!({"floor": "floor", "holds_to": 0.9,
            "figures": {"p50": {"floor": 8_500, "ratio": 1.0712}}});
        let regime = |name: &str, p50: u64| json!({"regime": name, "slices": 6, "share": 0.5, "figures": {"count": 900, "p50": p50}});
        series["regimes"] = json!([regime("fast", 7_800), regime("slow", 10_900)]);
        series["pooled"]["p50"] = json!(9_333);
    });
    let table = report::sweep::table(&two, 110);
    let row = table.lines().find(|line| line.contains("10 000")).unwrap();
    assert!(row.contains(" 7.80/10.9 ") && row.contains(" 1.07x "), "{table}");
    let page = report::sweep::page(&two);
    assert!(page.contains("in the fast regime: 7.80 us") && page.contains("1.07x"), "{page}");
    assert!(!page.contains("9.33 us"));
}

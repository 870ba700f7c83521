//! The documents name files, modules, crates, unsafe code, lints and tests. Here they are compared
//! with the code, because such a page is wrong a week after it was written by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The output of `git ls-files` for these patterns, relative to the root.
fn tracked(patterns: &[&str]) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    let listed = git.args(["ls-files", "--"]).args(patterns).current_dir(root()).output().unwrap();
    assert!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let text = String::from_utf8(listed.stdout).unwrap();
    // A file that is deleted but not committed yet is still listed.
    text.lines().map(PathBuf::from).filter(|path| root().join(path).exists()).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The workspace's crates, each with the workspace's crates that it uses outside of tests.
fn graph() -> BTreeMap<String, BTreeSet<String>> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata = cargo.current_dir(root()).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let names: BTreeSet<&str> = packages.iter().map(|one| one["name"].as_str().unwrap()).collect();
    let uses = |package: &serde_json::Value| {
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let normal = dependencies.filter(|one| one["kind"].is_null());
        let used = normal.map(|one| one["name"].as_str().unwrap());
        used.filter(|name| names.contains(name)).map(str::to_owned).collect()
    };
    packages.iter().map(|one| (one["name"].as_str().unwrap().to_owned(), uses(one))).collect()
}

/// The table that follows a marker in ARCHITECTURE.md: its rows, each split into cells.
fn table(marker: &str) -> Vec<Vec<String>> {
    let page = read("ARCHITECTURE.md");
    let after = page.split_once(marker).unwrap_or_else(|| panic!("no {marker:?}")).1;
    let rows = after.lines().skip_while(|line| !line.starts_with('|'));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let cells = |row: &str| row.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// The cells of a column that name something in code type.
fn named(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// A heading as GitHub makes an anchor of it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Text between single backticks, outside of fenced blocks.
fn code_spans(text: &str) -> Vec<&str> {
    let mut fenced = false;
    let mut spans = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            spans.extend(line.split('`').skip(1).step_by(2));
        }
    }
    spans
}

/// `None` if all is well, otherwise what is missing.
fn missing_link(from: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => from.to_owned(),
        _ => from.parent().unwrap().join(path),
    };
    if !root().join(&target).exists() {
        return Some(format!("{}: no file {link}", from.display()));
    }
    let found = heading.is_empty()
        || read(&target).lines().any(|line| line.starts_with('#') && anchor(line) == heading);
    (!found).then(|| format!("{}: no heading {link}", from.display()))
}

/// Whether a path such as `trader::tick::rehearsal` leads to a module or an item of that crate.
fn module_exists(path: &str) -> bool {
    let mut parts = path.split("::");
    let package = parts.next().unwrap();
    let folder = |name: &str| root().join("crates").join(name).join("src");
    let mut folder = match folder(package).exists() {
        true => folder(package),
        false => folder(&package.replace('_', "-")),
    };
    for part in parts {
        let inside = folder.join(part);
        if inside.is_dir() || folder.join(format!("{part}.rs")).exists() {
            folder = inside;
            continue;
        }
        // An item: of this module's file, or, where it is re-exported, of one below.
        let file = folder.with_extension("rs");
        let texts = match folder.is_dir() {
            true => {
                rust_files(&folder).iter().map(|one| fs::read_to_string(one).unwrap()).collect()
            }
            false => fs::read_to_string(file).unwrap_or_default(),
        };
        return defines(&texts, part);
    }
    true
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    files.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
}

fn defines(text: &str, item: &str) -> bool {
    let kinds = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod", "macro_rules!"];
    kinds.iter().any(|kind| {
        text.match_indices(&format!("{kind} {item}")).any(|(at, found)| {
            !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let missing: Vec<String> = tracked(&["*.md"])
        .iter()
        .flat_map(|page| {
            let text = read(page);
            links(&text).filter_map(|link| missing_link(page, link)).collect::<Vec<_>>()
        })
        .collect();
    assert!(missing.is_empty(), "fix these links:\n{}", missing.join("\n"));
}

#[test]
fn every_path_in_code_type_exists() {
    let folders = ["crates/", "clients/", "docs/", "scenarios/", "scripts/", "fuzz/", ".ci/"];
    let mut missing = Vec::new();
    for page in tracked(&["*.md"]) {
        for span in code_spans(&read(&page)) {
            // Patterns, arguments and what a build makes are no paths of the repository.
            let is_path = folders.iter().any(|folder| span.starts_with(folder))
                && !span.contains(['*', ' ', '{', '<', '…'])
                && !span.contains("/target/");
            if is_path && !root().join(span).exists() {
                missing.push(format!("{}: {span}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "these paths don't exist:\n{}", missing.join("\n"));
}

#[test]
fn every_module_in_code_type_exists() {
    let crates = graph();
    let is_name = |part: &str| part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let mut missing = Vec::new();
    for page in tracked(&["*.md"]) {
        for span in code_spans(&read(&page)) {
            let name = span.trim_end_matches("()");
            let is_ours =
                name.split_once("::").is_some_and(|(first, _)| crates.contains_key(first));
            if is_ours && name.split("::").all(is_name) && !module_exists(name) {
                missing.push(format!("{}: {span}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "these modules don't exist:\n{}", missing.join("\n"));
}

#[test]
fn the_crates_and_what_they_use_are_cargos() {
    let name = |cell: &str| cell.split(['[', ']']).nth(1).unwrap_or(cell).to_owned();
    let rows: Vec<(String, BTreeSet<String>)> = table("<!-- crates:")
        .iter()
        .map(|row| (name(&row[0]), row[2].split_whitespace().map(str::to_owned).collect()))
        .collect();
    for (at, (name, used)) in rows.iter().enumerate() {
        let above: BTreeSet<String> = rows[..at].iter().map(|(name, _)| name.clone()).collect();
        let below: Vec<&String> = used.difference(&above).collect();
        assert!(below.is_empty(), "{name} uses {below:?}, which are not above it in the table");
    }
    let drawn: BTreeMap<String, BTreeSet<String>> = rows.into_iter().collect();
    let real = graph();
    let wrong: Vec<String> = real
        .keys()
        .chain(drawn.keys())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .filter(|name| real.get(*name) != drawn.get(*name))
        .map(|name| {
            format!("{name}: Cargo says {:?}, the table {:?}", real.get(name), drawn.get(name))
        })
        .collect();
    assert!(wrong.is_empty(), "the table of crates in ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

#[test]
fn the_exchange_does_not_know_its_judges() {
    let graph = graph();
    let mut known = BTreeSet::new();
    let mut left = vec!["exchange"];
    while let Some(name) = left.pop() {
        if known.insert(name) {
            left.extend(graph[name].iter().map(String::as_str));
        }
    }
    for judge in ["trader", "scenario", "report"] {
        assert!(graph.contains_key(judge), "{judge} is no crate");
        assert!(!known.contains(judge), "exchange uses {judge}, perhaps through another crate");
    }
    let sources = rust_files(&root().join("crates/exchange/src"));
    let injects = |path: &&PathBuf| fs::read_to_string(path).unwrap().contains("inject");
    assert_eq!(sources.iter().find(injects), None, "the exchange knows of injected faults");
}

/// The rows of ARCHITECTURE.md that say what keeps each invariant.
fn kept_by() -> Vec<Vec<String>> {
    table("<!-- kept by:")
}

#[test]
fn every_invariant_names_the_lint_test_or_review_that_keeps_it() {
    let page = read("ARCHITECTURE.md");
    let section = page.split_once("## Invariants").unwrap().1.split_once("<!--").unwrap().0;
    let starts = |line: &&str| line.starts_with(|c: char| c.is_ascii_digit());
    let stated: Vec<&str> =
        section.lines().filter(starts).map(|line| line.split_once('.').unwrap().0).collect();
    let rows = kept_by();
    let kept: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert!(stated.len() >= 10);
    assert_eq!(stated, kept, "a row for each invariant");
    for row in &rows {
        assert!(row[1..].iter().any(|cell| !cell.is_empty()), "nothing keeps invariant {}", row[0]);
    }
}

#[test]
fn every_test_that_keeps_an_invariant_exists() {
    let mut missing = Vec::new();
    for row in kept_by() {
        for link in row[2].split('[').skip(1) {
            let (name, rest) = link.split_once("](").unwrap();
            let path = rest.split_once(')').unwrap().0;
            let text = fs::read_to_string(root().join(path)).unwrap_or_default();
            // Between the attribute and the name others may stand, and a comment.
            let is_test = text.split("#[test]").skip(1).any(|after| {
                after
                    .split_once("fn ")
                    .is_some_and(|(_, rest)| rest.starts_with(&format!("{name}(")))
            });
            if !is_test {
                missing.push(format!("invariant {}: no test {name} in {path}", row[0]));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn every_crate_has_the_lints_that_the_invariants_name() {
    let rows = kept_by();
    let lints: BTreeSet<&str> = rows.iter().flat_map(|row| named(&row[1])).collect();
    assert!(lints.len() >= 2, "{lints:?}");
    let configured = read("clippy.toml");
    let of_unsafe = table("<!-- unsafe:");
    let may_be_unsafe: Vec<&str> = of_unsafe.iter().flat_map(|row| links(&row[0])).collect();
    let mut missing = Vec::new();
    for name in graph().keys() {
        let is_library = root().join(format!("crates/{name}/src/lib.rs")).exists();
        let path = format!("crates/{name}/src/{}.rs", if is_library { "lib" } else { "main" });
        let text = read(&path);
        let denied: String = text
            .lines()
            .filter(|line| line.starts_with("#![forbid(") || line.contains("deny("))
            .collect();
        if !denied.contains("unsafe_code") && !may_be_unsafe.contains(&path.as_str()) {
            missing.push(format!("{path}: unsafe_code"));
        }
        for lint in &lints {
            assert!(
                configured.contains(&lint.replace('_', "-")),
                "clippy.toml configures no {lint}"
            );
            // sbe is generated, and the binary prints.
            let is_free = name.starts_with("sbe") || (!is_library && *lint == "disallowed_macros");
            if !is_free && !denied.contains(&format!("clippy::{lint}")) {
                missing.push(format!("{path}: clippy::{lint}"));
            }
        }
    }
    assert!(missing.is_empty(), "these crates lack a lint:\n{}", missing.join("\n"));
}

#[test]
fn the_files_with_unsafe_code_are_listed() {
    let has_unsafe = |path: &PathBuf| {
        read(path).lines().map(str::trim_start).filter(|line| !line.starts_with("//")).any(|line| {
            ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern", "unsafe("]
                .iter()
                .any(|code| line.contains(code) && !line.contains(&format!("\"{code}")))
        })
    };
    let this = Path::new("crates/tickpath/tests/it/docs.rs");
    let found: BTreeSet<PathBuf> = tracked(&["crates/*.rs"])
        .into_iter()
        .filter(|path| path != this && !path.starts_with("crates/sbe"))
        .filter(has_unsafe)
        .collect();
    let rows = table("<!-- unsafe:");
    let listed = rows.iter().flat_map(|row| links(&row[0])).map(PathBuf::from).collect();
    let missing: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    let are_equal = missing.is_empty() && gone.is_empty();
    assert!(are_equal, "ARCHITECTURE.md, unsafe: not listed {missing:?}; without unsafe {gone:?}");
}

#[test]
fn every_decision_is_linked_from_the_map_and_from_the_code() {
    let sources = ["crates/*.rs", "clients/*.hpp", "clients/*.java", "cloud/*.py"];
    let code: String = tracked(&sources).iter().map(read).collect();
    let map = read("ARCHITECTURE.md");
    let mut numbers = BTreeSet::new();
    for decision in tracked(&["docs/decisions/*.md"]) {
        let path = decision.to_str().unwrap();
        // Two branches of one day took the same one.
        let number = path["docs/decisions/".len()..].split('-').next().unwrap();
        assert!(numbers.insert(number.to_owned()), "there are two decisions {number}");
        assert!(map.contains(&format!("]({path})")), "ARCHITECTURE.md doesn't link {path}");
        assert!(code.contains(path), "no module says: See {path}");
    }
    let modules = code.split("docs/decisions/").skip(1).filter_map(|rest| rest.split_once(".md"));
    for (name, _) in modules.filter(|(name, _)| name.starts_with(|c: char| c.is_ascii_digit())) {
        let path = format!("docs/decisions/{name}.md");
        assert!(root().join(&path).exists(), "a module names {path}, which doesn't exist");
    }
}

#[test]
fn every_schema_is_linked_from_the_map() {
    let map = read("ARCHITECTURE.md");
    let schemas = tracked(&["docs/*.schema.json"]);
    assert!(!schemas.is_empty());
    for schema in schemas {
        let path = schema.to_str().unwrap();
        assert!(map.contains(&format!("]({path})")), "ARCHITECTURE.md doesn't link {path}");
    }
}

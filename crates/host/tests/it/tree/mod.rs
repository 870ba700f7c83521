//! A machine as a text: one file a line, `path: content` or `path -> target of a link`. Cores in
//! braces expand to a line each: `cpu{0-3}/online: 1`. `\n` and `\t` in a content are a newline and
//! a tab.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use host::Root;
use host::topology::parse_core_list;
use tempfile::TempDir;

/// Writes the files; they live as long as the directory that is returned.
pub fn machine(text: &str) -> (TempDir, Root) {
    let directory = tempfile::tempdir().unwrap();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        for line in expanded(line) {
            write(directory.path(), &line);
        }
    }
    let root = Root::at(directory.path());
    (directory, root)
}

fn expanded(line: &str) -> Vec<String> {
    let Some((before, rest)) = line.split_once('{') else { return vec![line.to_owned()] };
    let (cores, after) = rest.split_once('}').unwrap();
    let cores = parse_core_list(cores).unwrap();
    cores.iter().map(|core| format!("{before}{core}{after}")).collect()
}

fn write(directory: &Path, line: &str) {
    let (path, content, is_link) = match line.split_once(" -> ") {
        Some((path, target)) => (path, target, true),
        None => {
            let (path, content) = line.split_once(':').unwrap();
            (path, content.trim_start(), false)
        }
    };
    let path = directory.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if is_link {
        symlink(content, path).unwrap();
    } else {
        fs::write(path, content.replace("\\n", "\n").replace("\\t", "\t") + "\n").unwrap();
    }
}

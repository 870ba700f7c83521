//! The winner, by the order of the program that reads the files.

use super::*;

fn said(files: &[(&str, &str)], path: &str, text: &str) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let place = SettingPlace::Text(path.to_owned());
    let wishes = [Wish { place, want: WantedValue::Is(text.to_owned()) }];
    rivals(&Root::at(directory.path()), &wishes)
}

/// The winner of each sentence: `+` the other file, `-` ours.
fn winners(said: &[String]) -> String {
    said.iter().map(|one| if one.contains("it there") { '+' } else { '-' }).collect()
}

#[test]
fn limits_are_read_in_the_order_of_pam() {
    const OURS: &str = "/etc/security/limits.d/90-tickpath-nofile.conf";
    const TEXT: &str = "# ours\n*\t-\tnofile\t65536\nroot\t-\tnofile\t65536\n";
    let all = [
        ("etc/security/limits.conf", "* soft nofile 1024 # few\n#* hard nofile 4\n* - core 0\n"),
        ("etc/security/limits.d/20-nproc.conf", "* hard nofile 1048576\nroot - nofile 512\n"),
        ("etc/security/limits.d/90-tickpath-nofile.conf", "* - nofile 1\n"),
        ("etc/security/limits.d/95-db.conf", "@db - nofile unlimited\n* hard nofile 4096\n"),
        ("etc/security/limits.d/99.disabled", "* - nofile 5\n"),
    ];
    let of_all = said(&all, OURS, TEXT);
    assert_eq!(winners(&of_all), "--+", "{of_all:?}");
    assert!(of_all[0].starts_with("/etc/security/limits.conf line 1 sets \"1024\""), "{of_all:?}");
    assert!(of_all[2].starts_with("/etc/security/limits.d/95-db.conf line 2"), "{of_all:?}");
    // A group's own line wins from an earlier file, too.
    let group = said(&[("etc/security/limits.d/10.conf", "@db - nofile 9\n")], OURS, TEXT);
    assert!(group.len() == 1 && group[0].contains("for @db"), "{group:?}");
    assert_eq!(said(&all[1..], "/etc/sysctl.d/x.conf", TEXT), [""; 0]);
}

#[test]
fn the_last_parameter_of_a_module_counts() {
    const OURS: &str = "/etc/modprobe.d/tickpath-ena.conf";
    const TEXT: &str = "options ena phc_enable=1\n";
    let with =
        |name: &str, line: &str| said(&[(&format!("etc/modprobe.d/{name}"), line)], OURS, TEXT);
    assert_eq!(winners(&with("ena.conf", "options ena force=1 phc-enable=0\n")), "-");
    assert_eq!(winners(&with("zz.conf", "options ena phc_enable=1 phc_enable=0\n")), "+");
    for other in
        ["options ena phc_enable=1", "#options ena phc_enable=0", "options enb phc_enable=0"]
    {
        assert_eq!(with("zz.conf", other), [""; 0], "{other}");
    }
    // A file in /etc hides one of the same name in /usr/lib.
    let hidden = [
        ("etc/modprobe.d/zz.conf", "# nothing\n"),
        ("usr/lib/modprobe.d/zz.conf", "options ena phc_enable=0\n"),
    ];
    assert_eq!(said(&hidden, OURS, TEXT), [""; 0]);
    assert_eq!(winners(&said(&hidden[1..], OURS, TEXT)), "+");
}

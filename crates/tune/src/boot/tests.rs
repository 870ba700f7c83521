//! Boot files as strangers write them. A shell's reading is checked against the shell itself.

use std::process::Command;

use super::loader::DROP_IN;
use super::shell::{Script, Variables};
use super::*;
use proptest::prelude::*;

const LAST: Option<usize> = Some(7);
const BASH: Loader = Loader::GrubDefaults { has_append: true };

fn group(loader: Loader, files: &[(&str, Option<&str>)]) -> BootGroup {
    let file = |&(path, text): &(&str, Option<&str>)| BootFile {
        path: path.to_owned(),
        text: text.map(str::to_owned),
    };
    BootGroup {
        loader,
        files: files.iter().map(file).collect(),
        environment: BTreeMap::new(),
        unreadable: None,
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// The text of a single file after a merge.
fn merged(loader: Loader, text: &str, new: &str) -> Result<String, String> {
    let group = group(loader, &[("etc/default/grub", Some(text))]);
    let changed = group.merged(&words(new), LAST)?;
    Ok(changed.into_iter().next().map_or(text.to_owned(), |(_, text)| text))
}

#[test]
fn a_shells_line_keeps_its_comments_quotes_and_words() {
    const NAME: &str = "GRUB_CMDLINE_LINUX_DEFAULT";
    for (old, new) in [
        ("NAME=\"quiet\" # was \"x\"\n", "NAME=\"quiet a=1\" # was \"x\"\n"),
        ("NAME=console=ttyS0\n", "NAME=\"console=ttyS0 a=1\"\n"),
        ("NAME=quiet\\ splash\n", "NAME=quiet\\ splash\" a=1\"\n"),
        ("  export NAME='quiet'\n", "  export NAME='quiet a=1'\n"),
        ("NAME=\"quiet \\\n  splash\"\n", "NAME=\"quiet \\\n  splash a=1\"\n"),
        ("NAME=\"one\"\nNAME+=\" two\"\n", "NAME=\"one\"\nNAME+=\" two a=1\"\n"),
        ("NAME=\n", "NAME=\"a=1\"\n"),
        ("NAME=\"\"; X=1\n", "NAME=\"a=1\"; X=1\n"),
        ("X=quiet\nNAME=\"$X\"\n", "X=quiet\nNAME=\"$X a=1\"\n"),
        ("NAME=\"quiet -- single\"\n", "NAME=\"quiet a=1 -- single\"\n"),
        ("# NAME=\"quiet\"\nTIMEOUT=1", "# NAME=\"quiet\"\nTIMEOUT=1\nNAME=\"a=1\"\n"),
        ("NAME=\"a=0 quiet a=0\"\n", "NAME=\"a=1 quiet\"\n"),
        ("X=\"a=0\"\nNAME=\"$X quiet\"\n", "X=\"a=1\"\nNAME=\"$X quiet\"\n"),
        (
            "D=`lsb_release -i || echo $(x)`\nNAME=\"quiet\"\n",
            "D=`lsb_release -i || echo $(x)`\nNAME=\"quiet a=1\"\n",
        ),
    ] {
        let (old, new) = (old.replace("NAME", NAME), new.replace("NAME", NAME));
        assert_eq!(merged(BASH, &old, "a=1").as_deref(), Ok(new.as_str()), "{old}");
    }
}

/// RHEL has only the variable for all starts, and two variables are one command line.
#[test]
fn a_list_in_either_variable_is_united_there() {
    let old =
        "GRUB_CMDLINE_LINUX=\"isolcpus=1 rhgb\"\nGRUB_CMDLINE_LINUX_DEFAULT=\"isolcpus=2 quiet\"\n";
    let new = "GRUB_CMDLINE_LINUX=\"isolcpus=domain,managed_irq,1-3 rhgb\"\nGRUB_CMDLINE_LINUX_DEFAULT=\" quiet\"\n";
    assert_eq!(merged(BASH, old, "isolcpus=managed_irq,domain,3").as_deref(), Ok(new));
    let old = "GRUB_CMDLINE_LINUX=\"crashkernel=auto rhgb quiet\"\n";
    let new = "GRUB_CMDLINE_LINUX=\"crashkernel=auto rhgb quiet a=1\"\n";
    assert_eq!(merged(BASH, old, "a=1").as_deref(), Ok(new));
}

#[test]
fn what_cannot_be_told_has_its_line() {
    for (text, why) in [
        ("X=1\nGRUB_CMDLINE_LINUX=\"${Y:-quiet}\"\n", "line 2 expands ${Y:-quiet}"),
        ("GRUB_CMDLINE_LINUX=\"$(cat /etc/x)\"\n", "line 1 runs a command"),
        ("if true; then\nGRUB_CMDLINE_LINUX=x\nfi\n", "line 2 sets GRUB_CMDLINE_LINUX only under"),
        ("[ -e x ] && GRUB_CMDLINE_LINUX=x\n", "line 1 sets GRUB_CMDLINE_LINUX only under"),
        (". /etc/other\n", "line 1 runs \".\""),
        ("unset GRUB_CMDLINE_LINUX\n", "line 1 may set"),
        ("GRUB_CMDLINE_LINUX=\"quiet\n", "a quote that is not closed"),
        ("GRUB_CMDLINE_LINUX='x=\"a b'\n", "double quote that is not closed"),
        ("GRUB_CMDLINE_LINUX=isolcpus=all\n", "takes \"all\" for a flag"),
        ("GRUB_CMDLINE_LINUX=isolcpus=9\n", "the last one is 7"),
    ] {
        let group = group(BASH, &[("etc/default/grub", Some(text))]);
        let error = group.has("isolcpus=domain,2", LAST).unwrap_err();
        assert!(error.contains(why) && error.contains("etc/default/grub"), "{text:?}: {error}");
    }
    let dash = group(
        Loader::GrubDefaults { has_append: false },
        &[("etc/default/grub", Some("GRUB_CMDLINE_LINUX+=\" a=1\"\n"))],
    );
    assert!(dash.has("a=1", LAST).unwrap_err().contains("sh does not know"));
}

/// Debian and Ubuntu read drop-ins after the file; ours is one of them.
#[test]
fn a_drop_in_that_is_read_later_gets_the_words() {
    let base = ("etc/default/grub", Some("GRUB_CMDLINE_LINUX_DEFAULT=\"quiet rcu_nocbs=3-N\"\n"));
    let cloud =
        ("etc/default/grub.d/50-cloud.cfg", Some("GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0\"\n"));
    let change = |files: &[(&str, Option<&str>)], word: &str| {
        let changed = group(BASH, files).merged(&words(word), LAST).unwrap();
        changed.into_iter().map(|(file, text)| format!("{}: {text}", file.path)).collect::<String>()
    };
    let ours = "GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT a=1\"";
    assert_eq!(
        change(&[base, cloud, (DROP_IN, None)], "a=1"),
        format!("{DROP_IN}: {MARK}\n{ours}\n")
    );
    // A list that an earlier file has is united in that file.
    assert_eq!(
        change(&[base, (DROP_IN, None)], "rcu_nocbs=2"),
        "etc/default/grub: GRUB_CMDLINE_LINUX_DEFAULT=\"quiet rcu_nocbs=2-7\"\n"
    );
    let late = ("etc/default/grub.d/zz.cfg", cloud.1);
    assert_eq!(
        change(&[base, (DROP_IN, None), late], "a=1"),
        "etc/default/grub.d/zz.cfg: GRUB_CMDLINE_LINUX_DEFAULT=\"console=ttyS0 a=1\"\n"
    );
}

#[test]
fn an_entry_follows_the_boot_loader_specification() {
    for (old, new) in [
        ("title x\nlinux /v\noptions root=1 ro\n", "title x\nlinux /v\noptions root=1 ro a=1\n"),
        (
            "linux /v\r\noptions root=1\r\noptionsx y\r\n",
            "linux /v\r\noptions root=1 a=1\r\noptionsx y\r\n",
        ),
        ("linux /v\noptions root=1\noptions  a=0\n", "linux /v\noptions root=1\noptions  a=1\n"),
        ("# options x\nlinux /v\ninitrd /i\n", "# options x\nlinux /v\noptions a=1\ninitrd /i\n"),
        ("linux /v\noptions root=1 -- 3\n", "linux /v\noptions root=1 a=1 -- 3\n"),
        ("linux /v\noptions x=\"a b\" a=2", "linux /v\noptions x=\"a b\" a=1"),
        ("efi /memtest.efi\n", "efi /memtest.efi\n"),
    ] {
        assert_eq!(merged(Loader::Entry, old, "a=1").as_deref(), Ok(new), "{old:?}");
    }
    // RHEL 8: GRUB's environment block is not ours to change, so a list in it is written out in the
    // entry. The setting was "unknown" before.
    let mut rhel =
        group(Loader::Entry, &[("e.conf", Some("linux /v\noptions $kernelopts $tuned\n"))]);
    rhel.environment.insert("kernelopts".to_owned(), "root=1 isolcpus=3".to_owned());
    assert_eq!(rhel.has("isolcpus=domain,2", LAST), Ok(false));
    assert_eq!(rhel.has("isolcpus=domain,3", LAST), Ok(true));
    assert_eq!(
        rhel.merged(&words("isolcpus=domain,2 a=1"), LAST).unwrap()[0].1,
        "linux /v\noptions root=1 isolcpus=domain,2-3 $tuned a=1\n"
    );
    let said = rhel.written_out(&words("isolcpus=domain,2"), LAST).unwrap();
    assert!(said.starts_with("/e.conf gets the words of $kernelopts written out"), "{said}");
    assert_eq!(rhel.written_out(&words("a=1"), LAST), None);
    assert_eq!(rhel.written_out(&words("isolcpus=domain,3"), LAST), None);
    let mut braced = rhel.clone();
    braced.files[0].text =
        Some("linux $kernelopts\noptions ${kernelopts} $kernelopts2 $\n".to_owned());
    assert_eq!(
        braced.merged(&words("isolcpus=domain,2"), LAST).unwrap()[0].1,
        "linux $kernelopts\noptions root=1 isolcpus=domain,2-3 $kernelopts2 $\n"
    );
    assert_eq!(
        rhel.merged(&words("a=1"), LAST).unwrap()[0].1,
        "linux /v\noptions $kernelopts $tuned a=1\n"
    );
}

#[test]
fn a_generated_config_and_a_plain_file_take_words() {
    let old = "menuentry x {\n\tlinux\t/vmlinuz root=1 ro $vt_handoff\n\tinitrd /i\n}\n\
               menuentry y {\n\tlinux /vmlinuz root=1 ro single\n}\n";
    assert_eq!(
        merged(Loader::GrubConfig, old, "a=1"),
        Ok(old.replace("handoff\n", "handoff a=1\n"))
    );
    for (old, new) in [
        ("root=1 ro\n", "root=1 ro a=1\n"),
        ("root=1\n# a comment\n", "root=1 a=1\n# a comment\n"),
        ("root=1\nquiet\n\n", "root=1\nquiet a=1\n\n"),
        ("", "a=1\n"),
        ("# only\n", "# only\na=1\n"),
    ] {
        assert_eq!(merged(Loader::Plain, old, "a=1").as_deref(), Ok(new), "{old:?}");
    }
}

/// The examples of lists that the kernel's own grammar has, and what is set already.
#[test]
fn lists_are_read_by_the_kernels_grammar() {
    let entry = |options: &str| {
        let text = format!("linux /v\noptions root=/dev/x {options}\n");
        group(Loader::Entry, &[("e.conf", Some(&text))])
    };
    let line = "isolcpus=managed_irq,domain,3-N rcu_nocbs=3-N";
    assert_eq!(entry(line).has("rcu_nocbs=2-3", LAST), Ok(false));
    assert_eq!(entry(line).has("rcu_nocbs=4-5", LAST), Ok(true));
    assert_eq!(entry("rcu_nocbs=0-7:1/2").has("rcu_nocbs=2,4", LAST), Ok(true));
    assert_eq!(entry("rcu_nocbs=all").has("rcu_nocbs=2", LAST), Ok(true));
    // Without flags, isolcpus means domain; managed interrupts are not kept away.
    assert_eq!(entry("isolcpus=2-3").has("isolcpus=domain,2", LAST), Ok(true));
    assert_eq!(entry("isolcpus=2-3").has("isolcpus=managed_irq,domain,2", LAST), Ok(false));
    // The kernel ignores the second one.
    assert_eq!(entry("isolcpus=1 isolcpus=2-3").has("isolcpus=domain,2", LAST), Ok(false));
    // The kernel takes dashes for underscores, and the last of other values.
    assert_eq!(entry("skew-tick=1").has("skew_tick=1", LAST), Ok(true));
    assert_eq!(entry("skew_tick=1 skew_tick=0").has("skew_tick=1", LAST), Ok(false));
    assert_eq!(entry("-- skew_tick=1").has("skew_tick=1", LAST), Ok(false));
}

/// The value of a variable after the shell has read a text; `None` if it fails.
fn of_shell(shell: &str, text: &str, name: &str) -> Option<String> {
    let script = format!("{text}\nprintf '<%s>' \"${name}\"");
    let mut command = Command::new(format!("/bin/{shell}"));
    command.env_clear().env("PATH", "/nonexistent").args(["-c", &script]);
    let done = command.output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    let is_good = done.status.success() && done.stderr.is_empty();
    is_good.then(|| said.strip_prefix('<')?.strip_suffix('>').map(str::to_owned)).flatten()
}

fn of_reader(text: &str, name: &str) -> Result<Option<String>, String> {
    let script = Script { name: "x", text };
    let variables = Variables::of(&[script], true, &["A", "B"]);
    let value = variables.get(name)?.and_then(|variable| variable.value.clone().ok());
    Ok(value.map(|letters| letters.iter().map(|letter| letter.char).collect()))
}

/// Pieces of shell files; the property joins them in any order.
const PIECES: [&str; 34] = [
    "A=",
    "A+=",
    "B=",
    "export A=",
    "  A=",
    "quiet",
    "\"quiet splash\"",
    "'a b'",
    "\\ ",
    "\\\n",
    "\n",
    "\n",
    "# \"x\n",
    " # x",
    "$B",
    "\"$B\"",
    "${B}",
    "\"${B} x\"",
    "'$B'",
    "\"\\$B\"",
    "\"\\\"\"",
    ";",
    " ",
    "isolcpus=1-2",
    "\"",
    "'",
    "${B:-y}",
    "$(true)",
    "if true; then ",
    "; fi",
    "true && ",
    "~",
    "\"a\\b\"",
    "#",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(256)))]
    /// Where the reader gives a value, the shell gives the same one.
    #[test]
    fn a_shell_reads_the_same_value(pieces in prop::collection::vec(0..PIECES.len(), 0..14)) {
        let text: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        let shell = if text.contains("+=") { "bash" } else { "sh" };
        if let (Ok(read), Some(said)) = (of_reader(&text, "A"), of_shell(shell, &text, "A")) {
            prop_assert_eq!(read.unwrap_or_default(), said, "{:?}", text);
        }
    }

    /// Any file keeps its other words, has the union, and does not change again.
    #[test]
    fn a_merge_is_read_back_and_is_made_once(
        options in "(options |linux /v |GRUB_CMDLINE_LINUX(_DEFAULT)?=\")?[a-z0-9=,\" \n\r\t-]{0,50}",
        old in prop::collection::btree_set(0..8_usize, 1..5),
        which in 0..4_usize,
    ) {
        let loader = [BASH, Loader::GrubConfig, Loader::Entry, Loader::Plain][which];
        let list = host::topology::format_core_list(&old.into_iter().collect::<Vec<_>>());
        let text = format!("{options} isolcpus={list} x");
        let new = "isolcpus=managed_irq,domain,2-3 skew_tick=1";
        if let Ok(once) = merged(loader, &text, new) {
            prop_assert_eq!(merged(loader, &once, new), Ok(once.clone()));
            for kept in text.split_whitespace().filter(|word| !word.contains(['"', '='])) {
                prop_assert!(once.contains(kept), "{:?} is gone from {:?}", kept, once);
            }
        }
    }
}

#[test]
fn the_reader_agrees_with_the_shell_on_common_files() {
    for text in [
        "A=\"quiet\" # was \"x\"\n",
        "A=console=ttyS0,115200n8\n",
        "export A='a b'\n",
        "B=\"rhgb quiet\"\nA=\"crashkernel=auto $B\"\n",
        "A=\"one \\\n two\"\n",
        "A=x'y'\"z\"\\ w\n",
        "X=`true || true`\nA=q # `x\n",
    ] {
        let read = of_reader(text, "A").unwrap();
        assert_eq!(read, of_shell("sh", text, "A"), "{text:?}");
        assert!(read.is_some_and(|value| !value.is_empty()), "{text:?}");
    }
}

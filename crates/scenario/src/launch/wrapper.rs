//! Programs that start a client over another stack, such as Onload, and whether they did.

use clock::Deadline;
use host::Root;
use rustix::process::Pid;
use std::path::Path;
use std::time::Duration;

/// Stacks that a client has as a library in its memory: a word in the wrapper's command, and the
/// beginning of the library's file name.
const KNOWN: [(&str, &str); 3] =
    [("onload", "libonload"), ("libvma", "libvma"), ("libxlio", "libxlio")];
/// Time that a client may take to load the library, and the pause between two looks.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// The stack of a client that `wrapper` started as the process `client`, in words.
///
/// # Errors
/// If the wrapper is known by its library and no process of the client has loaded it.
pub(super) fn stack(wrapper: &[String], client: Pid) -> Result<String, String> {
    let command = wrapper.join(" ");
    let library = wrapper.iter().find_map(|word| {
        let known = KNOWN.iter().find(|(name, _)| word.contains(name));
        known.map(|(_, library)| *library)
    });
    let Some(library) = library else {
        return Ok(format!("client: started by {command}, whose effect can't be checked"));
    };
    let deadline = Deadline::after(PATIENCE);
    loop {
        if let Some(file) = loaded(&Root::system(), client, library) {
            return Ok(format!("client: started by {command}, with {file} in its memory"));
        }
        if deadline.left().is_zero() {
            return Err(format!(
                "{command} did not take effect: no process of the client has {library} in its \
                 memory; check that this stack is installed and supports the network card"
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

/// The file name of a library that begins with `library`, in the memory of a process of the
/// client's group. A wrapper may have started the client as its child.
fn loaded(root: &Root, client: Pid, library: &str) -> Option<String> {
    let group = client.as_raw_nonzero().get().to_string();
    let is_its = |number: &usize| {
        let stat = root.read(format!("proc/{number}/stat"));
        stat.is_some_and(|stat| group_in(&stat) == Some(group.as_str()))
    };
    let members = root.numbered("proc", "")?.into_iter().filter(is_its);
    let maps = members.filter_map(|number| root.read(format!("proc/{number}/maps")));
    maps.filter_map(|maps| mapped(&maps, library)).next()
}

/// The process group: field 5 of `/proc/PID/stat` (proc_pid_stat(5)), counted after the name in
/// brackets, field 2.
fn group_in(stat: &str) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)
}

/// The file name of a mapping that begins with `library`.
fn mapped(maps: &str, library: &str) -> Option<String> {
    let files = maps.lines().filter_map(|line| line.split_once('/'));
    let mut names = files.filter_map(|(_, path)| Path::new(path).file_name()?.to_str());
    names.find(|name| name.starts_with(library)).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_by_its_file_name() {
        let maps = "7f00-7f01 r--p 0 fe:00 9 /opt/libonload-9.1/other.so\n\
                    7f01-7f02 rw-p 0 00:00 0 \n\
                    7f02-7f03 r-xp 0 fe:00 9 /usr/lib/libonload.so (deleted)\n";
        assert_eq!(mapped(maps, "libonload").as_deref(), Some("libonload.so (deleted)"));
        assert_eq!(mapped(maps, "libvma"), None);
    }

    #[test]
    fn the_group_of_a_process_is_behind_its_name() {
        assert_eq!(group_in("812 (x) (y)) R 1 800 799 0 -1"), Some("800"));
        assert_eq!(group_in("2 (kthreadd) S 0 0 0 0 -1"), Some("0"));
        assert_eq!(group_in("812 (x"), None);
    }

    #[test]
    fn a_wrapper_that_nobody_knows_is_named() {
        let wrapper = ["env", "A=1"].map(str::to_owned);
        let said = stack(&wrapper, rustix::process::getpid()).unwrap();
        assert_eq!(said, "client: started by env A=1, whose effect can't be checked");
    }
}

//! Whether a command can be started here.

use std::path::Path;

/// Which part of a command is missing, and what to do; `remedy` is for a file that it names.
pub(crate) fn missing(command: &[String], remedy: &str) -> Option<String> {
    let program = &command[0];
    if !program.contains('/') && !is_on_path(program) {
        return Some(format!("there is no program {program} on the PATH; install it"));
    }
    let part = parts(command).into_iter().find(|part| !part.exists())?;
    Some(format!("{} does not exist; {remedy}", part.display()))
}

/// The files that a command names for certain: its program, if it has a path, and what Java reads.
fn parts(command: &[String]) -> Vec<&Path> {
    let program = Path::new(&command[0]);
    let has_path = program.components().count() > 1;
    let jars = command.windows(2).filter(|pair| pair[0] == "-jar").map(|pair| &*pair[1]);
    let is_java = program.file_name().is_some_and(|name| name == "java");
    let arguments = command[1..].iter().filter_map(|word| word.strip_prefix('@'));
    let of_java = jars.chain(arguments).filter(|_| is_java).map(Path::new);
    has_path.then_some(program).into_iter().chain(of_java).collect()
}

/// Whether there is a program of that name.
pub(crate) fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_program_and_what_java_reads() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let needed = |text: &str| -> Vec<String> {
            parts(&words(text)).iter().map(|part| part.display().to_string()).collect()
        };
        assert_eq!(needed("java @a/java.args -jar a/b.jar x"), ["a/b.jar", "a/java.args"]);
        assert_eq!(needed("clients/client @x"), ["clients/client"]);
        assert!(needed("client -jar x.jar").is_empty());
    }
}

//! All reading and writing of places. Tests replace it by their own kernel, or one that fails.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use host::root::SourceText;
use host::{Root, ethtool};

use crate::hold;
use crate::place::SettingPlace;
use crate::wish::restorable;

/// Reads and writes places.
pub trait System {
    /// The value of a place; `None` if it is absent.
    ///
    /// # Errors
    /// The system's error.
    fn read(&self, place: &SettingPlace) -> io::Result<Option<String>>;

    /// Sets a place to `value`, or removes it.
    ///
    /// # Errors
    /// The system's error: EPERM, EINVAL, EBUSY, ENOENT, EIO.
    fn write(&mut self, place: &SettingPlace, value: Option<&str>) -> io::Result<()>;

    /// Appends a line to a file of our own, durably.
    ///
    /// # Errors
    /// The system's error.
    fn append(&mut self, file: &Path, line: &str) -> io::Result<()> {
        append(file, line)
    }
}

/// Directory of attributes and units below a root that is not this machine.
const STAND_INS: &str = ".stand-ins";

/// This machine, or a directory in its form.
#[derive(Clone, Debug)]
pub struct Machine {
    root: Root,
}

impl Machine {
    /// All paths are below `root`.
    pub fn new(root: Root) -> Machine {
        Machine { root }
    }

    /// The root of all files.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Only below another root.
    fn stand_in(&self, place: &SettingPlace) -> Option<PathBuf> {
        let path = stand_in(place).filter(|_| !self.root.is_system())?;
        Some(self.root.path(path))
    }
}

impl System for Machine {
    fn read(&self, place: &SettingPlace) -> io::Result<Option<String>> {
        let read = self.look(place);
        if let Ok(Some(text)) = &read {
            let (path, note) = match place {
                SettingPlace::Kernel(path) | SettingPlace::Text(path) => {
                    (path.clone(), SourceText::Text(text.clone()))
                }
                SettingPlace::Directory(path) => (path.clone(), SourceText::Directory),
                place => (stand_in(place).unwrap_or_default(), SourceText::Text(text.clone())),
            };
            self.root.note(path, || note);
        }
        read
    }

    fn write(&mut self, place: &SettingPlace, value: Option<&str>) -> io::Result<()> {
        if let Some(path) = self.stand_in(place) {
            return overwrite(&path, value.unwrap_or_default());
        }
        match (place, value) {
            (SettingPlace::Kernel(path), Some(value)) => {
                overwrite(&self.root.path(path), &restorable(value))
            }
            // It can't be made or removed: it exists or not.
            (SettingPlace::Kernel(_), None) => Err(io::ErrorKind::NotFound.into()),
            (SettingPlace::Text(path), value) => replace(&self.root.path(path), value),
            (SettingPlace::Directory(path), Some(_)) => fs::create_dir(self.root.path(path)),
            (SettingPlace::Directory(path), None) => fs::remove_dir(self.root.path(path)),
            (SettingPlace::Nic { nic, attribute }, value) => {
                let value = value.and_then(|value| value.trim().parse().ok());
                ethtool::set(nic, attribute, value.ok_or(io::ErrorKind::InvalidInput)?)
            }
            (SettingPlace::Service(unit), value) => set_service(unit, value.unwrap_or_default()),
            (SettingPlace::DmaLatency, value) => hold::hold(value),
        }
    }
}

/// The file that replaces a place that is not a file.
fn stand_in(place: &SettingPlace) -> Option<String> {
    let name = match place {
        SettingPlace::Nic { nic, attribute } => format!("nic/{nic}/{attribute}"),
        SettingPlace::Service(unit) => format!("service/{unit}"),
        SettingPlace::DmaLatency => "cpu_dma_latency".to_owned(),
        SettingPlace::Kernel(_) | SettingPlace::Text(_) | SettingPlace::Directory(_) => {
            return None;
        }
    };
    Some(format!("{STAND_INS}/{name}"))
}

impl Machine {
    fn look(&self, place: &SettingPlace) -> io::Result<Option<String>> {
        if let Some(path) = self.stand_in(place) {
            return absent(fs::read_to_string(path));
        }
        match place {
            SettingPlace::Kernel(path) | SettingPlace::Text(path) => {
                absent(fs::read_to_string(self.root.path(path)))
            }
            SettingPlace::Directory(path) => {
                Ok(self.root.path(path).is_dir().then(|| "there".to_owned()))
            }
            SettingPlace::Nic { nic, attribute } => match ethtool::get(nic, attribute) {
                Err(error)
                    if error.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) =>
                {
                    Ok(None)
                }
                other => Ok(other?.map(|value| value.to_string())),
            },
            SettingPlace::Service(unit) => service(unit),
            SettingPlace::DmaLatency => hold::held(),
        }
    }
}

/// A missing file is no error, and neither is a missing feature of the kernel.
fn absent(read: io::Result<String>) -> io::Result<Option<String>> {
    match read {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        // A queue without XPS, or a disabled parameter of a driver.
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::OPNOTSUPP.raw_os_error()) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// One write to an existing file.
fn overwrite(path: &Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    // With a newline, like `echo`; an empty value would be no write at all.
    file.write_all(format!("{}\n", value.trim_end()).as_bytes())
}

/// Replaces a file as a whole: readers see the old or the new one, also after a crash.
fn replace(path: &Path, value: Option<&str>) -> io::Result<()> {
    if path.is_symlink() {
        let why = format!("{} is a link; edit the file that it leads to", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let directory = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let beside = beside(path);
    match value {
        None => {
            for path in [&beside, path] {
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
        Some(value) => {
            let mut file = File::create(&beside)?;
            let written = file.write_all(value.as_bytes()).and_then(|()| {
                match fs::metadata(path) {
                    Ok(old) => {
                        file.set_permissions(old.permissions())?;
                        chown(&beside, Some(old.uid()), Some(old.gid()))?;
                    }
                    Err(_) => file.set_permissions(Permissions::from_mode(0o644))?,
                }
                file.sync_all()?;
                fs::rename(&beside, path)
            });
            if let Err(error) = written {
                let _ = fs::remove_file(&beside);
                return Err(error);
            }
        }
    }
    File::open(directory)?.sync_all()
}

/// The temporary path of a new text. The next write or revert removes what a crash leaves there.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.tickpath-new"))
}

/// Removes the remains of a crash next to a file.
pub(crate) fn clear_beside(root: &Root, place: &SettingPlace) {
    if let SettingPlace::Text(path) = place {
        let _ = fs::remove_file(beside(&root.path(path)));
    }
}

/// Appends a line and waits until it is on disk.
pub fn append(file: &Path, line: &str) -> io::Result<()> {
    let is_new = !file.exists();
    let mut opened = OpenOptions::new().create(true).append(true).open(file)?;
    opened.write_all(format!("{line}\n").as_bytes())?;
    opened.sync_data()?;
    if is_new && let Some(directory) = file.parent() {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}

/// `active enabled`; `None` without systemd, or without the unit.
fn service(unit: &str) -> io::Result<Option<String>> {
    if !Path::new("/run/systemd/system").exists() {
        return Ok(None);
    }
    let show = ["show", "--property=LoadState,ActiveState,UnitFileState", unit];
    let said = Command::new("systemctl").args(show).output()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let of = |key: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().to_owned()
    };
    if of("LoadState") != "loaded" {
        return Ok(None);
    }
    let active = if of("ActiveState") == "active" { "active" } else { "inactive" };
    Ok(Some(format!("{active} {}", of("UnitFileState"))))
}

/// Units that others start (`static`) are only stopped.
fn set_service(unit: &str, wanted: &str) -> io::Result<()> {
    let (active, enabled) = wanted.split_once(' ').unwrap_or((wanted, "static"));
    let systemctl = |verb: &str| -> io::Result<()> {
        let done = Command::new("systemctl").args([verb, unit]).output()?;
        if done.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        Err(io::Error::other(format!("systemctl {verb} {unit}: {said}")))
    };
    match enabled {
        "enabled" => systemctl("enable")?,
        "disabled" => systemctl("disable")?,
        _ => {}
    }
    systemctl(if active == "active" { "start" } else { "stop" })
}

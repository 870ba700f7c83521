//! A survey of every setting on this machine: its value, a better one, and the requirements.
//! `inspect` shows it, `plan` shows a part of it, and `apply` executes that.

use host::Root;
use host::topology::format_core_list;
use record::doctor::Grade;
use record::tune::{SCHEMA, SettingState, State, Step, Survey};

use crate::boot;
use crate::draw::draw;
use crate::drop_ins;
use crate::goal::Goal;
use crate::inspection::Inspection;
use crate::persist::{self, BootUnit, Carrier};
use crate::place::SettingPlace;
use crate::setting::{Setting, Value, Wishes};
use crate::settings;
use crate::system::System;
use crate::tuned;
use crate::wish::{WantedValue, Wish};

/// The state of a setting that only the boot loader's files have.
pub const WAITS: &str = "set, waits for a reboot";

/// How long changes last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// Now, and after each reboot.
    #[default]
    Always,
    /// Until the next reboot; changes no file on disk.
    LiveOnly,
    /// From the next boot on: for an image.
    PersistOnly,
}

/// The chosen settings, and how long they last.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// By name; empty: those of the profile.
    pub ids: Vec<String>,
    /// For how long.
    pub lasting: Persistence,
    /// The unit's program.
    pub start: BootUnit,
}

/// A machine, and the goal of its inspection.
pub struct Surveyor<'a> {
    /// Reads places.
    pub system: &'a dyn System,
    /// The root of all files.
    pub root: &'a Root,
    /// The inspected values.
    pub seen: &'a Inspection,
    /// The goal.
    pub goal: &'a Goal,
    /// The program's name and version.
    pub tool: &'a str,
}

impl Surveyor<'_> {
    /// All settings.
    pub fn inspect(&self) -> Survey {
        let states = by_tier().map(|setting| self.state(setting).0).collect();
        self.survey(states, Vec::new())
    }

    /// The changes to make: settings chosen by name or by the profile.
    ///
    /// # Errors
    /// A sentence, if a name is unknown or the boot loader's files can't be merged.
    pub fn plan(&self, choice: &Choice) -> Result<Survey, String> {
        if let Some(id) = choice.ids.iter().find(|id| settings::find(id).is_none()) {
            return Err(format!(
                "--setting: there is no setting {id:?}; `tickpath tune inspect` lists them"
            ));
        }
        let is_chosen = |setting: &&Setting| match choice.ids.is_empty() {
            true => setting.profiles.contains(&self.goal.profile) && self.is_fit(setting),
            false => choice.ids.iter().any(|id| id == setting.id),
        };
        let (mut states, mut wishes, mut words): (Vec<SettingState>, _, _) =
            (Vec::new(), Vec::new(), Vec::new());
        for setting in by_tier().filter(is_chosen) {
            let (mut state, its_wishes) = self.state(setting);
            let rival = states.iter().find(|taken| {
                taken.conflicts.iter().any(|id| id == setting.id)
                    || setting.conflicts.contains(&taken.id.as_str())
            });
            if let Some(rival) = rival.filter(|rival| rival.state != State::NotApplicable) {
                state.needs.push(format!("left out: {} is chosen already", rival.id));
                state.steps.clear();
                state.boot_words.clear();
                states.push(state);
                continue;
            }
            let is_wanted =
                choice.lasting == Persistence::PersistOnly || state.state == State::Better;
            if is_wanted && choice.lasting != Persistence::LiveOnly {
                state.needs.extend(drop_ins::rivals(self.root, &its_wishes));
                state.needs.extend(tuned::rivals(self.root, &its_wishes, &state.boot_words));
                state.needs.extend(self.written_out(&state.boot_words));
                wishes.extend(its_wishes);
                words.extend(state.boot_words.iter().cloned());
            }
            state.steps.retain(|step| lasts(step, choice.lasting));
            states.push(state);
        }
        let files =
            persist::steps(self.system, self.root, self.goal, &wishes, &words, &choice.start)?;
        Ok(self.survey(states, files))
    }

    /// Sentences about variables of the boot loader that must be written out for the words.
    fn written_out(&self, words: &[String]) -> Vec<String> {
        let groups = boot::groups(self.system, self.root);
        let last = self.seen.topology.last_possible;
        groups.iter().filter_map(|group| group.written_out(words, last)).collect()
    }

    /// On a shared host, leaves out everything that others would notice, unless it was named.
    fn is_fit(&self, setting: &Setting) -> bool {
        use crate::goal::Profile::HostShared;
        self.goal.profile != HostShared || !setting.needs_reboot()
    }

    fn survey(&self, settings: Vec<SettingState>, persistence: Vec<Step>) -> Survey {
        Survey {
            schema: SCHEMA,
            tool: self.tool.to_owned(),
            machine: self.seen.machine.fixed.identity(),
            profile: self.goal.profile.name().to_owned(),
            cores: self.goal.cores.clone(),
            housekeeping: self.goal.housekeeping.clone(),
            nics: self.goal.nics.clone(),
            topology: draw(self.root, self.seen, self.goal),
            settings,
            persistence,
            ..Survey::default()
        }
    }

    /// The state of one setting, and the wanted values of all of its places.
    pub(crate) fn state(&self, setting: &'static Setting) -> (SettingState, Vec<Wish>) {
        let wishes = self.wishes(setting);
        let looked = self.look(&wishes);
        let judged = setting.judge(self.root, self.seen);
        let mut state = blank(setting);
        let words = match setting.wishes {
            Wishes::Boot(words) => words(self.goal),
            _ => Vec::new(),
        };
        let configured = self.are_configured(&words);
        let is_waiting = configured == Ok(true);
        let is_booted = !words.is_empty() && words.iter().all(|word| self.is_booted(word));
        (state.state, state.found) = match (judged, &setting.wishes) {
            (Some(judged), _) if judged.grade == Grade::Ok => (State::AsWanted, judged.found),
            // Words that the kernel was not built for have no effect.
            (Some(judged), Wishes::Boot(_)) if judged.value == Value::Absent => {
                (State::NotApplicable, judged.found)
            }
            (Some(judged), Wishes::Boot(_)) if is_waiting => {
                (State::AsWanted, format!("{}; {WAITS}", judged.found))
            }
            (Some(judged), Wishes::Boot(_)) if configured.is_err() => {
                (State::Unknown, format!("{}; {}", judged.found, configured.unwrap_err()))
            }
            (Some(judged), Wishes::Boot(_) | Wishes::Advice) => {
                (of_grade(judged.grade), judged.found)
            }
            (None, Wishes::Boot(_)) if is_booted => (State::AsWanted, "set".to_owned()),
            (None, Wishes::Boot(_)) => match configured {
                Ok(true) => (State::AsWanted, WAITS.to_owned()),
                Ok(false) => (State::Better, "not set".to_owned()),
                Err(why) => (State::Unknown, why),
            },
            (None, Wishes::Advice) => (State::Unknown, "not to be read from here".to_owned()),
            (judged, _) => {
                let found = judged.map(|judged| judged.found);
                looked.state(found)
            }
        };
        if state.state == State::Better {
            state.boot_words = words;
            state.steps = looked.steps;
            state.needs = needs(self, setting, &state);
        }
        (state, wishes)
    }

    fn wishes(&self, setting: &Setting) -> Vec<Wish> {
        match &setting.wishes {
            Wishes::Advice | Wishes::Boot(_) => Vec::new(),
            Wishes::Sysctl(name, bound) => {
                let place = SettingPlace::Kernel(format!("/proc/sys/{}", name.replace('.', "/")));
                vec![Wish { place, want: (*bound).into() }]
            }
            Wishes::File(path, bound) => {
                vec![Wish {
                    place: SettingPlace::Kernel((*path).to_owned()),
                    want: (*bound).into(),
                }]
            }
            Wishes::Stopped(units) => units
                .iter()
                .map(|unit| {
                    let place = SettingPlace::Service((*unit).to_owned());
                    let is_static = |now: String| !now.contains("abled");
                    let now = self.system.read(&place).ok().flatten();
                    let want = match now.is_some_and(is_static) {
                        true => "inactive static",
                        false => "inactive disabled",
                    };
                    Wish { place, want: WantedValue::Is(want.to_owned()) }
                })
                .collect(),
            Wishes::Of(of) => of(self.root, self.seen, self.goal),
        }
    }

    fn is_booted(&self, word: &str) -> bool {
        let last = self.seen.topology.last_possible;
        boot::is_set(&self.seen.boot_words(), word, last) == Ok(true)
    }

    /// Whether every command line of the boot loader already has the words.
    ///
    /// # Errors
    /// Why that can't be told, with the file.
    fn are_configured(&self, words: &[String]) -> Result<bool, String> {
        if words.is_empty() {
            return Ok(false);
        }
        let groups = boot::groups(self.system, self.root);
        let mut are_there = !groups.is_empty();
        for (group, word) in
            groups.iter().flat_map(|group| words.iter().map(move |word| (group, word)))
        {
            are_there &= group.has(word, self.seen.topology.last_possible)?;
        }
        Ok(are_there)
    }

    fn look(&self, wishes: &[Wish]) -> SettingPlaces {
        let makes_directory =
            wishes.iter().any(|wish| matches!(wish.place, SettingPlace::Directory(_)));
        let mut looked = SettingPlaces::default();
        for wish in wishes {
            let place = &wish.place;
            let before = match self.system.read(place) {
                Ok(before) => before,
                Err(error) => {
                    looked.unreadable = Some(format!("{place}: {error}"));
                    continue;
                }
            };
            let may_come = match place {
                SettingPlace::Text(_) | SettingPlace::Directory(_) => true,
                SettingPlace::Kernel(_) => makes_directory,
                _ => false,
            };
            if before.is_none() && !may_come {
                continue;
            }
            looked.there += 1;
            let is_met = before.as_deref().is_some_and(|now| wish.want.is_met(place, now));
            if !is_met {
                let after = wish.want.written();
                looked.steps.push(Step { place: place.to_string(), before, after: Some(after) });
            } else if looked.example.is_none() {
                looked.example = before;
            }
        }
        looked
    }
}

/// The places of one setting.
#[derive(Default)]
struct SettingPlaces {
    there: usize,
    steps: Vec<Step>,
    unreadable: Option<String>,
    example: Option<String>,
}

impl SettingPlaces {
    fn state(&self, found: Option<String>) -> (State, String) {
        match (self.steps.first(), &self.unreadable) {
            (Some(step), _) => {
                let one = found.unwrap_or_else(|| {
                    let before = step.before.as_deref().unwrap_or("absent").trim();
                    before.lines().next().unwrap_or_default().to_owned()
                });
                let of = match self.there {
                    1 => String::new(),
                    there => format!(" ({} of {there} places differ)", self.steps.len()),
                };
                (State::Better, format!("{one}{of}"))
            }
            (None, Some(why)) => (State::Unknown, format!("can't be read: {why}")),
            (None, None) if self.there == 0 => {
                (State::NotApplicable, "this machine has none".to_owned())
            }
            (None, None) => {
                let now = self.example.as_deref().unwrap_or_default().trim();
                let now = now.lines().next().unwrap_or_default().to_owned();
                (State::AsWanted, found.unwrap_or(now))
            }
        }
    }
}

fn by_tier() -> impl Iterator<Item = &'static Setting> {
    (1..=3).flat_map(|tier| settings::all().filter(move |setting| setting.tier == tier))
}

fn of_grade(grade: Grade) -> State {
    match grade {
        Grade::Ok => State::AsWanted,
        Grade::Unknown => State::Unknown,
        Grade::Warn | Grade::Bad => State::Better,
    }
}

fn lasts(step: &Step, lasting: Persistence) -> bool {
    let is_file = step.place.starts_with("file:");
    match lasting {
        Persistence::Always => true,
        Persistence::LiveOnly => !is_file,
        Persistence::PersistOnly => is_file || step.place.starts_with("service:"),
    }
}

fn needs(surveyor: &Surveyor<'_>, setting: &Setting, state: &SettingState) -> Vec<String> {
    let mut needs = Vec::new();
    if !state.steps.is_empty() || setting.needs_reboot() {
        needs.push("root".to_owned());
    }
    if setting.needs_reboot() {
        needs.push("reboot".to_owned());
        if boot::groups(surveyor.system, surveyor.root).is_empty() {
            let words = state.boot_words.join(" ");
            needs.push(format!("no known boot loader: add {words:?} to the command line by hand"));
        }
    }
    needs
}

fn blank(setting: &Setting) -> SettingState {
    let survives = match &setting.wishes {
        Wishes::Advice => "",
        Wishes::Boot(_) => "the boot loader's configuration",
        Wishes::Sysctl(..) => Carrier::Sysctl.name(),
        Wishes::Stopped(_) => Carrier::Itself.name(),
        Wishes::File(path, _) => Carrier::of(&SettingPlace::Kernel((*path).to_owned())).name(),
        Wishes::Of(_) => match setting.id {
            id if id.starts_with("block.") => Carrier::Udev.name(),
            "nic.rps" | "nic.rfs" | "nic.xps" | "nic.napi_defer" => Carrier::Udev.name(),
            id if id.starts_with("sysctl.") => Carrier::Sysctl.name(),
            "limit.memlock" | "limit.nofile" | "nic.ptp" => Carrier::Itself.name(),
            _ => Carrier::Unit.name(),
        },
    };
    SettingState {
        id: setting.id.to_owned(),
        tier: setting.tier,
        wanted: setting.wanted.to_owned(),
        why: setting.why.to_owned(),
        cost: setting.cost.to_owned(),
        what_to_do: setting.what_to_do.to_owned(),
        source: setting.source.to_owned(),
        scope: setting.scope.name().to_owned(),
        risk: setting.risk.name().to_owned(),
        survives: survives.to_owned(),
        conflicts: setting.conflicts.iter().map(|&id| id.to_owned()).collect(),
        removes: setting.removes.iter().map(|&id| id.to_owned()).collect(),
        ..SettingState::default()
    }
}

/// `2-3`, for headings.
pub fn list(cores: &[usize]) -> String {
    format_core_list(cores)
}

//! `tickpath scenarios`.

use crate::cli::ScenariosArguments;
use crate::exit::DONE;
use crate::print::show;
use anyhow::bail;
use plan::Scenario;
use plan::file;

pub(crate) fn scenarios(arguments: &ScenariosArguments) -> anyhow::Result<u8> {
    if let Some(name) = &arguments.scenario {
        let Some((_, text)) = file::SHIPPED.iter().find(|(shipped, _)| shipped == name) else {
            bail!("no scenario {name:?} ships; `tickpath scenarios` lists those that do");
        };
        show(text)?;
        return Ok(DONE);
    }
    let mut listed = Vec::new();
    for (name, _) in file::SHIPPED {
        let about = Scenario::find(name, &[])?.about;
        if !arguments.json {
            show(&format!("{name:<20} {about}\n"))?;
        }
        listed.push(serde_json::json!({"name": name, "about": about}));
    }
    if arguments.json {
        show(&format!("{}\n", serde_json::to_string_pretty(&listed)?))?;
    }
    Ok(DONE)
}

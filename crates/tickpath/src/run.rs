//! `tickpath run`.

use crate::cli::RunArguments;
use crate::print::{print_record, show};
use crate::progress::Screen;
use crate::{DONE, INVALID, signals};
use anyhow::Context;
use scenario::conduct::Interrupt;
use scenario::{Conduct, Progress, Scenario};

pub(crate) fn run(arguments: &RunArguments) -> anyhow::Result<u8> {
    let scenario = Scenario::find(&arguments.scenario, &arguments.set)?;
    let conduct = Conduct {
        scenario,
        runs_directory: arguments.out.clone(),
        program: std::env::current_exe().context("cannot find the tickpath binary")?,
        tool: concat!("tickpath ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        connect: arguments.connect.clone(),
        connect_floor: arguments.connect_floor.clone(),
    };
    let interrupt = Interrupt::default();
    let interrupted = interrupt.clone();
    signals::on_interrupt(move || interrupted.interrupt())?;
    let mut screen = Screen::new(arguments.quiet);
    let mut say = screen.as_mut().map(|screen| |progress: Progress<'_>| screen.show(progress));
    let carried_out = conduct.carry_out(&interrupt, say.as_mut().map(|say| say as _));
    drop(screen);
    let (record, path) = carried_out?;
    print_record(&record, arguments.json)?;
    if !arguments.json {
        show(&format!("\nrecord: {}\n", path.display()))?;
    }
    Ok(if record.valid { DONE } else { INVALID })
}

//! Run records to tables, plots and pages. It only renders: it sees records, not how they came about,
//! and it is the only one that formats a number for a person.

#![forbid(unsafe_code)]

mod audit;
pub mod axis;
mod comparison;
mod context;
mod core_matrix;
mod curves;
mod doctor;
mod engine;
mod figures;
mod finding;
mod grid;
pub mod history;
pub mod history_page;
mod ladder;
mod line;
mod noise;
mod number;
mod over_floor;
mod over_time;
pub mod page;
pub mod plot;
mod progress;
pub mod record_page;
mod replay;
mod stages;
pub mod sweep;
pub mod sweep_page;
pub mod table;
mod tick;
mod words;

pub use audit::audit;
pub use comparison::comparison;
pub use doctor::doctor;
pub use finding::{Finding, finding};
pub use history::history;
pub use history_page::history_page;
pub use progress::{Progress, progress};
pub use record_page::{Beside, draws_logs, record_page};
pub use replay::replay;
pub use table::table;

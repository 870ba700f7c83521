//! Run records to tables, plots and pages. It only renders: it knows records, not their making, and
//! no other crate puts a latency into a table or a page.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_macros))]

mod audit;
mod comparison;
mod disturbed;
mod doctor;
pub mod export;
mod finding;
pub mod history;
mod lifecycle;
mod live;
mod market_fit;
pub mod metrics;
pub mod page;
pub mod plot;
mod preflight;
mod progress;
mod queue_check;
mod race;
mod race_page;
mod replay;
pub mod run;
mod side_by_side;
pub mod summary;
pub mod sweep;
mod text;
pub mod tune;

pub use audit::audit;
pub use comparison::{comparison, comparison_page, gates, headlines};
pub use disturbed::{DisturbedFigure, DisturbedRow, disturbed};
pub use doctor::doctor;
pub use finding::{Finding, finding};
pub use history::{history, history_page};
pub use lifecycle::{life_events_csv, lifecycle, lifecycle_csv};
pub use live::{live_histogram, record_line};
pub use market_fit::market_fit;
pub use preflight::preflight;
pub use progress::{Progress, progress};
pub use queue_check::queue_check;
pub use race::race;
pub use race_page::race_page;
pub use replay::replay;
pub use run::{RecordFiles, draws_logs, record_page, table};
pub use side_by_side::{side_by_side, side_by_side_page};
pub use text::colour::paint;
pub use text::number::duration;
pub use text::terminal::COLUMNS;

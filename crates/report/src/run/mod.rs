//! A run record: its table for a terminal and its page, and the sections that both show.

mod between;
mod between_zones;
mod bulk;
mod codec;
pub(crate) mod context;
mod core_matrix;
mod engine;
mod fan_out;
mod fan_out_hosts;
mod feed;
mod figures;
mod holds;
mod intensity;
mod noise;
mod outages;
mod over_floor;
mod page;
mod stages;
mod table;
mod tick;

pub(crate) use figures::percentile_name;
pub use page::{RecordFiles, draws_logs, record_page};
pub use table::table;

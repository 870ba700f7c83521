//! Replies and reports to clients: their text, stamps, and rejections.

pub mod rejections;
pub mod report;
pub mod reports;
pub mod stamping;
pub mod subject;
pub mod text;

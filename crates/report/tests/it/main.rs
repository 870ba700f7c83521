//! The integration tests of `report`, in one program: linking is most of what a test binary costs.

mod comparison;
mod doctor;
mod engine;
mod history;
mod noise;
mod page;
mod sweep;
mod table;
mod tick;
mod trial;

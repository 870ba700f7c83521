//! The checks of `doctor`, by subject.

pub(crate) mod below;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod permission;
pub(crate) mod time;

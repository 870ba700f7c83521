//! Checks of `doctor`, by what they look at.

pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod permission;

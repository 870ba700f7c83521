//! The trader: load models and order entry.

//! Run records to tables.

//! The exchange: gateway, sequencer, engine, execution reports.

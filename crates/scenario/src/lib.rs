//! A scenario file to processes, placed and pinned, to a run record with a verdict.

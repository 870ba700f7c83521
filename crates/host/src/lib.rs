//! This machine: topology, fingerprint, pinning, probes.

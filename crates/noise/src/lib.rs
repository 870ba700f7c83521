//! What interrupts a core that wants to be left alone.

//! Byte streams over several backends, with the stamps next to the system call.

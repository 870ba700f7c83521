//! The messages and their codecs. Bytes in, bytes out, no I/O.

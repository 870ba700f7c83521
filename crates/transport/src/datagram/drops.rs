//! How many datagrams a socket dropped because its buffer was full. The kernel reports that with a
//! later datagram, so after the last one we have to ask.

use rustix::fs::fstat;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::UdpSocket;

/// Drops of this socket so far; `None` if the kernel doesn't say. Off the path: it reads the table
/// of all UDP sockets.
pub(crate) fn of(socket: &UdpSocket) -> Option<u64> {
    let inode = fstat(socket).ok()?.st_ino;
    let table = match socket.local_addr().ok()?.is_ipv4() {
        true => "/proc/thread-self/net/udp",
        false => "/proc/thread-self/net/udp6",
    };
    drops(BufReader::new(File::open(table).ok()?), inode)
}

/// The line of that inode; its last field (udp4_format_sock of net/ipv4/udp.c).
fn drops(table: impl BufRead, inode: u64) -> Option<u64> {
    const INODE: usize = 9;
    let of_line = |line: String| {
        let mut fields = line.split_whitespace();
        let found: u64 = fields.nth(INODE)?.parse().ok()?;
        (found == inode).then(|| fields.last()?.parse().ok())?
    };
    table.lines().map_while(Result::ok).find_map(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops             
  366: 0100007F:0FA0 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 123456 2 0000000000000000 0         
  401: 00000000:14E9 00000000:0000 07 00000000:00000000 00:00000000 00000000   106        0 22222 2 0000000000000000 987       
";

    #[test]
    fn the_sockets_own_line_is_read() {
        assert_eq!(drops(TABLE.as_bytes(), 22222), Some(987));
        assert_eq!(drops(TABLE.as_bytes(), 123456), Some(0));
        assert_eq!(drops(TABLE.as_bytes(), 9), None);
        assert_eq!(drops(&b"1 2 3"[..], 3), None);
    }

    /// A gateway's host has tens of thousands of sockets, and ours may be the last line.
    #[test]
    fn a_table_of_any_length_is_read_to_its_end() {
        let others = TABLE.replace("22222", "33333").repeat(25_000);
        let table = format!("{others}{TABLE}");
        assert!(table.len() > 8 << 20, "{}", table.len());
        assert_eq!(drops(table.as_bytes(), 22222), Some(987));
    }
}

//! A promoted follower's address after the promotion: each primary of an earlier term that comes
//! back is told that another one has taken over, so that it ends.

use crate::admission::{FollowerLog, admit};
use crate::frame::{Frame, Frames, Hello};
use crate::term;
use crate::wire::Wire;
use journal::LogName;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use transport::tls::Acceptor;

/// How often it looks for a connection, and whether it must end.
const LOOK: Duration = Duration::from_millis(20);
/// Longest time for a primary's first frame.
const PATIENCE: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 4096;

/// The thread that answers.
pub struct Fence {
    is_ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Fence {
    /// Answers on this address for the log in `directory`, whose terms it reads each time; with TLS
    /// if there is a certificate.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(
        listener: TcpListener,
        directory: &Path,
        tls: Option<Arc<Acceptor>>,
        place: impl FnOnce() + Send + 'static,
    ) -> io::Result<Fence> {
        listener.set_nonblocking(true)?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let (ending, directory) = (Arc::clone(&is_ending), directory.to_owned());
        let work = move || {
            place();
            serve(&listener, &directory, tls.as_deref(), &ending);
        };
        let thread = Some(thread::Builder::new().name("replica-fence".to_owned()).spawn(work)?);
        Ok(Fence { is_ending, thread })
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has no reason to panic; if it did, it has said so.
            let _ = thread.join();
        }
    }
}

fn serve(listener: &TcpListener, directory: &Path, tls: Option<&Acceptor>, is_ending: &AtomicBool) {
    while !is_ending.load(Ordering::Relaxed) {
        match listener.accept() {
            // A primary that is not answered now tries again.
            Ok((stream, _)) => drop(answer(stream, directory, tls)),
            Err(_) => thread::sleep(LOOK),
        }
    }
}

fn answer(socket: TcpStream, directory: &Path, tls: Option<&Acceptor>) -> io::Result<()> {
    let stream = Wire::of_follower(socket, tls)?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(PATIENCE)?;
    stream.set_write_timeout(PATIENCE)?;
    let (mut frames, mut bytes) = (Frames::default(), [0; READ_BYTES]);
    let reply = loop {
        match frames.next_frame() {
            Ok(Some(Frame::Hello(hello))) => break reply(directory, &hello)?,
            Ok(Some(_)) => return Err(io::ErrorKind::InvalidData.into()),
            Err(error) => break rejection(false, &error.to_string()),
            Ok(None) => match (&stream).read(&mut bytes)? {
                0 => return Ok(()),
                n => frames.push(&bytes[..n]),
            },
        }
    };
    (&stream).write_all(&reply)
}

/// The rejection of a primary.
fn reply(directory: &Path, hello: &Hello) -> io::Result<Vec<u8>> {
    let terms = term::read(directory).map_err(io::Error::other)?;
    let log = LogName::of(directory).map_err(io::Error::other)?;
    // Only terms matter: no record is taken here.
    let judged = admit(FollowerLog { log, terms: &terms, next: 0 }, hello);
    let (is_fenced, why) = match judged {
        Err(rejection) => (rejection.is_fenced(), rejection.to_string()),
        // The new primary's term is not in the file yet, or it is itself out of date.
        Ok(()) => (false, "the follower was promoted: it is an exchange now".to_owned()),
    };
    Ok(rejection(is_fenced, &why))
}

fn rejection(is_fenced: bool, why: &str) -> Vec<u8> {
    let mut out = Vec::new();
    Frame::Rejected { is_fenced, why }.encode(&mut out);
    out
}

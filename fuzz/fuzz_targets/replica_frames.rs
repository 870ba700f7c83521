//! Any bytes are frames of a replica or rejected; a frame that was read encodes to the same bytes.
#![no_main]

use replica::frame::Frames;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut frames = Frames::default();
    let (mut again, mut pieces) = (Vec::new(), data.chunks(61));
    loop {
        match frames.next_frame() {
            Ok(Some(frame)) => frame.encode(&mut again),
            Ok(None) => match pieces.next() {
                Some(piece) => frames.push(piece),
                None => break,
            },
            Err(_) => break,
        }
    }
    assert!(data.starts_with(&again), "a frame was read that was not sent");
});

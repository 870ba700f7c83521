//! Frames come back, in any pieces; damaged ones don't.

use super::*;
use proptest::prelude::*;

fn frames() -> Vec<Vec<u8>> {
    let contents = [[7; CONTENT_BYTES], [9; CONTENT_BYTES]];
    let all = [
        Frame::Welcome { next: 5 },
        Frame::Rejected { is_fenced: true, why: "because" },
        Frame::Register { offset: 3, is_whole: false, bytes: b"\"a\"\n" },
        Frame::Records { first: 77, contents: &contents },
        Frame::Heartbeat,
        Frame::Farewell,
        Frame::Ack { durable: u64::MAX },
    ];
    let encode = |frame: &Frame<'_>| {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        bytes
    };
    all.iter().map(encode).collect()
}

fn read_all(frames: &mut Frames, found: &mut Vec<Vec<u8>>) -> Result<(), FrameError> {
    while let Some(frame) = frames.next_frame()? {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        found.push(bytes);
    }
    Ok(())
}

proptest! {
    #[test]
    fn frames_come_back_in_any_pieces(cuts in prop::collection::vec(1..40_usize, 1..40)) {
        let all = frames();
        let stream = all.concat();
        let (mut frames, mut found, mut at) = (Frames::default(), Vec::new(), 0);
        for cut in cuts.iter().cycle() {
            let end = (at + cut).min(stream.len());
            frames.push(&stream[at..end]);
            read_all(&mut frames, &mut found).unwrap();
            at = end;
            if at == stream.len() {
                break;
            }
        }
        prop_assert_eq!(found, all);
    }

    /// A changed bit is never a frame with another meaning.
    #[test]
    fn a_changed_bit_is_seen(bit in 0..8 * 600_usize) {
        let all = frames();
        let mut stream = all.concat();
        let bit = bit % (8 * stream.len());
        stream[bit / 8] ^= 1 << (bit % 8);
        let (mut frames, mut found) = (Frames::default(), Vec::new());
        frames.push(&stream);
        let _ = read_all(&mut frames, &mut found);
        prop_assert!(found.len() < all.len());
        prop_assert_eq!(&found[..], &all[..found.len()]);
    }
}

#[test]
fn impossible_frames_are_rejected() {
    let framed = |body: &[u8]| {
        let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
        bytes.extend_from_slice(&crc32c(body).to_le_bytes());
        bytes.extend_from_slice(body);
        bytes
    };
    let mut later = vec![HELLO];
    later.extend_from_slice(&(VERSION + 1).to_le_bytes());
    let overflow = [&[RECORDS][..], &[0xff; 8], &[0; CONTENT_BYTES]].concat();
    for (bytes, error) in [
        (vec![0; 8], FrameError::Length(0)),
        (vec![0xff; 8], FrameError::Length(u32::MAX as usize)),
        (framed(&[99]), FrameError::Invalid("kind")),
        (framed(&[ACK, 1]), FrameError::Invalid("length")),
        (framed(&[REJECTED, 2]), FrameError::Invalid("flag")),
        (framed(&[RECORDS, 0, 0, 0, 0, 0, 0, 0, 0]), FrameError::Invalid("number of records")),
        (framed(&overflow), FrameError::Invalid("number of records")),
        (framed(&later), FrameError::Version(VERSION + 1)),
    ] {
        let mut frames = Frames::default();
        frames.push(&bytes);
        assert_eq!(frames.next_frame(), Err(error));
    }
}

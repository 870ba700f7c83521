//! The golden files that every client's decoder must reject, and those that it must accept although
//! our exchange never sends them.

use std::fs;
use std::path::{Path, PathBuf};
use wire::ClientId;
use wire::reader::{FrameLimits, Message, MessageReader, Role};
use wire::reply::{Reply, decode_reply};

fn files(folder: &str, suffix: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/vectors").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.to_string_lossy().ends_with(suffix));
    let files: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    assert!(!files.is_empty());
    files
}

fn is_booked(text: &[u8]) -> bool {
    let id = ClientId::new("6f1c2a9e-0d4b-4c3f-9a57-1b2c3d4e5f60").unwrap();
    matches!(decode_reply(text), Ok(Reply::Booked(booked)) if booked.client_id == id)
}

fn reader(bytes: &[u8]) -> MessageReader {
    let mut reader = MessageReader::new(Role::Client, FrameLimits::default());
    assert_eq!(reader.fill_from(bytes, 1), bytes.len());
    reader
}

#[test]
fn bad_replies_and_frames_are_rejected() {
    for (path, bytes) in files("bad", ".json") {
        assert!(decode_reply(&bytes).is_err(), "{path:?}");
    }
    for (path, bytes) in files("bad", ".server.frame") {
        assert!(reader(&bytes).next().is_err(), "{path:?}");
    }
}

#[test]
fn odd_replies_and_frames_are_accepted() {
    for (path, bytes) in files("odd", ".json") {
        assert!(is_booked(&bytes), "{path:?}");
    }
    for (path, bytes) in files("odd", ".server.frame") {
        let mut reader = reader(&bytes);
        let mut found = false;
        while let Some(received) = reader.next().unwrap() {
            if let Message::Text(text) = received.message {
                found = is_booked(text);
            }
        }
        assert!(found, "{path:?}");
    }
}

//! The functions of a member's copy with C's types. As in [`crate::border`], the unsafe code turns
//! pointers into references, and nothing else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

use ::replica::member::Member;
use ::replica::session::StoreError;
use journal::Options;

use crate::border::{Handle, boxed, guard, slice, with};

/// The copy in a directory, which is made if it is not there. With the bytes of
/// [`tickpath_copy_save`] it goes on from there. Null if it can't be opened.
///
/// # Safety
/// Both pointers are at as many readable bytes as their lengths say, which nothing changes during
/// the call; `saved` may be null if its length is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_open(
    directory: *const u8,
    directory_length: u64,
    saved: *const u8,
    saved_length: u64,
) -> *mut Handle<Member> {
    // SAFETY: the caller vouches for the bytes.
    let directory = unsafe { slice(directory, directory_length) };
    // SAFETY: the caller vouches for the bytes.
    let saved = unsafe { slice(saved, saved_length) };
    let directory = Path::new(OsStr::from_bytes(directory));
    let open = || match saved {
        [] => Member::open(directory, Options::default()),
        saved => Member::restore(directory, Options::default(), saved),
    };
    guard(open).map_or(ptr::null_mut(), boxed)
}

/// Takes bytes of a connection that begin at the place `at` of its stream. Returns the number of
/// bytes of the reply in [`tickpath_copy_output`], negative if the copy has failed.
///
/// # Safety
/// `copy` is of [`tickpath_copy_open`], not freed, and no other call uses it. `bytes` points to
/// `length` readable bytes, which nothing changes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_receive(
    copy: *mut Handle<Member>,
    connection: u64,
    at: u64,
    bytes: *const u8,
    length: u64,
) -> i64 {
    // SAFETY: the caller vouches for the copy.
    let copy = unsafe { &mut *copy };
    // SAFETY: the caller vouches for the bytes.
    let bytes = unsafe { slice(bytes, length) };
    let receive = |member: &mut Member| {
        member.receive(connection, at, bytes)?;
        Ok::<_, StoreError>(member.output().len())
    };
    with(copy, receive).map_or(-1, |length| length as i64)
}

/// Saves what decides about the next bytes to [`tickpath_copy_output`]. Returns the number of
/// bytes, negative if it fails.
///
/// # Safety
/// As for the copy of [`tickpath_copy_receive`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_save(copy: *mut Handle<Member>) -> i64 {
    // SAFETY: the caller vouches for the copy.
    let copy = unsafe { &mut *copy };
    with(copy, Member::save).map_or(-1, |length| length as i64)
}

/// The reply or the saved bytes of the last call, valid until the next.
///
/// # Safety
/// As for the copy of [`tickpath_copy_receive`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_output(copy: *const Handle<Member>) -> *const u8 {
    // SAFETY: the caller vouches for the copy.
    let copy = unsafe { &*copy };
    copy.state.output().as_ptr()
}

/// The connection that is followed; 0: none.
///
/// # Safety
/// As for the copy of [`tickpath_copy_receive`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_followed(copy: *const Handle<Member>) -> u64 {
    // SAFETY: the caller vouches for the copy.
    let copy = unsafe { &*copy };
    copy.state.followed()
}

/// The record that the copy needs next.
///
/// # Safety
/// As for the copy of [`tickpath_copy_receive`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_next_sequence(copy: *const Handle<Member>) -> u64 {
    // SAFETY: the caller vouches for the copy.
    let copy = unsafe { &*copy };
    copy.state.next_sequence()
}

/// The term of the exchange that was taken last; 0: none yet.
///
/// # Safety
/// As for the copy of [`tickpath_copy_receive`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_term(copy: *const Handle<Member>) -> u64 {
    // SAFETY: the caller vouches for the copy.
    let copy = unsafe { &*copy };
    copy.state.term()
}

/// Frees a copy; nothing for null.
///
/// # Safety
/// As for the copy of [`tickpath_copy_receive`], and nothing uses it afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_copy_free(copy: *mut Handle<Member>) {
    if !copy.is_null() {
        // SAFETY: the caller vouches for the copy, which `boxed` made.
        drop(unsafe { Box::from_raw(copy) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::border::tickpath_engine_error;
    use std::ffi::CStr;

    fn open(directory: &Path, saved: &[u8]) -> *mut Handle<Member> {
        let path = directory.as_os_str().as_bytes();
        let lengths = [path.len() as u64, saved.len() as u64];
        // SAFETY: both are live slices.
        unsafe { tickpath_copy_open(path.as_ptr(), lengths[0], saved.as_ptr(), lengths[1]) }
    }

    #[test]
    fn a_copy_comes_back_through_the_border() {
        let place = tempfile::tempdir().unwrap();
        let copy = open(place.path(), &[]);
        let noise = [1; 40];
        // SAFETY: the copy is live, and used by one call at a time.
        let replied = unsafe { tickpath_copy_receive(copy, 5, 0, noise.as_ptr(), 40) };
        // SAFETY: as above.
        let followed = unsafe { tickpath_copy_followed(copy) };
        assert!(replied > 0 && followed == 0, "it says why not: {replied} {followed}");
        // SAFETY: as above.
        let length = unsafe { tickpath_copy_save(copy) };
        // SAFETY: as above.
        let output = unsafe { tickpath_copy_output(copy) };
        // SAFETY: `save` said how long its output is.
        let saved = unsafe { slice(output, length.cast_unsigned()) }.to_vec();
        // SAFETY: it is freed once.
        unsafe { tickpath_copy_free(copy) };
        let copy = open(place.path(), &saved);
        assert!(!copy.is_null());
        // SAFETY: the copy is live.
        let next = unsafe { tickpath_copy_next_sequence(copy) };
        // SAFETY: as above.
        let term = unsafe { tickpath_copy_term(copy) };
        assert_eq!((next, term), (0, 0));
        // SAFETY: it is freed once.
        unsafe { tickpath_copy_free(copy) };
        assert!(open(place.path(), &saved[..9]).is_null());
        // SAFETY: the text stays until this thread's next failure.
        let error = unsafe { CStr::from_ptr(tickpath_engine_error()) };
        assert!(error.to_str().unwrap().contains("snapshot of the copy is damaged"), "{error:?}");
    }
}

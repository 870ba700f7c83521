//! The functions of the engine with C's types. All unsafe code of the crate is here and in
//! [`crate::copy_border`]: it turns pointers into references, and nothing else.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use engine::{EngineLimits, Input};

use crate::replica::{AbiError, Replica, VERSION};

/// A state as the other language sees it.
#[derive(Debug)]
pub struct Handle<S> {
    pub(crate) state: S,
    /// A call did not return: it panicked.
    broken: bool,
}

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Keeps the error for [`tickpath_engine_error`].
fn fail(why: String) {
    // The border of C: a text ends at its first zero.
    let text = CString::new(why.replace('\0', "?")).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
}

/// The result of `call`; `None`, with the error kept, if it fails or panics.
pub(crate) fn guard<T, E: Display>(call: impl FnOnce() -> Result<T, E>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(error)) => fail(error.to_string()),
        Err(panic) => fail(format!("the library panicked: {}", message(&*panic))),
    }
    None
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref().copied()).unwrap_or("no message")
}

/// Calls with the state of a handle, which is broken from a panic on.
pub(crate) fn with<S, T, E: Display>(
    handle: &mut Handle<S>,
    call: impl FnOnce(&mut S) -> Result<T, E>,
) -> Option<T> {
    if handle.broken {
        fail("the library panicked in an earlier call: free it, and restore another".to_owned());
        return None;
    }
    handle.broken = true;
    let mut returned = false;
    let result = guard(|| {
        let result = call(&mut handle.state);
        returned = true;
        result
    });
    handle.broken = !returned;
    result
}

pub(crate) fn boxed<S>(state: S) -> *mut Handle<S> {
    Box::into_raw(Box::new(Handle { state, broken: false }))
}

/// The bytes that a caller names.
///
/// # Safety
/// `bytes` points to `length` readable bytes, which nothing changes as long as the result is used;
/// it may be null if `length` is 0.
pub(crate) unsafe fn slice<'a>(bytes: *const u8, length: u64) -> &'a [u8] {
    match usize::try_from(length) {
        // Even an empty slice must not be at null.
        Ok(0) | Err(_) => &[],
        // SAFETY: the caller vouches for the bytes.
        Ok(length) => unsafe { std::slice::from_raw_parts(bytes, length) },
    }
}

/// The version of these functions, [`VERSION`].
#[unsafe(no_mangle)]
pub extern "C" fn tickpath_engine_version() -> u32 {
    VERSION
}

/// A new replica; null if a limit is out of range.
#[unsafe(no_mangle)]
pub extern "C" fn tickpath_engine_new(
    instruments: u16,
    open_orders_max: u32,
    price_levels_max: u32,
    stop_levels_max: u32,
    expiring_orders_max: u32,
    accounts_max: u32,
) -> *mut Handle<Replica> {
    let limits = EngineLimits {
        open_orders_max,
        price_levels_max,
        stop_levels_max,
        expiring_orders_max,
        accounts_max,
    };
    guard(|| Replica::new(instruments, limits)).map_or(ptr::null_mut(), boxed)
}

/// The replica that `length` bytes of [`tickpath_engine_save`] describe; null if they don't.
///
/// # Safety
/// `bytes` points to `length` readable bytes, which nothing changes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_restore(
    bytes: *const u8,
    length: u64,
) -> *mut Handle<Replica> {
    // SAFETY: the caller vouches for the bytes.
    let bytes = unsafe { slice(bytes, length) };
    guard(|| Replica::restore(bytes)).map_or(ptr::null_mut(), boxed)
}

/// Applies a record of 72 bytes at `time_ns`. Returns the number of events in
/// [`tickpath_engine_output`], negative if it fails.
///
/// # Safety
/// `handle` is of [`tickpath_engine_new`] or [`tickpath_engine_restore`], not freed, and no other
/// call uses it. `record` points to 72 readable bytes, which nothing changes during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_apply(
    handle: *mut Handle<Replica>,
    record: *const [u8; Input::BYTES],
    time_ns: u64,
) -> i64 {
    // SAFETY: the caller vouches for the handle.
    let handle = unsafe { &mut *handle };
    // SAFETY: the caller vouches for the record; bytes need no alignment.
    let record = unsafe { &*record };
    with(handle, |replica| replica.apply(record, time_ns)).map_or(-1, u64::cast_signed)
}

/// Saves the replica to [`tickpath_engine_output`]. Returns the number of bytes, negative if it
/// fails.
///
/// # Safety
/// As for the handle of [`tickpath_engine_apply`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_save(handle: *mut Handle<Replica>) -> i64 {
    // SAFETY: the caller vouches for the handle.
    let handle = unsafe { &mut *handle };
    let save = |replica: &mut Replica| Ok::<_, AbiError>(replica.save() as u64);
    with(handle, save).map_or(-1, u64::cast_signed)
}

/// The events or the saved bytes of the last call, valid until the next.
///
/// # Safety
/// As for the handle of [`tickpath_engine_apply`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_output(handle: *const Handle<Replica>) -> *const u8 {
    // SAFETY: the caller vouches for the handle.
    let handle = unsafe { &*handle };
    handle.state.output().as_ptr()
}

/// The number of the last input.
///
/// # Safety
/// As for the handle of [`tickpath_engine_apply`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_sequence(handle: *const Handle<Replica>) -> u64 {
    // SAFETY: the caller vouches for the handle.
    let handle = unsafe { &*handle };
    handle.state.sequence()
}

/// The hash of the engine's state. It visits every open order.
///
/// # Safety
/// As for the handle of [`tickpath_engine_apply`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_state_hash(handle: *const Handle<Replica>) -> u64 {
    // SAFETY: the caller vouches for the handle.
    let handle = unsafe { &*handle };
    // 0 is a hash like any other, but a state that can't be hashed has none to agree with.
    guard(|| Ok::<_, AbiError>(handle.state.state_hash())).unwrap_or(0)
}

/// The last failure of the calling thread, valid until its next; empty without one.
#[unsafe(no_mangle)]
pub extern "C" fn tickpath_engine_error() -> *const c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

/// Frees a replica; nothing for null.
///
/// # Safety
/// As for the handle of [`tickpath_engine_apply`], and nothing uses it afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tickpath_engine_free(handle: *mut Handle<Replica>) {
    if !handle.is_null() {
        // SAFETY: the caller vouches for the handle, which `boxed` made.
        drop(unsafe { Box::from_raw(handle) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last_error() -> String {
        // SAFETY: the text stays until this thread's next failure.
        let text = unsafe { CStr::from_ptr(tickpath_engine_error()) };
        text.to_str().unwrap().to_owned()
    }

    fn handle() -> Handle<Replica> {
        let limits = EngineLimits::matching_only(10, 10);
        Handle { state: Replica::new(1, limits).unwrap(), broken: false }
    }

    #[test]
    fn a_panic_is_a_failure_and_breaks_the_replica() {
        let mut handle = handle();
        let panics =
            |_: &mut Replica| -> Result<(), AbiError> { panic!("index {} out of range", 7) };
        let first = with(&mut handle, panics);
        assert_eq!(first, None);
        assert_eq!(last_error(), "the library panicked: index 7 out of range");
        assert_eq!(with(&mut handle, |_| Ok::<_, AbiError>(())), None);
        assert!(last_error().contains("in an earlier call"), "{}", last_error());
    }

    #[test]
    fn a_record_that_cannot_be_read_is_a_failure_and_breaks_nothing() {
        let mut handle = handle();
        let bad = [9; Input::BYTES];
        // SAFETY: both are live, and this is the only call.
        assert_eq!(unsafe { tickpath_engine_apply(&raw mut handle, &raw const bad, 1) }, -1);
        assert!(last_error().contains("byte 8 (kind) is 9"), "{}", last_error());
        assert_eq!(with(&mut handle, |replica| Ok::<_, AbiError>(replica.sequence())), Some(0));
    }

    #[test]
    fn limits_out_of_range_make_nothing() {
        assert!(tickpath_engine_new(1, 0, 10, 0, 0, 0).is_null());
        assert!(last_error().contains("open_orders_max"), "{}", last_error());
    }

    #[test]
    fn a_replica_comes_back_through_the_border() {
        let first = tickpath_engine_new(2, 10, 10, 10, 10, 4);
        // SAFETY: the handle is live, and used by one call at a time.
        let length = unsafe { tickpath_engine_save(first) };
        // SAFETY: as above.
        let bytes = unsafe { tickpath_engine_output(first) };
        // SAFETY: `save` said how long its output is.
        let second = unsafe { tickpath_engine_restore(bytes, length.cast_unsigned()) };
        assert!(!second.is_null(), "{}", last_error());
        for handle in [first, second] {
            // SAFETY: each is live, and freed once.
            unsafe { tickpath_engine_free(handle) };
        }
        // SAFETY: nothing is read of an empty slice.
        assert!(unsafe { tickpath_engine_restore(ptr::null(), 0) }.is_null());
        assert!(last_error().contains("0 bytes is incomplete"), "{}", last_error());
    }
}

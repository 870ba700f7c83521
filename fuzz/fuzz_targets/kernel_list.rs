//! Lists of cores on the kernel's command line: any text is read or has a reason, and a list that
//! was read means the same when it is written again.
#![no_main]

use host::kernel_list::parse_kernel_list;
use host::topology::format_core_list;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match parse_kernel_list(text, Some(63)) {
        Ok(cores) => {
            assert!(cores.iter().all(|&core| core <= 63));
            assert_eq!(parse_kernel_list(&format_core_list(&cores), Some(63)), Ok(cores));
        }
        Err(why) => assert!(!why.is_empty()),
    }
});

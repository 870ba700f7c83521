//! With feature `dpdk`: compiles the shim against the distribution's DPDK. Otherwise nothing.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "dpdk")]
    dpdk();
}

/// 22.11 has all that the shim calls.
#[cfg(feature = "dpdk")]
fn dpdk() {
    const OLDEST: &str = "22.11";
    println!("cargo::rerun-if-changed=src/dpdk/shim.c");
    let found = pkg_config::Config::new().atleast_version(OLDEST).probe("libdpdk");
    let library = found.unwrap_or_else(|why| {
        panic!(
            "feature dpdk needs DPDK {OLDEST} or newer: on Debian and Ubuntu run `apt-get install \
             libdpdk-dev`, or build without the feature. {why}"
        )
    });
    // pkg-config's crate leaves out what is neither a path nor a definition, and DPDK's headers
    // need the processor that the library was built for.
    let flags = std::process::Command::new("pkg-config").args(["--cflags", "libdpdk"]).output();
    let flags = flags.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let mut build = cc::Build::new();
    build.file("src/dpdk/shim.c").includes(&library.include_paths).opt_level(3).warnings(true);
    flags.unwrap_or_default().split_whitespace().for_each(|flag| {
        build.flag(flag);
    });
    // DPDK's own headers warn.
    build.flag("-Wno-unused-parameter").compile("tickpath_dpdk");
}

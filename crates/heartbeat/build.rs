//! Builds the C library, whose source stands beside the workspace so that firmware authors find it.

fn main() {
    let source = "../../c/heartbeat";
    println!("cargo::rerun-if-changed={source}/heartbeat.c");
    println!("cargo::rerun-if-changed={source}/heartbeat.h");
    cc::Build::new()
        .file(format!("{source}/heartbeat.c"))
        .std("c99")
        .flag_if_supported("-ffreestanding")
        .warnings(true)
        .extra_warnings(true)
        .compile("heartbeat");
}

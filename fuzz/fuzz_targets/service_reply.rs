#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dropline_fuzz::service_reply::check(bytes));

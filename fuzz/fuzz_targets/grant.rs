#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dropline_fuzz::grant::check(bytes));

//! A client that may say anything, in pieces of any size.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gordon_nbd::fuzz::talk(data));

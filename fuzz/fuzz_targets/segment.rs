//! Any bytes as the parts of a cache's flash: superblock, journal, directory and object. Each is
//! parsed or refused; what was parsed is the same after it is written and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| gordon_objectcache::fuzzing::parse(data));

//! What a fuzz target needs of the parsers: any bytes, with right checksums, give a value or an
//! error.

use crate::format::journal::Page;
use crate::format::object::Stored;
use crate::format::segment::Directory;
use crate::format::superblock::Superblock;
use crate::format::{PAGE, checksum};
use bytes::Bytes;

/// Parses `data` as each part of the format. The checksums are made right, so that the fields behind
/// them are reached.
pub fn parse(data: &[u8]) {
    let mut page = data.to_vec();
    page.resize(PAGE, 0);
    let seal = |page: &mut Vec<u8>, at: usize, sum: u64| {
        page[at..at + 8].copy_from_slice(&sum.to_le_bytes());
    };
    let mut superblock = page.clone();
    let sum = checksum(&superblock[..72]);
    seal(&mut superblock, 72, sum);
    if let Ok(found) = Superblock::parse(&superblock) {
        let _ = (found.segments_at(), found.segments());
        assert_eq!(Superblock::parse(&found.bytes()), Ok(found));
    }
    let mut journal = page.clone();
    seal(&mut journal, 64, 0);
    let sum = checksum(&journal);
    seal(&mut journal, 64, sum);
    let cache = u64::from_le_bytes(journal[8..16].try_into().unwrap_or_default());
    if let Some(found) = Page::parse(&journal, cache) {
        assert_eq!(Page::parse(&found.bytes(cache), cache), Some(found));
    }
    let mut tail = page.clone();
    let number = |at: usize| -> [u8; 8] { page[at..at + 8].try_into().unwrap_or_default() };
    let cache = u64::from_le_bytes(number(PAGE - 56));
    let directory = u64::from_le_bytes(number(PAGE - 28)) as u32 as usize;
    if let Some(start) = (PAGE - 64).checked_sub(directory) {
        let sum = checksum(&tail[start..PAGE - 8]);
        seal(&mut tail, PAGE - 8, sum);
    }
    for segment in [PAGE, 1 << 20] {
        if let Some(found) = Directory::parse(&tail, segment, cache, 0) {
            let mut again = vec![0; segment];
            found.write(cache, &mut again);
            assert_eq!(Directory::parse(&again, segment, cache, 0), Some(found));
        }
    }
    let object = Bytes::copy_from_slice(data);
    if let Some((found, identity)) = Stored::read(&object) {
        let mut again = vec![0; found.size()];
        found.write(identity, &mut again);
        assert_eq!(Stored::read(&Bytes::from(again)), Some((found, identity)));
    }
    let _ = Stored::hash(data);
}

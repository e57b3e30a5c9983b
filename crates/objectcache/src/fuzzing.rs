//! What a fuzz target needs of the parsers: any bytes, with right checksums, give a value or an
//! error.

use crate::format::journal::Page;
use crate::format::object::Stored;
use crate::format::segment::Directory;
use crate::format::set::{parse_set, set_page};
use crate::format::superblock::Superblock;
use crate::format::{PAGE, checksum};
use bytes::Bytes;

/// Parses `data` as each part of the format. The checksums are made right, so that the fields
/// behind them are reached.
pub fn parse(data: &[u8]) {
    let mut page = data.to_vec();
    page.resize(PAGE, 0);
    let seal = |page: &mut Vec<u8>, at: usize, sum: u64| {
        page[at..at + 8].copy_from_slice(&sum.to_le_bytes());
    };
    let mut superblock = page.clone();
    let sum = checksum(&superblock[..80]);
    seal(&mut superblock, 80, sum);
    if let Ok(found) = Superblock::parse(&superblock) {
        let _ = (found.sets_at(), found.segments());
        assert_eq!(Superblock::parse(&found.bytes()), Ok(found));
    }
    let mut journal = page.clone();
    seal(&mut journal, 64, 0);
    let sum = checksum(&journal);
    seal(&mut journal, 64, sum);
    let cache = u64::from_le_bytes(journal[8..16].try_into().unwrap_or_default());
    if let Some(found) = Page::parse(&journal, cache) {
        assert_eq!(Page::parse(&found.bytes(cache, PAGE), cache), Some(found));
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
    let mut set = page;
    let sum = checksum(&set[..32]) ^ checksum(&set[40..]).rotate_left(1);
    seal(&mut set, 32, sum);
    let number = u32::from_le_bytes(set[16..20].try_into().unwrap_or_default());
    let cache = u64::from_le_bytes(set[8..16].try_into().unwrap_or_default());
    let set = Bytes::from(set);
    if let Ok(found) = parse_set(&set, cache, number) {
        let again = Bytes::from(set_page(cache, number, &found));
        assert_eq!(parse_set(&again, cache, number), Ok(found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::journal::Record;
    use crate::format::object::{Identity, Kind};
    use crate::format::segment::Entry;
    use crate::format::set::{DamagedSet, SetContent, SetObject};
    use crate::format::superblock::EraseBlocks;
    use gordon_testkit::Random;

    /// One of each part, as bytes of a page.
    fn parts() -> Vec<Vec<u8>> {
        let blocks = Some(EraseBlocks { unit: 1 << 14, block: 1 << 20 });
        let superblock = Superblock {
            id: 7,
            size: 1 << 30,
            segment: 1 << 20,
            seed: 1,
            created: 9,
            blocks,
            erases: 5,
            sets: 11,
        };
        let key = b"http://example.org/".to_vec();
        let records = vec![
            Record::Removed { hash: 5, sequence: 8 },
            Record::Purged { prefix: key.clone().into(), in_sets: false, sequence: 9 },
            Record::Purged { prefix: key.clone().into(), in_sets: true, sequence: 9 },
            Record::Lost { offset: 64, segment: 3, sequence: 10 },
            Record::Closed { sequence: 11 },
        ];
        let page = Page {
            generation: 3,
            number: 2,
            batch: 1,
            first_pages: 1,
            floor: 4,
            written: 5,
            records,
        };
        let entry = |offset| Entry {
            hash: 3,
            sequence: 4,
            offset,
            bytes: 128,
            kind: Kind::Whole,
            key: key.clone().into(),
        };
        let entries = vec![entry(0), entry(128), entry(512)];
        let directory = Directory { number: 0, sequence: 6, written: 7, entries };
        let mut segment = vec![0; PAGE];
        directory.write(7, &mut segment);
        let object = Stored {
            kind: Kind::Head,
            key: key.into(),
            meta: Bytes::from_static(b"meta"),
            body: Bytes::from_static(b"the body"),
        };
        let mut image = vec![0; object.size()];
        object.write(Identity { segment: 1, hash: 2, sequence: 3 }, &mut image);
        let object = Stored { kind: Kind::Whole, ..object };
        let objects = vec![
            SetObject { hash: 2, rrpv: 6, object: object.clone() },
            SetObject { hash: 3, rrpv: 0, object },
        ];
        let set = SetContent { sequence: 12, objects };
        vec![superblock.bytes(), page.bytes(7, PAGE), segment, image, set_page(7, 1, &set)]
    }

    #[test]
    fn mangled_parts_are_parsed_or_refused() {
        let mut random = Random::new(1);
        for part in parts() {
            parse(&part);
            for _ in 0..3000 {
                let mut mangled = part.clone();
                for _ in 0..1 + random.below(4) {
                    // Most bytes are zero; the fields are at the start and at the end.
                    let near = random.below(200.min(mangled.len()));
                    let at = if random.below(2) == 0 { near } else { mangled.len() - 1 - near };
                    mangled[at] = match random.below(3) {
                        0 => 0xff,
                        1 => random.next_u64() as u8,
                        _ => mangled[at] ^ 1 << random.below(8),
                    };
                }
                parse(&mangled);
            }
        }
        parse(&[]);
    }

    #[test]
    fn a_mangled_part_is_refused_by_its_checksum() {
        let [superblock, page, segment, image, set] = &parts()[..] else { panic!("five parts") };
        for at in 0..PAGE {
            for (number, part) in [superblock, page, segment, image, set].into_iter().enumerate() {
                let mut mangled = part.clone();
                let Some(byte) = mangled.get_mut(at) else { continue };
                *byte ^= 0x40;
                let is_valid = match number {
                    0 => at < 88 && Superblock::parse(&mangled).is_ok(),
                    1 => Page::parse(&mangled, 7).is_some(),
                    // The start of the segment has objects.
                    2 => {
                        at >= PAGE - 250 && Directory::parse(&mangled, PAGE, 7, 0).is_some() && {
                            let start = PAGE - Directory::parse(segment, PAGE, 7, 0).unwrap().len();
                            at >= start
                        }
                    }
                    3 => at < 64 + 31 && Stored::read(&Bytes::from(mangled)).is_some(),
                    _ => {
                        parse_set(&Bytes::from(mangled), 7, 1) != Err(DamagedSet { is_ours: true })
                    }
                };
                assert!(!is_valid, "byte {at} of part {number}");
            }
        }
    }
}

//! Digests of the map, written by an orderly shutdown: one checksum for the locations of each group
//! of logical pages. They prove the map that a mount finds and, if a part of it is lost, the rest.

use super::{Fields, crc, crc_without, put_u32, put_u64};

/// Number of logical pages in a group.
pub const GROUP: u32 = 64;
/// Bytes of a page of digests.
pub const PAGE: usize = 4096;
const MAGIC: u32 = 0x5047_4447; // "GDGP"
const CRC_AT: usize = 4;
const HEADER: usize = 16;
/// Number of digests on a page.
pub const EACH: usize = (PAGE - HEADER) / 4;

/// Number of groups of `exported` logical pages.
#[must_use]
pub fn groups(exported: u32) -> u32 {
    exported.div_ceil(GROUP)
}

/// Bytes of the digests of `exported` logical pages.
#[must_use]
pub fn bytes(exported: u32) -> u64 {
    u64::from(groups(exported)).div_ceil(EACH as u64) * PAGE as u64
}

/// The digest of a group, from the physical slot of each of its logical pages (`None` if unmapped).
#[must_use]
pub fn of(slots: impl Iterator<Item = Option<u32>>) -> u32 {
    let mut bytes = [0; GROUP as usize * 4];
    let mut len = 0;
    for slot in slots {
        // Slot numbers are below 2^32 - 2^24, so the sum does not overflow.
        put_u32(&mut bytes, len, slot.map_or(0, |slot| slot + 1));
        len += 4;
    }
    crc(&bytes[..len])
}

/// The digests of `exported` logical pages if none is mapped.
#[must_use]
pub fn empty(exported: u32) -> Vec<u32> {
    let empty = |pages: u32| of((0..pages).map(|_| None));
    let mut digests = vec![empty(GROUP); groups(exported) as usize];
    if let (Some(last), true) = (digests.last_mut(), !exported.is_multiple_of(GROUP)) {
        *last = empty(exported % GROUP);
    }
    digests
}

/// Encodes page number `number` of the digests of an orderly shutdown.
#[must_use]
pub fn encode(digests: &[u32], number: u32, shutdown: u64) -> Vec<u8> {
    let mut bytes = vec![0; PAGE];
    put_u32(&mut bytes, 0, MAGIC);
    put_u64(&mut bytes, 8, shutdown);
    for (at, digest) in (HEADER..).step_by(4).zip(digests) {
        put_u32(&mut bytes, at, *digest);
    }
    let crc = crc_without(&bytes, CRC_AT, number);
    put_u32(&mut bytes, CRC_AT, crc);
    bytes
}

/// Decodes page number `number`; `None` if it is damaged or not of that shutdown.
#[must_use]
pub fn decode(bytes: &[u8], number: u32, shutdown: u64) -> Option<Vec<u32>> {
    let sound = bytes.u32_at(0) == MAGIC
        && bytes.u64_at(8) == shutdown
        && bytes.u32_at(CRC_AT) == crc_without(bytes, CRC_AT, number);
    sound.then(|| (HEADER..PAGE).step_by(4).map(|at| bytes.u32_at(at)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_digests_is_bound_to_its_number_and_shutdown() {
        let digests = [of([Some(3), None].into_iter()), of([None, Some(3)].into_iter())];
        assert_ne!(digests[0], digests[1]);
        let bytes = encode(&digests, 2, 5);
        assert_eq!(decode(&bytes, 2, 5).expect("it is sound")[..2], digests);
        assert_eq!(decode(&bytes, 1, 5), None);
        assert_eq!(decode(&bytes, 2, 4), None);
        for bit in 0..PAGE * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&flipped, 2, 5), None, "bit {bit}");
        }
    }
}

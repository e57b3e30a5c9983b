//! The memory that a map takes: what section 4.2.2 of the Gordon paper reckons with.
//!
//! One entry of four bytes for each mapped unit, as in the paper: 256 GB in pages of 2 KB take
//! 512 MB, in super-pages of 64 KB 16 MB. What a layer's own tables take beside is its own to say.

use gordon_units::Bytes;

/// Bytes of one entry of the LBA table: 512 MB for 256 GB in pages of 2 KB.
pub const LBA_ENTRY: Bytes = Bytes(4);

/// The LBA table of `capacity` mapped in units of `unit` (0 bytes where the unit is 0).
pub fn lba_table(capacity: Bytes, unit: Bytes) -> Bytes {
    match unit.0 {
        0 => Bytes::ZERO,
        unit => LBA_ENTRY * capacity.0.div_ceil(unit),
    }
}

/// The smallest super-page of one, two, four ... pages whose LBA table leaves room in `memory` for
/// the rest of the layer's data; `None` where even one entry would not. The paper: with 512 MB for
/// 256 GB, "super-pages must be at least 4KB in size".
pub fn smallest_super_page(capacity: Bytes, page: Bytes, memory: Bytes) -> Option<Bytes> {
    if page == Bytes::ZERO || memory <= LBA_ENTRY {
        return None;
    }
    let mut size = page;
    while lba_table(capacity, size) >= memory {
        size = Bytes(size.0.checked_mul(2)?);
    }
    Some(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;

    #[test]
    fn the_papers_tables() {
        // Section 4.2.2: 512MB, 256MB and 16MB for 256GB.
        for (unit, table) in [(2, 512), (4, 256), (64, 16)] {
            assert_eq!(lba_table(Bytes(256 * GIB), Bytes(unit * KIB)), Bytes(table * MIB));
        }
        // A unit in part takes an entry.
        assert_eq!(lba_table(Bytes(KIB + 1), Bytes(KIB)), Bytes(8));
        assert_eq!(lba_table(Bytes(KIB), Bytes(0)), Bytes(0));
    }

    #[test]
    fn the_papers_controller_needs_super_pages_of_4_kib() {
        let smallest =
            |memory| smallest_super_page(Bytes(256 * GIB), Bytes(2 * KIB), Bytes(memory));
        assert_eq!(smallest(512 * MIB), Some(Bytes(4 * KIB)));
        // One byte more, and the table of pages would fit too.
        assert_eq!(smallest(512 * MIB + 1), Some(Bytes(2 * KIB)));
        assert_eq!(smallest(64 * MIB), Some(Bytes(32 * KIB)));
        assert_eq!(smallest(5), Some(Bytes(256 * GIB)));
        assert_eq!(smallest(4), None);
    }
}

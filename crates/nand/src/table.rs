//! The memory footprint of the LBA table, as section 4.2.2 of the Gordon paper computes it.
//!
//! Each mapping unit has an entry of four bytes, as in the paper: 256 GB take 512 MB with pages of
//! 2 KB, and 16 MB with super-pages of 64 KB. The other tables of a translation layer are not
//! included.

use gordon_units::Bytes;

/// Bytes of one entry of the LBA table: 512 MB for 256 GB in pages of 2 KB.
pub const LBA_ENTRY: Bytes = Bytes(4);

/// Size of the LBA table of `capacity` mapped in units of `unit` (0 bytes if the unit is 0).
pub fn lba_table(capacity: Bytes, unit: Bytes) -> Bytes {
    match unit.0 {
        0 => Bytes::ZERO,
        unit => LBA_ENTRY * capacity.0.div_ceil(unit),
    }
}

/// The smallest super-page (a power of two pages) whose LBA table is smaller than `memory`, so that
/// some memory remains for the layer's other data. `None` if even a single entry would fill it. The
/// paper: with 512 MB for 256 GB, "super-pages must be at least 4KB in size".
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
    fn table_sizes_match_the_paper() {
        // Section 4.2.2: 512MB, 256MB and 16MB for 256GB.
        for (unit, table) in [(2, 512), (4, 256), (64, 16)] {
            assert_eq!(lba_table(Bytes(256 * GIB), Bytes(unit * KIB)), Bytes(table * MIB));
        }
        // A partial unit takes an entry.
        assert_eq!(lba_table(Bytes(KIB + 1), Bytes(KIB)), Bytes(8));
        assert_eq!(lba_table(Bytes(KIB), Bytes(0)), Bytes(0));
    }

    #[test]
    fn the_controller_of_the_paper_needs_super_pages_of_4_kib() {
        let smallest =
            |memory| smallest_super_page(Bytes(256 * GIB), Bytes(2 * KIB), Bytes(memory));
        assert_eq!(smallest(512 * MIB), Some(Bytes(4 * KIB)));
        // With one more byte of memory the table of single pages fits too.
        assert_eq!(smallest(512 * MIB + 1), Some(Bytes(2 * KIB)));
        assert_eq!(smallest(64 * MIB), Some(Bytes(32 * KIB)));
        assert_eq!(smallest(5), Some(Bytes(256 * GIB)));
        assert_eq!(smallest(4), None);
    }
}

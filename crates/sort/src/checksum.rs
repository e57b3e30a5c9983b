//! The sum of the CRC-32 of all records. It does not depend on their order, so it shows whether a
//! sort has lost, duplicated or damaged records.

use crate::blocks::RECORD;

/// Length to which records are padded: the CRC library uses its fast method, ten times as fast as
/// table lookups, from 128 bytes on. Zeros are put before the record.
const PADDED: usize = 128;

/// Initial CRC state that, after those zeros, is the initial state of a record.
const START: u32 = before_zeros(PADDED - RECORD);

/// Number of records padded at a time, so that loading their bytes overlaps with computing CRCs.
const TOGETHER: usize = 16;

/// The CRC whose state after `zeros` zero bytes is the initial state.
const fn before_zeros(zeros: usize) -> u32 {
    /// The polynomial of CRC-32 (IEEE 802.3), with its lowest power in the highest bit.
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let mut state = u32::MAX;
    let mut bit = 0;
    while bit < 8 * zeros {
        // One step backwards. A forward step shifts out the lowest bit and, if it was 1, adds the
        // polynomial, whose highest bit is 1. So the highest bit now is the one that was shifted
        // out.
        state = if state >> 31 == 1 { (state ^ POLYNOMIAL) << 1 | 1 } else { state << 1 };
        bit += 1;
    }
    !state
}

/// The sum over these records.
#[must_use]
pub fn checksum(records: &[[u8; RECORD]]) -> u128 {
    let mut padded = [[0; PADDED]; TOGETHER];
    let mut sum = 0;
    for records in records.chunks(TOGETHER) {
        for (padded, record) in padded.iter_mut().zip(records) {
            padded[PADDED - RECORD..].copy_from_slice(record);
        }
        for padded in &padded[..records.len()] {
            let mut crc = crc32fast::Hasher::new_with_initial(START);
            crc.update(padded);
            sum += u128::from(crc.finalize());
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sum_is_that_of_each_record(
            bytes in proptest::collection::vec(any::<u8>(), 0..4000),
        ) {
            let (records, _) = bytes.as_chunks();
            let each = records.iter().map(|record| u128::from(crc32fast::hash(record)));
            prop_assert_eq!(checksum(records), each.sum());
        }
    }
}

//! Decodes pages of the kernel's ring buffer, as read from `trace_pipe_raw`.
//!
//! A page holds a timestamp, a commit word (the length of its data, and two flags for events lost
//! before it), and entries. An entry has 5 bits of type, 27 bits of time since the previous entry,
//! and data (`include/linux/ring_buffer.h`; `events/header_page` and `events/header_event` describe
//! both).

use super::format::{PageFormat, u32_at, u64_at};
use gordon_units::Ns;

/// Flag: events were lost before this page.
const MISSED: u32 = 1 << 31;
/// Flag: the number of lost events follows the data. It is not read, because the kernel's counters
/// have it too.
const MISSED_STORED: u32 = 1 << 30;

const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time in the first word of an entry.
const TIME_BITS: u32 = 27;
/// The bits that an absolute timestamp takes from the timestamp of the page.
const STAMP_TOP: u64 = 0xf8 << 56;

/// A malformed page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadPage;

/// Calls `each` with the time and data of every entry of `page`. Returns whether events before it
/// were lost.
pub(crate) fn entries(
    page: &[u8],
    format: PageFormat,
    mut each: impl FnMut(Ns, &[u8]),
) -> Result<bool, BadPage> {
    if page.len() < format.data {
        return Err(BadPage);
    }
    // The length and the flags are in the low half of the commit word.
    let low = if cfg!(target_endian = "little") { 8 } else { 8 + format.commit_size - 4 };
    let commit = u32_at(page, low);
    let len = (commit & !(MISSED | MISSED_STORED)) as usize;
    let data = page.get(format.data..format.data + len).ok_or(BadPage)?;
    let page_time = u64_at(page, 0);
    let (mut time, mut at) = (page_time, 0);
    while at < data.len() {
        let word = read(data, at)?;
        let (kind, delta) = if cfg!(target_endian = "little") {
            (word & 31, word >> 5)
        } else {
            (word >> TIME_BITS, word & ((1 << TIME_BITS) - 1))
        };
        let delta = u64::from(delta);
        at += 4;
        match kind {
            TIME_EXTEND => {
                time = time.wrapping_add((u64::from(read(data, at)?) << TIME_BITS) + delta);
                at += 4;
            }
            TIME_STAMP => {
                let low = (u64::from(read(data, at)?) << TIME_BITS) + delta;
                time = (page_time & STAMP_TOP) | low;
                at += 4;
            }
            // End of the entries.
            PADDING if delta == 0 => break,
            // A discarded entry; its time still counts.
            PADDING => {
                time = time.wrapping_add(delta);
                at += read(data, at)? as usize;
            }
            // The length is in the next word, and includes that word.
            0 => {
                let len = (read(data, at)? as usize).checked_sub(4).ok_or(BadPage)?;
                at += 4;
                time = time.wrapping_add(delta);
                each(Ns(time), data.get(at..at + len).ok_or(BadPage)?);
                at += len.next_multiple_of(4);
            }
            words => {
                let len = words as usize * 4;
                time = time.wrapping_add(delta);
                each(Ns(time), data.get(at..at + len).ok_or(BadPage)?);
                at += len;
            }
        }
    }
    Ok(commit & MISSED != 0)
}

fn read(data: &[u8], at: usize) -> Result<u32, BadPage> {
    data.get(at..at + 4).map(|word| u32_at(word, 0)).ok_or(BadPage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: PageFormat = PageFormat { commit_size: 8, data: 16, page: 4096 };

    fn page(time: u64, marks: u32, data: &[u32]) -> Vec<u8> {
        let mut page = time.to_ne_bytes().to_vec();
        page.extend(u64::from((data.len() * 4) as u32 | marks).to_ne_bytes());
        page.extend(data.iter().flat_map(|word| word.to_ne_bytes()));
        page.resize(FORMAT.page, 0xee);
        page
    }

    fn word(kind: u32, delta: u32) -> u32 {
        if cfg!(target_endian = "little") { kind | delta << 5 } else { kind << 27 | delta }
    }

    type Entries = Vec<(u64, Vec<u8>)>;

    fn all(page: &[u8]) -> Result<(bool, Entries), BadPage> {
        let mut seen = Vec::new();
        let missed = entries(page, FORMAT, |at, data| seen.push((at.0, data.to_vec())))?;
        Ok((missed, seen))
    }

    #[test]
    fn every_kind_of_entry() {
        let page = page(
            1 << 60 | 1000,
            MISSED,
            &[
                word(1, 5), // 4 bytes of data
                0x1111_1111,
                word(PADDING, 7), // discarded: 8 bytes follow the word
                8,
                0,
                word(0, 2), // length in the next word: 6 bytes of data
                10,
                0x2222_2222,
                0x3333_3333,
                word(TIME_EXTEND, 3),
                2,
                word(1, 1),
                0x4444_4444,
                word(TIME_STAMP, 9),
                4,
                word(1, 0),
                0x5555_5555,
                word(PADDING, 0),
                0xffff_ffff,
            ],
        );
        let base = (1 << 60) + 1000;
        let (missed, seen) = all(&page).unwrap();
        assert!(missed);
        assert_eq!(
            seen.iter().map(|e| e.0).collect::<Vec<_>>(),
            [base + 5, base + 5 + 7 + 2, base + 14 + (2 << 27) + 3 + 1, (1 << 60) + (4 << 27) + 9,]
        );
        let lens: Vec<usize> = seen.iter().map(|e| e.1.len()).collect();
        assert_eq!(lens, [4, 6, 4, 4]);
        assert_eq!(seen[1].1, [0x22, 0x22, 0x22, 0x22, 0x33, 0x33]);
    }

    #[test]
    fn an_empty_page_and_a_cut_one() {
        assert_eq!(all(&page(5, 0, &[])), Ok((false, vec![])));
        assert_eq!(all(&page(5, 0, &[word(3, 1), 1])), Err(BadPage));
        assert_eq!(all(&[0; 10]), Err(BadPage));
    }

    proptest! {
        /// Decoding any bytes ends, and never reads beyond them.
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..300), len in 0u64..400) {
            let mut page = vec![0; 8];
            page.extend(len.to_ne_bytes());
            page.extend(bytes);
            let _ = entries(&page, FORMAT, |_, _| {});
        }
    }
}

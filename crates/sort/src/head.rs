//! Detects text that would be sorted as benchmark records without being requested.

use crate::memory::Buffer;
use crate::{Benchmark, SortError};
use std::path::Path;

/// Bytes at the start of a file that are examined.
const HEAD: u64 = 64 << 10;

/// Refuses a file of `len` bytes that is text, unless it has the form of the benchmark's ASCII
/// records: each of 100 bytes, with its only line end, CR LF, in the last two. Records of the
/// default format have no marker, so lines would be cut after every 100 bytes.
///
/// # Errors
/// Returns [`SortError::Text`] if the file is refused, or an error if it cannot be read.
pub fn refuse_text(
    path: &Path,
    len: u64,
    read: impl FnOnce(&mut [u8]) -> Result<(), SortError>,
) -> Result<(), SortError> {
    let mut buffer = Buffer::new(HEAD as usize);
    let head = &mut buffer.get_mut()[..len.min(HEAD) as usize];
    read(head)?;
    if is_text(head) && !is_ascii_form(head) {
        let over = len % Benchmark::RECORD as u64;
        return Err(SortError::Text { path: path.into(), over });
    }
    Ok(())
}

/// Whether bytes are text in an encoding that has the control characters of ASCII. A zero byte may
/// end a line, and is every other byte of UTF-16.
fn is_text(bytes: &[u8]) -> bool {
    let is_control = |byte: &u8| matches!(byte, 1..=7 | 14..=26 | 28..=31 | 127);
    let zeros = bytes.iter().filter(|&&byte| byte == 0).count();
    !bytes.iter().any(is_control) && zeros < bytes.len() - bytes.len() / 4
}

/// Whether each record ends in CR LF and has no other line end.
fn is_ascii_form(bytes: &[u8]) -> bool {
    let (records, _) = bytes.as_chunks::<{ Benchmark::RECORD }>();
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    !records.is_empty()
        && records.iter().all(|record| {
            record.ends_with(b"\r\n") && !record[..Benchmark::RECORD - 2].iter().any(is_end)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> bool {
        let read = |into: &mut [u8]| {
            into.copy_from_slice(&bytes[..into.len()]);
            Ok(())
        };
        match refuse_text(Path::new("in"), bytes.len() as u64, read) {
            Ok(()) => false,
            Err(SortError::Text { over, .. }) => {
                assert_eq!(over, bytes.len() as u64 % 100);
                true
            }
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn text_is_refused_whatever_its_length_and_encoding() {
        let lines: String = (0..1000).map(|n| format!("{n:09}\n")).collect();
        let utf16: Vec<u8> = lines.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin1: Vec<u8> = lines.bytes().map(|byte| byte | 0x80 & byte << 3).collect();
        let windows = lines.replace('\n', "\r\n");
        let zero_terminated = lines.replace('\n', "\0");
        let coloured = lines.replace('9', "\x1b[1m9\x1b[0m");
        // Each line has the length of a record, but another line end.
        let wide: String = (0..50).map(|n| format!("{n:099}\n")).collect();
        let all: [&[u8]; 9] = [
            lines.as_bytes(),
            &lines.as_bytes()[..104],
            &utf16,
            &latin1,
            windows.as_bytes(),
            zero_terminated.as_bytes(),
            coloured.as_bytes(),
            wide.as_bytes(),
            &[b'a'; 100],
        ];
        for (number, bytes) in all.into_iter().enumerate() {
            assert!(refused(bytes), "{number}");
        }
    }

    #[test]
    fn records_of_the_benchmark_are_admitted() {
        let ascii: String = (0..700).map(|n| format!("{n:098}\r\n")).collect();
        let mut one_off = ascii.clone().into_bytes();
        one_off[50] = b'\n';
        assert!(!refused(ascii.as_bytes()));
        assert!(refused(&one_off));
        let binary: Vec<u8> = (0..10_000u32).map(|n| (n % 251) as u8).collect();
        assert!(!refused(&binary));
        assert!(!refused(&[0; 1000]));
        assert!(!refused(&[]));
    }
}

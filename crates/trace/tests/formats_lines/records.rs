//! Binary records of fixed size, and our own format.

use super::{S, case, common, reads, refused, with};
use gordon_blockio::IoOp::{Flush, Read, Write};
use gordon_trace::formats::{Format, ReadOptions, detect};
use gordon_units::{Bytes, Ns};

fn vscsi_1(time: u64, block: u64, len: u32, code: u16) -> Vec<u8> {
    let parts: [&[u8]; 7] = [
        &7_u32.to_le_bytes(),
        &len.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &code.to_le_bytes(),
        &0x100_u16.to_le_bytes(),
        &block.to_le_bytes(),
        &time.to_le_bytes(),
    ];
    parts.concat()
}

#[test]
fn vscsi() {
    // WRITE (10), TEST UNIT READY, READ (16), SYNCHRONIZE CACHE (10).
    let records = [
        vscsi_1(5, 100, 512, 0x2a),
        vscsi_1(6, 0, 0, 0),
        vscsi_1(8, 50, 4096, 0x88),
        vscsi_1(9, 1, 512, 0x35),
    ];
    let expected =
        [(0, Write, 0, 51_200, 512), (3_000, Read, 0, 25_600, 4096), (4_000, Flush, 0, 0, 0)];
    reads(Format::Vscsi, records.concat(), &expected);
    let mut cut = records.concat();
    cut.truncate(120);
    refused(None, &cut, &["record 4 (byte 96)", "24 bytes at the end", "32 bytes"]);
    let mut odd = records.concat();
    odd[64 + 15] = 9;
    refused(Some(Format::Vscsi), &odd, &["record 3 (byte 64)", "version", "0x0900"]);
}

fn vscsi_2(time: u64, block: u64, len: u32, code: u16, response: u64) -> Vec<u8> {
    let parts: [&[u8]; 8] = [
        &code.to_le_bytes(),
        &0x200_u16.to_le_bytes(),
        &7_u32.to_le_bytes(),
        &len.to_le_bytes(),
        &1_u32.to_le_bytes(),
        &block.to_le_bytes(),
        &time.to_le_bytes(),
        &response.to_le_bytes(),
    ];
    parts.concat()
}

#[test]
fn vscsi_with_responses() {
    // READ (10), MODE SENSE (6), WRITE (16).
    let records = [
        vscsi_2(5, 100, 4096, 0x28, 830),
        vscsi_2(6, 0, 64, 0x1a, 9),
        vscsi_2(8, 1 << 33, 65_536, 0x8a, 1700),
    ];
    let content = records.concat();
    let expected = [(0, Read, 0, 51_200, 4096), (3_000, Write, 0, 1 << 42, 65_536)];
    reads(Format::Vscsi, &content, &expected);
    let case = case(&content);
    let (all, counts) = with(&case.path, &ReadOptions::default());
    assert_eq!((all[0].latency, all[1].latency), (Some(Ns(830_000)), Some(Ns(1_700_000))));
    assert_eq!(counts.other_kinds, 1);
    refused(None, &content[..100], &["record 3 (byte 80)", "20 bytes at the end", "40 bytes"]);
}

fn oracle(time: u32, object: u64, len: u32, next: i64) -> Vec<u8> {
    let parts: [&[u8]; 4] =
        [&time.to_le_bytes(), &object.to_le_bytes(), &len.to_le_bytes(), &next.to_le_bytes()];
    parts.concat()
}

#[test]
fn oracle_general() {
    let records = [oracle(7, 10, 512, 3), oracle(7, 11, 4096, -1), oracle(9, 10, 512, -1)];
    let expected = [(0, Read, 0, 5120, 512), (0, Read, 0, 5632, 4096), (2 * S, Read, 0, 5120, 512)];
    reads(Format::OracleGeneral, records.concat(), &expected);
    let objects = [oracle(7, 10, 512, -1), oracle(7, u64::MAX, 512, -1)].concat();
    refused(
        None,
        objects,
        &["record 2 (byte 24)", "object", "not of blocks", "try: gordon cache replay"],
    );
}

#[test]
fn gordon() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.trace");
    common::write(&path, 3, 20_000);
    assert_eq!(detect(&path).unwrap(), Format::Gordon);
    let (all, counts) = with(&path, &ReadOptions::default());
    assert_eq!((all.len(), counts.requests), (20_000, 20_000));
    for (i, io) in (0..).zip(&all) {
        let own = common::io(i, 0);
        assert_eq!((io.at, io.op, io.device), (own.at, own.op, own.device));
        assert_eq!((io.offset, io.len), (Bytes(own.sector * 512), own.bytes()));
        assert_eq!(io.latency, own.latency);
    }
}

//! Reads records of fixed size in little-endian byte order: vscsi and oracleGeneral.

use super::collector::{RawRequest, RequestCollector};
use super::entry_error::EntryError;
use super::source::FixedRecordFormat;
use gordon_blockio::IoOp;
use gordon_units::Ns;

const SECTOR: u64 = 512;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

/// Version 1 of vscsi, 32 bytes: number, length, scatter-gather entries (u32 each), SCSI operation
/// code, version (u16 each), block, microseconds (u64 each).
pub(super) struct Vscsi1(pub Ns);
/// Version 2 of vscsi, 40 bytes: operation code, version (u16 each), number, length, entries (u32
/// each), block, microseconds, response time in microseconds (u64 each).
pub(super) struct Vscsi2(pub Ns);

/// The operation of a SCSI operation code (SPC-4, SBC-3); `None` for codes that move no data.
#[inline]
fn scsi(code: u16) -> Option<IoOp> {
    match code {
        // READ (6), (10), (12), (16).
        0x08 | 0x28 | 0xa8 | 0x88 => Some(IoOp::Read),
        // WRITE (6), (10), (12), (16); WRITE AND VERIFY (10), (12), (16).
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Some(IoOp::Write),
        // SYNCHRONIZE CACHE (10), (16).
        0x35 | 0x91 => Some(IoOp::Flush),
        _ => None,
    }
}

struct ScsiRecord {
    code: u16,
    version: u16,
    len: u32,
    block: u64,
    time: u64,
    response: Option<u64>,
}

#[inline]
fn take(
    scsi_io: &ScsiRecord,
    want: u8,
    unit: Ns,
    collector: &mut RequestCollector,
) -> Result<(), EntryError> {
    // The version is in the upper byte.
    if scsi_io.version >> 8 != u16::from(want) {
        let found = format!("{:#06x}", scsi_io.version);
        return Err(EntryError::field(
            "version",
            found.as_bytes(),
            "the version of the first record",
        ));
    }
    let Some(op) = scsi(scsi_io.code) else {
        collector.other();
        return Ok(());
    };
    let Some(mut offset) = scsi_io.block.checked_mul(SECTOR) else {
        return Err(EntryError::field(
            "block",
            scsi_io.block.to_string().as_bytes(),
            "less than 2^55",
        ));
    };
    let mut len = u64::from(scsi_io.len);
    if op == IoOp::Flush {
        (offset, len) = (0, 0);
    }
    let Some(time) = scsi_io.time.checked_mul(unit.0) else {
        let found = scsi_io.time.to_string();
        return Err(EntryError::field("time", found.as_bytes(), "a time below 584 years"));
    };
    let latency = scsi_io.response.and_then(|r| r.checked_mul(unit.0)).map(Ns);
    collector.take(RawRequest {
        time,
        op,
        device: 0,
        offset,
        len,
        latency,
        gap: None,
        pid: None,
        preflush: false,
        durable: false,
    })
}

impl FixedRecordFormat for Vscsi1 {
    const SIZE: usize = 32;
    const EXPECTED: &'static str = "a record of 32 bytes";

    #[inline]
    fn record(&mut self, b: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        let io = ScsiRecord {
            len: u32_at(b, 4),
            code: u16_at(b, 12),
            version: u16_at(b, 14),
            block: u64_at(b, 16),
            time: u64_at(b, 24),
            response: None,
        };
        take(&io, 1, self.0, collector)
    }
}

impl FixedRecordFormat for Vscsi2 {
    const SIZE: usize = 40;
    const EXPECTED: &'static str = "a record of 40 bytes";

    #[inline]
    fn record(&mut self, b: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        let io = ScsiRecord {
            code: u16_at(b, 0),
            version: u16_at(b, 2),
            len: u32_at(b, 8),
            block: u64_at(b, 16),
            time: u64_at(b, 24),
            response: Some(u64_at(b, 32)),
        };
        take(&io, 2, self.0, collector)
    }
}

/// The version that all of the first 64 records have; `None` if there is no record, or they differ.
pub(super) fn vscsi_version(head: &[u8]) -> Option<u8> {
    let all = |size, code_at, version: u16| {
        let mut records = head.chunks_exact(size).take(64).peekable();
        records.peek().is_some()
            && records.all(|b| u16_at(b, code_at + 2) >> 8 == version && u16_at(b, code_at) < 0x100)
    };
    match (all(Vscsi1::SIZE, 12, 1), all(Vscsi2::SIZE, 0, 2)) {
        (true, false) => Some(1),
        (false, true) => Some(2),
        _ => None,
    }
}

/// A record has 24 bytes: seconds (u32), object (u64), bytes (u32), number of the object's next
/// request or -1 (i64). The format has no operation, so all requests are reads. In a block trace
/// the object is the number of the block.
///
/// Source: `oracleGeneralBin.h` of libCacheSim.
pub(super) struct OracleGeneral(pub Ns);

/// The fields of a record of oracleGeneral.
#[derive(Clone, Copy)]
pub(super) struct OracleRecord {
    pub time: u32,
    pub object: u64,
    pub size: u32,
    pub next: i64,
}

impl OracleRecord {
    /// The bytes of the record in a file.
    pub fn bytes(&self) -> [u8; OracleGeneral::SIZE] {
        let mut bytes = [0; OracleGeneral::SIZE];
        bytes[..4].copy_from_slice(&self.time.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.object.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.size.to_le_bytes());
        bytes[16..].copy_from_slice(&self.next.to_le_bytes());
        bytes
    }
}

#[inline]
pub(super) fn oracle_record(b: &[u8]) -> OracleRecord {
    OracleRecord {
        time: u32_at(b, 0),
        object: u64_at(b, 4),
        size: u32_at(b, 12),
        next: u64_at(b, 16).cast_signed(),
    }
}

impl FixedRecordFormat for OracleGeneral {
    const SIZE: usize = 24;
    const EXPECTED: &'static str = "a record of 24 bytes";

    #[inline]
    fn record(&mut self, b: &[u8], collector: &mut RequestCollector) -> Result<(), EntryError> {
        let OracleRecord { time, object, size, .. } = oracle_record(b);
        // A u32 of seconds fits in 64 bits of nanoseconds.
        let time = u64::from(time) * self.0.0;
        let Some(offset) = object.checked_mul(SECTOR) else {
            let expected = "a block below 2^55; this may be a trace of objects, not of blocks";
            return Err(EntryError::field("object", object.to_string().as_bytes(), expected));
        };
        let len = u64::from(size);
        let op = IoOp::Read;
        collector.take(RawRequest {
            time,
            op,
            device: 0,
            offset,
            len,
            latency: None,
            gap: None,
            pid: None,
            preflush: false,
            durable: false,
        })
    }
}

/// Whether the first records are plausible as oracleGeneral: times do not go backwards, sizes are
/// at most 1 GiB, and next requests are later. Requests of zero bytes occur (a HEAD, an empty
/// value).
pub(super) fn is_oracle_general(head: &[u8]) -> bool {
    let mut last = 0;
    let mut count = 0_i64;
    for b in head.chunks_exact(OracleGeneral::SIZE).take(256) {
        let OracleRecord { time, size, next, .. } = oracle_record(b);
        let ahead = next == -1 || next == i64::MAX || next > count;
        if time < last || size > 1 << 30 || !ahead {
            return false;
        }
        (last, count) = (time, count + 1);
    }
    // A single record is not enough evidence.
    count >= 2
}

//! Layouts of the kernel's events, from their `format` files, and the decoding of records.

use gordon_blockio::IoOp;
use gordon_trace::BlockFlags;
use gordon_units::Ns;

/// Layout of one kind of event, as described by its `format` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventFormat {
    pub(crate) id: u16,
    fields: Vec<FormatField>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FormatField {
    name: String,
    offset: usize,
    size: usize,
}

impl EventFormat {
    /// Parses lines such as `field:char comm[16]; offset:44; size:16; signed:0;`, separated by
    /// tabs.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|l| l.strip_prefix("ID:"))?.trim().parse().ok()?;
        Some(Self { id, fields: fields(text).collect() })
    }

    /// Offset and size of a field.
    fn field(&self, name: &str) -> Option<(usize, usize)> {
        self.fields.iter().find(|f| f.name == name).map(|f| (f.offset, f.size))
    }
}

fn fields(text: &str) -> impl Iterator<Item = FormatField> {
    text.lines().filter_map(|line| {
        let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
        let declared = parts.next()?;
        let offset = parts.next()?.strip_prefix("offset:")?.parse().ok()?;
        let size = parts.next()?.strip_prefix("size:")?.parse().ok()?;
        let name = declared.rsplit(' ').next()?;
        let name = name.split('[').next()?.to_owned();
        Some(FormatField { name, offset, size })
    })
}

/// Layout of a page of the ring buffer, from `events/header_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageFormat {
    pub(crate) commit_size: usize,
    pub(crate) data: usize,
    pub(crate) page: usize,
}

impl PageFormat {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let all: Vec<FormatField> = fields(text).collect();
        let of = |name| all.iter().find(|f| f.name == name);
        let (commit, data) = (of("commit")?, of("data")?);
        let starts_as_known = of("timestamp")?.offset == 0 && commit.offset == 8;
        (starts_as_known && matches!(commit.size, 4 | 8)).then_some(Self {
            commit_size: commit.size,
            data: data.offset,
            page: data.offset + data.size,
        })
    }
}

/// The layouts of the events that the block log uses.
#[derive(Clone, Debug)]
pub(crate) struct EventFormats {
    issue: EventLayout,
    complete: EventLayout,
    requeue: Option<EventLayout>,
}

#[derive(Clone, Copy, Debug)]
struct EventLayout {
    id: u16,
    device: usize,
    sector: usize,
    sectors: usize,
    rwbs: (usize, usize),
    comm: Option<(usize, usize)>,
    pid: usize,
    /// Length of the fixed fields.
    len: usize,
}

impl EventLayout {
    fn of(text: &str) -> Option<Self> {
        let format = EventFormat::parse(text)?;
        let sized = |name, size| format.field(name).filter(|f| f.1 == size).map(|f| f.0);
        let layout = Self {
            id: format.id,
            device: sized("dev", 4)?,
            sector: sized("sector", 8)?,
            sectors: sized("nr_sector", 4)?,
            rwbs: format.field("rwbs")?,
            comm: format.field("comm"),
            pid: sized("common_pid", 4)?,
            len: format.fields.iter().map(|f| f.offset + f.size).max()?,
        };
        Some(layout)
    }
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EventKind {
    Issued,
    Completed,
    Requeued,
}

/// One event of the block log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockEvent {
    pub(crate) at: Ns,
    pub(crate) kind: EventKind,
    pub(crate) device: u32,
    pub(crate) sector: u64,
    pub(crate) sectors: u32,
    /// `None` for a request that the log leaves out.
    pub(crate) op: Option<IoOp>,
    pub(crate) flags: BlockFlags,
    pub(crate) pid: u32,
    /// Name of the process, padded with zeros.
    pub(crate) comm: [u8; 16],
}

impl EventFormats {
    /// Parses the `format` files of the events. Some kernels have no requeue event.
    pub(crate) fn parse(issue: &str, complete: &str, requeue: Option<&str>) -> Option<Self> {
        Some(Self {
            issue: EventLayout::of(issue)?,
            complete: EventLayout::of(complete)?,
            requeue: requeue.and_then(EventLayout::of),
        })
    }

    /// The numbers of the events, each with the divisor of its share of the buffers. Requeues are
    /// rare and need little.
    pub(crate) fn events(&self) -> impl Iterator<Item = (u16, usize)> {
        let requeue = self.requeue.map(|layout| (layout.id, 32));
        [(self.issue.id, 2), (self.complete.id, 2)].into_iter().chain(requeue)
    }

    /// Decodes `record`; `None` if it is another event or truncated.
    pub(crate) fn event(&self, at: Ns, record: &[u8]) -> Option<BlockEvent> {
        let id = u16::from_ne_bytes(*record.first_chunk()?);
        let (kind, layout) = if id == self.issue.id {
            (EventKind::Issued, &self.issue)
        } else if id == self.complete.id {
            (EventKind::Completed, &self.complete)
        } else {
            (EventKind::Requeued, self.requeue.as_ref().filter(|l| l.id == id)?)
        };
        if record.len() < layout.len {
            return None;
        }
        let (sector, sectors) = (u64_at(record, layout.sector), u32_at(record, layout.sectors));
        let (op, flags) = rwbs(&record[layout.rwbs.0..layout.rwbs.0 + layout.rwbs.1]);
        let mut comm = [0; 16];
        if let Some((offset, size)) = layout.comm {
            let text = &record[offset..offset + size.min(16)];
            let len = text.iter().position(|&b| b == 0).unwrap_or(text.len());
            comm[..len].copy_from_slice(&text[..len]);
        }
        Some(BlockEvent {
            at,
            kind,
            device: u32_at(record, layout.device),
            // A flush has no address: it is issued at sector 0 and completed at sector -1.
            sector: if op == Some(IoOp::Flush) { 0 } else { sector },
            sectors,
            op,
            flags,
            pid: u32_at(record, layout.pid),
            comm,
        })
    }
}

pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_ne_bytes(*bytes[offset..].first_chunk().expect("lengths were checked"))
}

pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_ne_bytes(*bytes[offset..].first_chunk().expect("lengths were checked"))
}

/// Decodes the letters that describe a request (`blk_fill_rwbs` of the kernel): an optional `F` for
/// a preceding flush, the operation, then `F` forced unit access, `A` read-ahead, `S` sync, `M`
/// metadata. The log leaves out `WZ` (write zeroes), `DE` (secure erase), `Z.` (zones) and `N` (all
/// others).
fn rwbs(text: &[u8]) -> (Option<IoOp>, BlockFlags) {
    let len = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    let mut text = &text[..len];
    let mut flags = BlockFlags::default();
    if let [b'F', b'R' | b'W' | b'D' | b'F' | b'N', ..] = text {
        flags = flags.with(BlockFlags::PREFLUSH);
        text = &text[1..];
    }
    let op = match text {
        [b'F', ..] => return (Some(IoOp::Flush), BlockFlags::default()),
        [b'W', b'Z', ..] | [b'D', b'E', ..] => None,
        [b'R', ..] => Some(IoOp::Read),
        [b'W', ..] => Some(IoOp::Write),
        [b'D', ..] => Some(IoOp::Discard),
        _ => None,
    };
    for letter in text.iter().skip(1) {
        flags = flags.with(match letter {
            b'F' => BlockFlags::FUA,
            b'A' => BlockFlags::READAHEAD,
            b'S' => BlockFlags::SYNC,
            b'M' => BlockFlags::META,
            _ => continue,
        });
    }
    (op, flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_requests() {
        let set = |flags: &[BlockFlags]| flags.iter().fold(BlockFlags(0), |a, b| a.with(*b));
        use BlockFlags as F;
        for (text, op, flags) in [
            ("R", Some(IoOp::Read), set(&[])),
            ("RA", Some(IoOp::Read), set(&[F::READAHEAD])),
            ("RSM", Some(IoOp::Read), set(&[F::SYNC, F::META])),
            ("WS", Some(IoOp::Write), set(&[F::SYNC])),
            ("WFSM", Some(IoOp::Write), set(&[F::FUA, F::SYNC, F::META])),
            ("FWFS", Some(IoOp::Write), set(&[F::PREFLUSH, F::FUA, F::SYNC])),
            ("FF", Some(IoOp::Flush), set(&[])),
            ("F", Some(IoOp::Flush), set(&[])),
            ("DS", Some(IoOp::Discard), set(&[F::SYNC])),
            ("DE", None, set(&[])),
            ("WZ", None, set(&[])),
            ("N", None, set(&[])),
            ("", None, set(&[])),
        ] {
            assert_eq!(rwbs(text.as_bytes()), (op, flags), "{text}");
            let mut padded = text.as_bytes().to_vec();
            padded.extend([0, b'X']);
            assert_eq!(rwbs(&padded), (op, flags), "{text} with what follows its end");
        }
    }

    #[test]
    fn a_format_without_its_fields_is_refused() {
        assert!(EventLayout::of("name: x\nID: 7\nformat:\n").is_none());
        assert!(EventFormat::parse("no id").is_none());
        assert!(PageFormat::parse("").is_none());
    }
}

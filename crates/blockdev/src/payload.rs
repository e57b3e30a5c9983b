//! Requests of NBD clients as commands of the store, and completions of the store as replies.

use gordon_blockio::Command;
use gordon_nbd::{AllocationExtent, Errno, ExportInfo, MAX_EXTENTS, Op, Request};
use gordon_store::{Completion, Engine, IoError, Payload, SECTOR};
use gordon_units::{Bytes, Ns};

/// A request of a client in the store; `None` for requests that the store makes itself.
#[derive(Debug, Default)]
pub(super) struct NbdPayload {
    pub request: Option<Request>,
    /// When the request arrived, in simulated time.
    pub arrived_at: Ns,
    /// Time for the host and its link, which is added to the completion time.
    pub link_time: Ns,
}

impl Payload for NbdPayload {
    fn bytes(&self) -> &[u8] {
        self.request.as_ref().map_or(&[], Request::data)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.request.as_mut().map_or(&mut [], Request::data_mut)
    }
}

/// The command of the store for a request. Requests that need no command are answered at once, and
/// `None` is returned; `look` calls its argument with the engine, to read its state.
pub(super) fn to_command(
    request: Request,
    look: impl FnOnce(&mut dyn FnMut(&Engine<NbdPayload>)),
) -> Option<(Command, NbdPayload)> {
    let command = match request.op() {
        // A trim that covers mapping units only in part is a write of zeroes. The protocol does not
        // require it, but nbdfuse turns a hole punched into a file into a trim, and Linux expects
        // zeroes there.
        Op::Command(Command::Trim { offset, length, fua }) => {
            let mut whole = false;
            look(&mut |engine| {
                let unit = SECTOR * u64::from(engine.ftl().config().sectors_per_page);
                whole = offset.is_multiple_of(unit) && length.is_multiple_of(unit);
            });
            if whole {
                Command::Trim { offset, length, fua }
            } else {
                Command::WriteZeroes { offset, length, fua, no_hole: false, fast: false }
            }
        }
        Op::Command(command) => command,
        Op::Cache { .. } => {
            request.done();
            return None;
        }
        Op::Status { offset, length, .. } => {
            let mut extents = Vec::new();
            look(&mut |engine| {
                engine.extents(offset, length, |length, data| {
                    extents.push(AllocationExtent { length, hole: !data, zero: !data });
                    extents.len() < MAX_EXTENTS
                });
            });
            request.done_with(extents);
            return None;
        }
    };
    Some((command, NbdPayload { request: Some(request), ..NbdPayload::default() }))
}

/// Answers the client of a completed command.
pub(super) fn reply(completion: Completion<NbdPayload>) {
    let Some(request) = completion.payload.request else { return };
    let errno = match completion.result {
        Ok(()) => return request.done(),
        Err(IoError::Unreadable) => Errno::Io,
        Err(IoError::WornOut | IoError::Salvaging) => Errno::Perm,
        Err(IoError::NoSpace) => Errno::NoSpc,
        Err(IoError::Medium | IoError::Stopped) => Errno::Io,
        Err(IoError::Invalid) => Errno::Inval,
    };
    let why = match completion.result {
        Err(IoError::Unreadable) => {
            "the data cannot be read: more wrong bits than can be corrected"
        }
        Err(IoError::WornOut) => "read-only: the reserve of good blocks is used up",
        Err(IoError::NoSpace) => "no space left in the file system under the image",
        Err(IoError::Medium) => "the file under the image failed",
        Err(IoError::Stopped) => "the store has stopped on an internal error",
        Err(IoError::Salvaging) => "read-only: a damaged image is being salvaged",
        _ => "not whole sectors inside the device",
    };
    request.fail(errno, why);
}

/// The properties of the export of an image.
pub(crate) fn export_info(engine: &Engine<NbdPayload>) -> ExportInfo {
    let image = engine.image();
    let resolved = image.resolved();
    let unit = image.device().unit;
    ExportInfo {
        minimum: Bytes(SECTOR),
        preferred: Bytes(unit.0.next_power_of_two().clamp(4096, 1 << 20)),
        read_only: engine.is_salvaging(),
        rotational: false,
        ..ExportInfo::new(
            Bytes(u64::from(resolved.config.exported) * unit.0).min(image.device().capacity),
        )
    }
}

//! The controller of a flash device, which carries out the actions of the translation layer: it
//! issues operations to the die groups and counts acknowledgements of requests.

use super::die_groups::{CommandKind, DieGroups, FlashCommand};
use gordon_blockio::{Cause, Request};
use gordon_ftl::{AckSource, Action, ActionSink, RequestId};
use gordon_nand::{FlashOp, Layout};
use gordon_units::Ns;

/// A request that is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenRequest {
    pub id: u64,
    pub request: Request,
    /// Outstanding acknowledgements.
    pub left: u32,
    pub cause: Cause,
    pub failed: bool,
}

/// Executes the actions of the translation layer.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub now: Ns,
    pub layout: Layout,
    pub slots: u32,
    pub die_groups: DieGroups,
    pub open_requests: Vec<OpenRequest>,
    /// Free entries of `open_requests`.
    pub free: Vec<u32>,
    /// Requests completed at this instant that are still in `open_requests`.
    pub completed: Vec<RequestId>,
    /// Whether acknowledgements of the current input waited for garbage collection.
    pub behind: bool,
    /// Operations issued to the die groups and not done; time since which there have been any; and
    /// total time with any before that.
    pub in_flight: u32,
    pub active_since: Ns,
    pub active: Ns,
    /// All operations issued, recorded for tests; `None` if not requested.
    pub issued: Option<Vec<FlashOp>>,
}

impl Controller {
    #[inline(always)]
    pub fn claim(&mut self, open: OpenRequest) -> RequestId {
        let at = match self.free.pop() {
            Some(at) => at,
            None => self.grow(),
        };
        self.open_requests[at as usize] = open;
        RequestId(at)
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let request = Request::FLUSH;
        self.open_requests.push(OpenRequest {
            id: 0,
            request,
            left: 0,
            cause: Cause::Buffer,
            failed: false,
        });
        u32::try_from(self.open_requests.len() - 1).expect("fewer than 2^32 requests in flight")
    }

    #[inline(always)]
    fn acknowledge(&mut self, request: RequestId, cause: Cause, failed: bool) {
        let open = &mut self.open_requests[request.0 as usize];
        open.left -= 1;
        open.cause = open.cause.max(cause);
        open.failed |= failed;
        if open.left == 0 {
            self.completed.push(request);
        }
    }

    #[inline(always)]
    fn issue(&mut self, op: FlashOp, background: bool) {
        if self.in_flight == 0 {
            self.active_since = self.now;
        }
        self.in_flight += 1;
        if cfg!(debug_assertions)
            && let Some(issued) = &mut self.issued
        {
            issued.push(op);
        }
        let layout = &self.layout;
        let command = match op {
            FlashOp::Read { ppn, slots, buf } => {
                let (block, page) = layout.place_of(ppn);
                FlashCommand {
                    block,
                    page,
                    transfer_slots: slots,
                    tag: buf.0,
                    kind: CommandKind::Read,
                    background,
                }
            }
            FlashOp::Program { ppn, buf } => {
                let (block, page) = layout.place_of(ppn);
                let share = self.slots;
                FlashCommand {
                    block,
                    page,
                    transfer_slots: share,
                    tag: buf.0,
                    kind: CommandKind::Program,
                    background,
                }
            }
            FlashOp::Erase { block } => FlashCommand {
                block,
                page: 0,
                transfer_slots: 0,
                tag: 0,
                kind: CommandKind::Erase,
                background,
            },
        };
        self.die_groups.issue(self.now, command);
    }

    /// Total time with at least one operation in flight.
    pub fn active(&self, now: Ns) -> Ns {
        match self.in_flight {
            0 => self.active,
            _ => self.active + (now - self.active_since),
        }
    }

    /// Whether there are no requests and no operations in flight.
    pub fn is_idle(&self) -> bool {
        self.in_flight == 0 && self.open_requests.len() == self.free.len()
    }
}

impl ActionSink for Controller {
    #[inline(always)]
    fn push(&mut self, action: Action) {
        match action {
            Action::Flash(op) => self.issue(op, false),
            Action::Copy(op) => self.issue(op, true),
            Action::Ack(request, how) => {
                let cause = match how {
                    AckSource::Buffer => Cause::Buffer,
                    AckSource::Stalled => Cause::Collection,
                    AckSource::Flash | AckSource::Merge if self.behind => Cause::Collection,
                    AckSource::Flash => Cause::Medium,
                    AckSource::Merge => Cause::Merge,
                };
                self.acknowledge(request, cause, false);
            }
            Action::Refuse(request) => self.acknowledge(request, Cause::Buffer, true),
            // The simulated device holds no data.
            Action::Zero(_)
            | Action::Fill(..)
            | Action::Summarize(..)
            | Action::Record(_)
            | Action::Give(..)
            | Action::GiveZeros(_)
            | Action::Wait => {}
        }
    }

    #[inline]
    fn prefetch<T>(&self, entry: &[T]) {
        gordon_sys::memory::prefetch(entry);
    }
}

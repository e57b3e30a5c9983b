//! Opening an engine: on an image that is mounted, with or without loss, or on a damaged one to
//! read what can be proved.
//!
//! [`crate::mount`] and [`crate::salvage`] build the layer; here the engine is put on top of it,
//! and lets it repair the effects of a power cut.

use super::erases::DeferredErases;
use super::request::{OpenRequests, Payload};
use super::transfer::TransferScratch;
use super::{Engine, message};
use crate::buffers::Buffers;
use crate::checksums::Checksums;
use crate::error::{ImageError, IoError};
use crate::image::Image;
use crate::image_scan::ImageScan;
use crate::mount::{LossPolicy, MountReport, MountedLayer, mount, records};
use crate::salvage::{Salvaged, salvage};
use crate::telemetry::{Counters, DieGroupCounters};
use gordon_ftl::Ftl;
use gordon_nand::{BlockProgress, ProgramOrderChecker};
use gordon_units::BlockId;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl<P: Payload> Engine<P> {
    /// Mounts an image: scans it, proves its contents, and repairs the effects of a power cut.
    /// Refuses an image with damage that redundant metadata cannot repair
    /// ([`ImageError::Unproven`]).
    pub fn open(image: Image) -> Result<Self, ImageError> {
        Self::open_guarded(image, LossPolicy::Refused)
    }

    /// Mounts a damaged image with the newest version of each unit that is found. The blocks in
    /// `damaged` are emptied.
    pub(crate) fn open_with_loss(
        image: Image,
        damaged: &BTreeSet<BlockId>,
    ) -> Result<Self, ImageError> {
        Self::open_guarded(image, LossPolicy::Accepted(damaged))
    }

    /// Mounts an image; an assertion that fails meanwhile becomes an error of that image.
    fn open_guarded(image: Image, loss: LossPolicy<'_>) -> Result<Self, ImageError> {
        let path = image.path.clone();
        let opened = catch_unwind(AssertUnwindSafe(|| Self::open_mounted(image, loss)));
        opened.unwrap_or_else(|panic| Err(ImageError::Internal { path, why: message(&*panic) }))
    }

    /// Mounts the layer and repairs the effects of a power cut.
    fn open_mounted(mut image: Image, loss: LossPolicy<'_>) -> Result<Self, ImageError> {
        let MountedLayer { ftl, scan, redundant } = mount(&image, loss)?;
        ftl.check_at_rest().unwrap_or_else(|why| panic!("{why}"));
        let report = MountReport { torn: scan.torn.len() as u64, redundant };
        let path = image.path.clone();
        let fail = |error| ImageError::io(&path, error);
        image.sync_tracker.set_syncs(scan.syncs + 2);
        for (block, record) in (0..).map(BlockId).zip(records(&image, &scan)) {
            image.sync_tracker.set_record(block, record);
        }
        image.begin().map_err(fail)?;
        let mut engine = Self::with(image, ftl, &scan, report);
        if loss != LossPolicy::Refused {
            engine.zeroed = Some(BTreeSet::new());
        }
        engine.recover().map_err(fail)?;
        // Data served from here on will be found again, whatever happens before the first flush.
        engine.syncer().0.sync().map_err(fail)?;
        Ok(engine)
    }

    /// Opens an image, however damaged, to read the data that can be proved to be current. All
    /// other data are [unreadable](IoError::Unreadable), and nothing is written.
    pub fn salvage(image: Image) -> Result<Self, ImageError> {
        let Salvaged { ftl, scan, unproven } = salvage(&image)?;
        let mut engine = Self::with(image, ftl, &scan, MountReport::default());
        engine.unproven = Some(unproven);
        Ok(engine)
    }

    /// An engine from a mounted layer, the scan of its blocks, and the report of the mount.
    fn with(image: Image, ftl: Ftl, scan: &ImageScan, mounted: MountReport) -> Self {
        let (layout, slots) = (image.resolved().layout, image.resolved().config.slots);
        let unit = usize::try_from(image.offsets.unit).expect("a unit fits in memory");
        let alignment = image.sync_tracker.media().alignment();
        let mut program_order = ProgramOrderChecker::new(layout);
        for (at, (&next, &erases)) in (0..).zip(scan.next.iter().zip(&scan.erases)) {
            program_order.set(BlockId(at), BlockProgress { next, erases, bad: false });
        }
        for block in image.bad() {
            program_order.mark_bad(block).expect("the table has a record for each block");
        }
        Self {
            fault_injector: image.fault_injector(),
            checksums: Checksums::new(&layout, slots),
            buffers: Buffers::new(unit, alignment),
            requests: OpenRequests::new(),
            transferred_ops: VecDeque::new(),
            reads: Vec::new(),
            unreadable: Vec::new(),
            finished: Vec::new(),
            retry_queue: VecDeque::new(),
            failure: None,
            marked_untrusted: false,
            erases: DeferredErases::new(layout.blocks()),
            metadata_pages: Vec::new(),
            scratch: TransferScratch::default(),
            counters: Counters {
                die_groups: vec![DieGroupCounters::default(); layout.die_groups() as usize],
                ..Counters::default()
            },
            op_digest: 0,
            mounted,
            stopped: None,
            zeroed: None,
            unproven: None,
            image,
            ftl,
            program_order,
        }
    }

    /// Completes the recovery from a power cut.
    fn recover(&mut self) -> io::Result<()> {
        while self.ftl.is_recovering() && !self.ftl.is_worn_out() {
            let busy = self.idle();
            self.run();
            if let Some(why) = &self.stopped {
                return Err(io::Error::other(format!("internal error: {why}")));
            }
            match self.failure {
                Some(IoError::NoSpace) => return Err(io::ErrorKind::StorageFull.into()),
                Some(_) => return Err(io::Error::other("the file under the image failed")),
                None if !busy && self.ftl.is_recovering() && !self.ftl.is_worn_out() => {
                    return Err(io::Error::other("no good block is left to recover with"));
                }
                None => {}
            }
        }
        self.image.mark_recovered()
    }
}

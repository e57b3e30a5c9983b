//! A full flash array with its translation layer, and writes of single pages to it, without a
//! clock.

use crate::ReplayError;
use crate::results::ratio;
use gordon_ftl::{
    Action, Config, Extent, Ftl, HostRequest, Input, RequestId, Victim, VictimChooser,
};
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_units::{Lpn, Progress};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Pages programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaPages {
    /// Pages programmed with host data.
    pub host_program: u64,
    /// Pages programmed with copies made by garbage collection.
    pub gc_program: u64,
}

gordon_units::fieldwise!(WaPages { host_program, gc_program });

impl WaPages {
    /// Pages programmed per page of host data.
    pub fn amplification(self) -> f64 {
        ratio(self.host_program + self.gc_program, self.host_program)
    }
}

/// Configuration of an array.
#[derive(Clone, Debug)]
pub struct ArrayConfig {
    /// Number of logical pages.
    pub logical: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Number of closed blocks; one more is open and one is free.
    pub blocks: u32,
    /// Whether copies of garbage collection have a write point of their own; one more block is then
    /// open.
    pub separate: bool,
    /// Policy that selects the victim of garbage collection.
    pub victim: Victim,
    /// Random seed of the victim policy.
    pub seed: u64,
}

/// An array whose pages have all been written once, in order.
pub struct FullArray {
    ftl: Ftl,
}

impl FullArray {
    /// Builds and fills the array.
    ///
    /// # Errors
    /// Returns an error if the blocks do not hold the pages.
    pub fn new(config: &ArrayConfig) -> Result<Self, ReplayError> {
        let geometry = Geometry {
            buses: 1,
            packages_per_bus: 1,
            dies_per_package: 1,
            planes_per_die: 1,
            // One block is open, one is free.
            blocks_per_plane: config.blocks + 2 + u32::from(config.separate),
            pages_per_block: config.pages_per_block,
            page_bytes: 512,
            oob_bytes: 16,
        };
        let layout = Layout::new(geometry, SuperPageShape { buses: 1, dies_per_bus: 1, planes: 1 })
            .map_err(|e| ReplayError::impossible("blocks", e, "fewer blocks or pages"))?;
        let knobs = Config {
            write_points: 1,
            reserve: 1,
            low_water: 1,
            copy_points: u32::from(config.separate),
            summary_pages: 0,
            victim: config.victim,
            seed: config.seed,
            ..Config::new(&layout, config.logical, 1)
        };
        let mut ftl = Ftl::new(layout, knobs)?;
        let all = (0..config.logical).map(Lpn);
        let loaded = ftl.preload(all, &mut |_, _, _| (), &Progress::default());
        loaded.expect("an empty array has room for what it may export");
        Ok(Self { ftl })
    }

    /// Lets `chooser` choose the victims of garbage collection from now on.
    pub fn choose_victims_by(&mut self, chooser: Arc<dyn VictimChooser>) {
        self.ftl.choose_victims_by(chooser);
    }

    /// The translation layer.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// Pages programmed so far.
    pub fn pages(&self) -> WaPages {
        let stats = self.ftl.stats();
        WaPages { host_program: stats.host_programs, gc_program: stats.gc_programs }
    }

    /// Writes a page. All resulting operations are done when it returns.
    pub fn write(&mut self, page: u64) {
        let extent = Extent { request: RequestId(0), first: page, sectors: 1 };
        self.ftl.handle(Input::Host(HostRequest::Write(extent)));
        loop {
            match self.ftl.poll() {
                Action::Flash(op) | Action::Copy(op) => self.ftl.handle(Input::Done(op)),
                Action::Wait => return,
                _ => {}
            }
        }
    }
}

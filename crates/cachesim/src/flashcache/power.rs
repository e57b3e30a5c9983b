//! Power, die area and cost of the memories: Table 1 of the paper, and the parts of its Figure 6.

use super::chip::ChipCounters;
use super::config::Design;
use gordon_units::{Bytes, Joules, Ns, Watts};
use schemars::JsonSchema;
use serde::Serialize;

/// Converts bytes to units of 2^30 bits.
pub(super) fn gbits(bytes: Bytes) -> f64 {
    bytes.0 as f64 * 8.0 / f64::from(1 << 30)
}

/// Mean power of the memories by activity, in watts: Figure 6.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Power {
    /// Energy of DRAM reads over the simulated time.
    pub dram_read_w: f64,
    /// Energy of DRAM writes over the simulated time.
    pub dram_write_w: f64,
    /// Idle DRAM: ready, or powered down.
    pub dram_idle_w: f64,
    /// Energy of flash reads over the simulated time.
    pub flash_read_w: f64,
    /// Energy of flash programs over the simulated time.
    pub flash_program_w: f64,
    /// Energy of flash erases over the simulated time.
    pub flash_erase_w: f64,
    /// Energy of the flash in its idle time over the simulated time.
    pub flash_idle_w: f64,
    /// Flash memory controller.
    pub controller_w: f64,
    /// Sum of all parts.
    pub total_w: f64,
    /// Energy of the run in joules.
    pub energy_j: f64,
    /// Energy per request in joules; `None` without requests.
    pub energy_per_request_j: Option<f64>,
}

/// Inputs of the power model: busy times and sizes of the memories.
#[derive(Clone, Copy, Debug)]
pub(super) struct PowerInput {
    pub dram: Bytes,
    pub flash: Bytes,
    pub reading: Ns,
    pub writing: Ns,
    pub chip: ChipCounters,
    pub time: Ns,
    pub requests: u64,
}

/// Power of a run; idle DRAM draws `idle` per Gbit.
pub(super) fn power(design: &Design, input: &PowerInput, idle: Watts) -> Power {
    let PowerInput { dram, flash, reading, writing, chip, time, requests } = *input;
    let all = time.as_secs();
    let rank = gbits(dram.min(*design.dram.rank));
    let read = Joules::of(*design.dram.read_per_gbit * rank, reading.as_secs());
    let write = Joules::of(*design.dram.write_per_gbit * rank, writing.as_secs());
    // The remaining time is idle time.
    let idle_s = (gbits(dram) * all - rank * (reading + writing).as_secs()).max(0.0);
    let dram_idle = Joules::of(idle, idle_s);
    let die = gbits(flash.min(*design.flash.chip));
    let active = |span: Ns| Joules::of(*design.flash.active_per_gbit * die, span.as_secs());
    let (reads, programs, erases) =
        (active(chip.reading), active(chip.programming), active(chip.erasing));
    let idle_s = (gbits(flash) * all - die * chip.busy().as_secs()).max(0.0);
    let flash_idle = Joules::of(*design.flash.idle_per_gbit, idle_s);
    let controller = if flash > Bytes::ZERO {
        let busy = chip.busy().as_secs();
        Joules::of(*design.controller.active, busy)
            + Joules::of(*design.controller.idle, (all - busy).max(0.0))
    } else {
        Joules::default()
    };
    let parts = [read, write, dram_idle, reads, programs, erases, flash_idle, controller];
    let total: Joules = parts.into_iter().sum();
    let mean = |energy: Joules| if all > 0.0 { energy.0 / all } else { 0.0 };
    Power {
        dram_read_w: mean(read),
        dram_write_w: mean(write),
        dram_idle_w: mean(dram_idle),
        flash_read_w: mean(reads),
        flash_program_w: mean(programs),
        flash_erase_w: mean(erases),
        flash_idle_w: mean(flash_idle),
        controller_w: mean(controller),
        total_w: mean(total),
        energy_j: total.0,
        energy_per_request_j: (requests > 0).then(|| total.0 / requests as f64),
    }
}

/// Die area of the memories.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DieArea {
    /// Area of the DRAM.
    pub dram_cm2: f64,
    /// Area of the flash.
    pub flash_cm2: f64,
    /// Sum of both.
    pub total_cm2: f64,
}

impl DieArea {
    /// Computes the area from the densities of the design.
    pub(super) fn new(design: &Design, dram: Bytes, flash: Bytes) -> Self {
        Self::scaled(design, dram, flash, 1.0, 1.0)
    }

    /// Computes the area with the cell sizes of DRAM and flash scaled by these factors.
    pub(super) fn scaled(
        design: &Design,
        dram: Bytes,
        flash: Bytes,
        dram_cell: f64,
        flash_cell: f64,
    ) -> Self {
        let dram_cm2 = gbits(dram) / *design.dram.gbit_per_cm2 * dram_cell;
        let flash_cm2 = gbits(flash) / *design.flash.gbit_per_cm2 * flash_cell;
        Self { dram_cm2, flash_cm2, total_cm2: dram_cm2 + flash_cm2 }
    }
}

/// Price of the memories.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// Price of the DRAM.
    pub dram_usd: f64,
    /// Price of the flash.
    pub flash_usd: f64,
    /// Total price.
    pub total_usd: f64,
}

impl Cost {
    pub(super) fn new(design: &Design, dram: Bytes, flash: Bytes) -> Self {
        let dram_usd = gbits(dram) * *design.dram.usd_per_gbit;
        let flash_usd = gbits(flash) * *design.flash.usd_per_gbit;
        Self { dram_usd, flash_usd, total_usd: dram_usd + flash_usd }
    }
}

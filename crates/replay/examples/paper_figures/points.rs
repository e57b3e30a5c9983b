//! Section 4.2.2: "increasing the number of write points per 133Mhz bus from 1 to 4 increases write
//! bandwidth by 2.8x".

use crate::bench::{GIB, KIB, Run, array, bench, run};
use gordon_ssd::ShapeConfig;
use gordon_units::Bytes;
use rayon::prelude::*;
use serde_json::{Value, json};

/// A super-page of one bus, striped over dies and planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub dies: u32,
    pub planes: u32,
    /// Whether a small span is overwritten at random; otherwise each place is written once.
    pub overwrites: bool,
}

pub const CASES: [(u32, u32); 8] = [(1, 1), (1, 2), (2, 1), (2, 2), (4, 1), (4, 2), (8, 1), (8, 2)];

/// Results with 1 to 4 write points.
pub struct Points(pub Vec<(Case, [Run; 4])>);

impl Case {
    pub fn pages(&self) -> u64 {
        u64::from(self.dies * self.planes)
    }

    pub fn run(&self, bytes: u64, write_points: u32) -> Run {
        let size = self.pages() * 2 * KIB;
        let mut config = array("gordon-slc-256g", size, true);
        config.geometry.buses = 1.into();
        config.super_page.shape =
            Some(ShapeConfig { buses: 1, dies_per_bus: self.dies, planes: self.planes });
        config.capacity = Bytes(config.capacity.0 / 4 / 512 * 512).into();
        let mut config = config.with_capacity(Bytes(8 * GIB)).expect("a valid array");
        config.ftl.write_points = Some(write_points.into());
        let (pattern, span) =
            if self.overwrites { ("random-write", GIB / 4) } else { ("sequential-write", 4 * GIB) };
        let load = json!({
            "pattern": pattern,
            "size": format!("{size}B"),
            "span": format!("{span}B"),
            "requests": (bytes / size).min(100_000),
        });
        let load = bench(&load).resolve(Bytes(span), crate::bench::SEED).expect("a right load");
        let mapped = if self.overwrites { span } else { 0 };
        run(&config, &[(0, mapped)], 64, load)
    }
}

impl Points {
    pub fn simulate() -> Self {
        let cases = CASES.iter().flat_map(|&(dies, planes)| {
            [false, true].map(|overwrites| Case { dies, planes, overwrites })
        });
        let cases: Vec<_> = cases.filter(|case| case.dies <= 4 || case.planes == 1).collect();
        Self(
            cases
                .into_par_iter()
                .map(|case| (case, [1, 2, 3, 4].map(|n| case.run(2 * GIB, n))))
                .collect(),
        )
    }

    pub fn json(&self) -> Value {
        let rows = self.0.iter().map(|(case, runs)| {
            json!({
                "dies": case.dies, "planes": case.planes, "overwrites": case.overwrites,
                "bandwidth_mb_s": runs.map(|run| run.mb_s()), "bus_busy": runs.map(|run| run.bus),
            })
        });
        rows.collect()
    }
}

//! Figure 4: bandwidth by size of super-pages and of transfers, with and without bypassing and
//! combining.

use crate::bench::{GIB, KIB, Run, array, bench, run};
use crate::table::Table;
use gordon_ssd::SsdConfig;
use gordon_units::Bytes;
use rayon::prelude::*;
use serde_json::{Value, json};

pub const SUPER_PAGES: [u64; 8] = [2, 4, 8, 16, 32, 64, 128, 256];
pub const TRANSFERS: [u64; 6] = [2, 8, 32, 64, 128, 256];
/// The span that is accessed, in bytes.
pub const SPAN: u64 = 2 * GIB;
/// Bytes outstanding, in 32 to 512 requests, so that every die is busy, as in a replay without
/// times.
const OUTSTANDING: u64 = 4096 * KIB;
const REQUESTS: u64 = 200_000;
/// A run ends early once this many bytes are programmed.
pub const BYTES: u64 = 4 * GIB;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    pub write: bool,
    pub sequential: bool,
    pub bypass: bool,
    pub transfer: u64,
    pub super_page: u64,
    /// Whether the span holds data.
    pub mapped: bool,
}

/// Base of other cases, which set at least the sizes.
pub const RANDOM_WRITE: Case = Case {
    write: true,
    sequential: false,
    bypass: false,
    transfer: 0,
    super_page: 0,
    mapped: true,
};

impl Case {
    fn pattern(&self) -> &'static str {
        match (self.sequential, self.write) {
            (true, true) => "sequential-write",
            (true, false) => "sequential-read",
            (false, true) => "random-write",
            (false, false) => "random-read",
        }
    }

    pub fn run(&self, bytes: u64, change: impl Fn(&mut SsdConfig)) -> Run {
        let mut config = array("gordon-slc-256g", self.super_page * KIB, self.bypass)
            .with_capacity(Bytes(8 * GIB))
            .expect("a valid array");
        change(&mut config);
        let largest = self.transfer.max(self.super_page) * KIB;
        let load = json!({
            "pattern": self.pattern(),
            "size": format!("{}KiB", self.transfer),
            "span": format!("{SPAN}B"),
            "requests": REQUESTS.min(bytes / largest),
        });
        let load = bench(&load).resolve(Bytes(SPAN), crate::bench::SEED).expect("a right load");
        let depth = (OUTSTANDING / KIB / self.transfer).clamp(32, 512);
        let depth = u32::try_from(depth).expect("at most 512");
        run(&config, &[(0, if self.mapped { SPAN } else { 0 })], depth, load)
    }
}

/// All results of the figure.
pub struct Figure4(Vec<(Case, Run)>);

impl Figure4 {
    pub fn simulate() -> Self {
        let mut cases = vec![];
        for write in [true, false] {
            for sequential in [true, false] {
                for bypass in [false, true] {
                    for transfer in TRANSFERS {
                        cases.extend(SUPER_PAGES.map(|super_page| Case {
                            write,
                            sequential,
                            bypass,
                            transfer,
                            super_page,
                            mapped: true,
                        }));
                    }
                }
            }
        }
        let new = |case: &Case| case.write && case.sequential && case.bypass;
        let new: Vec<_> = cases.iter().copied().filter(new).collect();
        cases.extend(new.into_iter().map(|case| Case { mapped: false, ..case }));
        Self(cases.into_par_iter().map(|case| (case, case.run(BYTES, |_| ()))).collect())
    }

    pub fn get(&self, wanted: Case) -> Run {
        self.0.iter().find(|(case, _)| *case == wanted).expect("a case of the figure").1
    }

    pub fn json(&self) -> Value {
        let rows = self.0.iter().map(|(case, run)| {
            json!({
                "pattern": case.pattern(), "bypass_and_combine": case.bypass, "mapped": case.mapped,
                "transfer_bytes": case.transfer * KIB, "super_page_bytes": case.super_page * KIB,
                "bandwidth_mb_s": run.mb_s(), "bus_busy": run.bus, "requests": run.requests,
                "operations": {"read": run.reads, "program": run.programs},
            })
        });
        rows.collect()
    }

    pub fn table(&self, write: bool, sequential: bool, bypass: bool, mapped: bool) -> Table {
        let mut head = vec!["transfer".to_owned()];
        head.extend(SUPER_PAGES.map(|size| format!("{size} KiB")));
        let mut table = Table::new(head);
        for transfer in TRANSFERS {
            let mut row = vec![format!("{transfer} KiB")];
            row.extend(SUPER_PAGES.map(|super_page| {
                let case = Case { write, sequential, bypass, transfer, super_page, mapped };
                format!("{:.0}", self.get(case).mb_s())
            }));
            table.row(row);
        }
        table
    }
}

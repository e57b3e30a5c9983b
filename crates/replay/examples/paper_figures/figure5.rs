//! Figure 5: super-pages of 64 KiB compared with 8 KiB, with and without bypassing and combining;
//! and the other buses and chips of section 4.2.2 on the same loads.

use crate::bench::{GIB, Requests, Run, array, run, traces};
use gordon_units::Hertz;
use serde_json::{Value, json};

/// Accesses of the paper's pattern: 2 for each 128 KiB.
const ACCESSES: u64 = 40_000;
pub const SIZES: [u64; 3] = [8, 16, 64];

pub struct Load {
    pub name: String,
    pub depth: u32,
    requests: Requests,
    touched: Vec<(u64, u64)>,
    /// Fraction of the bytes that are read.
    pub reads: f64,
    /// Mean size of a request in bytes.
    pub mean: f64,
}

impl Load {
    fn new(name: String, depth: u32, requests: Requests) -> Self {
        use gordon_blockio::IoOp::{Read, Write};
        let sum = |ops: &[_]| -> u64 {
            requests.all.iter().filter(|r| ops.contains(&r.op)).map(|r| r.len).sum()
        };
        let (read, all) = (sum(&[Read]), sum(&[Read, Write]));
        let count = requests.all.iter().filter(|r| matches!(r.op, Read | Write)).count();
        let touched = requests.touched();
        let (reads, mean) = (read as f64 / all as f64, all as f64 / count as f64);
        Self { name, depth, touched, reads, mean, requests }
    }
}

impl Load {
    /// Whether most bytes belong to accesses of at least 120 KiB, as in the paper's loads.
    pub fn is_like_the_papers(&self) -> bool {
        self.name.starts_with("pairs") || self.name.starts_with("demo")
    }
}

/// Results of one load.
pub struct Row {
    pub load: Load,
    /// By size of super-pages, with bypassing off and on.
    pub sizes: Vec<[Run; 2]>,
    /// 8 KiB with as many write points as 64 KiB has, with bypassing off and on.
    pub few: [Run; 2],
    /// 64 KiB with bypassing: at 40 MHz, at 400 MHz, and with MLC.
    pub slow: Run,
    pub fast: Run,
    pub mlc: Run,
}

impl Row {
    /// Speed-up of 64 KiB over 8 KiB, with a write point per die group.
    pub fn gain(&self, bypass: bool) -> f64 {
        self.large(bypass).mb_s() / self.sizes[0][usize::from(bypass)].mb_s()
    }

    /// Speed-up of 64 KiB over 8 KiB, with four write points each.
    pub fn gain_of_few(&self, bypass: bool) -> f64 {
        self.large(bypass).mb_s() / self.few[usize::from(bypass)].mb_s()
    }

    fn large(&self, bypass: bool) -> Run {
        self.sizes[SIZES.len() - 1][usize::from(bypass)]
    }

    /// 64 KiB with bypassing.
    pub fn base(&self) -> Run {
        self.large(true)
    }
}

fn pairs(way: &str, order: &str) -> Requests {
    Requests::of(&json!({
        "pattern": "gordon-pair", "way": way, "order": order, "requests": ACCESSES, "span": "16GiB",
    }))
}

/// Results of all loads, and the names of missing traces.
pub fn simulate() -> (Vec<Row>, Vec<String>) {
    let mut loads = vec![];
    for order in ["random", "sequential"] {
        for way in ["read", "write", "mixed"] {
            let requests = || match way {
                "mixed" => {
                    let mut writes = pairs("write", order);
                    // The other half of the array.
                    writes.all.iter_mut().for_each(|request| request.offset += 16 * GIB);
                    pairs("read", order).mixed(writes, 2)
                }
                way => pairs(way, order),
            };
            for depth in [2, 32] {
                loads.push(Load::new(format!("pairs, {order}, {way}"), depth, requests()));
            }
        }
    }
    let mut new = Load::new("pairs, random, write, new".into(), 32, pairs("write", "random"));
    new.touched.clear();
    loads.push(new);
    for way in ["read", "write"] {
        let requests = Requests::of(&json!({
            "pattern": format!("sequential-{way}"), "size": "64KiB", "requests": ACCESSES,
        }));
        loads.push(Load::new(format!("64 KiB, sequential, {way}"), 32, requests));
    }
    let (traces, missing) = traces();
    for (name, requests) in traces {
        for depth in [2, 32] {
            loads.push(Load::new(name.clone(), depth, requests.clone()));
        }
    }
    let simulate = |load: Load| {
        let go = |config| run(&config, &load.touched, load.depth, load.requests.clone());
        let at = |size, bypass| array("gordon-slc-256g", size << 10, bypass);
        let bus = |mhz: f64| {
            let mut config = at(64, true);
            config.timing.bus_rate = Hertz(mhz * 1e6).into();
            config
        };
        let sizes = SIZES.map(|size| [false, true].map(|bypass| go(at(size, bypass))));
        let mlc = array("gordon-mlc-512g", 64 << 10, true);
        let (slow, fast, mlc) = (go(bus(40.0)), go(bus(400.0)), go(mlc));
        let few = [false, true].map(|bypass| {
            let mut config = at(8, bypass);
            config.ftl.write_points = Some(4.into());
            go(config)
        });
        Row { sizes: sizes.into(), few, slow, fast, mlc, load }
    };
    // Loads run sequentially, since an array of 8 KiB super-pages has a map of 31 million entries.
    (loads.into_iter().map(simulate).collect(), missing)
}

pub fn json(rows: &[Row]) -> Value {
    let rows = rows.iter().map(|row| {
        let sizes = SIZES.iter().zip(&row.sizes).map(|(size, [off, on])| {
            json!({"super_page_bytes": size << 10, "plain_mb_s": off.mb_s(), "bypass_mb_s": on.mb_s()})
        });
        json!({
            "load": row.load.name, "queue_depth": row.load.depth, "read_share": row.load.reads,
            "mean_request_bytes": row.load.mean, "sizes": sizes.collect::<Value>(),
            "four_write_points_8kib_plain_mb_s": row.few[0].mb_s(),
            "four_write_points_8kib_bypass_mb_s": row.few[1].mb_s(),
            "bus_40mhz_mb_s": row.slow.mb_s(), "bus_400mhz_mb_s": row.fast.mb_s(),
            "mlc_mb_s": row.mlc.mb_s(), "bus_busy": row.base().bus,
        })
    });
    rows.collect()
}

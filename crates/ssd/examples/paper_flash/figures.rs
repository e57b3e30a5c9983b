//! The Gordon paper's figures of chips and arrays, simulated.
//!
//! The rates of one die are simulated on die groups alone, those of the array on the presets with
//! the translation layer. Sections and tables are those of Gordon, ASPLOS 2009.

use gordon_blockio::{Device, IoOp, Request};
use gordon_nand::{Geometry, Layout, Modes, SuperPageShape, Timing};
use gordon_ssd::{CommandKind, DieGroups, FlashCommand, Ssd, SsdConfig};
use gordon_units::{BlockId, Bytes, Hertz, Ns};

/// A figure of the paper and the simulated one.
pub struct Figure {
    /// What is measured.
    pub what: String,
    /// Unit of both figures.
    pub unit: &'static str,
    /// Figure in the paper.
    pub paper: f64,
    /// Simulated figure.
    pub ours: f64,
    /// Source of the paper's figure, or reason for a difference.
    pub why: &'static str,
}

const MIB: f64 = (1 << 20) as f64;

/// A single die on its bus.
pub struct Die {
    /// Number of planes, all in one super-page.
    pub planes: u32,
    /// Size of a page in bytes; all bytes count as data.
    pub page: u32,
    /// Pages of a block.
    pub pages: u32,
    /// Data lines of the bus.
    pub bits: u32,
    /// Bus clock in hertz, with one transfer per clock.
    pub clock: f64,
    /// Bus clocks of commands and addresses, for all planes together.
    pub command: f64,
    /// t_PROG.
    pub program: Ns,
    /// t_BERS.
    pub erase: Ns,
    /// Whether the die has a cache register.
    pub cache: bool,
}

impl Die {
    /// Bytes per second of one kind of command, with three outstanding.
    pub fn rate(&self, kind: CommandKind) -> f64 {
        // All bytes count; those beyond a multiple of 512 are declared as out-of-band bytes.
        let data = self.page / 512 * 512;
        let geometry = Geometry {
            buses: 1,
            packages_per_bus: 1,
            dies_per_package: 1,
            planes_per_die: self.planes,
            blocks_per_plane: 4,
            pages_per_block: self.pages,
            page_bytes: data,
            oob_bytes: self.page - data,
        };
        let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes: self.planes };
        let layout = Layout::new(geometry, shape).expect("one die is an array");
        let timing = Timing {
            read: Ns(25_000).into(),
            program: self.program.into(),
            erase: self.erase,
            bus_bits: self.bits,
            bus_rate: Hertz(self.clock),
            command: Ns((self.command / f64::from(self.planes) / self.clock * 1e9) as u64),
            modes: Modes { cache_read: self.cache, cache_program: self.cache, ..Modes::default() },
        };
        let mut die_groups = DieGroups::new(layout, &timing, 1);
        let command = FlashCommand {
            block: BlockId(0),
            page: 0,
            transfer_slots: 1,
            tag: 0,
            kind,
            background: false,
        };
        (0..3).for_each(|_| die_groups.issue(Ns::ZERO, command));
        let (mut times, commands) = (vec![], 1_000);
        while times.len() < commands {
            if let (now, Some(_)) = die_groups.step() {
                times.push(now);
                die_groups.issue(now, command);
            }
        }
        let pages = if kind == CommandKind::Erase { self.pages } else { 1 };
        let bytes = f64::from(self.planes * self.page * pages);
        // Measured between two completed commands, when the pipeline is full.
        bytes * (commands - 11) as f64 / (times[commands - 1] - times[10]).as_secs()
    }
}

/// Table 1, peak bandwidth: read and program at 40, 133 and 400 MHz.
pub fn table_1() -> Vec<Figure> {
    // "133Mhz (66Mhz DDR)", "400Mhz (200Mhz DDR)": the printed rates follow from the clock in
    // brackets with one transfer per clock, as on the 40 MHz bus.
    let buses = [("40 MHz", 40e6, 75.8), ("133 MHz", 2e8 / 3.0, 126.4), ("400 MHz", 200e6, 161.1)];
    let mut all = vec![];
    for (name, clock, read) in buses {
        let slc = Die {
            planes: 2,
            page: 2112,
            pages: 64,
            bits: 16,
            clock,
            command: 13.0,
            program: Ns(200_000),
            erase: Ns(2_000_000),
            cache: true,
        };
        let mlc = Die { program: Ns(800_000), pages: 128, ..slc };
        let mut figure = |what, paper, rate: f64, why| {
            let what = format!("Table 1, {name}, {what}");
            all.push(Figure { what, unit: "MiB/s", paper, ours: rate / MIB, why });
        };
        figure(
            "read",
            read,
            slc.rate(CommandKind::Read),
            "two planes of 2112 bytes, all counted; sensing hidden behind the bus or the bus \
             behind sensing; 2112 clocks of data and 13 of commands, at 66.7 MHz for \"133\"; MB \
             are MiB",
        );
        figure(
            "program SLC",
            20.1,
            slc.rate(CommandKind::Program),
            "two planes of 2112 bytes in 200 us, the bus hidden; MiB",
        );
        figure(
            "program MLC",
            5.0,
            mlc.rate(CommandKind::Program),
            "two planes of 2112 bytes in 800 us, the bus hidden; MiB",
        );
    }
    all
}

/// Section 4.1: a single 8-bit chip at 40 MB/s with a single plane.
pub fn one_chip() -> Vec<Figure> {
    let chip = Die {
        planes: 1,
        page: 4096,
        pages: 64,
        bits: 8,
        clock: 40e6,
        command: 0.0,
        program: Ns(200_000),
        erase: Ns(1_500_000),
        cache: false,
    };
    let table_1 = Die { page: 2048, erase: Ns(2_000_000), ..chip };
    let figure = |what: &str, paper, rate: f64, why| Figure {
        what: format!("s4.1, one 40 MB/s chip, {what}"),
        unit: "MiB/s",
        paper,
        ours: rate / MIB,
        why,
    };
    let other = "with the pages of 2048 bytes of Table 1 the printed rate does not follow";
    vec![
        figure("read", 30.7, chip.rate(CommandKind::Read), "4 KiB in 25 + 102.4 us; MiB"),
        figure("write", 12.9, chip.rate(CommandKind::Program), "4 KiB in 102.4 + 200 us; MiB"),
        figure("erase", 166.0, chip.rate(CommandKind::Erase), "64 pages of 4 KiB in 1.5 ms; MiB"),
        figure("read, 2 KiB pages", 30.7, table_1.rate(CommandKind::Read), other),
        figure("write, 2 KiB pages", 12.9, table_1.rate(CommandKind::Program), other),
        figure("erase, 2 KiB pages, 2 ms", 166.0, table_1.rate(CommandKind::Erase), other),
    ]
}

/// A preset of the catalogue.
pub fn preset(name: &str) -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let text = std::fs::read_to_string(format!("{root}{name}.toml")).expect("the preset is there");
    toml::from_str(&text).expect("the preset is valid")
}

/// Bytes per second of `requests` sequential super-pages of 64 KiB, with 32 outstanding.
pub fn array_rate(config: &SsdConfig, op: IoOp, requests: u64) -> f64 {
    let mut ssd = Ssd::new(config).expect("possible");
    let page = 64 << 10;
    if op == IoOp::Read {
        ssd.preload(Bytes(0), Bytes(requests * page));
    }
    let request = |n: u64| Request::new(op, Bytes(n % requests * page), Bytes(page));
    let (mut sent, mut done, mut times) = (32, vec![], vec![]);
    (0..sent).for_each(|n| ssd.submit(Ns::ZERO, n, request(n)));
    while (times.len() as u64) < requests {
        ssd.step(&mut done);
        for completion in done.drain(..) {
            times.push(completion.at);
            ssd.submit(completion.at, sent, request(sent));
            sent += 1;
        }
    }
    let end = times[requests as usize - 1];
    // The first 100 requests, while the die groups fill, do not count.
    ((requests - 101) * page) as f64 / (end - times[100]).as_secs()
}

/// Section 4.2.2: the array of 64 KiB super-pages.
pub fn array(requests: u64) -> Vec<Figure> {
    let slc = preset("gordon-slc-256g");
    let mlc = preset("gordon-mlc-512g");
    let at = |mhz: f64| {
        let mut config = slc.clone();
        config.timing.bus_rate = Hertz(mhz * 1e6).into();
        [IoOp::Read, IoOp::Write].map(|op| array_rate(&config, op, requests) / 1e6)
    };
    let (slow, base, fast) = (at(40.0), at(133.0), at(400.0));
    let multi = [IoOp::Read, IoOp::Write].map(|op| array_rate(&mlc, op, requests) / 1e6);
    let figure = |what: &str, unit, paper, ours, why| Figure {
        what: format!("s4.2.2, array, {what}"),
        unit,
        paper,
        ours,
        why,
    };
    let change = |to: f64, from: f64| (to / from - 1.0) * 100.0;
    let near = "the 4 buses' 1,064 MB/s less out-of-band bytes and 1.1 us of commands a page; \
                the commands are fitted to the 2.2 GB/s below";
    let bus = "does not follow: 4 buses of 16 bits at 40 MHz carry at most 320 MB/s, 36 % of 900, \
               and 315 without out-of-band bytes";
    vec![
        figure("133 MHz, read", "MB/s", 900.0, base[0], near),
        figure("133 MHz, write", "MB/s", 900.0, base[1], near),
        figure("400 MHz, read", "MB/s", 2200.0, fast[0], "the time of a command is fitted to this"),
        figure(
            "400 MHz, write",
            "MB/s",
            1100.0,
            fast[1],
            "4 die groups x 64 KiB in 200 us of programming, 21.1 of data and 8.8 of commands",
        ),
        figure("40 MHz, read", "% against 133 MHz", -60.0, change(slow[0], base[0]), bus),
        figure("40 MHz, write", "% against 133 MHz", -60.0, change(slow[1], base[1]), bus),
        figure(
            "MLC, read",
            "% against SLC",
            -2.0,
            change(multi[0], base[0]),
            "the paper's is of an application that also writes; ours, 32 out-of-band bytes more",
        ),
        figure(
            "MLC, write",
            "% against SLC",
            -70.0,
            change(multi[1], base[1]),
            "4 die groups x 64 KiB in 800 us and the bus are 300 MB/s; the paper's is of an \
             application",
        ),
    ]
}

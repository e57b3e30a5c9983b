//! A small store in memory, its driver, and the model with which it is compared.
//!
//! Each sector is filled with the number of the change that wrote it; the model determines which
//! numbers it may show.
#![allow(dead_code)]

pub mod nand_faults;

use gordon_ftl::{Config, Ftl};
use gordon_nand::{Geometry, Layout, SuperPageShape};
use gordon_store::{
    Command, Completion, DeviceParams, Engine, Image, ImageOffsets, IoError, Media, Payload,
    TransferredOp,
};
pub use gordon_testkit::image::forget_boot;
use gordon_testkit::{MemoryMedia, Model, Random};
use gordon_units::Bytes;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;

/// The name of images in memory.
pub const NAME: &str = "memory.img";

/// Shapes of test devices: bytes of a plane's page, planes of a super-page, sectors of a unit.
pub const SHAPES: [(u32, u32, u32); 4] = [(1024, 2, 1), (1024, 2, 2), (2048, 1, 4), (4096, 1, 2)];

/// A device of two buses with a die each, whose summaries take one page.
pub fn device(shape: (u32, u32, u32), blocks_per_plane: u32, fill: f64, seed: u64) -> DeviceParams {
    device_of(shape, 8, blocks_per_plane, fill, seed)
}

/// A device with super-pages of one sector, whose summaries take two or three pages.
pub fn device_with_long_summaries(blocks_per_plane: u32, fill: f64, seed: u64) -> DeviceParams {
    let (pages_per_block, summary_pages) = if seed.is_multiple_of(2) { (44, 2) } else { (88, 3) };
    let device = device_of((512, 1, 1), pages_per_block, blocks_per_plane, fill, seed);
    let resolved = device.resolve().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(resolved.config.summary_pages, summary_pages);
    device
}

fn device_of(
    shape: (u32, u32, u32),
    pages_per_block: u32,
    blocks_per_plane: u32,
    fill: f64,
    seed: u64,
) -> DeviceParams {
    let (page_bytes, planes, sectors) = shape;
    let geometry = Geometry {
        buses: 2,
        packages_per_bus: 1,
        dies_per_package: 1,
        planes_per_die: 2,
        blocks_per_plane,
        pages_per_block,
        page_bytes,
        oob_bytes: 64,
    };
    let shape = SuperPageShape { buses: 1, dies_per_bus: 1, planes };
    let layout = Layout::new(geometry, shape).expect("a small array");
    let slots = page_bytes * planes / (sectors * 512);
    let config = Config { slots, seed, durable: true, ..Config::new(&layout, 1, sectors) };
    let unit = u64::from(sectors) * 512;
    let smallest = DeviceParams::new("test", &layout, &config, Bytes(unit)).resolve();
    let resolved = smallest.unwrap_or_else(|e| panic!("{e}"));
    let roomy = Config { copy_points: 1, ..resolved.config };
    let most = roomy.most_exported(&layout);
    assert!(most > 0, "too small an array");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let exported = ((most as f64 * fill) as u64).max(1);
    DeviceParams::new("test", &layout, &config, Bytes(exported * unit))
}

/// A medium with an image of this device.
pub fn formatted(device: &DeviceParams) -> Arc<MemoryMedia> {
    let resolved = device.resolve().unwrap_or_else(|e| panic!("{e}"));
    let offsets = ImageOffsets::new(&resolved);
    let media = Arc::new(MemoryMedia::new(offsets.len));
    Image::format(Path::new(NAME), Box::new(media.clone()), device.clone())
        .unwrap_or_else(|e| panic!("{e}"));
    media
}

pub fn image(media: &Arc<MemoryMedia>) -> Image {
    Image::on(Path::new(NAME), Box::new(media.clone())).unwrap_or_else(|e| panic!("{e}"))
}

/// The buffer of a request, with the number of the request.
#[derive(Debug, Default)]
pub struct Tagged {
    pub tag: usize,
    pub data: Vec<u8>,
}

impl Payload for Tagged {
    fn bytes(&self) -> &[u8] {
        &self.data
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }
}

/// A request in flight.
struct InFlight {
    /// A change: its number and the sectors that it covers.
    change: u32,
    first: u64,
    sectors: u64,
    /// The lowest change that each sector may show: for a read the sectors read, for a flush all.
    floors: Vec<u32>,
}

/// A store, the model of its contents, and the requests in flight.
pub struct Bench {
    pub engine: Engine<Tagged>,
    pub media: Arc<MemoryMedia>,
    pub model: Model,
    pub random: Random,
    flying: Vec<TransferredOp>,
    requests: Vec<Option<InFlight>>,
    /// Failed requests with the error.
    pub failed: Vec<(Command, IoError)>,
    /// No request may fail.
    pub strict: bool,
    /// Few requests require durability.
    pub calm: bool,
}

impl Bench {
    pub fn new(device: &DeviceParams, seed: u64) -> Self {
        let media = formatted(device);
        media.read_in_parallel(seed % 2 == 1);
        Self::on(media, seed)
    }

    /// A store at rest with contents in every part of the image.
    pub fn full(device: &DeviceParams, seed: u64) -> Self {
        let mut bench = Self::new(device, seed);
        bench.work(500);
        bench.settle();
        bench.flush();
        bench.settle();
        bench
    }

    /// Random requests, each followed by the completion of an operation.
    pub fn work(&mut self, requests: usize) {
        for _ in 0..requests {
            self.ask();
            self.step();
        }
    }

    pub fn on(media: Arc<MemoryMedia>, seed: u64) -> Self {
        let engine = Engine::open(image(&media)).unwrap_or_else(|e| panic!("{e}"));
        let model = Model::new(engine.sectors());
        let random = Random::new(seed);
        let (flying, requests, failed) = (vec![], vec![], vec![]);
        let calm = seed.is_multiple_of(3);
        Self { engine, media, model, random, flying, requests, failed, strict: true, calm }
    }

    pub fn ftl(&self) -> &Ftl {
        self.engine.ftl()
    }

    pub fn per_page(&self) -> u64 {
        self.ftl().config().sectors_per_page.into()
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.below(usize::try_from(limit).expect("small")) as u64
    }

    /// Submits a random request.
    pub fn ask(&mut self) {
        let (per_page, all) = (self.per_page(), self.model.sectors());
        let longest = if self.below(8) == 0 { 6 * per_page } else { 2 * per_page };
        let sectors = 1 + self.below(longest.min(all));
        let first = self.below(all - sectors + 1);
        let whole = self.below(2) == 0;
        // Half of the requests are whole pages, so that trims and write combining have an effect.
        let (first, sectors) = if whole && all > per_page {
            let first = first / per_page * per_page;
            (first, sectors.next_multiple_of(per_page).min(all - first))
        } else {
            (first, sectors)
        };
        let hurry = !self.calm || self.below(32) == 0;
        let fua = self.below(16) == 0 && hurry;
        let (offset, length) = (first * 512, sectors * 512);
        match self.below(20) {
            0..=5 => self.read(first, sectors),
            6..=13 => self.write(first, sectors, fua),
            14..=15 => self.submit(Command::Trim { offset, length, fua }, first, sectors),
            16 => {
                let (no_hole, fast) = (false, false);
                let zeroes = Command::WriteZeroes { offset, length, fua, no_hole, fast };
                self.submit(zeroes, first, sectors);
            }
            17 if hurry => self.submit(Command::Flush, 0, 0),
            _ => {
                self.engine.idle();
                self.collect();
            }
        }
    }

    pub fn read(&mut self, first: u64, sectors: u64) {
        self.submit(Command::Read { offset: first * 512 }, first, sectors);
    }

    pub fn write(&mut self, first: u64, sectors: u64, fua: bool) {
        self.submit(Command::Write { offset: first * 512, fua }, first, sectors);
    }

    pub fn flush(&mut self) {
        self.submit(Command::Flush, 0, 0);
    }

    fn submit(&mut self, command: Command, first: u64, sectors: u64) {
        let tag = self.requests.len();
        let mut request = InFlight { change: 0, first, sectors, floors: vec![] };
        let mut data = vec![];
        let length = usize::try_from(sectors * 512).expect("short");
        match command {
            Command::Read { .. } => {
                request.floors = self.model.floors(first, sectors);
                data = vec![0xa5; length];
            }
            Command::Write { .. } => {
                request.change = self.model.accept(first, sectors, false);
                data = request.change.to_le_bytes().repeat(length / 4);
            }
            Command::Flush => request.floors = self.model.floors(0, self.model.sectors()),
            Command::WriteZeroes { .. } => request.change = self.model.accept(first, sectors, true),
            Command::Trim { .. } => {
                let page = self.per_page();
                let from = first.next_multiple_of(page);
                let end = first + sectors;
                let to = if end == self.model.sectors() { end } else { end / page * page };
                if to > from {
                    (request.first, request.sectors) = (from, to - from);
                    request.change = self.model.accept(from, to - from, true);
                }
            }
        }
        self.requests.push(Some(request));
        self.engine.start(command, Tagged { tag, data });
        self.collect();
    }

    /// Completes a random operation; returns false if none is in flight.
    pub fn step(&mut self) -> bool {
        if self.flying.is_empty() {
            return false;
        }
        let at = self.random.below(self.flying.len());
        let moved = self.flying.swap_remove(at);
        self.engine.done(moved);
        self.collect();
        true
    }

    /// Number of operations in flight.
    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    /// Takes operations and completed requests from the engine.
    fn collect(&mut self) {
        while let Some(moved) = self.engine.next_op() {
            self.flying.push(moved);
        }
        let mut ended = vec![];
        self.engine.finished(&mut ended);
        for completion in ended {
            self.end(completion);
        }
    }

    fn end(&mut self, completion: Completion<Tagged>) {
        let Completion { command, payload, mut result, needs_sync } = completion;
        let request = self.requests[payload.tag].take().expect("it ends once");
        if needs_sync && result.is_ok() {
            result = self.engine.syncer().sync();
        }
        if let Err(fault) = result {
            assert!(!self.strict, "{command:?}: {fault}");
            self.failed.push((command, fault));
            return;
        }
        match command {
            Command::Read { .. } => {
                for (at, &floor) in (0..).zip(&request.floors) {
                    let value = sector(&payload.data, at);
                    let sector = request.first + at;
                    assert!(
                        self.model.allows(sector, floor, value),
                        "sector {sector} reads {value}, acknowledged was {floor}"
                    );
                }
            }
            Command::Flush => self.model.persist_all(&request.floors),
            _ if request.change > 0 => {
                self.model.acknowledge(request.change);
                if needs_sync {
                    let mut floors = vec![0; usize::try_from(self.model.sectors()).expect("small")];
                    for sector in request.first..request.first + request.sectors {
                        floors[usize::try_from(sector).expect("small")] = request.change;
                    }
                    self.model.persist_all(&floors);
                }
            }
            _ => {}
        }
    }

    /// Completes everything in flight.
    pub fn settle(&mut self) {
        loop {
            while self.step() {}
            if self.pending() == 0 {
                return;
            }
            // Some requests wait for the write buffer.
            self.engine.idle();
            self.collect();
            assert!(!self.flying.is_empty(), "some wait for nothing: {:#?}", self.ftl());
        }
    }

    /// Number of requests in flight.
    pub fn pending(&self) -> usize {
        self.requests.iter().flatten().count()
    }

    /// The values of all sectors, in order.
    pub fn contents(&mut self) -> Vec<u32> {
        contents(&mut self.engine)
    }

    /// Mounts what a kill or a crash left, and compares it with the model.
    pub fn cut(self, media: MemoryMedia) -> Self {
        let media = Arc::new(media);
        let Self { engine, mut model, random, failed, strict, calm, .. } = self;
        drop(engine);
        let mut engine = Engine::open(image(&media)).unwrap_or_else(|e| panic!("{e}"));
        engine.ftl().check().unwrap_or_else(|e| panic!("{e}"));
        let per_page = usize::try_from(engine.ftl().config().sectors_per_page).expect("small");
        for (at, page) in (0..).step_by(per_page).zip(contents(&mut engine).chunks(per_page)) {
            model.settle(at, page).unwrap_or_else(|lost| panic!("{lost}"));
        }
        model.forget();
        Self {
            engine,
            media,
            model,
            random,
            flying: vec![],
            requests: vec![],
            failed,
            strict,
            calm,
        }
    }

    /// Damages what a kill or a crash left: it must be refused, or be served without wrong units.
    /// The bench continues with the undamaged array.
    pub fn damage(&mut self, older: &MemoryMedia) {
        let media = self.media.survivor();
        let mut random = Random::new(self.random.next_u64());
        let what = nand_faults::damage(&media, older, &image(&self.media), true, &mut random);
        nand_faults::judge(&media, &self.model, &what, &mut nand_faults::Tally::default());
    }

    /// Continues after a kill of the process.
    pub fn kill(self) -> Self {
        let media = self.media.survivor();
        self.cut(media)
    }

    /// Continues after a crash of the host.
    pub fn crash(mut self) -> Self {
        let mut random = Random::new(self.random.next_u64());
        let media = self.media.crashed(|| random.below(2) == 0);
        // The host runs with another boot identifier now.
        forget_boot(&media);
        self.cut(media)
    }
}

/// Makes the checksum, at `field` of `len` bytes, match their contents and place (docs/SPEC.md).
pub fn seal(media: &MemoryMedia, at: u64, len: usize, field: usize, place: u32) {
    let mut bytes = vec![0; len];
    media.read(at, &mut bytes).expect("it works");
    bytes[field..field + 4].fill(0);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&place.to_le_bytes()), &bytes);
    media.write(at + field as u64, &crc.to_le_bytes()).expect("it works");
}

/// The values of all sectors of a store.
pub fn contents(engine: &mut Engine<Tagged>) -> Vec<u32> {
    let length = usize::try_from(engine.sectors() * 512).expect("small");
    engine.start(Command::Read { offset: 0 }, Tagged { tag: 0, data: vec![0xa5; length] });
    engine.run();
    let mut ended = vec![];
    engine.finished(&mut ended);
    let read = ended.pop().expect("it has ended");
    assert_eq!(read.result, Ok(()), "all can be read");
    (0..engine.sectors()).map(|at| sector(&read.payload.data, at)).collect()
}

/// The value of a sector, which fills it.
pub fn sector(data: &[u8], at: u64) -> u32 {
    let from = usize::try_from(at).expect("small") * 512;
    let words = data[from..from + 512].chunks_exact(4);
    let mut words = words.map(|word| u32::from_le_bytes(word.try_into().expect("it works")));
    let first = words.next().expect("it works");
    assert!(words.all(|word| word == first), "a sector of several writes, from {first}");
    first
}

/// Runs each seed, or only that of `STORE_SEED=N`; `STORE_SEEDS=N` runs N seeds.
pub fn seeds(count: u64, run: impl Fn(u64)) {
    let only = std::env::var("STORE_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let count = std::env::var("STORE_SEEDS").map_or(count, |n| n.parse().expect("a number"));
    let seeds = only.map_or(0..count, |seed: u64| seed..seed + 1);
    for seed in seeds {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(seed))) {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            // The message is for the reader of the test's output.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("replay: STORE_SEED={seed} cargo test -p gordon-store {name}");
            }
            resume_unwind(panic);
        }
    }
}

//! Tests of FlashCache with a model of the flash that stores contents. Every page found is the page
//! that was stored, whenever jobs are done; wear rules bound the wear; counters equal a recount.

use gordon_cache::flashcache::{
    Fill, FlashCache, FlashShape, Job, PageLookup, PageRange, Resident, Served, SetRule, WearRules,
};
use gordon_cache::{NEVER, NOT_ADMITTED, PolicyKind, Request};
use gordon_units::Bytes;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};

const PAGE: u32 = 4096;

/// A page, and the number of writes to it.
type Content = (u64, u32);

/// A cache, and models of everything that holds data. The flash refuses programs out of order.
struct Rig {
    cache: FlashCache,
    /// Content by block and page; `None` if it is erased.
    flash: Vec<Vec<Option<Content>>>,
    erases: Vec<u32>,
    /// Content of the write buffer, by ticket.
    buffer: HashMap<u64, Vec<Content>>,
    /// The latest ticket of each slot.
    latest: HashMap<u32, u64>,
    /// Content of the primary page cache, by place.
    dram: HashMap<u32, Content>,
    /// Number of writes to each page.
    versions: HashMap<u64, u32>,
    programmed: u64,
    moved: u64,
    lookups: u64,
    found: [u64; 5],
}

impl Rig {
    fn new(shape: FlashShape, kind: PolicyKind, dram: u64) -> Self {
        let blocks = if shape.sets == 0 { 0 } else { shape.blocks() + shape.ways };
        Self {
            cache: FlashCache::new(shape, PAGE, kind.make(Bytes(dram * u64::from(PAGE)))),
            flash: vec![vec![None; shape.pages as usize]; blocks as usize],
            erases: vec![0; blocks as usize],
            buffer: HashMap::new(),
            latest: HashMap::new(),
            dram: HashMap::new(),
            versions: HashMap::new(),
            programmed: 0,
            moved: 0,
            lookups: 0,
            found: [0; 5],
        }
    }

    fn stored(&self, key: u64) -> Content {
        (key, self.versions.get(&key).copied().unwrap_or(0))
    }

    /// Pages of a unit, as the backend has them.
    fn unit(&self, unit: u64, page: u32, pages: u32) -> Vec<Content> {
        let shape = self.cache.shape();
        match shape.fill {
            Fill::Block => {
                let first = unit * if shape.sets == 0 { 1 } else { u64::from(shape.pages) };
                let of = u64::from(page)..u64::from(page + pages);
                of.map(|i| self.stored(first + i)).collect()
            }
            Fill::Page => vec![self.stored(unit); pages as usize],
        }
    }

    /// The content of a page that was found in the write buffer or in flash. All pages of the
    /// object must be the same.
    fn read(&self, found: PageLookup, slot: u32, at: usize) -> Option<Content> {
        match found {
            PageLookup::Buffer { .. } => Some(self.buffer[&self.latest[&slot]][at]),
            PageLookup::Flash(PageRange { block, page, pages }) => {
                let pages = &self.flash[block as usize][page as usize..][..pages as usize];
                assert!(pages.iter().all(|page| *page == pages[0]));
                Some(pages[0].expect("what is read was programmed"))
            }
            _ => None,
        }
    }

    /// Checks the pieces of an object that was split. Pieces that were found are read before any
    /// missing piece is filled.
    fn ask_pieces(&mut self, request: &Request) {
        let pieces = self.cache.pieces().to_vec();
        let stored = self.stored(request.key);
        let mut end = 0;
        for piece in &pieces {
            assert_eq!(piece.page, end, "pieces are in order");
            end += piece.pages;
            if let Some(read) = self.read(piece.found, piece.slot, 0) {
                assert_eq!(read, stored, "{piece:?} is stale");
            }
            if let PageLookup::Flash(place) = piece.found {
                assert_eq!(place.pages, piece.pages);
            }
            self.found[number(piece.found)] += 1;
        }
        assert_eq!(u64::from(end * PAGE), request.size);
        for piece in pieces {
            if let PageLookup::Backend { pages, ticket: Some(ticket), .. } = piece.found {
                assert_eq!(pages, piece.pages);
                self.buffer.insert(ticket, vec![stored; pages as usize]);
                self.latest.insert(piece.slot, ticket);
            }
        }
    }

    /// Serves a request, and checks what it finds.
    fn ask(&mut self, request: &Request, write: bool) -> PageLookup {
        let key = request.key;
        let Served { found, place, slot, lookups } = self.cache.access_at(request, write);
        self.lookups += u64::from(lookups);
        let shape = self.cache.shape();
        let block = shape.fill == Fill::Block && shape.sets > 0;
        let at = if block { key % u64::from(shape.pages) } else { 0 } as usize;
        let read = match found {
            PageLookup::Dram => Some(self.dram[&place]),
            PageLookup::Buffer { .. } | PageLookup::Flash(_) => self.read(found, slot, at),
            PageLookup::Pieces => {
                self.ask_pieces(request);
                None
            }
            PageLookup::Backend { unit, page, pages, ticket } => {
                let fetched = self.unit(unit, page, pages);
                let page = fetched[at - page as usize];
                if let Some(ticket) = ticket {
                    self.buffer.insert(ticket, fetched);
                    self.latest.insert(slot, ticket);
                }
                Some(page)
            }
            PageLookup::Written => None,
        };
        if found != PageLookup::Pieces {
            self.found[number(found)] += 1;
        }
        if let Some(read) = read {
            assert_eq!(read, self.stored(key), "{found:?} is stale");
        }
        if write {
            *self.versions.entry(key).or_default() += 1;
        }
        if place != NOT_ADMITTED {
            self.dram.insert(place, self.stored(key));
        }
        found
    }

    /// Carries out a job. Returns false if there is none.
    fn work(&mut self) -> bool {
        let Some(job) = self.cache.job() else { return false };
        match job {
            Job::Erase { block } => {
                self.flash[block as usize].fill(None);
                self.erases[block as usize] += 1;
            }
            Job::Program { to, ticket, .. } => {
                let content = self.buffer.remove(&ticket).expect("it was fetched");
                assert_eq!(content.len(), to.pages as usize);
                for (page, content) in (to.page..).zip(content) {
                    self.program(to.block, page, content);
                }
                self.programmed += u64::from(to.pages);
            }
            Job::Move { from, to, pages } => {
                assert!(pages > 0);
                for page in 0..pages {
                    let content = self.flash[from as usize][page as usize];
                    self.program(to, page, content.expect("programmed before it is moved"));
                }
                self.moved += u64::from(pages);
            }
        }
        self.cache.done();
        true
    }

    fn program(&mut self, block: u32, page: u32, content: Content) {
        let block = &mut self.flash[block as usize];
        let free = block.iter().position(Option::is_none);
        assert_eq!(free, Some(page as usize), "pages are programmed in order, once");
        block[page as usize] = Some(content);
    }

    /// Checks the counters and the residents of the cache.
    fn recount(&self) {
        let (shape, counts) = (self.cache.shape(), self.cache.counts());
        let mut all: Vec<Resident> = Vec::new();
        self.cache.residents(&mut |resident| all.push(resident));
        let units: HashSet<u64> = all.iter().map(|resident| resident.unit).collect();
        assert_eq!(units.len(), all.len(), "a unit is in the table only once");
        let mut taken = HashSet::new();
        for resident in &all {
            assert_eq!(Some(resident.set), self.cache.set_of(resident.unit));
            assert!(resident.way < shape.ways);
            assert!(resident.page + resident.pages <= shape.pages);
            for page in resident.page..resident.page + resident.pages {
                assert!(taken.insert((resident.set, resident.way, page)));
            }
        }
        let waiting: u64 = self.buffer.values().map(|content| content.len() as u64).sum();
        assert_eq!(self.cache.buffered(), waiting);
        if shape.sets > 0 {
            assert_eq!(counts.lookups, self.lookups);
        }
        let reads = if shape.sets == 0 { 0 } else { self.found[3] };
        assert_eq!(counts.reads, self.found[1] + self.found[2] + reads);
        assert_eq!((counts.buffer_hits, counts.flash_hits), (self.found[1], self.found[2]));
        assert_eq!(counts.fill_pages, self.programmed + waiting);
        assert!(shape.buffer.is_none_or(|room| waiting <= room));
        let erased: u64 = self.cache.erases().iter().map(|count| u64::from(*count)).sum();
        assert_eq!(counts.evictions + counts.swap_erases, erased);
        assert!(counts.block_rule + counts.refills <= counts.evictions);
    }

    /// Carries out all jobs. Then all residents must be in flash.
    fn finish(&mut self) {
        while self.work() {}
        self.recount();
        assert_eq!(self.cache.erases(), self.erases);
        assert_eq!((self.cache.buffered(), self.buffer.len()), (0, 0));
        assert_eq!(self.cache.counts().swap_pages, self.moved);
        self.cache.residents(&mut |resident| assert!(!resident.buffered));
    }
}

fn number(found: PageLookup) -> usize {
    match found {
        PageLookup::Dram => 0,
        PageLookup::Buffer { .. } => 1,
        PageLookup::Flash(_) => 2,
        PageLookup::Backend { .. } => 3,
        PageLookup::Written => 4,
        PageLookup::Pieces => unreachable!("pieces are counted one by one"),
    }
}

fn page(key: u64) -> Request {
    Request { key, next: NEVER, size: PAGE.into(), asked: PAGE.into() }
}

fn shape(sets: u32, ways: u32, pages: u32, fill: Fill) -> FlashShape {
    FlashShape { sets, ways, pages, fill, rules: WearRules::default(), buffer: None }
}

fn kinds() -> impl Strategy<Value = PolicyKind> {
    proptest::sample::select(vec![
        PolicyKind::Lru,
        PolicyKind::S3Fifo,
        PolicyKind::Clock,
        PolicyKind::Arc,
    ])
}

fn shapes() -> impl Strategy<Value = FlashShape> {
    let fill = prop_oneof![Just(Fill::Block), Just(Fill::Page)];
    let rule = || proptest::option::of(0..4_u32);
    let room = proptest::option::of(1..200_u32);
    let set_rule = prop_oneof![Just(SetRule::Bounded), Just(SetRule::Literal)];
    (0..5_u32, 1..5_u32, 1..80_u32, fill, rule(), rule(), set_rule, room).prop_map(
        |(sets, ways, pages, fill, block, set, set_rule, room)| FlashShape {
            sets,
            ways,
            pages: if fill == Fill::Page { pages.min(9) } else { pages },
            fill,
            rules: WearRules { block, set, set_rule },
            buffer: room.map(u64::from),
        },
    )
}

/// A request: its key, whether it is a write, whether it is for a part of the object, and the
/// number of jobs that are carried out after it.
type Step = (u64, bool, bool, u8);

proptest! {
    #[test]
    fn every_page_found_is_the_page_that_was_stored(
        shape in shapes(),
        kind in kinds(),
        dram in 1..30_u64,
        steps in proptest::collection::vec(
            (0..400_u64, proptest::bool::weighted(0.2), any::<bool>(), 0..4_u8), 1..600),
    ) {
        let mut rig = Rig::new(shape, kind, dram);
        for (step, (key, write, part, work)) in (steps as Vec<Step>).into_iter().enumerate() {
            // Small keys are frequent. The size of an object is a function of its key.
            let key = key * key / 800;
            let pages = match (shape.fill, key % 11) {
                (Fill::Block, _) => 1,
                // Objects of several logical blocks, or larger than the flash.
                (Fill::Page, 0) => 1 + (key % 47) as u32,
                (Fill::Page, _) => 1 + (key % 3) as u32,
            };
            let size = u64::from(pages * PAGE);
            let asked = if part { 512 } else { size };
            // The model of DRAM drops what the policy has evicted or not admitted.
            if rig.ask(&Request { key, next: NEVER, size, asked }, write) != PageLookup::Dram {
                let mut held = HashSet::new();
                rig.cache.dram().residents(&mut |key, _| { held.insert(key); });
                rig.dram.retain(|_, content| held.contains(&content.0));
            }
            for _ in 0..work {
                rig.work();
            }
            if step % 16 == 0 {
                rig.recount();
            }
        }
        rig.finish();
    }

    #[test]
    fn a_cache_without_flash_equals_its_policy(
        kind in kinds(),
        dram in 1..30_u64,
        keys in proptest::collection::vec(0..60_u64, 1..300),
    ) {
        let mut cache = FlashCache::new(
            shape(0, 16, 32, Fill::Block), PAGE, kind.make(Bytes(dram * u64::from(PAGE))));
        let mut alone = kind.make(Bytes(dram * u64::from(PAGE)));
        for key in keys {
            let hit = alone.access(&page(key)) == gordon_cache::Access::Hit;
            let found = cache.access(&page(key), false);
            let miss = PageLookup::Backend { unit: key, page: 0, pages: 1, ticket: None };
            assert_eq!(found, if hit { PageLookup::Dram } else { miss });
            assert_eq!((cache.job(), cache.buffered()), (None, 0));
        }
    }
}

/// Units of one set.
fn of_set(cache: &FlashCache, set: u32) -> impl Iterator<Item = u64> {
    (0..).filter(move |unit| cache.set_of(*unit) == Some(set))
}

#[test]
fn a_miss_fetches_a_block_and_evicts_the_least_recently_used_one() {
    let mut rig = Rig::new(shape(2, 2, 4, Fill::Block), PolicyKind::Lru, 1);
    let units: Vec<u64> = of_set(&rig.cache, 1).take(3).collect();
    for unit in &units[..2] {
        let fetched =
            PageLookup::Backend { unit: *unit, page: 0, pages: 4, ticket: Some(rig.found[3]) };
        assert_eq!(rig.ask(&page(unit * 4 + 1), false), fetched);
        assert_eq!(rig.ask(&page(unit * 4 + 2), false), PageLookup::Buffer { unit: *unit });
    }
    while rig.work() {}
    // After a hit on the first block, the third block evicts the second.
    let PageLookup::Flash(place) = rig.ask(&page(units[0] * 4 + 3), false) else {
        panic!("not there")
    };
    assert_eq!((place.page, place.pages), (3, 1));
    rig.ask(&page(units[2] * 4), false);
    assert!(matches!(rig.ask(&page(units[0] * 4), false), PageLookup::Flash(_)));
    assert!(matches!(rig.ask(&page(units[1] * 4), false), PageLookup::Backend { .. }));
    rig.finish();
    assert_eq!(rig.cache.counts().evictions, 2);
    assert_eq!(rig.cache.erases().iter().sum::<u32>(), 2);
}

#[test]
fn a_block_collects_objects_in_the_order_of_their_arrival() {
    let mut rig = Rig::new(shape(1, 2, 4, Fill::Page), PolicyKind::Lru, 1);
    let object =
        |key, pages: u32| Request { key, next: NEVER, size: (PAGE * pages).into(), asked: 100 };
    for (key, pages) in [(10, 1), (11, 2), (12, 2), (13, 2), (14, 3), (15, 9)] {
        rig.ask(&object(key, pages), false);
    }
    let mut all = Vec::new();
    rig.cache.residents(&mut |r| all.push((r.unit, r.way, r.page, r.pages)));
    // 12 did not fit into the first block; 14 evicted that block; 15 is larger than the flash.
    assert_eq!(all, [(14, 0, 0, 3), (12, 1, 0, 2), (13, 1, 2, 2)]);
    let counts = rig.cache.counts();
    assert_eq!((counts.evictions, counts.too_large, counts.fills), (1, 1, 5));
    rig.finish();
}

#[test]
fn an_object_larger_than_a_block_is_split_and_missing_pieces_are_fetched() {
    let object = |key| Request { key, next: NEVER, size: (PAGE * 10).into(), asked: 100 };
    let rig = || Rig::new(shape(8, 1, 4, Fill::Page), PolicyKind::Lru, 1);
    let resident = |rig: &Rig| {
        let mut all = Vec::new();
        rig.cache.residents(&mut |resident| all.push(resident));
        all
    };
    // A key whose pieces belong to three sets, so that no piece evicts another.
    let apart = |key: &u64| {
        let mut rig = rig();
        rig.ask(&object(*key), false);
        resident(&rig).len() == 3
    };
    let object = object((0..).find(apart).unwrap());
    let mut rig = rig();
    assert_eq!(rig.ask(&object, false), PageLookup::Pieces);
    let cut = |rig: &Rig| {
        let pieces = rig.cache.pieces().iter();
        pieces.map(|piece| (piece.page, piece.pages, number(piece.found))).collect::<Vec<_>>()
    };
    assert_eq!(cut(&rig), [(0, 4, 3), (4, 4, 3), (8, 2, 3)]);
    assert_eq!(rig.cache.counts().fill_pages, 10);
    assert_eq!(rig.ask(&object, false), PageLookup::Pieces);
    assert_eq!(cut(&rig), [(0, 4, 1), (4, 4, 1), (8, 2, 1)]);
    while rig.work() {}
    // A page of the set of the middle piece evicts only that piece.
    let (all, first) = (resident(&rig), rig.cache.set_of(object.key));
    let middle = all.iter().find(|one| one.pages == 4 && Some(one.set) != first).unwrap();
    let other = of_set(&rig.cache, middle.set).next().unwrap();
    rig.ask(&page(other), false);
    assert_eq!(rig.ask(&object, false), PageLookup::Pieces);
    assert_eq!(cut(&rig), [(0, 4, 2), (4, 4, 3), (8, 2, 2)]);
    // A write makes all pieces stale.
    assert_eq!(rig.ask(&Request { asked: object.size, ..object }, true), PageLookup::Written);
    assert_eq!(rig.cache.counts().dropped, 3);
    rig.finish();
}

#[test]
fn a_write_makes_the_page_stale_in_flash() {
    for fill in [Fill::Block, Fill::Page] {
        let mut rig = Rig::new(shape(1, 2, 4, fill), PolicyKind::Lru, 1);
        rig.ask(&page(5), false);
        rig.ask(&page(6), false);
        while rig.work() {}
        assert_eq!(rig.ask(&page(5), true), PageLookup::Written);
        assert_eq!(rig.ask(&page(5), false), PageLookup::Dram);
        // Only this page of the block is stale.
        assert!(matches!(rig.ask(&page(6), false), PageLookup::Flash(_)));
        assert!(matches!(rig.ask(&page(5), false), PageLookup::Backend { ticket: Some(_), .. }));
        // A partial write reads the rest of the page first, and the page is not admitted to flash.
        let part = Request { asked: 512, ..page(9) };
        assert!(matches!(rig.ask(&part, true), PageLookup::Backend { ticket: None, .. }));
        let counts = rig.cache.counts();
        assert_eq!(counts.dropped, 1);
        assert_eq!(counts.refills, u64::from(fill == Fill::Block));
        rig.finish();
    }
}

/// Requests all blocks of a set but one again and again, and new blocks, which use the last one.
/// Returns the erase counts, and how often the block rule applied.
fn hot_block(rules: WearRules) -> (Vec<u32>, u64) {
    let mut rig = Rig::new(FlashShape { rules, ..shape(1, 4, 2, Fill::Block) }, PolicyKind::Lru, 1);
    for round in 0..300 {
        for hot in 0..3 {
            rig.ask(&page(hot * 2 + round % 2), false);
        }
        rig.ask(&page(1000 + round * 2), false);
        while rig.work() {}
    }
    rig.finish();
    (rig.cache.erases()[..4].to_vec(), rig.cache.counts().block_rule)
}

#[test]
fn a_hot_block_is_spared() {
    let (without, fired) = hot_block(WearRules::default());
    assert_eq!(without.iter().filter(|count| **count > 0).count(), 1, "{without:?}");
    assert_eq!(fired, 0);
    let (with, fired) = hot_block(WearRules { block: Some(10), ..WearRules::default() });
    assert!(fired > 0);
    let spread = with.iter().max().unwrap() - with.iter().min().unwrap();
    assert!(spread <= 11, "{with:?}");
    assert!(with.iter().max() < without.iter().max(), "{with:?} {without:?}");
}

/// Requests many pages once, all in one of eight sets. Returns the largest erase count in each
/// place.
fn hot_set(rules: WearRules) -> (Vec<u32>, Rig) {
    let mut rig = Rig::new(FlashShape { rules, ..shape(8, 2, 2, Fill::Block) }, PolicyKind::Lru, 1);
    // Every set has a page.
    let mut held = Vec::new();
    for set in 0..8 {
        held.extend(of_set(&rig.cache, set).next());
        rig.ask(&page(held[set as usize] * 2), false);
    }
    let units: Vec<u64> = of_set(&rig.cache, 3).skip(1).take(12_000).collect();
    for unit in units {
        rig.ask(&page(unit * 2 + 1), false);
        rig.work();
        rig.work();
    }
    while rig.work() {}
    // The pages of other sets are still found, wherever swaps have moved them.
    held.remove(3);
    for unit in held {
        assert!(matches!(rig.ask(&page(unit * 2), false), PageLookup::Flash(_)), "{unit} is lost");
    }
    rig.finish();
    let most = rig.cache.erases().chunks(2).map(|set| set[0].max(set[1]));
    (most.take(8).collect(), rig)
}

#[test]
fn a_hot_set_is_swapped() {
    let (without, _) = hot_set(WearRules::default());
    assert_eq!(without.iter().filter(|count| **count > 0).count(), 1, "{without:?}");
    let (with, rig) = hot_set(WearRules { set: Some(20), ..WearRules::default() });
    let counts = rig.cache.counts();
    assert!(counts.set_swaps >= 7 && counts.swap_pages > 0, "{counts:?}");
    assert!(counts.swap_erases * 100 <= counts.evictions, "{counts:?}");
    assert!(with.iter().max().unwrap() * 4 < *without.iter().max().unwrap(), "{with:?}");
}

/// How a load picks the set of its next request.
#[derive(Clone, Copy, Debug)]
enum Load {
    /// All sets have the same probability.
    Uniform,
    /// Set `n` is picked with a weight of 1 / (n + 1).
    Zipf,
    /// A random set for this number of requests, then another.
    Phases(u32),
    /// Each set in turn, with this number of requests.
    Rotation(u32),
    /// The set in the most worn place.
    Follower,
}

/// A cache in which every request is for a new page, so that a load determines the evictions of
/// each set.
struct Worn {
    cache: FlashCache,
    /// By set, the first key that may not have been requested.
    next: Vec<u64>,
    /// The place in which each set was last erased.
    place: Vec<u32>,
}

impl Worn {
    fn new(sets: u32, ways: u32, rules: WearRules) -> Self {
        let shape = FlashShape { rules, ..shape(sets, ways, 1, Fill::Page) };
        let cache = FlashCache::new(shape, PAGE, PolicyKind::Lru.make(Bytes(PAGE.into())));
        Self { cache, next: vec![0; sets as usize], place: (0..sets).collect() }
    }

    fn request(&mut self, set: u32) {
        let next = &mut self.next[set as usize];
        while self.cache.set_of(*next) != Some(set) {
            *next += 1;
        }
        let key = *next;
        *next += 1;
        let first = self.cache.is_idle();
        assert!(first);
        self.cache.access(&page(key), false);
        let ways = self.cache.shape().ways;
        let mut evicted = false;
        while let Some(job) = self.cache.job() {
            match job {
                Job::Erase { block } if !evicted => {
                    self.place[set as usize] = block / ways;
                    evicted = true;
                }
                // A swap moves a block of the cold set to the place of the hot set.
                Job::Move { from, to, .. } if from.max(to) / ways < self.place.len() as u32 => {
                    let cold = (0..)
                        .zip(&mut self.place)
                        .find(|(other, place)| *other != set && **place == from / ways);
                    cold.into_iter().for_each(|(_, place)| *place = to / ways);
                }
                Job::Move { .. } | Job::Erase { .. } => {}
                Job::Program { to, .. } => self.place[set as usize] = to.block / ways,
            }
            self.cache.done();
        }
    }

    /// The set that was last seen in the most worn place.
    fn follow(&self) -> u32 {
        let sets = self.place.len();
        let ways = self.cache.shape().ways as usize;
        let erases = &self.cache.erases()[..sets * ways];
        let most = |place: u32| erases[place as usize * ways..][..ways].iter().max().copied();
        (0..sets as u32).max_by_key(|set| most(self.place[*set as usize])).unwrap_or(0)
    }
}

/// Runs a cache with `rules` under a load, and a cache without the set rule under the same sequence
/// of sets. Returns both.
fn worn(load: Load, sets: u32, ways: u32, requests: u32, rules: WearRules, seed: u64) -> [Worn; 2] {
    let mut with = Worn::new(sets, ways, rules);
    let mut without = Worn::new(sets, ways, WearRules { set: None, ..rules });
    let mut random = seed;
    let mut draw = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((random >> 33) * below) >> 31
    };
    let weights: u64 = (1..=u64::from(sets)).map(|n| 1_000_000 / n).sum();
    let mut phase = 0;
    for i in 0..requests {
        let set = match load {
            Load::Uniform => draw(sets.into()) as u32,
            Load::Zipf => {
                let mut at = draw(weights);
                (0..sets)
                    .find(|n| {
                        let weight = 1_000_000 / u64::from(n + 1);
                        let found = at < weight;
                        at = at.saturating_sub(weight);
                        found
                    })
                    .unwrap_or(0)
            }
            Load::Phases(long) => {
                if i % long == 0 {
                    phase = draw(sets.into()) as u32;
                }
                phase
            }
            Load::Rotation(long) => i / long % sets,
            Load::Follower => with.follow(),
        };
        with.request(set);
        without.request(set);
    }
    [with, without]
}

/// Checks the bound of wear: without its erases by swaps, no block has more erases than the most
/// worn block without the set rule, or than the mean plus the threshold, whichever is larger.
fn is_bounded(load: Load, [with, without]: &[Worn; 2], threshold: u32) {
    let blocks = with.cache.shape().blocks() as usize;
    let erases = &with.cache.erases()[..blocks];
    let alone = without.cache.erases().iter().max().copied().unwrap_or(0);
    let mean = erases.iter().map(|count| f64::from(*count)).sum::<f64>() / blocks as f64;
    let bound = f64::from(alone).max(mean + f64::from(threshold));
    for (count, swaps) in erases.iter().zip(with.cache.swap_erases()) {
        let most = bound + f64::from(*swaps);
        assert!(f64::from(*count) <= most, "{load:?}: {count} > {bound} + {swaps}");
    }
    let counts = with.cache.counts();
    assert!(counts.swap_erases * 100 <= counts.evictions, "{load:?}: {counts:?}");
}

fn loads() -> impl Strategy<Value = Load> {
    prop_oneof![
        Just(Load::Uniform),
        Just(Load::Zipf),
        (1..3000_u32).prop_map(Load::Phases),
        (1..3000_u32).prop_map(Load::Rotation),
        Just(Load::Follower),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_set_rule_bounds_wear_under_every_load(
        load in loads(),
        sets in 2..12_u32,
        ways in 1..9_u32,
        requests in 1000..12_000_u32,
        threshold in 1..80_u32,
        block in proptest::option::of(4..80_u32),
        seed in any::<u64>(),
    ) {
        let rules = WearRules { block, set: Some(threshold), ..WearRules::default() };
        is_bounded(load, &worn(load, sets, ways, requests, rules, seed), threshold);
    }
}

#[test]
fn the_bounded_set_rule_prevents_runaway_swaps() {
    let rules = |set_rule| WearRules { block: Some(64), set: Some(16), set_rule };
    let [bounded, without] = worn(Load::Zipf, 4, 16, 100_000, rules(SetRule::Bounded), 1);
    let [literal, _] = worn(Load::Zipf, 4, 16, 100_000, rules(SetRule::Literal), 1);
    let counts = |worn: &Worn| worn.cache.counts();
    let most = |worn: &Worn| worn.cache.erases().iter().max().copied().unwrap_or(0);
    assert_eq!(counts(&without).set_swaps, 0);
    // The literal rule causes more erases by swaps than by evictions.
    assert!(counts(&literal).swap_erases > counts(&literal).evictions, "{:?}", counts(&literal));
    assert!(most(&literal) > most(&without));
    assert!(counts(&bounded).set_swaps > 0);
    assert!(counts(&bounded).swap_erases * 100 <= counts(&bounded).evictions);
    // Equal shares of the four sets would be 1,563 erases a block; the first set gets 48 % of the
    // requests.
    assert!(most(&bounded) < 1800, "{}", most(&bounded));
    assert!(most(&without) > 2900, "{}", most(&without));
}

#[test]
fn tables_report_plausible_memory() {
    // A tag for each of 8,192 blocks of 1 GiB, or for each of its 262,144 pages.
    for (fill, least, most) in [(Fill::Block, 200 << 10, 500 << 10), (Fill::Page, 3 << 20, 5 << 20)]
    {
        let cache =
            FlashCache::new(shape(512, 16, 32, fill), PAGE, PolicyKind::Lru.make(Bytes(1 << 20)));
        assert!((least..most).contains(&cache.memory()), "{fill:?}: {}", cache.memory());
    }
}

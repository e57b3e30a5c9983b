//! Times, powers, areas and worst cases computed by hand.

use super::super::chip::StepTimes;
use super::super::machine::DataSource;
use super::super::power::{PowerInput, power};
use super::super::wear::{FillCost, LoadWear, wear};
use super::*;
use gordon_cache::flashcache::{PageLookup, PageRange};
use gordon_units::Watts;

/// Table 2 of the paper. Its caption says that NAND flash is projected to be up to 7 to 8 times as
/// dense as DRAM; that holds for multi-level cells from 2011 on.
#[test]
fn the_projection_reproduces_table_2() {
    let (_folder, config) = config(&[(0, 0, true)], 128 * MIB, 1024 * MIB);
    let report = run(&config, &Progress::default()).unwrap();
    let found: Vec<_> = report
        .roadmap
        .iter()
        .map(|year| {
            let round = |density: f64| (density * 100.0).round() / 100.0;
            (
                year.year,
                round(year.nand_slc_density),
                round(year.nand_mlc_density.unwrap()),
                round(year.nor_density.unwrap()),
                (year.retention_years_min.unwrap(), year.retention_years_max.unwrap()),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (2005, 2.23, 4.43, 0.99, (10, 20)),
            (2007, 2.49, 4.98, 1.11, (10, 20)),
            (2009, 1.89, 3.73, 0.75, (10, 20)),
            (2011, 1.85, 7.38, 0.82, (10, 20)),
            (2013, 1.97, 7.63, 0.78, (20, 20)),
            (2016, 1.88, 7.5, 0.75, (20, 20)),
        ]
    );
    // 8 Gbit at 1.42 Gbit/cm2 in 2005; by 2016 a bit takes 0.0004 of 0.0231 um2.
    let last = report.roadmap[5].area_mlc.unwrap();
    assert!((last.flash_cm2 - 8.0 / 1.42 * 0.0004 / 0.0231).abs() < 1e-9, "{last:?}");
}

#[test]
fn each_level_takes_its_time() {
    let mut m = machine(&design(), MIB, 4 * MIB, Fill::Block);
    assert_eq!((m.search, m.lookup), (Ns(SEARCH), Ns(LOOKUP)));
    // From the disk: a whole logical block.
    let fetched = SEARCH + LOOKUP + BLOCK_DISK;
    assert_eq!(m.serve(Ns(0), &page(0), false), Ns(fetched + PAGE_DRAM));
    // Its neighbour, which is still being fetched, from the buffer; then the page itself, from
    // DRAM.
    assert_eq!(m.serve(Ns(1000), &page(1), false), Ns(fetched + 2 * PAGE_DRAM));
    assert_eq!(m.serve(Ns(2000), &page(0), false), Ns(fetched + PAGE_DRAM));
    // 32 pages are written to flash; after that the block is read from there.
    let at = 200 * MS;
    assert!(fetched + 32 * PAGE_PROGRAM < at);
    let end = m.serve(Ns(at), &page(2), false);
    assert_eq!(end, Ns(at + SEARCH + LOOKUP + PAGE_READ + PAGE_DRAM));
    // A second read at the same time waits for the chip.
    let end = m.serve(Ns(at), &page(3), false);
    assert_eq!(end, Ns(at + SEARCH + LOOKUP + 2 * PAGE_READ + PAGE_DRAM));
    // A request that waits for a page in flight does not delay others.
    assert_eq!(m.serve(Ns(at + 5), &page(3), false), end);
    assert_eq!(m.serve(Ns(at + 5), &page(1), false), Ns(at + 5 + SEARCH + PAGE_DRAM));
    // The first page again before it is available.
    let there = at + SEARCH + LOOKUP + PAGE_READ;
    assert_eq!(m.serve(Ns(at + 10), &page(2), false), Ns(there + PAGE_DRAM));
    let counters = m.chip.counters;
    assert_eq!((counters.reads, counters.programs, counters.erases), (4, 64, 0));
    assert_eq!(
        (counters.reading, counters.programming),
        (Ns(2 * PAGE_READ), Ns(32 * PAGE_PROGRAM))
    );
    let requests = m.tallies.map(|tally| tally.requests);
    assert_eq!(requests, [4, 1, 2, 1, 0]);
    assert_eq!(m.backend.counters.busy, Ns(BLOCK_DISK));
}

/// An object of five logical blocks that does not fit in DRAM; missing pieces are fetched
/// separately.
#[test]
fn an_object_in_pieces_is_read_from_flash_and_backend() {
    let mut design = design();
    design.cache.ways.value = 1;
    let machine = || {
        let shape = design.shape(Bytes(4 * MIB), Fill::Page).unwrap();
        let cache = FlashCache::new(shape, 4096, PolicyKind::Lru.make(Bytes(4096)));
        let below = Backend::new(&design, &BackendKind::Disk, "request").unwrap();
        Machine::new(&design, cache, below)
    };
    // Half of its last page is used.
    let pages = 5 * 32;
    let object = |key| Request { key, next: NEVER, size: pages * 4096, asked: pages * 4096 - 2048 };
    let blocks = |m: &Machine| {
        let mut all = Vec::new();
        m.cache.residents(&mut |resident| all.push((resident.set, resident.unit)));
        all
    };
    let apart = |key: &u64| {
        let mut m = machine();
        m.serve(Ns(0), &object(*key), false);
        blocks(&m).len() == 5
    };
    let object = object((0..).find(apart).unwrap());
    let mut m = machine();
    let begun = SEARCH + 5 * LOOKUP;
    let disk = |blocks: u64| (blocks * 131_072 * 10).div_ceil(3);
    let moved = 50 + (object.asked * 10).div_ceil(64);
    // The buffer has space for eight logical blocks.
    let end = m.serve(Ns(0), &object, false);
    assert_eq!(end, Ns(begun + 3_300_000 + disk(5) + moved));
    let quiet = Ns(1000 * MS);
    let end = m.serve(quiet, &object, false);
    assert_eq!(end, quiet + Ns(begun + pages * PAGE_READ + moved));
    let bytes = |m: &Machine| m.tallies.map(|tally| tally.bytes);
    assert_eq!(bytes(&m), [0, 0, object.asked, object.asked, 0]);
    // The second and the fourth piece are evicted: two accesses, and the disk reads the bytes
    // between them.
    for number in [1, 3] {
        let PageLookup::Flash(place) = m.cache.pieces()[number].found else {
            panic!("not in flash")
        };
        // No sets were swapped, and a set has one block.
        let set = place.block;
        let other = (1 << 40..).find(|key| m.cache.set_of(*key) == Some(set)).unwrap();
        // The object fills a whole logical block, so the open block has no space for it.
        let block = Request { key: other, next: NEVER, size: 131_072, asked: 131_072 };
        m.serve(Ns(2000 * MS), &block, false);
    }
    let counters = m.backend.counters;
    let before = bytes(&m);
    let late = Ns(4000 * MS);
    let end = m.serve(late, &object, false);
    assert_eq!(m.backend.counters.reads - counters.reads, 2);
    assert_eq!(m.backend.counters.read - counters.read, Bytes(2 * 131_072));
    assert_eq!(m.backend.counters.busy - counters.busy, Ns(3_300_000) + Ns(disk(1)) * 3);
    let now = bytes(&m);
    let flash = object.asked - 2 * 131_072;
    assert_eq!((now[2] - before[2], now[3] - before[3]), (flash, 2 * 131_072));
    // Three pieces are in flash; reading them takes longer than the disk.
    assert_eq!(end, late + Ns(begun + 96 * PAGE_READ + moved));
    assert_eq!(m.source, DataSource::Backend);
    assert_eq!(m.cache.counts().too_large, 0);
}

#[test]
fn a_read_waits_only_for_the_fetch_of_its_page() {
    // Two pages share one place. The first is evicted before it is available, and then written as a
    // whole.
    let mut m = machine(&design(), 4096, 4 * MIB, Fill::Page);
    let fetched = m.serve(Ns(0), &page(0), false);
    m.serve(Ns(1000), &page(1), false);
    m.serve(Ns(2000), &page(0), true);
    let end = m.serve(Ns(3000), &page(0), false);
    assert!(end < fetched);
    assert_eq!(end, Ns(3000 + SEARCH + PAGE_DRAM));
    // A block is evicted and fetched again for one of its pages, while another page stayed in DRAM.
    let mut design = design();
    design.cache.ways.value = 1;
    let mut m = machine(&design, MIB, MIB / 8, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    m.serve(Ns(500 * MS), &page(64), false);
    let (at, later) = (900 * MS, 900 * MS + 1000);
    m.serve(Ns(at), &page(1), false);
    assert_eq!(m.serve(Ns(later), &page(0), false), Ns(later + SEARCH + PAGE_DRAM));
    let there = at + SEARCH + LOOKUP + BLOCK_DISK;
    assert_eq!(m.serve(Ns(later), &page(1), false), Ns(there + PAGE_DRAM));
}

#[test]
fn a_read_waits_for_at_most_one_program() {
    let mut m = machine(&design(), MIB, 4 * MIB, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    let quiet = Ns(500 * MS);
    m.serve(quiet, &page(0), false);
    m.serve(quiet, &page(64), false);
    // The programs begin when the data are available; the third flash page is being programmed.
    let begun = quiet.0 + SEARCH + LOOKUP + BLOCK_DISK;
    let at = begun + 5 * PAGE_PROGRAM / 4;
    let end = m.serve(Ns(at), &page(5), false);
    let waited = begun + 3 * PAGE_PROGRAM / 2;
    assert_eq!(end, Ns(waited + PAGE_READ + PAGE_DRAM));
    // The remaining programs follow the read.
    let left = 64 - 3;
    let idle = m.chip.finish(&mut m.cache);
    assert_eq!(idle, Ns(waited + PAGE_READ + left * PAGE_PROGRAM / 2));
}

#[test]
fn a_read_of_another_bank_does_not_wait_for_a_program() {
    let mut design = design();
    // One bank for each logical block.
    design.flash.banks = Some(32.into());
    let mut m = machine(&design, MIB, 4 * MIB, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    let quiet = Ns(500 * MS);
    m.serve(quiet, &page(0), false);
    m.serve(quiet, &page(64), false);
    let begun = quiet.0 + SEARCH + LOOKUP + BLOCK_DISK;
    let at = begun + 5 * PAGE_PROGRAM / 4;
    let start = at + SEARCH + LOOKUP;
    assert_eq!(m.serve(Ns(at), &page(5), false), Ns(start + PAGE_READ + PAGE_DRAM));
    // The programs continue during the read.
    assert_eq!(m.chip.finish(&mut m.cache), Ns(begun + 32 * PAGE_PROGRAM));
    // A second read waits for the first one, even in another bank.
    let quiet = 900 * MS;
    let first = m.serve(Ns(quiet), &page(6), false);
    let second = m.serve(Ns(quiet), &page(70), false);
    assert_eq!(second, Ns(first.0 + PAGE_READ));
}

#[test]
fn an_eviction_does_not_delay_the_response() {
    let mut design = design();
    design.cache.ways.value = 1;
    let mut m = machine(&design, MIB, MIB / 8, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    let at = 500 * MS;
    // The only block is evicted; the response does not wait for that.
    let end = m.serve(Ns(at), &page(64), false);
    let fetched = at + SEARCH + LOOKUP + BLOCK_DISK;
    assert_eq!(end, Ns(fetched + PAGE_DRAM));
    // The erases start at once and take 6 ms, longer than the disk; then the programs follow.
    let idle = m.chip.finish(&mut m.cache);
    assert_eq!(idle, Ns(at + SEARCH + LOOKUP + ERASES + 32 * PAGE_PROGRAM));
    assert_eq!((m.chip.counters.erases, m.cache.counts().evictions), (4, 1));
    // A read during the erases waits for that of one erase block only.
    let at = 900 * MS;
    m.serve(Ns(at), &page(1), false);
    let begun = at + SEARCH + LOOKUP;
    m.chip.advance(&mut m.cache, Ns(begun + 1));
    assert_eq!(
        m.chip.read(Ns(begun + 1), PageRange { block: 0, page: 0, pages: 1 }),
        Ns(begun + 1_500_000 + PAGE_READ)
    );
}

#[test]
fn a_full_buffer_delays_the_request_that_fills_it() {
    let mut design = design();
    design.cache.write_buffer.value = Bytes(MIB / 8);
    let mut m = machine(&design, MIB, 4 * MIB, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    // The first block leaves the buffer during the fetch of the second one, and afterwards.
    let begin = 1000 + SEARCH + LOOKUP;
    let first = SEARCH + LOOKUP + BLOCK_DISK;
    let room = first + 32 * PAGE_PROGRAM;
    assert!(room > begin + 2 * BLOCK_DISK);
    assert_eq!(m.serve(Ns(1000), &page(32), false), Ns(room + PAGE_DRAM));
    assert_eq!(m.waited, 1);
}

#[test]
fn a_full_buffer_can_skip_flash_instead() {
    let mut design = design();
    design.cache.write_buffer.value = Bytes(MIB / 8);
    design.cache.when_full = WhenFull::Skip;
    let mut m = machine(&design, MIB, 4 * MIB, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    let begin = 1000 + SEARCH + LOOKUP;
    let fetched = begin.max(SEARCH + LOOKUP + BLOCK_DISK) + BLOCK_DISK;
    assert_eq!(m.serve(Ns(1000), &page(64), false), Ns(fetched + PAGE_DRAM));
    assert_eq!((m.waited, m.cache.counts().crowded, m.cache.counts().fills), (0, 1, 1));
}

#[test]
fn the_rest_of_a_page_is_fetched_before_a_part_is_written() {
    let mut m = machine(&design(), MIB, 4 * MIB, Fill::Block);
    let part = Request { asked: 512, ..page(40) };
    // 4 KiB from the disk, and 512 bytes to DRAM: 50 ns and 80 ns.
    let end = m.serve(Ns(0), &part, true);
    assert_eq!(end, Ns(SEARCH + LOOKUP + 3_300_000 + 13_654 + 130));
    assert_eq!((m.cache.counts().fills, m.backend.counters.read), (0, Bytes(4096)));
}

#[test]
fn writes_go_through_behind_reads() {
    let mut m = machine(&design(), MIB, 4 * MIB, Fill::Block);
    // Two adjacent writes are acknowledged from DRAM, and written to disk later in one access.
    assert_eq!(m.serve(Ns(0), &page(7), true), Ns(SEARCH + LOOKUP + PAGE_DRAM));
    m.serve(Ns(0), &page(8), true);
    // A read before they begin has priority; a read during the first write waits for it.
    let page_disk = 3_300_000 + 13_654;
    assert_eq!(m.backend.counters.writes, 2);
    let at = 10_000;
    let end = m.serve(Ns(at), &page(64), false);
    assert_eq!(end, Ns(SEARCH + LOOKUP + PAGE_DRAM + page_disk + BLOCK_DISK + PAGE_DRAM));
    m.backend.finish();
    // The read moved the head, so the second write is not sequential.
    assert_eq!((m.backend.counters.sequential, m.backend.counters.reads), (0, 1));
    assert_eq!(m.backend.counters.busy, Ns(2 * page_disk + BLOCK_DISK));
    let mut m = machine(&design(), MIB, 0, Fill::Block);
    m.serve(Ns(0), &page(7), true);
    m.serve(Ns(0), &page(8), true);
    m.backend.finish();
    assert_eq!(m.backend.counters.sequential, 1);
    assert_eq!(m.backend.counters.busy, Ns(page_disk + 13_654));
    // If the queue is full, the writer waits.
    let mut small = design();
    small.disk.queue.value = 1;
    let mut m = machine(&small, MIB, 0, Fill::Block);
    m.serve(Ns(0), &page(7), true);
    let end = m.serve(Ns(0), &page(70), true);
    assert_eq!((end, m.waited), (Ns(SEARCH + PAGE_DRAM + page_disk), 1));
}

#[test]
fn an_origin_answers_many_at_once() {
    let mut m = machine_of(&design(), MIB, 4 * MIB, Fill::Page, BackendKind::Origin);
    // 20 ms, and 4 KiB at 125 MB/s.
    let (latency, transfer) = (20_000_000, 32_768);
    let first = SEARCH + LOOKUP + latency + transfer;
    assert_eq!(m.serve(Ns(0), &page(0), false), Ns(first + PAGE_DRAM));
    assert_eq!(m.serve(Ns(0), &page(9), false), Ns(first + transfer + PAGE_DRAM));
    assert_eq!(m.backend.counters.busy, Ns(2 * transfer));
    assert_eq!(m.backend.fetch_interval(Bytes(4096)), Ns(transfer));
}

#[test]
fn dram_serves_requests_sequentially() {
    let mut m = machine(&design(), MIB, 0, Fill::Block);
    m.serve(Ns(0), &page(0), false);
    let at = Ns(100 * MS);
    for place in 1..4 {
        assert_eq!(m.serve(at, &page(0), false), at + Ns(SEARCH + place * PAGE_DRAM));
    }
}

#[test]
fn power_follows_table_1() {
    let design = design();
    let close =
        |is: f64, expected: f64| assert!((is / expected - 1.0).abs() < 1e-12, "{is} {expected}");
    // 1 GiB of DRAM alone, 8 Gbit. One rank is active for a tenth of a second.
    let alone = PowerInput {
        dram: Bytes(1 << 30),
        flash: Bytes::ZERO,
        reading: Ns(80 * MS),
        writing: Ns(20 * MS),
        chip: chip::ChipCounters::default(),
        time: Ns::SECOND,
        requests: 1000,
    };
    let idle = |mw: f64| Watts(mw / 1e3);
    let ready = power(&design, &alone, idle(80.0));
    close(ready.dram_read_w, 8.0 * 0.878 * 0.08);
    close(ready.dram_write_w, 8.0 * 0.878 * 0.02);
    close(ready.dram_idle_w, 8.0 * 0.080 * 0.9);
    close(ready.total_w, 8.0 * (0.0878 + 0.072));
    close(ready.energy_per_request_j.unwrap(), 8.0 * 0.1598 / 1000.0);
    assert_eq!((ready.flash_idle_w, ready.controller_w), (0.0, 0.0));
    let down = power(&design, &alone, idle(18.0));
    close(down.total_w, 8.0 * (0.0878 + 0.0162));
    // 128 MiB, and 1 GiB of flash. 1 Gbit of it is active for one of two seconds.
    let counters = chip::ChipCounters {
        reading: Ns(500 * MS),
        programming: Ns(300 * MS),
        erasing: Ns(200 * MS),
        ..chip::ChipCounters::default()
    };
    let two = PowerInput {
        dram: Bytes(128 << 20),
        flash: Bytes(1 << 30),
        chip: counters,
        time: Ns::SECOND * 2,
        ..alone
    };
    let power = power(&design, &two, idle(18.0));
    close(power.dram_read_w, 0.878 * 0.04);
    close(power.dram_idle_w, 0.018 * 0.95);
    close(power.flash_read_w, 0.027 * 0.25);
    close(power.flash_program_w, 0.027 * 0.15);
    close(power.flash_erase_w, 0.027 * 0.1);
    close(power.flash_idle_w, 6e-6 * 7.5);
    close(power.controller_w, 0.020 * 0.5 + 1e-4 * 0.5);
}

/// The paper: 128 MB and 1 GB need 40 % less area than 1 GB of DRAM.
#[test]
fn area_and_cost_follow_table_1() {
    let design = design();
    let close =
        |is: f64, expected: f64| assert!((is / expected - 1.0).abs() < 1e-12, "{is} {expected}");
    let two = DieArea::new(&design, Bytes(128 << 20), Bytes(1 << 30));
    let one = DieArea::new(&design, Bytes(1 << 30), Bytes::ZERO);
    close(two.dram_cm2, 1.0 / 0.7);
    close(two.flash_cm2, 8.0 / 1.42);
    close(one.total_cm2, 8.0 / 0.7);
    let less = 1.0 - two.total_cm2 / one.total_cm2;
    assert!((0.38..0.39).contains(&less), "{less}");
    let cost = Cost::new(&design, Bytes(128 << 20), Bytes(1 << 30));
    close(cost.total_usd, 48.0 + 168.0);
}

/// The paper: 2 years for 2 GB at a million erases, with a disk that is always busy.
#[test]
fn the_worst_case_lifetime_is_that_of_the_paper() {
    let design = design();
    let shape = design.shape(Bytes(2 << 30), Fill::Block).unwrap();
    assert_eq!(shape.blocks(), 16_384);
    let machine = machine(&design, MIB, 2 << 30, Fill::Block);
    let below = Backend::new(&design, &BackendKind::Disk, "page").unwrap();
    let refill = StepTimes::new(&design).refill(32);
    assert_eq!(refill, Ns(ERASES + 32 * PAGE_PROGRAM));
    let fetch = below.fetch_interval(Bytes(128 << 10));
    let load_wear = LoadWear { full_programs: 0.0, steady: None };
    let wear_report =
        wear(&design, &machine, &load_wear, &FillCost { fetches: 1, fetch, refill }).unwrap();
    let million = wear_report.lifetimes[1];
    assert_eq!((million.endurance, million.years), (1_000_000, None));
    assert!((1.9..2.0).contains(&million.worst_case_years), "{million:?}");
    assert!(million.worst_case_of_flash_years > 10.0, "{million:?}");
}

//! Whole runs: what adds up, what is the policy's answer, what cannot be.

use super::*;

#[test]
fn a_run_adds_up() {
    adds_up(FillKind::Block, 32);
    adds_up(FillKind::Page, 1);
}

fn adds_up(fill: FillKind, pages: u64) {
    let lines: Vec<_> = (0..4000).map(|i| (i * 500, i * i % 5003, i % 7 != 0)).collect();
    let (_folder, mut config) = config(&lines, 3 * MIB, 4 * MIB);
    config.design.cache.fill.value = fill;
    let told = run(&config, &Watch::default()).unwrap();
    let levels = told.levels;
    let all = [levels.dram, levels.buffer, levels.flash, levels.backend, levels.written];
    assert_eq!(told.answers.requests, 4000);
    assert_eq!(all.map(|level| level.requests).iter().sum::<u64>(), 4000);
    assert_eq!(all.map(|level| level.bytes).iter().sum::<u64>(), told.answers.bytes);
    assert_eq!(told.answers.hits + told.answers.misses, 4000);
    let buffered = all[1].requests > 0 || fill == FillKind::Page;
    assert!(buffered && [0, 2, 3, 4].iter().all(|i| all[*i].requests > 0), "{levels:?}");
    let wear = told.wear.unwrap();
    assert!(wear.evictions > 0);
    let flash = told.flash.unwrap();
    assert_eq!(flash.erases, 4 * (wear.evictions + wear.swap_erases));
    assert_eq!(flash.pages_programmed, 2 * (pages * flash.fills + wear.swap_pages));
    assert_eq!(
        told.table.reads,
        levels.buffer.requests + levels.flash.requests + levels.backend.requests
    );
    assert_eq!(told.memory.primary_bytes + told.memory.tables_bytes + MIB, 3 * MIB);
    assert_eq!(told.backend.writes, lines.iter().filter(|line| !line.2).count() as u64);
    let parts = told.power_down;
    let sum = parts.dram_read_w
        + parts.dram_write_w
        + parts.dram_idle_w
        + parts.flash_read_w
        + parts.flash_program_w
        + parts.flash_erase_w
        + parts.flash_idle_w
        + parts.controller_w;
    assert!((sum / parts.total_w - 1.0).abs() < 1e-9);
    assert!((parts.energy_j / told.simulated_s / parts.total_w - 1.0).abs() < 1e-9);
    // Lifetime is the endurance over erases a block a second.
    let life = wear.lifetimes[0];
    let expected = 1e5 / (wear.mean / told.simulated_s) / (365.25 * 86400.0);
    assert!((life.years.unwrap() / expected - 1.0).abs() < 1e-9);
    assert!(life.first_block_years < life.years);
    // When requests come changes nothing of what is found.
    for pace in [
        PaceConfig { rate: Some(1e5), ..config.pace.clone() },
        PaceConfig { outstanding: Some(24), think: Some(Ns(1000)), ..config.pace.clone() },
        PaceConfig { speed: Some(3.0), ..config.pace.clone() },
    ] {
        let other = run(&FlashCacheConfig { pace, ..config.clone() }, &Watch::default()).unwrap();
        assert_eq!(
            [other.answers.hits, other.levels.dram.requests, other.flash.unwrap().erases],
            [told.answers.hits, levels.dram.requests, flash.erases]
        );
        assert_ne!(other.latency_us, told.latency_us);
    }
}

#[test]
fn without_flash_it_is_the_policys_answer() {
    let lines: Vec<_> = (0..3000).map(|i| (i * 100, i * i % 1009, true)).collect();
    let (_folder, config) = config(&lines, 2 * MIB, 0);
    for policy in ["lru", "s3-fifo", "arc"] {
        let two = FlashCacheConfig { dram_policy: policy.into(), ..config.clone() };
        let one = crate::cache::CacheRunConfig {
            trace: config.trace.clone(),
            policy: policy.into(),
            dram: config.dram,
            flash: Bytes::ZERO,
            objects: false,
        };
        let two = run(&two, &Watch::default()).unwrap();
        let one = crate::cache::run(&one, &Watch::default()).unwrap();
        assert_eq!(
            (two.answers.misses, two.answers.miss_bytes),
            (one.answers.misses, one.answers.miss_bytes),
            "{policy}"
        );
        assert_eq!((two.flash, two.wear, two.table.lookups), (None, None, 0));
    }
}

#[test]
fn what_cannot_be_is_told() {
    let (_folder, config) = config(&[(0, 0, true)], 3 * MIB, 4 * MIB);
    let said = |change: fn(&mut FlashCacheConfig)| {
        let mut config = config.clone();
        change(&mut config);
        run(&config, &Watch::default()).unwrap_err().to_string()
    };
    type Change = fn(&mut FlashCacheConfig);
    let cases: [(Change, &str); 16] = [
        (|c| c.flash = Bytes(3 * MIB), "sets of 16"),
        (|c| c.dram = Bytes(MIB), "holds no page"),
        (|c| c.design.cache.page.value = Bytes(8192), "pages of 4KiB"),
        (|c| c.design.cache.page.value = Bytes(3000), "flash pages"),
        (|c| c.design.cache.logical_block.value = Bytes(10_000), "no whole number of pages"),
        (|c| c.design.cache.erase_blocks.value = 5, "erase blocks"),
        (|c| c.design.cache.ways.value = 0, "holds nothing"),
        (|c| c.design.cache.write_buffer.value = Bytes(4096), "no logical block"),
        (|c| c.design.flash.rate_per_s.value = Bytes(0), "moves nothing"),
        (|c| c.design.dram.gbit_per_cm2.value = 0.0, "above zero"),
        (|c| c.dram_policy = "lur".into(), "none called `lur`"),
        (|c| c.pace.rate = Some(-1.0), "not above zero"),
        (|c| c.pace.outstanding = Some(0), "none never end"),
        (|c| c.pace.think = Some(Ns(1)), "closed loop only"),
        (|c| (c.pace.rate, c.pace.speed) = (Some(1.0), Some(1.0)), "exclude each other"),
        (
            |c| (c.objects, c.design.cache.fill.value) = (true, FillKind::Block),
            "have no neighbours",
        ),
    ];
    for (change, expected) in cases {
        let error = said(change);
        assert!(error.contains(expected) && error.contains("\n  try: "), "{error}");
    }
}

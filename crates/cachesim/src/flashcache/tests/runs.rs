//! Complete runs: sums of counters, agreement with single-level caches, and errors.

use super::*;

#[test]
fn the_counters_of_a_run_add_up() {
    check_sums(FillKind::Block, 32);
    check_sums(FillKind::Page, 1);
}

/// 4 MiB of flash that is filled in about half an hour, and then overwritten at a hundred times
/// that rate.
#[test]
fn a_lifetime_excludes_the_first_fill_of_the_flash() {
    let at = |i: u64| if i < 2000 { i * 1_000_000 } else { 2_000_000_000 + (i - 2000) * 10_000 };
    let lines: Vec<_> = (0..30_000).map(|i| (at(i), i * i % 5003, true)).collect();
    let (_folder, mut config) = config(&lines, 3 * MIB, 4 * MIB);
    config.design.cache.fill.value = FillKind::Page;
    let report = run(&config, &Progress::default()).unwrap();
    let (wear, flash) = (report.wear.unwrap(), report.flash.unwrap());
    let life = wear.lifetimes[0];
    let span = wear.lifetime_span_s.unwrap();
    assert!((1250.0..1262.0).contains(&span) && report.simulated_s > 2200.0, "{span}");
    // All pages except the 2048 that filled the flash were programmed in that time.
    let since = (flash.pages_programmed - 2048) as f64 / 2048.0 / 1e5;
    let years = span / since / (365.25 * 86_400.0);
    assert!((life.years.unwrap() / years - 1.0).abs() < 0.01, "{life:?}, not {years}");
    assert!(life.first_block_years < life.years);
}

fn check_sums(fill: FillKind, pages: u64) {
    let lines: Vec<_> = (0..4000).map(|i| (i * 500, i * i % 5003, i % 7 != 0)).collect();
    let (_folder, mut config) = config(&lines, 3 * MIB, 4 * MIB);
    config.design.cache.fill.value = fill;
    let report = run(&config, &Progress::default()).unwrap();
    let levels = report.levels;
    let all = [levels.dram, levels.buffer, levels.flash, levels.backend, levels.written];
    assert_eq!(report.hit_report.requests, 4000);
    assert_eq!(all.map(|level| level.requests).iter().sum::<u64>(), 4000);
    assert_eq!(all.map(|level| level.bytes).iter().sum::<u64>(), report.hit_report.bytes);
    assert_eq!(report.hit_report.hits + report.hit_report.misses, 4000);
    let buffered = all[1].requests > 0 || fill == FillKind::Page;
    assert!(buffered && [0, 2, 3, 4].iter().all(|i| all[*i].requests > 0), "{levels:?}");
    let wear = report.wear.unwrap();
    assert!(wear.evictions > 0);
    let flash = report.flash.unwrap();
    assert_eq!(flash.erases, 4 * (wear.evictions + wear.swap_erases));
    assert_eq!(flash.pages_programmed, 2 * (pages * flash.fills + wear.swap_pages));
    assert_eq!(
        report.table.reads,
        levels.buffer.requests + levels.flash.requests + levels.backend.requests
    );
    assert_eq!(report.memory.primary_bytes + report.memory.tables_bytes + MIB, 3 * MIB);
    assert_eq!(report.backend.writes, lines.iter().filter(|line| !line.2).count() as u64);
    let parts = report.power_down;
    let sum = parts.dram_read_w
        + parts.dram_write_w
        + parts.dram_idle_w
        + parts.flash_read_w
        + parts.flash_program_w
        + parts.flash_erase_w
        + parts.flash_idle_w
        + parts.controller_w;
    assert!((sum / parts.total_w - 1.0).abs() < 1e-9);
    assert!((parts.energy_j / report.simulated_s / parts.total_w - 1.0).abs() < 1e-9);
    // Two seconds are too short for a lifetime in years. 4 MiB are 2048 pages of 2 KiB.
    let life = wear.lifetimes[0];
    assert_eq!((life.years, life.first_block_years), (None, None));
    let over = flash.pages_programmed as f64 / 2048.0;
    assert!((life.endurance_used / (over / 1e5) - 1.0).abs() < 1e-9, "{life:?}");
    // Arrival times do not change hits and misses.
    for pace in [
        PaceConfig { rate: Some(1e5), ..config.pace.clone() },
        PaceConfig { outstanding: Some(24), think: Some(Ns(1000)), ..config.pace.clone() },
        PaceConfig { speed: Some(3.0), ..config.pace.clone() },
    ] {
        let other =
            run(&FlashCacheConfig { pace, ..config.clone() }, &Progress::default()).unwrap();
        assert_eq!(
            [other.hit_report.hits, other.levels.dram.requests, other.flash.unwrap().erases],
            [report.hit_report.hits, levels.dram.requests, flash.erases]
        );
        assert_ne!(other.latency_us, report.latency_us);
    }
}

/// Requests of two pages each; the second page is the first page of the next request.
#[test]
fn pages_of_a_request_come_together_and_count_as_one_request() {
    let (_folder, mut config) = config(&[], 2 * MIB, 2 * MIB);
    let lines: String = (0..1000).map(|i| format!("{} 0 {} 16 1\n", i * 1000, i * 8)).collect();
    std::fs::write(&config.trace.path, lines).unwrap();
    config.pace = PaceConfig { rate: Some(100.0), ..config.pace };
    let report = run(&config, &Progress::default()).unwrap();
    assert_eq!((report.hit_report.requests, report.whole.requests), (2000, 1000));
    // The first request has two new pages, each other request one.
    assert_eq!((report.hit_report.misses, report.whole.misses), (1001, 1000));
    assert_eq!(report.whole.dram_misses, 1000);
    // 100 requests per second, not 100 pages.
    assert!((9.9..10.1).contains(&report.simulated_s), "{}", report.simulated_s);
    let pace = PaceConfig { rate: None, outstanding: Some(24), ..config.pace.clone() };
    let closed = run(&FlashCacheConfig { pace, ..config }, &Progress::default()).unwrap();
    assert_eq!(closed.whole, report.whole);
}

/// A file of eight pages. Two in the middle are in flash, and the disk reads over them.
#[test]
fn a_request_with_pages_in_flash_is_one_pass_of_the_disk() {
    let (_folder, mut config) = config(&[], 2 * MIB, 2 * MIB);
    // The middle, then pages that evict it from DRAM, then the file.
    let mut lines = "0 0 24 16 1\n".to_owned();
    let primary = 250;
    (0..primary).for_each(|i| writeln!(lines, "{} 0 {} 8 1", i, 80_000 + i * 16).unwrap());
    let busy = |config: &FlashCacheConfig, lines: &str| {
        std::fs::write(&config.trace.path, lines).unwrap();
        run(config, &Progress::default()).unwrap()
    };
    config.pace = PaceConfig { rate: Some(10.0), ..config.pace };
    let before = busy(&config, &lines);
    lines += "999 0 0 64 1\n";
    let after = busy(&config, &lines);
    assert_eq!(after.levels.flash.requests - before.levels.flash.requests, 2);
    assert_eq!(after.backend.reads - before.backend.reads, 6);
    // One access of 3.3 ms, and eight pages at 300 MB/s.
    let spent = after.backend.busy_s - before.backend.busy_s;
    assert!((spent - 3.3e-3 - 8.0 * 4096.0 / 300e6).abs() < 1e-6, "{spent}");
}

#[test]
fn without_flash_the_misses_are_those_of_the_policy() {
    let lines: Vec<_> = (0..3000).map(|i| (i * 100, i * i % 1009, true)).collect();
    let (_folder, config) = config(&lines, 2 * MIB, 0);
    for policy in ["lru", "s3-fifo", "arc"] {
        let two = FlashCacheConfig { dram_policy: policy.into(), ..config.clone() };
        let one = crate::CacheRunConfig {
            trace: config.trace.clone(),
            policy: policy.into(),
            dram: config.dram,
            flash: Bytes::ZERO,
            objects: false,
            warmup: None,
        };
        let two = run(&two, &Progress::default()).unwrap();
        let one = crate::run(&one, &Progress::default()).unwrap();
        assert_eq!(
            (two.hit_report.misses, two.hit_report.miss_bytes),
            (one.hit_report.misses, one.hit_report.miss_bytes),
            "{policy}"
        );
        assert_eq!((two.flash, two.wear, two.table.lookups), (None, None, 0));
    }
}

/// The counters during and after a warm-up add up to those of a run without one.
#[test]
fn a_warm_up_is_excluded_from_all_counters() {
    let lines: Vec<_> = (0..30_000_u64).map(|i| (i * 10_000, i * i % 5003, i % 7 != 0)).collect();
    let warmed_run = |warmup, count: usize| {
        let (_folder, mut config) = config(&lines[..count], 3 * MIB, 4 * MIB);
        config.warmup = warmup;
        run(&config, &Progress::default()).unwrap()
    };
    let (first, all) = (warmed_run(None, 20_000), warmed_run(None, 30_000));
    let later = warmed_run(Some(WarmUp::Requests(20_000)), 30_000);
    let left_out = later.warmup.unwrap();
    assert_eq!((left_out.requests, left_out.accesses), (20_000, 20_000));
    assert_eq!((left_out.bytes, left_out.time_s), (first.hit_report.bytes, Some(200.0)));
    assert!((later.simulated_s + 200.0 - all.simulated_s).abs() < 1e-9);
    let counted = |report: &FlashCacheReport| {
        let (flash, wear) = (report.flash.unwrap(), report.wear.as_ref().unwrap());
        [
            report.hit_report.requests,
            report.hit_report.misses,
            report.whole.misses,
            report.levels.flash.requests,
            report.levels.dram.bytes,
            report.table.reads,
            report.backend.reads,
            report.backend.bytes_written,
            flash.fills,
            wear.evictions,
        ]
    };
    let sums = counted(&first).iter().zip(counted(&later)).map(|(a, b)| a + b).collect::<Vec<_>>();
    assert_eq!(sums, counted(&all));
    // Background work may end later.
    let (flash, before) = (later.flash.unwrap(), first.flash.unwrap());
    let late = all.flash.unwrap().erases - before.erases;
    assert!(flash.erases.abs_diff(late) <= 64, "{} {late}", flash.erases);
    let energy = later.power_down.energy_j + first.power_down.energy_j;
    assert!((energy / all.power_down.energy_j - 1.0).abs() < 1e-3);
    // Lifetimes are based on the time after the warm-up, if the flash was written once before.
    let wear = later.wear.as_ref().unwrap();
    assert!((wear.lifetime_span_s.unwrap() - later.simulated_s).abs() < 1e-9);
    let mean = wear.evictions as f64 / 32.0;
    assert!((wear.mean - mean).abs() < 1e-9 && wear.max < all.wear.unwrap().max);
    let used = flash.pages_programmed as f64 / 2048.0 / 1e5;
    assert!((wear.lifetimes[0].endurance_used / used - 1.0).abs() < 1e-9);
    // The same warm-up as a fraction of the trace, and as a time.
    let same = [WarmUp::Share(2.0 / 3.0 + 1e-9), WarmUp::Time(Ns(200 * Ns::SECOND.0))];
    for warmup in same {
        let report = warmed_run(Some(warmup), 30_000);
        assert_eq!((report.warmup, counted(&report)), (later.warmup, counted(&later)));
    }
}

/// Requests of two pages: a warm-up ends between requests, in a cache of one level, too.
#[test]
fn a_warm_up_of_one_level_equals_that_of_two() {
    let (_folder, mut two) = config(&[], 2 * MIB, 0);
    let lines: String =
        (0..5000_u64).map(|i| format!("{} 0 {} 16 1\n", i * 1000, i * i % 1009 * 8)).collect();
    std::fs::write(&two.trace.path, lines).unwrap();
    for warmup in [WarmUp::Requests(1234), WarmUp::Share(0.4), WarmUp::Time(Ns(1_000_000))] {
        two.warmup = Some(warmup);
        let one = crate::CacheRunConfig {
            trace: two.trace.clone(),
            policy: "lru".into(),
            dram: two.dram,
            flash: Bytes::ZERO,
            objects: false,
            warmup: two.warmup,
        };
        let two = run(&two, &Progress::default()).unwrap();
        let swept = crate::sweep(&[one.clone(), one.clone()], &Progress::default()).unwrap();
        let one = crate::run(&one, &Progress::default()).unwrap();
        assert_eq!((one.warmup, one.hit_report), (two.warmup, two.hit_report));
        assert_eq!(swept, [one.clone(), one.clone()]);
        let left_out = one.warmup.unwrap();
        assert_eq!(left_out.accesses, 2 * left_out.requests);
        assert_eq!(one.hit_report.requests + left_out.accesses, 10_000);
        assert_eq!(one.insertions, one.hit_report.misses);
    }
}

#[test]
fn an_invalid_warm_up_is_refused() {
    let (_folder, mut config) = config(&[(0, 0, true), (1, 1, true)], 3 * MIB, 4 * MIB);
    for (warmup, expected) in [
        (WarmUp::Requests(0), "nothing comes before"),
        (WarmUp::Requests(2), "after 2 requests"),
        (WarmUp::Time(Ns(Ns::SECOND.0)), "after 2 requests"),
        (WarmUp::Share(1.0), "below 100 %"),
        (WarmUp::Share(0.0), "below 100 %"),
    ] {
        config.warmup = Some(warmup);
        let error = run(&config, &Progress::default()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("\n  try: "), "{error}");
    }
}

#[test]
fn invalid_configs_are_refused() {
    let (_folder, config) = config(&[(0, 0, true)], 3 * MIB, 4 * MIB);
    let error_of = |change: fn(&mut FlashCacheConfig)| {
        let mut config = config.clone();
        change(&mut config);
        run(&config, &Progress::default()).unwrap_err().to_string()
    };
    type Change = fn(&mut FlashCacheConfig);
    let cases: [(Change, &str); 16] = [
        (|c| c.flash = Bytes(3 * MIB), "sets of 16"),
        (|c| c.dram = Bytes(MIB), "holds no page"),
        (|c| c.design.cache.page.value = Bytes(8192), "pages of 4KiB"),
        (|c| c.design.cache.page.value = Bytes(3000), "flash pages"),
        (|c| c.design.cache.logical_block.value = Bytes(10_000), "not a whole number of pages"),
        (|c| c.design.cache.erase_blocks.value = 5, "erase blocks"),
        (|c| c.design.cache.ways.value = 0, "holds nothing"),
        (|c| c.design.cache.write_buffer.value = Bytes(4096), "no logical block"),
        (|c| c.design.flash.rate_per_s.value = Bytes(0), "moves nothing"),
        (|c| c.design.dram.gbit_per_cm2.value = 0.0, "above zero"),
        (|c| c.dram_policy = "lur".into(), "none called `lur`"),
        (|c| c.pace.rate = Some(-1.0), "not above zero"),
        (|c| c.pace.outstanding = Some(0), "never ends"),
        (|c| c.pace.think = Some(Ns(1)), "closed loop only"),
        (|c| (c.pace.rate, c.pace.speed) = (Some(1.0), Some(1.0)), "exclude each other"),
        (
            |c| (c.objects, c.design.cache.fill.value) = (true, FillKind::Block),
            "have no neighbours",
        ),
    ];
    for (change, expected) in cases {
        let error = error_of(change);
        assert!(error.contains(expected) && error.contains("\n  try: "), "{error}");
    }
}

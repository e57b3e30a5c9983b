//! Lifetime of the paper's array compared with section 4.1 of the Gordon paper: "it is possible to
//! write 25.6PB"; "the peak program bandwidth for a node is 900MB/s, so wear out could, in theory,
//! occur in one year".

use gordon_blockio::{IoOp, Request};
use gordon_sim::InOrderHost;
use gordon_ssd::{Lifetime, Ssd, SsdConfig};
use gordon_units::{Bytes, Ns, Progress};

fn slc() -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let text = std::fs::read_to_string(format!("{root}gordon-slc-256g.toml")).expect("is there");
    toml::from_str(&text).expect("is valid")
}

fn lifetime() -> Lifetime {
    Ssd::new(&slc()).expect("possible").stats().lifetime
}

#[test]
fn the_papers_25_6_petabytes_are_exported_bytes_times_erases() {
    let (config, lifetime) = (slc(), lifetime());
    // 256 * 10^9 B x 100,000 erases.
    assert_eq!(*config.capacity * *config.endurance.erase_budget, Bytes(25_600_000_000_000_000));
    // All of the array, 256 GiB raw, takes 7.4 % more: 27.49 PB.
    assert_eq!(lifetime.writable(), Bytes(274_877_906_944 * 100_000));
}

#[test]
fn at_900_mb_a_second_it_lasts_about_a_year() {
    const PAGE: u64 = 64 << 10;
    // Programs of a thousand seconds.
    let programs = 900_000_000 * 1000 / PAGE;
    let years = Lifetime { programs, ..lifetime() }.years(Ns(1_000_000_000_000));
    let years = years.expect("something was programmed");
    // 27.49 PB / 900 MB/s / 31,557,600 s; from the paper's 25.6 PB it is 0.90.
    assert!((years - 0.9678).abs() < 1e-4, "{years}");
    // With a write amplification of 2 it is half of that.
    let twice = Lifetime { programs: 2 * programs, ..lifetime() }.years(Ns(1_000_000_000_000));
    assert!((twice.expect("programmed") - years / 2.0).abs() < 1e-9);
}

#[test]
fn a_burst_has_no_lifetime() {
    let worn = Lifetime { programs: 1 << 20, ..lifetime() };
    assert_eq!(worn.years(Ns(60 * Ns::SECOND.0 - 1)), None);
    assert!(worn.years(Ns(60 * Ns::SECOND.0)).is_some());
    assert_eq!(lifetime().years(Ns(60 * Ns::SECOND.0)), None);
    // 2^20 super-pages of 64 KiB are 64 GiB, a quarter of the array, which lasts for 100,000 times.
    assert!((worn.used() - 0.25e-5).abs() < 1e-12, "{}", worn.used());
}

#[test]
fn the_maximum_rating_does_not_overflow() {
    let lifetime = Lifetime { erase_budget: u64::MAX, programs: 1, ..lifetime() };
    assert_eq!(lifetime.writable(), Bytes(u64::MAX));
    let years = lifetime.years(Ns(60 * Ns::SECOND.0)).unwrap();
    assert!(years.is_finite() && years > 1e15, "{years}");
}

/// Factory-bad blocks are never programmed, so they neither extend the lifetime nor lower the mean
/// wear. Blocks that go bad later have been worn out, and count.
#[test]
fn blocks_that_are_bad_from_the_start_do_not_count() {
    let mut config = slc().with_capacity(Bytes(1 << 30)).unwrap();
    config.capacity = Bytes(800_000_000).into();
    config.endurance.factory_bad = Some(0.0025.into());
    config.endurance.erase_budget = 8.into();
    config.ftl.write_points = Some(1.into());
    let ssd = Ssd::with_seed(&config, 1).expect("possible");
    let (good, lifetime) = (u64::from(ssd.ftl().good_blocks()), ssd.stats().lifetime);
    let all = u64::from(ssd.ftl().layout().blocks());
    assert!(good < all, "{good} of {all}");
    assert_eq!(lifetime.blocks, good);
    assert_eq!(lifetime.writable(), Bytes(good * lifetime.block_bytes.0 * 8));
    let mut host = InOrderHost::new(ssd);
    while host.device().ftl().stats().grown_bad == 0 {
        let offset = Bytes(host.requests() * 7 % 12_000 * (64 << 10));
        host.submit(Request::new(IoOp::Write, offset, Bytes(64 << 10)), 1);
    }
    let ssd = host.device();
    let stats = ssd.stats();
    assert_eq!((stats.lifetime.blocks, ssd.erases().count() as u64), (good, good));
    assert!(stats.wear.min > 0, "{:?}", stats.wear);
    let mean = ssd.erases().map(f64::from).sum::<f64>() / good as f64;
    assert!((stats.wear.mean - mean).abs() < 1e-9, "{:?}, {mean}", stats.wear);
}

/// 1 GiB is mapped, and only the first 32 MiB are overwritten. Without static wear levelling the
/// blocks of the rest are never erased; with it, the difference in erases is at most 2.5 times the
/// configured spread.
#[test]
fn static_levelling_uses_blocks_of_data_that_never_change() {
    let wear = |spread: u32| {
        let mut config = slc().with_capacity(Bytes(1 << 30)).unwrap();
        config.ftl.wear_spread = Some(spread.into());
        let mut ssd = Ssd::new(&config).expect("possible");
        ssd.precondition(1.0, &Progress::default()).expect("nobody stops it");
        let mut host = InOrderHost::new(ssd);
        for write in 0..60_000 {
            let offset = Bytes(write * 7 % 512 * (64 << 10));
            host.submit(Request::new(IoOp::Write, offset, Bytes(64 << 10)), 1);
        }
        let stats = host.device().stats();
        (stats.wear, stats.ftl.levelled, stats.ftl.wear_programs)
    };
    let (without, levelled, copies) = wear(0);
    assert_eq!((without.min, levelled, copies), (0, 0, 0));
    assert!(without.max > 30, "{without:?}");
    let (with, levelled, copies) = wear(8);
    assert!(levelled > 100 && copies > 0, "{levelled} blocks levelled with {copies} copies");
    assert!(with.max - with.min <= 5 * 8 / 2, "{with:?}, without {without:?}");
}

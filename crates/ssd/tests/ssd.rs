//! The flash device through the [`Device`] contract, with times computed by hand.
//!
//! The configuration is the preset without command cycles: 2080 bytes take 7,820 ns on a bus (2080
//! / 266 MB/s), and the 8 pages of a super-page on each bus 62,560 ns. A read senses for 25,000 ns,
//! a program takes 200,000.

use gordon_blockio::{Cause, Completion, Device, IoOp, Request, Usage};
use gordon_ftl::VictimPolicy;
use gordon_ssd::{PageTimes, Ssd, SsdConfig};
use gordon_units::{Bytes, Hertz, Lpn, Ns, Progress};
use proptest::prelude::*;

const KIB: u64 = 1024;
const STREAM: u64 = 62_560;
const READ: u64 = 25_000;
const PROGRAM: u64 = 200_000;

fn preset(name: &str) -> SsdConfig {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/gordon/parts/flash/");
    let text = std::fs::read_to_string(format!("{root}{name}.toml")).expect("the preset is there");
    toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn plain() -> SsdConfig {
    let mut config = preset("gordon-slc-256g");
    config.timing.command = Ns::ZERO.into();
    config
}

fn request(op: IoOp, page: u64, offset: u64, len: u64) -> Request {
    Request::new(op, Bytes(page * 64 * KIB + offset * KIB), Bytes(len * KIB))
}

/// Submits all requests at 0. Returns the completion times by request.
fn times(ssd: &mut Ssd, requests: &[Request]) -> Vec<u64> {
    times_from(ssd, Ns(0), requests)
}

/// Submits all requests at `start`. Returns the response times by request.
fn times_from(ssd: &mut Ssd, start: Ns, requests: &[Request]) -> Vec<u64> {
    for (id, &request) in (0..).zip(requests) {
        ssd.submit(start, id, request);
    }
    let mut done = finish(ssd);
    done.sort_by_key(|c| c.id);
    assert_eq!(done.len(), requests.len());
    done.into_iter().map(|c| (c.at - start).0).collect()
}

/// A time at which nothing is in flight. An idle device starts background work after a millisecond,
/// which advances its clock.
const LATER: Ns = Ns(10_000_000);

fn finish(ssd: &mut Ssd) -> Vec<Completion> {
    let mut done = vec![];
    ssd.run_until(Ns::MAX, &mut done);
    done
}

fn device(config: &SsdConfig) -> Ssd {
    let mut ssd = Ssd::new(config).expect("the preset is possible");
    ssd.preload(Bytes(0), Bytes(64 * 64 * KIB));
    ssd
}

#[test]
fn writes_take_turns_on_the_bus_and_work_in_four_die_groups() {
    let writes: Vec<_> = (100..105).map(|page| request(IoOp::Write, page, 0, 64)).collect();
    let first = STREAM + PROGRAM;
    // The bus is idle again at 4 * 62,560 = 250,240; the fifth waits for the first die group.
    let expected = [first, first + STREAM, first + 2 * STREAM, first + 3 * STREAM, 2 * first];
    assert_eq!(times(&mut device(&plain()), &writes), expected);
    assert_eq!(2 * first, 525_120);
}

#[test]
fn reads_sense_together_and_take_turns_on_the_bus() {
    // Preloaded pages are distributed round-robin over the die groups: 0 and 4 are on the same.
    let reads = [0, 1, 2, 4].map(|page| request(IoOp::Read, page, 0, 64));
    // The fourth senses when the first is done, at 87,560. It is sensed at 112,560, and the bus is
    // taken until 25,000 + 3 * 62,560 = 212,680.
    let first = READ + STREAM;
    let expected = [first, first + STREAM, first + 2 * STREAM, first + 3 * STREAM];
    assert_eq!(times(&mut device(&plain()), &reads), expected);
    assert_eq!(first, 87_560);
}

#[test]
fn a_read_waits_for_a_program_on_the_bus_and_not_for_one_in_the_cells() {
    let both = [request(IoOp::Write, 100, 0, 64), request(IoOp::Read, 1, 0, 64)];
    // The write goes to die group 0, the read to die group 1; it has sensed at 25,000 and waits
    // until 62,560.
    assert_eq!(times(&mut device(&plain()), &both), [STREAM + PROGRAM, 2 * STREAM]);
    // On the die group that programs, the read waits for the end of the program.
    let both = [request(IoOp::Write, 100, 0, 64), request(IoOp::Read, 0, 0, 64)];
    let write = STREAM + PROGRAM;
    assert_eq!(times(&mut device(&plain()), &both), [write, write + READ + STREAM]);
}

#[test]
fn part_of_a_page_costs_the_whole() {
    let mut ssd = device(&plain());
    // A read of 8 KiB costs a whole page; a write of 8 KiB costs a read and a program, but no read
    // if the page is unmapped.
    assert_eq!(times(&mut ssd, &[request(IoOp::Read, 0, 8, 8)]), [READ + STREAM]);
    let mut ssd = device(&plain());
    let write = request(IoOp::Write, 1, 8, 8);
    assert_eq!(times(&mut ssd, &[write]), [READ + STREAM + STREAM + PROGRAM]);
    let mut ssd = device(&plain());
    assert_eq!(times(&mut ssd, &[request(IoOp::Write, 200, 8, 8)]), [STREAM + PROGRAM]);
    // A write across a page boundary writes both pages.
    let mut ssd = device(&plain());
    let across = request(IoOp::Write, 200, 60, 8);
    assert_eq!(times(&mut ssd, &[across]), [2 * STREAM + PROGRAM]);
    assert_eq!(ssd.stats().ftl.host_programs, 2);
}

#[test]
fn the_papers_pattern_is_bypassed_and_combined() {
    // "an 8KB access aligned on a 128KB boundary followed immediately by a 120KB access to the
    // rest": pages 0 and 1 are read once each.
    let pattern = |op, page| [request(op, page, 0, 8), request(op, page, 8, 120)];
    let mut ssd = device(&plain());
    let done = times(&mut ssd, &pattern(IoOp::Read, 0));
    assert_eq!(done, [READ + STREAM, READ + 2 * STREAM]);
    assert_eq!((ssd.stats().ftl.host_page_reads, ssd.stats().ftl.bypassed), (2, 1));
    let mut config = plain();
    config.ftl.bypass = Some(false.into());
    let mut ssd = device(&config);
    times(&mut ssd, &pattern(IoOp::Read, 0));
    assert_eq!((ssd.stats().ftl.host_page_reads, ssd.stats().ftl.bypassed), (3, 0));
    // If the page holds data, the second write joins the first while that reads the page.
    let mut ssd = device(&plain());
    times(&mut ssd, &pattern(IoOp::Write, 0));
    let stats = ssd.stats().ftl;
    assert_eq!((stats.host_programs, stats.merge_page_reads, stats.combined), (2, 1, 1));
    let mut config = plain();
    config.ftl.combine = Some(false.into());
    let mut ssd = device(&config);
    times(&mut ssd, &pattern(IoOp::Write, 0));
    assert_eq!((ssd.stats().ftl.host_programs, ssd.stats().ftl.combined), (3, 0));
}

#[test]
fn requests_without_flash_operations_complete_at_once() {
    let mut ssd = device(&plain());
    let unmapped = request(IoOp::Read, 300, 0, 64);
    let part = request(IoOp::Discard, 0, 4, 8);
    let flush = Request::FLUSH;
    assert_eq!(times(&mut ssd, &[unmapped, part, flush]), [0, 0, 0]);
    assert_eq!((ssd.stats().ftl.unmapped_reads, ssd.stats().ftl.trims), (1, 0));
    // The last page read is kept in a buffer.
    let again = [request(IoOp::Read, 5, 0, 8)];
    assert_eq!(times_from(&mut ssd, LATER, &again), [READ + STREAM]);
    let at = LATER * 2;
    ssd.submit(at, 9, again[0]);
    assert_eq!(finish(&mut ssd), [Completion { id: 9, at, cause: Cause::Buffer, failed: false }]);
    // A trim of 1.5 pages trims one, which then reads as zeros without delay.
    let gone = [request(IoOp::Discard, 5, 0, 96), request(IoOp::Read, 5, 0, 64)];
    assert_eq!(times_from(&mut ssd, LATER * 3, &gone), [0, 0]);
    assert_eq!((ssd.stats().ftl.unmapped_reads, ssd.stats().ftl.trims), (2, 1));
}

#[test]
fn a_flush_waits_for_the_writes_before_it() {
    let flush = Request::FLUSH;
    let write = |page| request(IoOp::Write, page, 0, 64);
    let first = STREAM + PROGRAM;
    let done = times(&mut device(&plain()), &[write(100), write(101), flush, write(102)]);
    assert_eq!(done, [first, first + STREAM, first + STREAM, first + 2 * STREAM]);
}

#[test]
fn usage_is_die_time_and_time_with_work() {
    let mut ssd = device(&plain());
    let done =
        times(&mut ssd, &[request(IoOp::Write, 100, 0, 64), request(IoOp::Write, 101, 0, 64)]);
    // Each of the 16 dies of a die group receives 2 pages of 7,820 ns and programs.
    let write = Ns(2 * 16 * (2 * 7_820 + PROGRAM));
    assert_eq!(ssd.usage(), Usage { read: Ns(0), write, controller: Ns(done[1]) });
    ssd.submit(Ns(10_000_000), 2, request(IoOp::Read, 3, 0, 64));
    finish(&mut ssd);
    let read = Ns(16 * (READ + 2 * 7_820));
    let controller = Ns(done[1] + READ + STREAM);
    assert_eq!(ssd.usage(), Usage { read, write, controller });
}

#[test]
fn the_presets_have_the_papers_parameters() {
    let slc = Ssd::new(&preset("gordon-slc-256g")).unwrap();
    assert_eq!(slc.capacity(), Bytes(256_000_000_000));
    let layout = *slc.ftl().layout();
    assert_eq!(layout.geometry().capacity(), "256GiB".parse().unwrap());
    assert_eq!((layout.die_groups(), slc.ftl().config().write_points), (4, 4));
    // "it is possible to write 25.6PB to the storage array" (4.1): 256 GB x 100,000. Here the raw
    // 256 GiB count.
    let writable = slc.stats().lifetime.writable();
    assert_eq!(writable, Bytes((256 << 30) * 100_000));
    // At most 6 bytes per page, and the block table.
    let per_page = slc.stats().ftl_memory.0 as f64 / f64::from(layout.pages());
    assert!(per_page < 6.3, "{per_page} bytes a page");
    let mlc = Ssd::new(&preset("gordon-mlc-512g")).unwrap();
    assert_eq!(mlc.capacity(), Bytes(512_000_000_000));
    assert_eq!(mlc.ftl().layout().geometry().capacity(), "512GiB".parse().unwrap());
    // A serialised config parses to the same config.
    let text = toml::to_string(&preset("gordon-mlc-512g")).unwrap();
    assert_eq!(toml::from_str::<SsdConfig>(&text).unwrap(), preset("gordon-mlc-512g"));
}

const LONG: Ns = Ns(3_600_000_000_001);

type Change<'a> = &'a dyn Fn(&mut SsdConfig);

#[test]
fn impossible_devices_are_refused() {
    let refused = |change: Change<'_>| {
        let mut config = preset("gordon-slc-256g");
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    let cases: [(&str, Change<'_>); 18] = [
        ("exporting 256GiB of 252GiB leaves garbage collection no room", &|c| {
            c.capacity = Bytes(256 << 30).into()
        }),
        ("is more than the array has (256GiB)", &|c| c.capacity = Bytes(1 << 40).into()),
        ("not a positive multiple", &|c| c.capacity = Bytes(1_000_001).into()),
        ("no rectangle", &|c| c.super_page.size = Bytes(3 << 10).into()),
        ("no buses", &|c| c.geometry.buses = 0.into()),
        ("write_points is 0", &|c| c.ftl.write_points = Some(0.into())),
        ("reserve is 0", &|c| c.ftl.reserve = Some(0.into())),
        ("low_water", &|c| c.ftl.low_water = Some(1.into())),
        ("a bus is 8", &|c| c.timing.bus_bits = 12.into()),
        ("a bus is 8", &|c| c.timing.bus_rate = Hertz(999.0).into()),
        ("timing.program: more than an hour", &|c| c.timing.program = PageTimes::from(LONG).into()),
        ("host.latency: more than an hour", &|c| c.host.latency = Some(LONG.into())),
        ("fewer than 1000 bytes", &|c| c.host.link = Some(Bytes(1).into())),
        ("choices: 4097 blocks", &|c| {
            c.ftl.victim = Some(VictimPolicy::DChoices.into());
            c.ftl.choices = Some(4097.into());
        }),
        ("last for 0 erases", &|c| c.endurance.erase_budget = 0.into()),
        ("price: -1", &|c| c.price = Some((-1.0).into())),
        ("embodied_kg: -1", &|c| c.embodied_kg = Some((-1.0).into())),
        ("rated_life_years: 0", &|c| c.rated_life_years = Some(0.0.into())),
    ];
    for (what, change) in cases {
        assert!(refused(change).contains(what), "{} has no `{what}`", refused(change));
    }
    let mut config = preset("gordon-slc-256g");
    config.super_page.shape =
        Some(gordon_ssd::ShapeConfig { buses: 4, dies_per_bus: 2, planes: 2 });
    assert!(config.validate().unwrap_err().to_string().contains("a shape of 32KiB"));
    let text = toml::to_string(&preset("gordon-slc-256g")).unwrap().replace("oob", "obb");
    assert!(toml::from_str::<SsdConfig>(&text).unwrap_err().to_string().contains("obb"));
}

/// The preset with few blocks, so that garbage collection starts soon.
fn small(blocks_per_plane: u32) -> SsdConfig {
    let mut config = plain();
    config.geometry.blocks_per_plane = blocks_per_plane.into();
    // 4 die groups with this many super-blocks of 63 data pages of 64 KiB; a tenth is
    // over-provisioning.
    config.capacity = Bytes(u64::from(blocks_per_plane * 4 * 63 * 9 / 10) * 64 * KIB).into();
    config
}

#[test]
fn ranges_are_preloaded_in_any_order() {
    let mut ssd = Ssd::new(&small(40)).expect("possible");
    let page = ssd.page_bytes().0;
    // Far ranges before near ones, one twice, and one that ends within a page.
    for (offset, len) in [(1000, 3 * page), (1, page), (1, page), (62, 4 * page), (500, 512)] {
        ssd.preload(Bytes(offset * page), Bytes(len));
    }
    ssd.load(&Progress::default()).expect("nobody stops it");
    let pages = (0..ssd.ftl().config().exported).map(Lpn);
    let mapped = pages.filter(|&page| ssd.ftl().is_mapped(page)).map(|page| page.0);
    assert!(mapped.eq([1, 62, 63, 64, 65, 500, 1000, 1001, 1002]));
    assert_eq!(ssd.stats().ftl.preloaded, 9);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..Default::default()
    })]

    /// For any sequence of requests, each completes once, not before its arrival, and
    /// deterministically.
    #[test]
    fn everything_completes_once(
        drafts in
            proptest::collection::vec((0u8..20, any::<u16>(), 1u64..300, 0u64..400_000), 1..400)
    ) {
        let run = || {
            let mut ssd = Ssd::new(&small(40)).expect("possible");
            ssd.preload(Bytes(0), ssd.capacity());
            let (mut done, mut arrivals, mut now) = (vec![], vec![], 0);
            let sectors = ssd.capacity().0 / 512;
            for (id, &(kind, place, len, wait)) in (0..).zip(&drafts) {
                now += wait;
                ssd.run_until(Ns(now), &mut done);
                let first = (u64::from(place) * sectors) >> 16;
                let len = len.min(sectors - first);
                let (op, len) = match kind {
                    0..6 => (IoOp::Read, len),
                    6..18 => (IoOp::Write, len),
                    18 => (IoOp::Discard, len),
                    _ => (IoOp::Flush, 0),
                };
                ssd.submit(Ns(now), id, Request::new(op, Bytes(first * 512), Bytes(len * 512)));
                arrivals.push(now);
            }
            done.extend(finish(&mut ssd));
            ssd.ftl().check().expect("the tables agree");
            (done, arrivals, ssd.stats())
        };
        let (done, arrivals, stats) = run();
        let mut ids: Vec<_> = done.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        prop_assert!(ids.into_iter().eq(0..drafts.len() as u64));
        prop_assert!(done.iter().all(|c| c.at.0 >= arrivals[c.id as usize]));
        prop_assert!(done.is_sorted_by_key(|c| c.at));
        let again = run();
        prop_assert_eq!((done, stats), (again.0, again.2));
    }
}

#[test]
fn a_trim_of_everything_does_not_slow_the_writes_after_it() {
    let mut ssd = device(&plain());
    let mut clock = Ns(0);
    let mut run = |ssd: &mut Ssd, requests: &[Request]| {
        let start = clock;
        for (id, &request) in (0..).zip(requests) {
            ssd.submit(start, id, request);
        }
        let end = finish(ssd).iter().map(|c| c.at).max().expect("there were requests");
        clock = end + LATER;
        end - start
    };
    let writes: Vec<_> = (1000..1400).map(|page| request(IoOp::Write, page, 0, 64)).collect();
    let fresh = run(&mut ssd, &writes);
    let all = Request::new(IoOp::Discard, Bytes(0), ssd.capacity());
    run(&mut ssd, &[all]);
    let after = run(&mut ssd, &writes);
    assert!(after.0 * 9 <= fresh.0 * 10, "{after} after a trim, {fresh} before");
}

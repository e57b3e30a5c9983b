//! The equations of the model on single samples.

use super::demand::{CoreDemand, StretchTable, demand_ratio};
use super::load::JobNode;
use super::numbers::NodeNumbers;
use super::pool::pooled;
use super::range::{PlaceCost, PreparedSample, RangeSource, SampleTimes, StorageRatio, VariedTime};
use crate::space::cores::Cores;
use crate::trace::sample::{JobSample, mark_steady};
use gordon_blockio::Usage;

const MIB: f64 = 1e6;

fn sample(cpu: f64) -> JobSample {
    JobSample { span: 1.0, cpu, cores: 4, ..JobSample::default() }
}

/// The times of a sample on cores of this number and speed, and a storage of this ratio.
fn on(sample: &JobSample, cores: u32, ratio: f64) -> SampleTimes {
    let (from, to) = (Cores::uniform(sample.cores), Cores::uniform(cores));
    let cost = PlaceCost { storage: StorageRatio::known(ratio), ..PlaceCost::UNCHANGED };
    times(sample, &cost, &StretchTable::new(&from, &to))
}

fn times(x: &JobSample, cost: &PlaceCost, table: &StretchTable) -> SampleTimes {
    let sample = PreparedSample::new(x);
    sample.times(cost, &sample.stretches(table), NodeNumbers::as_traced(1))
}

fn time(sample: &JobSample, cores: u32, speed: f64, ratio: f64) -> f64 {
    let times = on(sample, cores, ratio);
    times.time(1.0 / speed)
}

/// The ends of the range of each source that differs by sample.
fn ends(sample: &JobSample, cores: u32, speed: f64, ratio: f64) -> Vec<[f64; 2]> {
    let times = on(sample, cores, ratio);
    let y = 1.0 / speed;
    let of = |varied: &Option<VariedTime>| match varied {
        Some(varied) => [varied.least(y), varied.greatest(y)],
        None => [times.time(y); 2],
    };
    times.varied.iter().map(of).collect()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} is not {b}");
}

#[test]
fn the_traced_machine_itself_takes_the_length_of_the_trace() {
    for cpu in [0.0, 0.3, 1.0, 1.7, 2.4, 3.9, 4.0] {
        for iowait in [0.0, 0.2, 0.6] {
            for read in [0.0, MIB] {
                let iowait = f64::min(iowait, 4.0 - cpu);
                let x = JobSample { iowait, busy: 0.5, read, write: MIB, ..sample(cpu) };
                near(time(&x, 4, 1.0, 1.0), 1.0);
                for [low, high] in ends(&x, 4, 1.0, 1.0) {
                    near(low, 1.0);
                    near(high, 1.0);
                }
            }
        }
    }
}

#[test]
fn one_thread_gains_from_speed_and_not_from_cores() {
    for cores in [1, 2, 8] {
        near(time(&sample(1.0), cores, 2.0, 1.0), 0.5);
    }
}

#[test]
fn a_thread_that_reads_half_of_the_time_gains_half_from_the_device() {
    let x = JobSample { iowait: 0.5, busy: 0.5, read: MIB, ..sample(0.5) };
    near(time(&x, 8, 1.0, 0.1), 0.55);
    near(time(&x, 8, 1.0, 3.0), 2.0);
}

#[test]
fn waiting_threads_do_not_hide_the_width() {
    let x = JobSample { iowait: 2.0, busy: 1.0, read: MIB, ..sample(2.0) };
    near(x.split(x.blocked_time()).width, 4.0);
    near(time(&x, 4, 1.0, 0.1), 0.55);
}

#[test]
fn a_saturated_machine_divides_its_work_by_fewer_cores() {
    near(time(&sample(4.0), 2, 1.0, 1.0), 2.0);
    near(time(&sample(2.5), 1, 1.0, 1.0), 2.5);
}

#[test]
fn write_back_next_to_a_thread_that_computes_blocks_nothing() {
    let x = JobSample { iowait: 1.0, busy: 1.0, write: 1e8, ..sample(1.0) };
    near(x.blocked_time(), 0.0);
}

#[test]
fn measured_stalls_are_a_lower_bound_of_the_blocked_time() {
    let x = JobSample { stalled: Some(0.25), iowait: 3.0, busy: 1.0, ..sample(1.0) };
    near(x.blocked_time(), 0.25);
    let full = JobSample { stalled: Some(0.9), ..sample(2.0) };
    near(full.blocked_time(), 0.5);
}

/// A core of a constructed second: the time in which it ran and in which all of its threads
/// waited for storage.
fn of_cores(cores: &[(f64, f64)]) -> JobSample {
    let nonidle: f64 = cores.iter().map(|(ran, waited)| ran + waited).sum();
    // The kernel's mean over its cores, weighted by the time in which each had a thread
    // (kernel/sched/psi.c, collect_percpu_times).
    let full: f64 = cores.iter().map(|(ran, waited)| waited * (ran + waited)).sum();
    JobSample {
        cpu: cores.iter().map(|core| core.0).sum(),
        iowait: cores.iter().map(|core| core.1).sum(),
        busy: 1.0,
        read: MIB,
        stalled: Some(full / nonidle),
        ..sample(0.0)
    }
}

#[test]
fn stalls_and_iowait_give_the_same_blocked_time_of_threads_that_never_sleep() {
    for cores in [
        &[(0.5, 0.5), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)][..],
        &[(0.5, 0.5), (0.5, 0.5), (0.0, 0.0), (0.0, 0.0)],
        &[(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)],
        &[(0.2, 0.8), (0.7, 0.3), (1.0, 0.0), (0.4, 0.6)],
    ] {
        let with = of_cores(cores);
        let without = JobSample { stalled: None, ..with };
        near(with.blocked_time(), without.blocked_time());
    }
}

#[test]
fn stalls_add_nothing_where_iowait_says_more() {
    // One thread on all cores in turn, which waits half of its time: the kernel's mean over
    // the cores is a quarter of that.
    let migrates = of_cores(&[(0.125, 0.125); 4]);
    near(migrates.stalled.unwrap(), 0.125);
    near(migrates.blocked_time(), 0.5);
    // One thread that also sleeps: the device is busy only while the thread waits.
    let sleeps = of_cores(&[(0.2, 0.2), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]);
    near(JobSample { busy: 0.2, ..sleeps }.blocked_time(), 0.2);
}

#[test]
fn bounds_hold_with_pressure_and_are_equal_on_the_traced_machine() {
    for stalled in [None, Some(0.0), Some(0.3), Some(1.0)] {
        for waiting in [None, Some(0.0), Some(0.4), Some(1.0)] {
            for (cpu, iowait) in [(0.0, 0.0), (0.4, 0.0), (1.7, 1.1), (3.6, 0.4), (4.0, 0.0)] {
                for read in [0.0, MIB] {
                    let busy = 0.5;
                    let (write, steady) = (MIB, false);
                    let x = JobSample {
                        iowait,
                        busy,
                        read,
                        write,
                        stalled,
                        waiting,
                        steady,
                        ..sample(cpu)
                    };
                    near(time(&x, 4, 1.0, 1.0), 1.0);
                    for [low, high] in ends(&x, 4, 1.0, 1.0) {
                        near(low, 1.0);
                        near(high, 1.0);
                    }
                    assert!(x.blocked_time() <= x.blocked_time_high());
                    for to in [1, 2, 4, 8, 64] {
                        for ratio in [0.1, 1.0, 7.0] {
                            let best = time(&x, to, 1.5, ratio);
                            for [low, high] in ends(&x, to, 1.5, ratio) {
                                let is_inside = low <= best + 1e-12 && best <= high + 1e-12;
                                assert!(is_inside, "{x:?} on {to}, {ratio}: {low} {high}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn what_saturated_cores_could_use_is_unknown_on_more_cores() {
    for (traced, to) in [(1, 2), (1, 32), (4, 8), (4, 160)] {
        let x = JobSample { cores: traced, ..sample(f64::from(traced)) };
        let [low, high] = ends(&x, to, 1.0, 1.0)[RangeSource::Cores as usize];
        near(low, f64::from(traced) / f64::from(to));
        near(high, 1.0);
        let best = time(&x, to, 1.0, 1.0);
        assert!(low < best && best < high, "{traced} to {to}: {low} {best} {high}");
    }
}

#[test]
fn the_prior_of_the_demand_of_one_core_is_a_power_law() {
    // P(D >= k) = k^-0.5, so that D is 1 with 1 - 2^-0.5, and 2 on two cores with 2^-0.5.
    let two = 0.5f64.sqrt();
    near(time(&JobSample { cores: 1, ..sample(1.0) }, 2, 1.0, 1.0), (1.0 - two) + two / 2.0);
}

#[test]
fn a_lone_thread_has_the_speed_of_a_lone_thread_on_both_machines() {
    let from = Cores { count: 4, threads: 2, single: Some(1.6) };
    let to = Cores { count: 32, threads: 1, single: Some(1.02) };
    let table = StretchTable::new(&from, &to);
    let of = |sample| times(&sample, &PlaceCost::UNCHANGED, &table);
    near(of(sample(1.0)).own.slope, 1.6 / 1.02);
    // Two steady threads have a core each on the traced machine.
    let two = of(JobSample { steady: true, ..sample(2.0) }).own.slope;
    assert!((two / (1.6 / 1.02) - 1.0).abs() < 0.01, "{two}");
    // Of a varying demand, only the time of a lone thread is faster; the range has both.
    let varied = of(sample(2.5));
    let threads = varied.varied[RangeSource::Threads as usize].unwrap();
    assert!(threads.least(1.0) < varied.own.slope);
    assert!(threads.greatest(1.0) > varied.own.slope * 1.05);
    let same = StretchTable::new(&from, &from);
    let ratio = demand_ratio(3.0, 4);
    near(same.of(&CoreDemand { width: 3.0, ratio, ..CoreDemand::default() }).best, 1.0);
}

#[test]
fn stolen_time_is_demand_that_another_machine_serves() {
    let x = JobSample { unserved: 1.6, ..sample(2.4) };
    // All of four cores were wanted, and 0.6 of them served.
    near(time(&x, 4, 1.0, 1.0), 0.6);
    let [low, high] = ends(&x, 4, 1.0, 1.0)[RangeSource::Waiting as usize];
    near(low, 0.6);
    near(high, 1.0);
}

#[test]
fn a_full_link_is_time_of_the_network() {
    let full = JobSample { is_link_full: true, ..sample(0.2) };
    let table = StretchTable::new(&Cores::uniform(4), &Cores::uniform(4));
    let on = |network| {
        let cost = PlaceCost { network, network_ratio: network, ..PlaceCost::UNCHANGED };
        let times = times(&full, &cost, &table);
        let waiting = times.varied[RangeSource::Waiting as usize].unwrap();
        [times.time(1.0), waiting.greatest(1.0)]
    };
    near(on(1.0)[0], 1.0);
    // On a link ten times as fast, computing takes longest; or both in turn.
    near(on(0.1)[0], 0.2);
    near(on(0.1)[1], 0.28);
}

/// A node of four cores of this speed, with these samples.
fn node(speed: f64, samples: Vec<JobSample>) -> JobNode {
    JobNode {
        costs: vec![PlaceCost { network: 0.1, ..PlaceCost::UNCHANGED }; samples.len()],
        samples,
        usage: Usage::default(),
        wear: None,
        cores: Cores::uniform(4),
        reference_speed: speed,
    }
}

#[test]
fn the_work_of_nodes_adds_up_whenever_they_start_and_however_long_their_samples_are() {
    let of = |span: f64, cpu: f64| JobSample {
        span,
        busy: span / 2.0,
        read: MIB,
        stalled: Some(span / 4.0),
        ..sample(cpu)
    };
    let long = node(1.0, vec![of(2.0, 3.0); 3]);
    let short = node(2.0, vec![of(0.5, 1.0); 9]);
    for starts in [[0.0, 0.0], [1.3, 0.0], [0.0, 0.7], [0.0, 8.1]] {
        let one = pooled(vec![long.clone(), short.clone()], &starts);
        let sum = |of: fn(&JobSample) -> f64| one.samples.iter().map(of).sum::<f64>();
        near(one.reference_speed, 1.5);
        near(sum(|s| s.cpu) * one.reference_speed, 9.0 + 2.0 * 9.0);
        near(sum(|s| s.read), 12.0 * MIB);
        near(sum(|s| s.span), f64::max(starts[0] + 6.0, starts[1] + 4.5));
        assert!(one.samples.iter().all(|s| s.cores == 8 && s.cpu <= 8.0 * s.span + 1e-9));
        // The busier link of each window, at least as long as that of either node in all.
        assert!(one.costs.iter().map(|cost| cost.network).sum::<f64>() >= 0.9 - 1e-9);
    }
}

#[test]
fn a_window_of_several_nodes_has_the_sum_of_their_work_and_the_busiest_storage() {
    let x = JobSample { busy: 0.6, stalled: Some(0.3), waiting: Some(0.2), ..sample(1.0) };
    let y = JobSample { busy: 0.2, stalled: Some(0.1), waiting: None, ..sample(3.0) };
    let one = pooled(vec![node(1.0, vec![x]), node(1.0, vec![y])], &[]);
    let [found] = &one.samples[..] else { panic!() };
    near(found.cpu, 4.0);
    near(found.busiest, 3.0);
    near(found.busy, 0.6);
    near(found.stalled.unwrap(), 0.1);
    assert_eq!(found.waiting, None);
    near(one.costs[0].network, 0.1);
}

#[test]
fn each_of_more_nodes_moves_its_part_of_the_bytes() {
    let numbers = NodeNumbers { traced: 2, target: 8 };
    let cost = PlaceCost { storage: StorageRatio::known(2.0), network: 4.0, network_ratio: 1.0 };
    let part = cost.of_part(numbers.part());
    near(part.storage.best, 0.5);
    near(part.network, 1.0);
    near(part.network_ratio, 0.25);
}

#[test]
fn another_number_of_nodes_has_the_range_of_work_that_divides_evenly() {
    let x = JobSample { cores: 8, busiest: 1.0, ..sample(1.0) };
    let prepared = PreparedSample::new(&x);
    let on = |traced, target| {
        let cores = Cores::uniform(4 * target);
        let table = StretchTable::new(&Cores::uniform(8), &cores);
        let numbers = NodeNumbers { traced, target };
        let found = prepared.times(&PlaceCost::UNCHANGED, &prepared.stretches(&table), numbers);
        let cores = found.varied[RangeSource::Cores as usize];
        (found.time(1.0), cores.map_or(found.time(1.0), |varied| varied.least(1.0)))
    };
    // One core was busy, and stays so, unless the program starts more workers.
    near(on(2, 8).0, 1.0);
    near(on(2, 8).1, 0.25);
    near(on(2, 1).0, 1.0);
}

#[test]
fn two_cores_determine_the_demand_by_its_mean() {
    // Beyond the two traced cores the geometric tail, 0.7, is below the prior, 0.82 and 0.87.
    let expected = 0.3 + 0.7 * (2.0 * (0.3 / 2.0 + 0.7 * 0.3 / 3.0) + 0.49 * 2.0 / 4.0);
    near(stretch(1.7, 2, 4), expected);
}

#[test]
fn four_steady_threads_need_four_cores() {
    let mut samples = [JobSample { cores: 8, ..sample(4.02) }; 3];
    mark_steady(&mut samples);
    let node = |cores| samples.map(|x| time(&x, cores, 1.0, 1.0)).iter().sum();
    near(node(4), 3.0 * 4.02 / 4.0);
    near(node(2), 3.0 * 2.01);
}

#[test]
fn two_samples_at_a_whole_number_may_be_chance() {
    let mut samples = [sample(2.0), sample(2.0), sample(2.4)];
    mark_steady(&mut samples);
    assert!(samples.iter().all(|x| !x.steady));
}

#[test]
fn saturated_cores_without_waiting_threads_gain_nothing_from_more_cores() {
    let x = |waiting| JobSample { waiting: Some(waiting), ..sample(4.0) };
    near(time(&x(0.0), 8, 1.0, 1.0), 1.0);
    assert!(time(&x(1.0), 8, 1.0, 1.0) < 0.6);
}

/// Stretch of a demand that varies, on cores of one speed.
fn stretch(width: f64, cores: u32, to: u32) -> f64 {
    let table = StretchTable::new(&Cores::uniform(cores), &Cores::uniform(to));
    let ratio = demand_ratio(width, cores);
    table.of(&CoreDemand { width, ratio, ..CoreDemand::default() }).best
}

#[test]
fn the_stretch_to_one_core_is_the_width_and_to_the_same_cores_one() {
    for i in 0..=10 {
        let width = 1.0 + 0.3 * f64::from(i);
        near(stretch(width, 4, 1), width);
        near(stretch(width, 4, 4), 1.0);
    }
}

#[test]
fn many_cores_cost_no_precision() {
    let found = stretch(3.0, 64, 1024);
    assert!((0.9..=1.0).contains(&found), "{found}");
    assert!(stretch(64.0, 64, 1024) > 64.0 / 1024.0);
}

#[test]
fn a_wider_demand_gains_more() {
    for (cores, to) in [(1, 4), (2, 4), (4, 8), (4, 64), (8, 9)] {
        let mut last = f64::INFINITY;
        for i in 0..=100 {
            let width = 1.0 + f64::from(cores - 1) * f64::from(i) / 100.0;
            let found = stretch(width, cores, to);
            assert!(found <= last + 1e-12, "{width} of {cores} on {to}: {found} after {last}");
            last = found;
        }
    }
}

//! Tests of goodness of fit: the drawn values must fit the published distributions, and must not
//! fit distributions with slightly different parameters. The seeds are fixed, so the results are
//! reproducible.
#![allow(clippy::unwrap_used, clippy::cast_precision_loss, clippy::cast_possible_truncation)]

use super::*;
use crate::distributions::{Distributions as _, Stream, WeightedChoice};
use crate::specweb99::{self, Specweb99};
use crate::surge::{self, Surge};
use gordon_trace::formats::{self, Format, ReadOptions};
use gordon_units::RandomStream;
use libm::{erfc, exp, log, pow, sqrt};

/// The Kolmogorov-Smirnov distance between drawn values and a distribution, times the square root
/// of their number. It exceeds 1.95 in one of a thousand cases.
fn distance(drawn: &mut [f64], law: impl Fn(f64) -> f64) -> f64 {
    drawn.sort_by(f64::total_cmp);
    let n = drawn.len() as f64;
    let off = drawn.iter().enumerate().map(|(i, &x)| {
        let at = law(x);
        (at - i as f64 / n).abs().max((at - (i + 1) as f64 / n).abs())
    });
    off.fold(0.0, f64::max) * sqrt(n)
}

const KS: f64 = 1.95;

/// Chi-square of counts against expected shares, divided by the value that one of a thousand cases
/// exceeds (approximation of Wilson and Hilferty). A result above 1 means another distribution.
fn chi_square(counts: &[u64], shares: &[f64]) -> f64 {
    assert_eq!(counts.len(), shares.len());
    let all = counts.iter().sum::<u64>() as f64;
    let sum: f64 = counts
        .iter()
        .zip(shares)
        .map(|(&count, share)| pow(count as f64 - all * share, 2.0) / (all * share))
        .sum();
    let free = (counts.len() - 1) as f64;
    let each = 2.0 / (9.0 * free);
    sum / (free * pow(1.0 - each + 3.09 * sqrt(each), 3.0))
}

fn pareto(k: f64, a: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - pow(k / x.max(k), a)
}

fn weibull(scale: f64, shape: f64) -> impl Fn(f64) -> f64 {
    move |x| 1.0 - exp(-pow(x / scale, shape))
}

fn lognormal(mean: f64, deviation: f64) -> impl Fn(f64) -> f64 {
    move |x| 0.5 * erfc(-(log(x) - mean) / deviation / sqrt(2.0))
}

/// Log-normal below the start of the tail, Pareto above it, truncated at the largest file.
fn file_sizes(mean: f64, tail: f64, largest: f64) -> impl Fn(f64) -> f64 {
    let (body, above) = (lognormal(mean, surge::BODY.1), pareto(surge::TAIL.0, tail));
    move |x| {
        let part = body(x.min(surge::TAIL.0)) / body(surge::TAIL.0);
        (1.0 - surge::IN_TAIL) * part + surge::IN_TAIL * above(x) / above(largest)
    }
}

#[test]
fn single_laws_are_drawn() {
    let mut random = RandomStream::new(3, Stream::Times);
    let mut draw = |law: fn(&mut RandomStream) -> f64| -> Vec<f64> {
        (0..100_000).map(|_| law(&mut random)).collect()
    };
    let mut drawn = draw(|r| r.pareto(1.0, 1.5));
    assert!(distance(&mut drawn, pareto(1.0, 1.5)) < KS);
    assert!(distance(&mut drawn, pareto(1.0, 1.54)) > KS);
    let mut drawn = draw(|r| r.weibull(1.46, 0.382));
    assert!(distance(&mut drawn, weibull(1.46, 0.382)) < KS);
    assert!(distance(&mut drawn, weibull(1.46, 0.39)) > KS);
    let mut drawn = draw(|r| r.lognormal(9.357, 1.318));
    assert!(distance(&mut drawn, lognormal(9.357, 1.318)) < KS);
    assert!(distance(&mut drawn, lognormal(9.38, 1.318)) > KS);
}

const SET: Bytes = Bytes(1_500_000_000);

#[test]
fn surge_files_have_the_published_sizes_and_fill_the_set() {
    let users = Surge::new(SET, 24, 1);
    let all: u64 = users.sizes().iter().map(|&size| u64::from(size)).sum();
    assert_eq!(all, SET.0);
    assert_eq!(users.sizes()[surge::HOT_FILE as usize], 16_384);
    // Without the hot page and the last file, which is truncated.
    let others = 1..users.sizes().len() - 1;
    let mut sizes: Vec<f64> = users.sizes()[others].iter().map(|&size| f64::from(size)).collect();
    assert!(sizes.len() > 20_000, "{}", sizes.len());
    let largest = surge::largest(SET);
    let mut off = |mean, tail| distance(&mut sizes, file_sizes(mean, tail, largest));
    assert!(off(surge::BODY.0, surge::TAIL.1) < KS);
    assert!(off(surge::BODY.0 + 0.05, surge::TAIL.1) > KS);
    // Only a twentieth of the files are in the tail, so only a larger difference of the exponent is
    // detected.
    let mut tail: Vec<f64> = sizes.iter().copied().filter(|&x| x > surge::TAIL.0 + 1.0).collect();
    let cut =
        |a: f64| move |x: f64| pareto(surge::TAIL.0, a)(x) / pareto(surge::TAIL.0, a)(largest);
    assert!(distance(&mut tail, cut(1.1)) < KS);
    assert!(distance(&mut tail, cut(1.3)) > KS);
}

/// Counts the requests for each file.
fn requests_per_file(load: &mut dyn ClientModel, requests: u32) -> Vec<u64> {
    let mut counts = vec![0; load.sizes().len()];
    (0..requests).for_each(|_| counts[load.next().file as usize] += 1);
    counts
}

#[test]
fn surge_requests_follow_zipfs_law_and_half_are_for_one_page() {
    let mut users = Surge::new(SET, 24, 2);
    let counts = requests_per_file(&mut users, 400_000);
    assert!(chi_square(&[counts[0], 400_000 - counts[0]], &[0.5, 0.5]) < 1.0);
    let ranked: Vec<u64> = users.by_rank().iter().map(|&file| counts[file as usize]).collect();
    let cells = |ranked: &[u64]| {
        let first = ranked[..200].iter().copied();
        let rest = ranked[200..].chunks(1000).map(|chunk| chunk.iter().sum());
        first.chain(rest).collect::<Vec<u64>>()
    };
    let law = |exponent: f64| {
        let weights: Vec<f64> = (1..=ranked.len()).map(|i| pow(i as f64, -exponent)).collect();
        let sum: f64 = weights.iter().sum();
        let first = weights[..200].iter().copied();
        let rest = weights[200..].chunks(1000).map(|chunk| chunk.iter().sum());
        first.chain(rest).map(|weight: f64| weight / sum).collect::<Vec<f64>>()
    };
    assert!(chi_square(&cells(&ranked), &law(1.0)) < 1.0);
    assert!(chi_square(&cells(&ranked), &law(0.98)) > 1.0);
    // Figure 2(b) of the FlashCache paper: 90 % of the requests are for 20 % of the files.
    let mut most = counts.clone();
    most.sort_unstable_by(|a, b| b.cmp(a));
    let fifth = most[..most.len() / 5].iter().sum::<u64>() as f64 / 400_000.0;
    assert!((0.88..0.97).contains(&fifth), "{fifth}");
}

/// A sum of steps cannot come closer to a smooth distribution than half of its largest step, which
/// is the share of the most popular file. Here that file is at one third or two thirds of its step.
#[test]
fn surge_requested_sizes_follow_their_distribution() {
    for seed in [1, 2, 3] {
        let users = Surge::new(SET, 24, seed);
        let popularity = WeightedChoice::zipf(users.by_rank().len());
        let mut files: Vec<(f64, f64)> = (0..users.by_rank().len())
            .map(|rank| {
                let size = users.sizes()[users.by_rank()[rank] as usize];
                (f64::from(size), popularity.cumulative(rank + 1) - popularity.cumulative(rank))
            })
            .collect();
        files.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut sum, mut off) = (0.0, 0.0_f64);
        for (size, weight) in files {
            let law = surge::requested_up_to(size, surge::largest(SET));
            off = off.max((law - sum).abs());
            sum += weight;
            off = off.max((law - sum).abs());
        }
        let step = popularity.cumulative(1);
        assert!(off < step * 2.0 / 3.0 + 0.01, "seed {seed}: {off}, of {step} at once");
    }
}

#[test]
fn every_file_has_one_popularity_rank() {
    let users = Surge::new(Bytes(40_000_000), 24, 5);
    let mut files = users.by_rank().to_vec();
    files.sort_unstable();
    assert!(files.iter().copied().eq(1..u32::try_from(users.sizes().len()).unwrap()));
}

#[test]
fn surge_references_and_pauses_are_as_published() {
    let mut users = Surge::new(SET, 24, 4);
    let pages: Vec<u32> = (0..100_000).map(|_| users.references()).collect();
    let count = |n: u32| pages.iter().filter(|&&found| found == n).count() as u64;
    let mut counts: Vec<u64> = (1..10).map(count).collect();
    counts.push(pages.len() as u64 - counts.iter().sum::<u64>());
    let at_least = |n: u32, a: f64| pow(f64::from(n), -a);
    let shares = |a: f64| -> Vec<f64> {
        let each = (1..10).map(|n| at_least(n, a) - at_least(n + 1, a));
        each.chain([at_least(10, a)]).collect()
    };
    assert!(chi_square(&counts, &shares(2.43)) < 1.0);
    assert!(chi_square(&counts, &shares(2.5)) > 1.0);

    // The times between the requests of a user, of both kinds.
    let mut last = [None; 25];
    let mut offs = Vec::new();
    while offs.len() < 100_000 {
        let request = users.next();
        let before = last[request.client as usize].replace(request.at);
        offs.extend(before.map(|before: Ns| (request.at.0 - before.0) as f64 / 1e9));
    }
    // Mean number of references of a page: the sum of the probabilities of an n-th reference.
    let mean: f64 = (1..100_000).map(|n| at_least(n, 2.43)).sum();
    let law = |within: f64| {
        let (rest, think) = (weibull(1.46, within), pareto(1.0, 1.5));
        move |x| (mean * rest(x) + think(x)) / (mean + 1.0)
    };
    assert!(distance(&mut offs, law(0.382)) < KS);
    assert!(distance(&mut offs, law(0.40)) > KS);
}

#[test]
fn specweb99_has_the_published_files() {
    let sizes = specweb99::directory();
    assert_eq!(sizes[..9], [102, 205, 307, 410, 512, 614, 717, 819, 922]);
    assert_eq!((sizes[9], sizes[17], sizes[18], sizes[35]), (1024, 9216, 10_240, 921_600));
    let all: u32 = sizes.iter().sum();
    // A directory has about 4.88 MiB; the FlashCache paper's set has 352 directories.
    assert!(all.abs_diff(45 * (102_400 + 10_240 + 1024) + 45 * 1024 / 10) < 9, "{all}");
    assert_eq!(specweb99::directories(Bytes(1_800_000_000)), 352);
    let clients = Specweb99::new(Bytes(1_800_000_000), 24, 1);
    assert_eq!(clients.sizes().len(), 352 * 36);
    // The published shares of the files of a class.
    let zipf: f64 = (1..=9).map(|i| 1.0 / f64::from(i)).sum();
    let shares = specweb99::RANKS.map(|rank| (1000.0 / f64::from(rank) / zipf).round() / 10.0);
    assert_eq!(shares, [3.9, 5.9, 8.8, 17.7, 35.3, 11.8, 7.1, 5.0, 4.4]);
}

#[test]
fn specweb99_requests_are_as_published() {
    let mut clients = Specweb99::new(Bytes(1_800_000_000), 24, 6);
    let requests = 400_000;
    let (mut classes, mut files, mut kinds) = ([0; 4], [0; 9], [0; 5]);
    let mut directories = vec![0; 352];
    let mut bytes = 0;
    for _ in 0..requests {
        let request = clients.next();
        let in_directory = request.file as usize % 36;
        directories[request.file as usize / 36] += 1;
        classes[in_directory / 9] += 1;
        files[in_directory % 9] += 1;
        kinds[request.kind as usize] += 1;
        bytes += u64::from(clients.sizes()[request.file as usize]);
    }
    assert!(chi_square(&classes, &[0.35, 0.50, 0.14, 0.01]) < 1.0);
    assert!(chi_square(&classes, &[0.345, 0.505, 0.14, 0.01]) > 1.0);
    let zipf = |n: usize, s: f64| {
        let weights = (1..=n).map(|i| pow(i as f64, -s));
        let sum: f64 = weights.clone().sum();
        weights.map(|weight| weight / sum).collect::<Vec<f64>>()
    };
    let law = |s: f64| specweb99::RANKS.map(|rank| zipf(9, s)[rank as usize - 1]);
    assert!(chi_square(&files, &law(1.0)) < 1.0);
    assert!(chi_square(&files, &law(0.98)) > 1.0);
    assert!(chi_square(&directories, &zipf(352, 1.0)) < 1.0);
    assert!(chi_square(&directories, &zipf(352, 0.97)) > 1.0);
    // 70 % static; of the rest 41.5 % plain, 42 % with advertisements, 16 % POST, 0.5 % CGI.
    assert!(chi_square(&kinds, &[0.70, 0.1245, 0.1260, 0.0480, 0.0015]) < 1.0);
    // The mean size in bytes that SPEC's paper calculates from its shares.
    let mean = bytes as f64 / f64::from(requests);
    assert!((mean - 14_730.0).abs() < 300.0, "{mean}");
}

fn config(workload: Workload, seed: u64, output: PathBuf) -> WebConfig {
    WebConfig { workload, files: Bytes(40_000_000), requests: 20_000, clients: 24, seed, output }
}

#[test]
fn a_generated_load_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for workload in [Workload::Surge, Workload::Specweb99] {
        let path = |name: &str| folder.path().join(format!("{workload:?}-{name}.parquet"));
        let made = generate(&config(workload, 1, path("a")), |_| true).unwrap();
        assert_eq!(made.requests, 20_000);
        assert_eq!(formats::detect(&path("a")).unwrap(), Format::Gordon);
        let mut reader = formats::open(&path("a"), None, &ReadOptions::default()).unwrap();
        let mut ios = Vec::new();
        let mut batch = Vec::new();
        while reader.fill(&mut batch).unwrap() {
            ios.extend_from_slice(&batch);
        }
        assert_eq!(ios.len() as u64, made.rows);
        assert_eq!(reader.counts().requests, made.rows);
        let (reads, writes): (Vec<formats::TraceRequest>, Vec<formats::TraceRequest>) =
            ios.iter().copied().partition(|io: &formats::TraceRequest| io.op == IoOp::Read);
        assert_eq!(reads.len(), 20_000);
        assert!(reads.iter().all(|io| io.offset.0.is_multiple_of(PAGE)));
        assert!(reads.iter().all(|io| (1..=24).contains(&io.pid.unwrap())));
        // Whole files, rounded to sectors.
        let request: u64 = reads.iter().map(|io| io.len.0).sum();
        assert!((made.bytes..made.bytes + 20_000 * 512).contains(&request));
        let posts = made.kinds.iter().find(|k| k.kind == "dynamic-post").map_or(0, |k| k.requests);
        assert_eq!(writes.len() as u64, posts);
        let end = reads.iter().map(|io| io.offset.0 + io.len.0).max().unwrap();
        assert!(writes.iter().all(|io| io.offset.0 >= end && io.len.0 <= 1024));
        assert!(writes.is_sorted_by_key(|io| io.offset));
        assert_eq!(workload == Workload::Specweb99, posts > 0);
        // The same seed gives the same requests, and another seed gives others.
        generate(&config(workload, 1, path("b")), |_| true).unwrap();
        generate(&config(workload, 2, path("c")), |_| true).unwrap();
        let rows = |name: &str| -> Vec<formats::TraceRequest> {
            formats::open(&path(name), None, &ReadOptions::default())
                .unwrap()
                .flat_map(Result::unwrap)
                .collect()
        };
        assert_eq!(rows("a"), rows("b"));
        assert_ne!(rows("a"), rows("c"));
    }
}

#[test]
fn a_damaged_file_is_an_error_and_a_stopped_generation_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.parquet");
    let stopped = generate(&config(Workload::Surge, 1, path.clone()), |_| false);
    assert!(matches!(stopped, Err(WorkloadError::Stopped)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    generate(&config(Workload::Surge, 1, path.clone()), |_| true).unwrap();
    let again = generate(&config(Workload::Surge, 1, path.clone()), |_| true).unwrap_err();
    assert!(again.to_string().contains("exists already"), "{again}");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let error_text = formats::open(&path, None, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error_text.contains("damaged: its bytes have changed"), "{error_text}");
    // A Parquet file of another program is not a block log.
    let error = |config: WebConfig| generate(&config, |_| true).unwrap_err().to_string();
    let small = WebConfig { files: Bytes(1000), ..config(Workload::Surge, 1, path.clone()) };
    assert!(error(small).contains("is not between"));
    let none = WebConfig { requests: 0, ..config(Workload::Surge, 1, path) };
    assert!(error(none).contains("not a load"));
}

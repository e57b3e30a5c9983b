use super::*;

fn bench(text: &str) -> SyntheticConfig {
    serde_json::from_str(text).unwrap()
}

fn all(bench: &SyntheticConfig, capacity: u64) -> Vec<TimedRequest> {
    let mut load = bench.resolve(Bytes(capacity), 1).unwrap();
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    loop {
        load.next_batch(&mut batch).unwrap();
        if batch.is_empty() {
            return requests;
        }
        requests.extend_from_slice(&batch);
    }
}

#[test]
fn sequential_requests_wrap_around() {
    let bench = bench(r#"{"pattern": "sequential-write", "size": "8KiB", "requests": 5}"#);
    let offsets: Vec<_> = all(&bench, 24 << 10).iter().map(|r| (r.op, r.offset, r.len)).collect();
    let write = |i: u64| (IoOp::Write, i * 8192, 8192);
    assert_eq!(offsets, [write(0), write(1), write(2), write(0), write(1)]);
}

#[test]
fn the_paper_s_pairs_are_8_and_120_kib_of_one_region() {
    for order in ["random", "sequential"] {
        let bench = bench(&format!(
            r#"{{"pattern": "gordon-pair", "requests": 2001, "order": "{order}", "way": "write"}}"#
        ));
        let requests = all(&bench, 100 << 20);
        assert_eq!(requests.len(), 2001);
        let mut regions = Vec::new();
        for pair in requests.chunks_exact(2) {
            let [head, tail] = pair else { unreachable!() };
            assert!(head.offset.is_multiple_of(128 << 10) && head.len == 8 << 10);
            assert_eq!((tail.offset, tail.len), (head.offset + (8 << 10), 120 << 10));
            assert!(head.op == IoOp::Write && tail.op == IoOp::Write);
            regions.push(head.offset >> 17);
        }
        let follows = regions.windows(2).filter(|pair| pair[1] == (pair[0] + 1) % 800).count();
        assert!(if order == "sequential" { follows == 999 } else { follows < 20 }, "{follows}");
    }
}

#[test]
fn shares_are_kept() {
    let mixed = bench(r#"{"pattern": "mixed", "requests": 100000}"#);
    let reads = all(&mixed, 1 << 30).iter().filter(|r| r.op == IoOp::Read).count();
    // The standard deviation is 145.
    assert!(reads.abs_diff(70_000) < 700, "{reads}");
    let hot = bench(r#"{"pattern": "hot-cold", "requests": 100000}"#);
    let requests = all(&hot, 1 << 30);
    let tenth = requests.iter().filter(|r| r.offset < (1 << 30) / 10).count();
    assert!(tenth.abs_diff(90_000) < 500, "{tenth}");
    assert!(requests.iter().all(|r| r.op == IoOp::Write));
}

#[test]
fn requests_lie_in_the_span_and_reads_in_what_is_preloaded() {
    for pattern in ["random-read", "sequential-read", "mixed", "zipf", "gordon-pair"] {
        let text = format!(r#"{{"pattern": "{pattern}", "requests": 3000, "span": "1MiB"}}"#);
        let bench = bench(&text);
        let preloaded = bench.resolve(Bytes(1 << 30), 1).unwrap().preloaded().0;
        for request in all(&bench, 1 << 30) {
            assert!(request.offset + request.len <= 1 << 20, "{pattern}: {request:?}");
            assert!(request.op == IoOp::Write || request.offset + request.len <= preloaded);
        }
    }
    let short = bench(r#"{"pattern": "sequential-read", "requests": 10, "size": "64KiB"}"#);
    let preloaded = short.resolve(Bytes(1 << 30), 1).unwrap().preloaded();
    assert_eq!(preloaded, Bytes(640 << 10));
}

#[test]
fn the_same_seed_gives_the_same_load() {
    let bench = bench(r#"{"pattern": "zipf", "requests": 100, "queues": 3, "every": "10us"}"#);
    assert_eq!(all(&bench, 1 << 30), all(&bench, 1 << 30));
    let requests = all(&bench, 1 << 30);
    assert_eq!((requests[4].at, requests[4].queue), (Ns(40_000), 1));
}

#[test]
fn invalid_configs_are_refused() {
    for (text, word) in [
        (r#"{"pattern": "random-write", "requests": 0}"#, "requests"),
        (r#"{"pattern": "random-write", "requests": 1, "size": "100B"}"#, "size"),
        (r#"{"pattern": "random-write", "requests": 1, "size": "2MiB"}"#, "span"),
        (r#"{"pattern": "random-write", "requests": 1, "span": "2MiB"}"#, "span"),
        (r#"{"pattern": "random-write", "requests": 1, "read_share": 0.5}"#, "read_share"),
        (r#"{"pattern": "mixed", "requests": 1, "read_share": 1.5}"#, "read_share"),
        (r#"{"pattern": "gordon-pair", "requests": 1, "size": "4KiB"}"#, "size"),
        (r#"{"pattern": "hot-cold", "requests": 1, "hot_space": 0.0001}"#, "hot_space"),
        (r#"{"pattern": "zipf", "requests": 1, "exponent": 0}"#, "exponent"),
        (r#"{"pattern": "mixed", "requests": 1, "queues": 0}"#, "queues"),
    ] {
        let error = bench(text).resolve(Bytes(1 << 20), 1).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("--{}: ", word.replace('_', "-")))
                && error.contains("\n  try: "),
            "{error}"
        );
    }
}

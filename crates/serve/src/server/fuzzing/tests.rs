//! Seeds, mangled seeds, and wrong answers that are detected.

use super::*;
use gordon_objectcache::{Config, Flash, Medium};
use gordon_testkit::{MemoryMedia, Random, watchdog};

/// Size of a block.
const BLOCK: u32 = 2048;
/// Size of a segment.
const SEGMENT: u32 = 16 << 10;

/// A cache of 12 KB of DRAM, and of 12 segments in memory.
fn cache() -> (Cache, Recovery) {
    let size = 288 * 1024 + 12 * u64::from(SEGMENT);
    let flash = Flash { segment: Some(SEGMENT), ..Flash::new("test".into(), size) };
    let config = Config { flash: Some(flash), block: BLOCK, ..Config::new(12_000) };
    let clock = Arc::new(|| Duration::ZERO);
    let media = Arc::new(MemoryMedia::new(0));
    Cache::open_on(config, Medium { media, clock, inline: true }).expect("it opens")
}

fn run(folder: &Folder, input: &[u8]) -> Answers {
    serve(folder, cache(), u64::from(BLOCK), input)
}

fn folder() -> (tempfile::TempDir, Folder) {
    let path = tempfile::tempdir().expect("a folder");
    let folder = Folder::new(path.path()).expect("files");
    (path, folder)
}

/// The inputs from which the fuzz target starts.
fn seeds() -> Vec<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/requests");
    let mut paths: Vec<_> = std::fs::read_dir(path)
        .expect("the seeds")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

#[test]
fn seeds_are_answered_in_all_ways() {
    let _watchdog = watchdog("seeds_are_answered_in_all_ways");
    let (_path, folder) = folder();
    let mut all = Answers::default();
    for seed in seeds() {
        let answers = run(&folder, &seed);
        all.hits += answers.hits;
        all.cut += answers.cut;
        for (status, count) in answers.statuses {
            *all.statuses.entry(status).or_default() += count;
        }
    }
    let statuses: Vec<_> = all.statuses.keys().copied().collect();
    let expected = [200, 206, 301, 302, 304, 400, 403, 404, 405, 412, 416, 431, 500, 501, 502, 504];
    for status in expected {
        assert!(statuses.contains(&status), "no response with {status}: {statuses:?}");
    }
    assert!(all.hits >= 20, "{all:?}");
    assert!(all.cut >= 2, "{all:?}");
}

#[test]
fn mangled_seeds_are_answered_or_refused() {
    let _watchdog = watchdog("mangled_seeds_are_answered_or_refused");
    let (_path, folder) = folder();
    let seeds = seeds();
    let mut random = Random::new(47);
    let words: Vec<&[u8]> = seeds
        .iter()
        .flat_map(|seed| seed.split(|byte| b" |\n".contains(byte)))
        .filter(|word| !word.is_empty())
        .collect();
    for round in 0..63 {
        let mut input = seeds[round % seeds.len()].clone();
        for _ in 0..1 + random.below(8) {
            let at = 1 + random.below(input.len() - 1);
            match random.below(4) {
                0 => input[at] = random.next_u64() as u8,
                1 => input[at] ^= 1 << random.below(8),
                2 => {
                    let word = words[random.below(words.len())];
                    input.splice(at..at, word.iter().copied());
                }
                _ => {
                    let end = (at + random.below(12)).min(input.len());
                    input.drain(at..end);
                }
            }
        }
        run(&folder, &input);
    }
}

#[test]
fn wrong_bytes_are_detected() {
    let check = |line: &[u8], head: &str, body: &str| {
        let received = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let result = std::panic::catch_unwind(|| {
            super::check(false, line, received.as_bytes(), &mut Answers::default());
        });
        result.is_ok()
    };
    let body = |target: &str, size| String::from_utf8(body(target, "", size)).expect("text");
    assert!(check(b"GET /a", "200 OK", &body("/a", 100)));
    assert!(!check(b"GET /a", "200 OK", &body("/b", 100)));
    assert!(!check(b"GET /a", "200 OK", &body("/a", 99)));
    assert!(!check(b"GET /a", "404 Not Found", SECRET));
    assert!(!check(b"HEAD /a", "200 OK", &body("/a", 100)));
    let range = "206 X\r\nContent-Range: bytes 0-2/100";
    assert!(check(b"GET /a", range, "/a\n"));
    assert!(!check(b"GET /a", range, "a\n/"));
    assert!(!check(b"GET /a", "206 X\r\nContent-Range: bytes 0-2/99", "/a\n"));
    assert!(check(b"!GET /a HTTP/1.1||", "200 OK", &body("/a", 100)));
    assert!(!check(b"!GET /a HTTP/1.1||", "200 OK", &body("/b", 100)));
}

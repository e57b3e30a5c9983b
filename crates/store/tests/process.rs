//! A store shared by threads, and one whose process is killed.

mod common;

use gordon_store::{Backend, Command, DeviceParams, Image, IoError, Payload, Store, check};
use gordon_testkit::Random;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;
use std::thread;

const UNIT: usize = 4096;

fn device() -> DeviceParams {
    common::device((8192, 2, 8), 48, 0.5, 1)
}

fn one<P: Payload>(store: &Store<P>, command: Command, payload: P) -> (Result<(), IoError>, P) {
    let mut answer = None;
    store.submit(&mut vec![(command, payload)], |ended| {
        answer = Some((ended.result, ended.payload));
    });
    answer.expect("it has ended")
}

/// A page filled with its number and version.
fn page(number: u64, version: u64) -> Vec<u8> {
    let words = [number, version, number ^ version.rotate_left(17)];
    words.iter().cycle().take(UNIT / 8).flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn threads_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    for backend in [Backend::File, Backend::Direct] {
        let path = folder.path().join(format!("{backend:?}.img"));
        let store: Arc<Store<Vec<u8>>> = Arc::new(Store::create(&path, device(), backend).unwrap());
        let pages = store.capacity() / UNIT as u64;
        let threads: Vec<_> = (0..4u64)
            .map(|me| {
                let store = store.clone();
                thread::spawn(move || {
                    let mut random = Random::new(me);
                    let mut versions = vec![0; pages as usize];
                    for version in 1..1500 {
                        // Each thread has its own pages, interleaved with those of the others.
                        let number = random.below(pages as usize / 4) as u64 * 4 + me;
                        let offset = number * UNIT as u64;
                        let known = &mut versions[number as usize];
                        match random.below(16) {
                            0 => assert!(one(&store, Command::Flush, vec![]).0.is_ok()),
                            1 => {
                                let length = UNIT as u64;
                                let trim = Command::Trim { offset, length, fua: false };
                                assert!(one(&store, trim, vec![]).0.is_ok());
                                *known = 0;
                            }
                            2..=8 => {
                                let fua = version % 32 == 0;
                                let write = Command::Write { offset, fua };
                                assert!(one(&store, write, page(number, version)).0.is_ok());
                                *known = version;
                            }
                            _ => {
                                let read = Command::Read { offset };
                                let (result, data) = one(&store, read, vec![1; UNIT]);
                                assert_eq!(result, Ok(()));
                                let empty = *known == 0;
                                let expected =
                                    if empty { vec![0; UNIT] } else { page(number, *known) };
                                assert!(data == expected, "page {number}");
                            }
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread fails"));
        let telemetry = store.telemetry();
        assert_eq!(telemetry.in_flight, 0);
        assert_eq!(telemetry.counters.queue_depth.count(), 4 * 1499);
        let store = Arc::into_inner(store).expect("the last one");
        store.close().unwrap();
        drop(store);
        let report = check(&Image::open(&path, Backend::File, false).unwrap()).unwrap();
        assert!(report.clean, "{:?}", report.errors);
    }
}

/// The process to be killed: writes pages in a loop, flushes, and prints up to which write all data
/// are durable.
#[test]
fn child() {
    let Ok(path) = std::env::var("STORE_CHILD") else { return };
    let store: Store<Vec<u8>> = Store::open(Path::new(&path), Backend::File).unwrap();
    let pages = store.capacity() / UNIT as u64;
    let mut out = std::io::stdout();
    let start: u64 = std::env::var("STORE_FROM").unwrap().parse().unwrap();
    for version in start.. {
        let number = version.wrapping_mul(0x9E37_79B9) % pages;
        let write = Command::Write { offset: number * UNIT as u64, fua: false };
        one(&store, write, page(number, version)).0.unwrap();
        if version % 16 == 0 {
            one(&store, Command::Flush, vec![]).0.unwrap();
            writeln!(out, "flushed {version}").unwrap();
        }
    }
}

#[test]
fn a_killed_process_loses_nothing_flushed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flash.img");
    Store::<Vec<u8>>::create(&path, device(), Backend::File).unwrap().close().unwrap();
    let mut random = Random::new(1);
    let mut from = 1;
    for _ in 0..6 {
        let mut child = Process::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env("STORE_CHILD", &path)
            .env("STORE_FROM", from.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = 20 + random.below(60);
        let mut flushed = 0u64;
        let said = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        for line in said.filter(|line| line.starts_with("flushed")).take(lines) {
            flushed = line[8..].parse().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(flushed > from, "it flushed nothing");
        let image = Image::open(&path, Backend::File, false).unwrap();
        let report = check(&image).unwrap();
        assert!(report.clean && !report.closed_in_order, "{:?}", report.errors);
        drop(image);
        let store: Store<Vec<u8>> = Store::open(&path, Backend::File).unwrap();
        let pages = store.capacity() / UNIT as u64;
        let mut newest = flushed;
        for number in 0..pages {
            let read = Command::Read { offset: number * UNIT as u64 };
            let (result, data) = one(&store, read, vec![1; UNIT]);
            assert_eq!(result, Ok(()));
            let durable =
                (1..=flushed).rev().find(|&v: &u64| v.wrapping_mul(0x9E37_79B9) % pages == number);
            let version = u64::from_le_bytes(data[8..16].try_into().unwrap());
            assert!(version >= durable.unwrap_or(0), "page {number}: {version}, not {durable:?}");
            let expected = if version == 0 { vec![0; UNIT] } else { page(number, version) };
            assert!(data == expected, "page {number} is a mix");
            newest = newest.max(version);
        }
        from = newest + 1;
        drop(store);
    }
}

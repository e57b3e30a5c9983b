//! Measures how fast traces are read: `cargo run --release -p gordon-trace --example formats_rate
//! [REQUESTS] [FORMAT]`.
//!
//! Prints requests, bytes and CPU seconds for a generated trace of each kind of format, on one
//! core.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use gordon_trace::formats::{Format, ReadOptions, open};
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;
use std::io::Write as _;

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    #[allow(clippy::cast_precision_loss)]
    let seconds = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
    seconds
}

fn line(format: Format, i: u64) -> Vec<u8> {
    let mut text = String::new();
    let sector = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 35 << 3;
    let (read, letter) = (i % 2, ["W", "R"][usize::from(i % 2 == 1)]);
    match format {
        Format::MQSIM => writeln!(text, "{} 0 {sector} 8 {read}", i * 11_413),
        Format::DISKSIM => {
            let (ms, us) = (i * 7 / 1000, i * 7 % 1000);
            writeln!(text, "{ms}.{us:03}000 0 {sector} 8 {read}")
        }
        Format::TENCENT => {
            let time = 1_538_323_200 + i / 1000;
            writeln!(text, "{time},{sector},8,{},{}", 1 - read, 1000 + i % 4000)
        }
        Format::MSR => {
            let word = if read == 1 { "Read" } else { "Write" };
            let time = 128_166_372_003_061_629 + i * 100;
            writeln!(text, "{time},src1,0,{word},{},4096,113736", sector * 512)
        }
        Format::ALIBABA => {
            writeln!(text, "419,{letter},{},4096,{}", sector * 512, 1_577_808_144_360_767 + i)
        }
        Format::SPC => writeln!(text, "0,{sector},4096,{letter},{}.{:06}", i / 1000, i % 1000),
        Format::Blkparse => {
            let (s, ns) = (i / 1000, i % 1000 * 1_000_000);
            writeln!(
                text,
                "  8,0    3 {i:8} {s:5}.{ns:09} {:5}  D  {letter}S {sector} + 8 [fio]",
                697
            )
        }
        _ => {
            let mut record = Vec::new();
            for part in [7_u32, 4096, 1, 0x0100_0000 | if read == 1 { 0x28 } else { 0x2a }] {
                record.extend(part.to_le_bytes());
            }
            record.extend(sector.to_le_bytes());
            record.extend((5_000_000 + i).to_le_bytes());
            return record;
        }
    }
    .unwrap();
    text.into_bytes()
}

fn main() {
    let requests = std::env::args().nth(1).map_or(4_000_000, |n| n.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    println!("format        requests      bytes   CPU s   requests/CPU s");
    let formats = [
        Format::MQSIM,
        Format::DISKSIM,
        Format::MSR,
        Format::ALIBABA,
        Format::TENCENT,
        Format::SPC,
        Format::Blkparse,
        Format::Vscsi,
    ];
    let only = std::env::args().nth(2);
    for format in formats.into_iter().filter(|f| only.as_ref().is_none_or(|o| f.name() == o)) {
        let path = folder.path().join(format.name());
        let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        for i in 0..requests {
            file.write_all(&line(format, i)).unwrap();
        }
        drop(file);
        let bytes = std::fs::metadata(&path).unwrap().len();
        let mut reader = open(&path, Some(format), &ReadOptions::default()).unwrap();
        assert_eq!(reader.format(), format);
        let (mut count, mut batch) = (0_u64, Vec::new());
        let start = cpu_seconds();
        while reader.fill(&mut batch).unwrap() {
            count += batch.len() as u64;
        }
        let seconds = cpu_seconds() - start;
        assert_eq!(count, requests);
        #[allow(clippy::cast_precision_loss)]
        let rate = count as f64 / seconds;
        println!("{:12} {count:9} {bytes:10} {seconds:7.3} {rate:16.0}", format.name());
        std::fs::remove_file(&path).unwrap();
    }
}

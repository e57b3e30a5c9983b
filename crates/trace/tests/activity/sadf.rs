//! Records of sysstat in the forms of sadf.

use gordon_trace::Sample;
use gordon_units::{Bytes, Ns};
use std::fmt::Write as _;

/// A sample of `sadf -j` (version 12.6) of a machine with 4 cores, with all sections that are read.
pub fn statistics(time: &str, interval: u64) -> String {
    format!(
        r#"{{"timestamp": {{"date": "2026-11-26", "time": "{time}", "utc": 1, "interval": {interval}}},
        "cpu-load": [{{"cpu": "all", "user": 40.0, "nice": 5.0, "system": 5.0, "iowait": 10.0,
            "steal": 2.0, "idle": 38.0}}],
        "io": {{"tps": 30.0, "io-reads": {{"rtps": 20.0, "bread": 400.0}},
            "io-writes": {{"wtps": 10.0, "bwrtn": 80.0}}, "io-discard": {{"dtps": 0.0, "bdscd": 0.0}}}},
        "memory": {{"memfree": 1000, "avail": 3000, "memused": 4000, "memused-percent": 50.00,
            "buffers": 1000, "cached": 2000}},
        "disk": [{{"disk-device": "sda", "tps": 30.0, "rd_sec": 400.0, "wr_sec": 80.0, "rkB": 200.0,
            "wkB": 40.0, "dkB": 0.0, "util-percent": 25.0}},
            {{"disk-device": "dm-0", "tps": 40.0, "rd_sec": 400.0, "wr_sec": 80.0, "rkB": 200.0,
            "wkB": 40.0, "util-percent": 0.0}}],
        "network": {{"net-dev": [
            {{"iface": "lo", "rxpck": 9.0, "txpck": 9.0, "rxkB": 9.0, "txkB": 9.0}},
            {{"iface": "eth0", "rxpck": 3.0, "txpck": 2.0, "rxkB": 4.0, "txkB": 1.0}}],
            "net-edev": []}}}}"#
    )
}

pub fn host(name: &str, cores: &str, samples: &[String], restarts: &str) -> String {
    let samples = samples.join(",");
    format!(
        r#"{{"nodename": "{name}", "sysname": "Linux", "release": "6.1.0", "machine": "x86_64",
        {cores} "file-date": "2026-11-26", "statistics": [{samples}], "restarts": [{restarts}]}}"#
    )
}

pub fn document(hosts: &[String]) -> String {
    format!(r#"{{"sysstat": {{"hosts": [{}]}}}}"#, hosts.join(","))
}

pub fn one_host(samples: &[String]) -> String {
    document(&[host("n1", r#""number-of-cpus": 4,"#, samples, "")])
}

/// Two samples, of 1 s and of 2 s.
pub fn two_samples() -> String {
    one_host(&[statistics("10:00:01", 1), statistics("10:00:03", 2)])
}

pub fn assert_is_two_samples(samples: &[Sample]) {
    assert_eq!(samples.len(), 2);
    for (sample, seconds) in samples.iter().zip([1, 2]) {
        assert_eq!(sample.span, Ns(seconds * Ns::SECOND.0));
        assert_eq!(sample.cpu(), Ns(2 * seconds * Ns::SECOND.0), "half of 4 cores, without steal");
        assert_eq!(sample.rx_bytes, Bytes(4096 * seconds), "without the loopback");
        assert_eq!(sample.tx_packets, 2 * seconds);
        let disk = sample.disks.iter().find(|disk| disk.busy > Ns::ZERO).unwrap();
        assert_eq!((disk.reads, disk.writes), (20 * seconds, 10 * seconds));
        assert_eq!(disk.read_bytes, Bytes(200 * 1024 * seconds));
        assert_eq!(disk.write_bytes, Bytes(40 * 1024 * seconds));
        assert_eq!(disk.busy, Ns(seconds * 250_000_000));
    }
    assert_eq!(samples[1].start, samples[0].end());
}

/// The rows of `sadf -d` as `sadf -p` prints them.
pub fn as_lines(database: &str) -> String {
    let mut lines = String::new();
    let mut names: Vec<&str> = Vec::new();
    for line in database.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let start = fields[..3].join("\t");
        if line.starts_with('#') {
            names = fields;
        } else if names.is_empty() {
            writeln!(lines, "{start}\t{}", fields[3]).unwrap();
        } else {
            let has_item = ["CPU", "DEV", "IFACE", "TTY"].contains(&names[3]);
            let item = if has_item { fields[3].replace("-1", "all") } else { "-".to_owned() };
            for (name, value) in names.iter().zip(&fields).skip(3 + usize::from(has_item)) {
                writeln!(lines, "{start}\t{item}\t{name}\t{value}").unwrap();
            }
        }
    }
    lines
}

pub const DATABASE: &str = "\
n1;-1;2026-11-26 09:59:00 UTC;LINUX-RESTART\t(4 CPU)
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
n1;1;2026-11-26 10:00:01 UTC;-1;40.00;5.00;5.00;10.00;2.00;38.00
n1;2;2026-11-26 10:00:03 UTC;-1;40.00;5.00;5.00;10.00;2.00;38.00
# hostname;interval;timestamp;tps;rtps;wtps;dtps;bread/s;bwrtn/s;bdscd/s
n1;1;2026-11-26 10:00:01 UTC;30.00;20.00;10.00;0.00;400.00;80.00;0.00
n1;2;2026-11-26 10:00:03 UTC;30.00;20.00;10.00;0.00;400.00;80.00;0.00
# hostname;interval;timestamp;TTY;rcvin/s;txmtin/s
n1;1;2026-11-26 10:00:01 UTC;0;1.00;2.00
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
n1;1;2026-11-26 10:00:01 UTC;sda;30.00;200.00;40.00;0.00;8.00;0.01;0.30;25.00
n1;2;2026-11-26 10:00:03 UTC;sda;30,00;200,00;40,00;0,00;8,00;0,01;0,30;25,00
# hostname;interval;timestamp;IFACE;rxpck/s;txpck/s;rxkB/s;txkB/s;rxcmp/s;txcmp/s;rxmcst/s;%ifutil
n1;1;2026-11-26 10:00:01 UTC;lo;9.00;9.00;9.00;9.00;0.00;0.00;0.00;0.00
n1;1;2026-11-26 10:00:01 UTC;eth0;3.00;2.00;4.00;1.00;0.00;0.00;0.00;0.00
n1;2;2026-11-26 10:00:03 UTC;eth0;3.00;2.00;4.00;1.00;0.00;0.00;0.00;0.00
";

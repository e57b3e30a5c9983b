//! Disks and interfaces of imported traces: each byte counts once.

use crate::conversion::{Conversion, kind};
use crate::prometheus::{answer, cores, series};
use crate::sadf::{one_host, statistics, two_samples};
use gordon_trace::activity::{ActivityFormat, ActivityOptions};
use gordon_trace::{ColumnKind, Trace};
use gordon_units::Bytes;

fn interfaces(made: &Conversion) -> Vec<(String, Option<u32>, bool)> {
    made.report();
    let trace = Trace::open(&made.output()).unwrap();
    let links = trace.manifest().machine.interfaces.iter();
    links.map(|link| (link.name.clone(), link.megabits, link.counted)).collect()
}

fn network(links: &[(&str, f64)]) -> String {
    let mut all = cores();
    for (name, bytes) in links {
        let labels = format!(r#", "device": "{name}""#);
        let values = [0.0, *bytes, 2.0 * bytes];
        all.push(series("node_network_receive_bytes_total", &labels, &values));
    }
    answer(&all)
}

#[test]
fn a_packet_counts_at_one_interface_in_every_format() {
    for (links, expected) in [
        (
            &[("eno1", 1e6), ("vmbr0", 1e6), ("fwbr100i0", 1e6), ("tap100i0", 1e6), ("lo", 5e6)][..],
            2e6,
        ),
        (&[("eth0", 1e6), ("enP53091s1", 0.9e6)][..], 2e6),
        (&[("enp3s0", 1e6), ("lxdbr0", 1e6), ("web-host", 1e6)][..], 2e6),
        (&[("eno1", 1e6), ("eno2", 1e6), ("bond0", 2e6)][..], 4e6),
        (&[("bond0", 1e6), ("vlan7", 1e6)][..], 2e6),
    ] {
        let made = Conversion::prometheus(&network(links));
        assert_eq!(made.report().hosts[0].rx_bytes as f64, expected, "{links:?}");
        assert!(made.warns("interfaces: "), "{:?}", made.report().warnings);
    }
    assert!(
        !Conversion::prometheus(&network(&[("eth0", 1e6), ("docker0", 0.0)])).warns("interfaces")
    );
    let bridge = |text: &str| {
        let row = r#"{"iface": "vmbr0", "rxpck": 3.0, "txpck": 2.0, "rxkB": 4.0, "txkB": 1.0},"#;
        text.replace(r#""net-dev": ["#, &format!(r#""net-dev": [{row}"#))
    };
    let made = Conversion::sysstat(&bridge(&two_samples()));
    assert_eq!(made.report().hosts[0].rx_bytes, 3 * 4096);
}

#[test]
fn an_interface_that_is_stacked_on_another_is_known_by_its_link() {
    let mut all = cores();
    for (name, id, below) in [("eno1", 2.0, 2.0), ("storage", 7.0, 2.0)] {
        let labels = format!(r#", "device": "{name}""#);
        all.push(series("node_network_receive_bytes_total", &labels, &[0.0, 1e6, 3e6]));
        all.push(series("node_network_iface_id", &labels, &[id; 3]));
        all.push(series("node_network_iface_link", &labels, &[below; 3]));
    }
    // Its counters differ from those of eno1, so that only the link decides.
    let text = answer(&all).replacen(r#""3000000""#, r#""4000000""#, 1);
    assert_eq!(Conversion::prometheus(&text).report().hosts[0].rx_bytes, 4_000_000);
}

#[test]
fn the_speed_of_a_link_is_kept_and_a_rate_beyond_it_is_a_warning() {
    let speed = |bytes: f64| {
        let mut all = cores();
        let device = r#", "device": "eth0""#;
        all.push(series("node_network_receive_bytes_total", device, &[0.0, 15e6, 30e6]));
        all.push(series("node_network_speed_bytes", device, &[bytes; 3]));
        Conversion::prometheus(&answer(&all))
    };
    let made = speed(125e6);
    assert_eq!(interfaces(&made), [("eth0".to_owned(), Some(1000), true)]);
    assert!(!made.warns("rates"));
    // 1 MB/s over a link of 1 Mb/s.
    assert!(speed(125e3).warns("rates: eth0 moved more than its link of 1 Mb/s can in 2 samples"));
    assert_eq!(interfaces(&speed(-125e3))[0].1, None);
    // sysstat has the share: 4 kB/s are 0.33 % of 10 Mb/s.
    let text = two_samples().replace(r#""txkB": 1.0}"#, r#""txkB": 1.0, "ifutil-percent": 0.33}"#);
    let made = Conversion::sysstat(&text);
    assert!(interfaces(&made).contains(&("eth0".to_owned(), Some(10), true)));
}

/// Two disks in the place of sda and dm-0, with the writes of dm-0 replaced.
fn disks(first: &str, second: &str, second_kb: f64) -> u64 {
    let row = |text: &str| {
        let at = text.rfind(r#""wkB": 40.0"#).unwrap();
        format!("{}\"wkB\": {second_kb:.1}{}", &text[..at], &text[at + 11..])
    };
    let text = row(&statistics("10:00:01", 1));
    let text = text.replace("\"sda\"", &format!("\"{first}\"")).replace("dm-0", second);
    Conversion::sysstat(&one_host(&[text])).report().write.bytes
}

#[test]
fn a_byte_counts_at_one_disk() {
    let once = 40 * 1024;
    assert_eq!(disks("sda", "dm-0", 40.0), once);
    assert_eq!(disks("sda", "vg0-root", 40.0), once);
    assert_eq!(disks("dev8-0", "dev8-1", 40.0), once);
    assert_eq!(disks("dev259-0", "dev259-1", 40.0), once);
    assert_eq!(disks("ata-WDC_1", "ata-WDC_1-part2", 40.0), once);
    assert_eq!(disks("sda", "cciss/c0d0", 1000.0), once + 1000 * 1024);
    assert_eq!(disks("sda", "rssda", 4.0), once + 4 * 1024);
}

#[test]
fn kinds_of_memory_of_sadf_lack_the_shared_memory() {
    let made = Conversion::sysstat(&two_samples());
    let kinds = |made: &Conversion| {
        ["anonymous_bytes", "cache_bytes", "steal_ns"].map(|name| kind(made, name))
    };
    let expected = [ColumnKind::Missing, ColumnKind::Estimated, ColumnKind::Measured];
    assert_eq!(kinds(&made), expected);
    assert_eq!(made.samples()[0].cache, Bytes(3000 * 1024));
    let text = two_samples().replace(r#""cached": 2000"#, r#""cached": 2000, "anonpg": 500"#);
    let made = Conversion::sysstat(&text);
    assert_eq!(made.samples()[0].anonymous, Bytes(500 * 1024));
    assert_eq!(kinds(&made)[0], ColumnKind::Estimated);
}

#[test]
fn an_empty_field_at_the_end_of_a_line_is_not_malformed() {
    let text = "db1\t10\t2026-03-02 10:00:10 UTC\tall\t%user\t50.00\n\
                db1\t10\t2026-03-02 10:00:10 UTC\tall\t%system\t0.00\n\
                db1\t10\t2026-03-02 10:00:10 UTC\tbus1\tmanufact\t\n\
                db1\t10\t2026-03-02 10:00:10 UTC\tbus1\tproduct\tHub\n  \n";
    let options = ActivityOptions { cores: Some(4), ..ActivityOptions::default() };
    let made = Conversion::of(&[text], ActivityFormat::Sysstat, options);
    assert_eq!(made.report().hosts[0].cpu_s, 20.0);
    let database =
        "# hostname;interval;timestamp;BUS;idvendor;manufact\nn1;10;1795687210;1;1d6b;\n";
    let cpu =
        "# hostname;interval;timestamp;CPU;%user;%system;%idle\nn1;10;1795687210;-1;50;0;50\n";
    let made = Conversion::of(&[&format!("{database}{cpu}")], ActivityFormat::Sysstat, options);
    assert_eq!(made.report().hosts[0].cpu_s, 20.0);
}

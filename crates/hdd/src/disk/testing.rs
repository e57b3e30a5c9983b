//! Disk configurations for unit tests.

use super::config::{
    CacheConfig, DiskConfig, DiskGeometryConfig, InterfaceConfig, Region, SchedulerConfig,
    SeekConfig, SeekTimes, Serpentine, ZoneConfig, Zones,
};
use super::power::PowerConfig;
use gordon_units::{Bytes, Ns, Watts};

/// The preset of the Gordon paper's disk.
pub fn preset() -> DiskConfig {
    let text = include_str!("../../../../python/gordon/parts/disk/sata-7200-1tb.toml");
    DiskConfig::from_toml(text).unwrap()
}

/// A disk for arithmetic by hand: 10 ms per revolution; 2 heads; 100 cylinders of 1000 sectors per
/// track (10 us per sector) and 100 of 500 (20 us); track skew 2 ms, cylinder skew 3 ms; head
/// switch 1 ms, settle 0.5 ms.
pub fn small() -> DiskConfig {
    let us = |x: u64| Ns(x * 1000).into();
    let times = |first, mean, last| SeekTimes {
        track_to_track: Some(us(first)),
        average: Some(us(mean)),
        full_stroke: Some(us(last)),
        ..SeekTimes::default()
    };
    let zone = |sectors_per_track| ZoneConfig {
        cylinders: 100,
        sectors_per_track,
        ..ZoneConfig::default()
    };
    DiskConfig {
        summary: "small".into(),
        price: None,
        embodied_kg: None,
        rated_life_years: None,
        geometry: DiskGeometryConfig {
            sectors: 300_000.into(),
            heads: 2.into(),
            rpm: 6000.into(),
            track_skew: Some(us(2000)),
            cylinder_skew: Some(us(3000)),
            serpentine: Serpentine::Never,
            spare_region: Region::Zone,
            spare_cylinders: 1,
            zones: Zones::Table(vec![zone(1000), zone(500)]),
        },
        seek: SeekConfig {
            head_switch: us(1000),
            read: times(1000, 5000, 9000),
            write: Some(times(1500, 5500, 9500)),
            write_settle_ms: None,
        },
        interface: InterfaceConfig {
            rate_per_s: Bytes(512_000_000).into(), // 1 us a sector
            overhead: us(100),
            queue_depth: 4.into(),
        },
        cache: CacheConfig {
            size: Bytes(1 << 20).into(), // 2048 sectors
            write_limit: Bytes(512 << 10).into(),
            write_through: false,
            zero_latency: false,
            write_extents: 8.into(),
            segments: 4.into(), // of 256 sectors
            read_ahead: Bytes(100 * 512).into(),
            destage: Bytes(64 << 10).into(),
        },
        scheduler: SchedulerConfig::default(),
        power: PowerConfig {
            idle: Watts(1.0).into(),
            read: Watts(2.0).into(),
            write: Watts(3.0).into(),
            states: Vec::new(),
            adaptive: None,
            standby: None,
        },
    }
}

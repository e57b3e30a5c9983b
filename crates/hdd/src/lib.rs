//! Simulated hard disks.
//!
//! - [`Disk`]: a drive with a queue of its own, as SATA drives are.
//! - [`classic::ClassicDisk`]: a drive that carries out one command at a time, as DiskSim's are.
//! - [`diskspecs`]: reads the descriptions of drives that DiskSim 4.0 reads.
//! - [`drive::Drive`]: either of them, or several as one.

pub mod classic;
mod disk;
pub mod diskspecs;
pub mod drive;

pub use disk::{
    AdaptiveConfig, CacheConfig, Candidate, Choice, Disk, DiskConfig, DiskConfigError,
    DiskGeometry, DiskGeometryConfig, DiskStats, Distances, EnergyUse, Head, InterfaceConfig,
    LinearZones, Mechanics, Positioning, PowerConfig, PowerManagedDisk, PowerState, ReadOnArrival,
    Region, Scheduler, SchedulerConfig, SchedulerInput, SchedulingPolicy, SectorLocation,
    SeekConfig, SeekCurve, SeekPieces, SeekTarget, SeekTimes, Serpentine, ShortSkew, SleepStats,
    TrackExtent, Tracks, Zone, ZoneConfig, Zones,
};

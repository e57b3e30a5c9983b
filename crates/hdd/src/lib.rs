//! Simulated hard disks.
//!
//! - [`Disk`]: a drive with a command queue, such as a SATA drive.
//! - [`classic::ClassicDisk`]: a drive with a segmented buffer, like those of
//!   DiskSim.
//! - [`diskspecs`]: a reader of DiskSim 4.0's descriptions of drives.
//! - [`drive::Drive`]: a drive of either kind, or several as one.

pub mod classic;
mod disk;
pub mod diskspecs;
pub mod drive;

pub use disk::{
    AdaptiveConfig, CacheConfig, Candidate, Choice, Disk, DiskConfig, DiskConfigError,
    DiskGeometry, DiskGeometryConfig, DiskStats, EnergyUse, Head, InterfaceConfig, LinearZones,
    Mechanics, Positioning, PowerConfig, PowerManagedDisk, PowerState, ReadOnArrival, Region,
    Scheduler, SchedulerConfig, SchedulerInput, SchedulingPolicy, SectorLocation, SeekConfig,
    SeekCurve, SeekDistances, SeekPieces, SeekTarget, SeekTimes, Serpentine, ShortSkew, SleepStats,
    StandbyConfig, TrackExtent, Tracks, Zone, ZoneConfig, Zones,
};

//! Facts about storage that the operating system reports.

use rustix::fs::{major, minor};
use schemars::JsonSchema;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Kind of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// A regular file.
    File,
    /// A block device.
    BlockDevice,
}

/// Description of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TargetDescription {
    /// Path of the target.
    pub path: PathBuf,
    /// A file or a device.
    pub kind: TargetKind,
    /// Size in bytes.
    #[serde(rename = "capacity_bytes")]
    pub capacity: u64,
    /// Sector size in bytes. Offsets and lengths are multiples of it.
    #[serde(rename = "sector_bytes")]
    pub sector: u64,
    /// Name of the block device, or of the one below the file; `None` if unknown.
    pub device: Option<String>,
    /// Whether the device has rotating media; `None` if unknown. Virtual devices often report true
    /// without having any.
    pub rotational: Option<bool>,
    /// Model of the device; `None` if unknown.
    pub model: Option<String>,
    /// Whether the file has holes or is compressed, so that reads of it may not reach the device.
    pub sparse: bool,
}

/// What sysfs reports about a block device.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceFacts {
    pub device: Option<String>,
    pub rotational: Option<bool>,
    pub model: Option<String>,
    pub sector: Option<u64>,
}

impl DeviceFacts {
    /// The facts of a device number; none if it is not that of a block device (btrfs, network).
    pub fn of(number: u64) -> Self {
        Self::find(Path::new("/sys/dev/block"), number).unwrap_or_default()
    }

    fn find(devices: &Path, number: u64) -> Option<Self> {
        let name = format!("{}:{}", major(number), minor(number));
        let own = fs::canonicalize(devices.join(name)).ok()?;
        // The folder of a partition is inside that of its disk, which has the queue.
        let disk = if own.join("partition").exists() { own.parent()? } else { &own };
        let read = |name: &str| {
            let text = fs::read_to_string(disk.join(name)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        Some(Self {
            device: Some(own.file_name()?.to_string_lossy().into_owned()),
            rotational: read("queue/rotational").map(|text| text == "1"),
            model: read("device/model"),
            sector: read("queue/logical_block_size").and_then(|text| text.parse().ok()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::makedev;

    #[test]
    fn a_partition_has_the_facts_of_its_disk() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("sda");
        for (name, text) in [
            ("queue/rotational", "1\n"),
            ("queue/logical_block_size", "512\n"),
            ("device/model", "ST1000DM003 \n"),
            ("sda1/partition", "1\n"),
        ] {
            let file = disk.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let link = |number: &str, to: &Path| {
            std::os::unix::fs::symlink(to, folder.path().join(number)).unwrap();
        };
        link("8:0", &disk);
        link("8:1", &disk.join("sda1"));
        for (minor, name) in [(0, "sda"), (1, "sda1")] {
            let facts = DeviceFacts::find(folder.path(), makedev(8, minor)).unwrap();
            assert_eq!(facts.device.as_deref(), Some(name));
            assert_eq!(facts.rotational, Some(true));
            assert_eq!(facts.model.as_deref(), Some("ST1000DM003"));
            assert_eq!(facts.sector, Some(512));
        }
        assert!(DeviceFacts::find(folder.path(), makedev(8, 2)).is_none());
    }
}

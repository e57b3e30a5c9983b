//! Description of the machine for the manifest.

use crate::accelerators::accelerators;
use crate::machine_counters::CountedInterfaces;
use gordon_trace::{DiskInfo, InterfaceInfo, MachineInfo};
use gordon_units::Bytes;
use std::fs;
use std::path::Path;

/// Describes the machine seen under `root`, which is `/` except in tests. Unknown fields stay
/// empty.
pub(crate) fn machine_info(root: &Path) -> MachineInfo {
    let read = |file: &str| fs::read_to_string(root.join(file)).unwrap_or_default();
    let cpuinfo = read("proc/cpuinfo");
    let model = cpuinfo_field(&cpuinfo, "model name").map(str::to_owned);
    let siblings = read("sys/devices/system/cpu/cpu0/topology/thread_siblings_list");
    let cores = read("proc/stat").lines().filter(|l| l.starts_with("cpu")).count();
    let meminfo = read("proc/meminfo");
    let kib = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    MachineInfo {
        cpu_model: model.or_else(|| arm_core(&cpuinfo)).unwrap_or_default(),
        // One of the lines is the sum of all cores.
        cores: u32::try_from(cores.saturating_sub(1)).unwrap_or(0),
        threads_per_core: list_len(siblings.trim()),
        memory: Bytes(kib.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0) << 10),
        kernel: read("proc/sys/kernel/osrelease").trim().to_owned(),
        disks: disks(root),
        interfaces: interfaces(root),
        accelerators: accelerators(root),
    }
}

/// The first value of a field of `/proc/cpuinfo`.
fn cpuinfo_field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    let value = cpuinfo.lines().find_map(|l| l.strip_prefix(name)?.trim_start().strip_prefix(':'));
    value.map(str::trim)
}

/// The name of an Arm core, which `/proc/cpuinfo` gives as numbers. Names as in lscpu-arm.c of
/// util-linux.
fn arm_core(cpuinfo: &str) -> Option<String> {
    let implementer = cpuinfo_field(cpuinfo, "CPU implementer")?;
    let part = cpuinfo_field(cpuinfo, "CPU part")?;
    let name = match (implementer, part) {
        ("0x41", "0xd05") => "Cortex-A55",
        ("0x41", "0xd08") => "Cortex-A72",
        ("0x41", "0xd0b") => "Cortex-A76",
        ("0x41", "0xd0c") => "Neoverse-N1",
        ("0x41", "0xd40") => "Neoverse-V1",
        ("0x41", "0xd49") => "Neoverse-N2",
        ("0x41", "0xd4f") => "Neoverse-V2",
        _ => return Some(format!("implementer {implementer}, part {part}")),
    };
    Some(name.to_owned())
}

/// The number of cores in a list of ranges: `0,64` or `0-1`.
fn list_len(list: &str) -> Option<u32> {
    let lengths = list.split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        last.checked_sub(first)?.checked_add(1)
    });
    lengths.sum()
}

/// Identifier of this boot of the machine; `None` if the kernel does not give one.
pub(crate) fn boot_id(root: &Path) -> Option<String> {
    let id = fs::read_to_string(root.join("proc/sys/kernel/random/boot_id")).ok()?;
    Some(id.trim().to_owned())
}

fn disks(root: &Path) -> Vec<DiskInfo> {
    let mut disks: Vec<DiskInfo> =
        names(&root.join("sys/block")).iter().filter_map(|name| disk(root, name)).collect();
    disks.sort_by_key(|d| d.device);
    disks
}

fn disk(root: &Path, name: &str) -> Option<DiskInfo> {
    let dir = root.join("sys/block").join(name);
    let read = |file: &str| fs::read_to_string(dir.join(file)).ok().map(|t| t.trim().to_owned());
    let sectors: u64 = read("size")?.parse().ok()?;
    let dev = read("dev")?;
    let (major, minor) = dev.split_once(':')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    let path = fs::canonicalize(&dir).ok()?;
    (sectors > 0).then(|| DiskInfo {
        name: name.replace('!', "/"),
        device: major << 20 | minor,
        major,
        minor,
        size: Bytes(sectors * 512),
        rotational: read("queue/rotational").as_deref() == Some("1"),
        model: read("device/model").or_else(|| read("dm/name")).filter(|name| !name.is_empty()),
        read_ahead: read("queue/read_ahead_kb").and_then(|text| kib(&text)),
        scheduler: read("queue/scheduler").and_then(|text| scheduler(&text)),
        max_request: read("queue/max_sectors_kb").and_then(|text| kib(&text)),
        members: names(&dir.join("slaves")),
        is_virtual: path.components().any(|c| c.as_os_str() == "virtual"),
    })
}

fn kib(text: &str) -> Option<Bytes> {
    text.parse::<u64>().ok()?.checked_mul(1 << 10).map(Bytes)
}

/// The scheduler in use, in brackets: `none [mq-deadline] kyber`. A device without a choice has its
/// name alone.
fn scheduler(text: &str) -> Option<String> {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let name = chosen.map_or(text, |(name, _)| name);
    (!name.is_empty()).then(|| name.to_owned())
}

fn interfaces(root: &Path) -> Vec<InterfaceInfo> {
    let net = root.join("sys/class/net");
    let mut counted = CountedInterfaces::new(root);
    let interface = |name: String| {
        let speed = fs::read_to_string(net.join(&name).join("speed")).ok();
        // -1 means unknown.
        let megabits = speed.and_then(|text| text.trim().parse().ok());
        let counted = counted.is_counted(&name);
        InterfaceInfo { name, megabits, counted }
    };
    names(&net).into_iter().filter(|name| name != "lo").map(interface).collect()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn an_arm_core_has_the_name_that_lscpu_prints() {
        let text =
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n";
        assert_eq!(arm_core(text).as_deref(), Some("Neoverse-V1"));
        let other = text.replace("0x41", "0x61");
        assert_eq!(arm_core(&other).as_deref(), Some("implementer 0x61, part 0xd40"));
        assert_eq!(arm_core("model name\t: Atom\n"), None);
    }

    #[test]
    fn cores_that_share_a_physical_core_are_a_list_of_ranges() {
        for (list, len) in
            [("0-1", Some(2)), ("0,64", Some(2)), ("3", Some(1)), ("0-1,8-9", Some(4))]
        {
            assert_eq!(list_len(list), len);
        }
        for bad in ["", "1-0", "a"] {
            assert_eq!(list_len(bad), None);
        }
    }

    #[test]
    fn the_scheduler_in_use_is_in_brackets_or_alone() {
        for text in ["[none] mq-deadline", "none", "mq-deadline [none] bfq"] {
            assert_eq!(scheduler(text).as_deref(), Some("none"));
        }
        assert_eq!(scheduler(""), None);
    }

    #[test]
    fn a_built_machine() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", "model name\t: Atom (TM) 330\nmodel name\t: Atom (TM) 330\n");
        write("proc/stat", "cpu  1\ncpu0 1\ncpu1 1\nintr 5\n");
        write("proc/meminfo", "MemTotal:        2048 kB\n");
        write("proc/sys/kernel/osrelease", "6.1.0\n");
        for (place, name, dev, size) in [
            ("pci0/block", "sda", "8:0", "1953525168"),
            ("virtual/block", "loop0", "7:0", "8"),
            ("virtual/block", "loop1", "7:1", "0"),
        ] {
            write(&format!("sys/devices/{place}/{name}/dev"), dev);
            write(&format!("sys/devices/{place}/{name}/size"), size);
            write(&format!("sys/devices/{place}/{name}/queue/rotational"), "1\n");
            fs::create_dir_all(dir.path().join("sys/block")).unwrap();
            let target = dir.path().join(format!("sys/devices/{place}/{name}"));
            symlink(target, dir.path().join("sys/block").join(name)).unwrap();
        }
        let queue = "sys/devices/pci0/block/sda/queue";
        write(&format!("{queue}/read_ahead_kb"), "4096\n");
        write(&format!("{queue}/max_sectors_kb"), "1280\n");
        write(&format!("{queue}/scheduler"), "none [mq-deadline] kyber bfq \n");
        write("sys/devices/pci0/block/sda/device/model", "WDC WD10EZEX-08W\n");
        write("sys/devices/virtual/block/loop0/slaves/sda/dev", "8:0");
        write("sys/class/net/eth0/speed", "1000\n");
        write("sys/class/net/tun0/speed", "-1\n");
        write("sys/class/net/lo/mtu", "65536\n");
        let found = machine_info(dir.path());
        assert_eq!((found.cpu_model.as_str(), found.cores), ("Atom (TM) 330", 2));
        assert_eq!((found.memory, found.kernel.as_str()), (Bytes(2 << 20), "6.1.0"));
        let disks: Vec<_> = found.disks.iter().map(|d| (d.name.as_str(), d.is_virtual)).collect();
        assert_eq!(disks, [("loop0", true), ("sda", false)]);
        assert_eq!(
            (found.disks[1].device, found.disks[1].size),
            (8 << 20, Bytes(1_000_204_886_016))
        );
        let sda = &found.disks[1];
        assert_eq!(
            (sda.read_ahead, sda.max_request),
            (Some(Bytes(4 << 20)), Some(Bytes(1280 << 10)))
        );
        assert_eq!(sda.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(sda.model.as_deref(), Some("WDC WD10EZEX-08W"));
        let volume = &found.disks[0];
        assert_eq!((volume.read_ahead, &volume.scheduler, &volume.model), (None, &None, &None));
        assert_eq!((&volume.members, sda.members.len()), (&vec!["sda".to_owned()], 0));
        let nets: Vec<_> = found.interfaces.iter().map(|i| (i.name.as_str(), i.megabits)).collect();
        assert_eq!(nets, [("eth0", Some(1000)), ("tun0", None)]);
        assert_eq!(machine_info(Path::new("/nonexistent")), MachineInfo::default());
    }
}

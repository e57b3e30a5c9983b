//! Control groups: one that is created for the traced command, or those of nodes, which exist. A
//! group gives the CPU time, the memory and the processes without a read per process, and can limit
//! the memory. Its I/O counters are not used: `io.stat` is not always available, charges buffered
//! writes late, and does not cover every file system.
//!
//! A machine may have three kinds of control groups: version 2 with all controllers, version 2
//! without controllers (CPU time and processes only), and version 1 with a hierarchy per
//! controller. Each value comes from the first kind that has it. A child in version 2 has a
//! controller only if its parent delegates it, so the nearest ancestor that delegates the memory
//! controller is tried first.

use crate::owner_tag::{self, OwnerTag};
use gordon_units::{Bytes, Ns};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The mounted hierarchies of control groups, and the group of this process in each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hierarchies {
    v2: Option<Hierarchy>,
    /// The hierarchy of version 1 with the quotas of CPU time.
    cpu: Option<Hierarchy>,
    cpuacct: Option<Hierarchy>,
    memory: Option<Hierarchy>,
    /// The hierarchy of version 1 with the perf events, which are in version 2 without it.
    perf_event: Option<Hierarchy>,
}

/// A hierarchy: its mount point, the group that is mounted there, and the group of this process
/// relative to the mount point.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    mount: PathBuf,
    base: PathBuf,
    own_group: PathBuf,
}

impl Hierarchies {
    /// Finds the hierarchies of this process under `root`, which is `/` except in tests.
    pub(crate) fn find(root: &Path) -> Self {
        let read = |file| fs::read_to_string(root.join(file)).unwrap_or_default();
        Self::parse(&read("proc/self/mountinfo"), &read("proc/self/cgroup"), root)
    }

    fn parse(mounts: &str, groups: &str, root: &Path) -> Self {
        let mut found = Self::default();
        for line in mounts.lines() {
            // Format: 36 35 98:0 /root /mount options - type source super-options
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let left: Vec<&str> = left.split(' ').collect();
            let right: Vec<&str> = right.split(' ').collect();
            let (&[_, _, _, base, mount, ..], &[kind, _, options]) = (&left[..], &right[..]) else {
                continue;
            };
            let has = |controller| options.split(',').any(|o| o == controller);
            let wanted = match kind {
                "cgroup2" => vec![(&mut found.v2, "")],
                "cgroup" => vec![
                    (&mut found.cpu, "cpu"),
                    (&mut found.cpuacct, "cpuacct"),
                    (&mut found.memory, "memory"),
                    (&mut found.perf_event, "perf_event"),
                ],
                _ => continue,
            };
            for (place, controller) in wanted {
                if !controller.is_empty() && !has(controller) {
                    continue;
                }
                // Format: 5:cpu,cpuacct:/path; in version 2: 0::/path
                let path = groups.lines().find_map(|line| {
                    let (_, rest) = line.split_once(':')?;
                    let (controllers, path) = rest.split_once(':')?;
                    controllers.split(',').any(|c| c == controller).then_some(path)
                });
                let Some(path) = path else { continue };
                // The mount may start at a group below the root of the hierarchy. Our group is
                // below it.
                let own_group = Path::new(path).strip_prefix(base).unwrap_or(Path::new(""));
                let mount = root.join(mount.trim_start_matches('/'));
                let (base, own_group) = (PathBuf::from(base), own_group.to_owned());
                place.get_or_insert(Hierarchy { mount, base, own_group });
            }
        }
        found
    }

    /// The folders of the groups that can hold back the processes of `group`, or this process: its
    /// own group and those around it, the innermost first, in version 2 and in version 1.
    pub(crate) fn quota_folders(&self, group: Option<&ControlGroup>) -> [Vec<PathBuf>; 2] {
        let around = |hierarchy: &Option<Hierarchy>, folder: Option<PathBuf>| {
            let Some(hierarchy) = hierarchy else { return Vec::new() };
            let folder = folder.unwrap_or_else(|| hierarchy.mount.join(&hierarchy.own_group));
            let inside = |path: &&Path| path.starts_with(&hierarchy.mount);
            folder.ancestors().take_while(inside).map(Path::to_owned).collect()
        };
        let folder = |dir: Option<&GroupDir>| dir.map(|dir| dir.path.clone());
        let v1 = group.and_then(|group| match &group.cpu {
            Some(dir) => Some(dir),
            // One hierarchy may have both controllers.
            None => group.cpuacct.as_ref().filter(|dir| {
                self.cpu.as_ref().is_some_and(|cpu| dir.path.starts_with(&cpu.mount))
            }),
        });
        let v2 = group.and_then(|group| group.v2.as_ref());
        [around(&self.v2, folder(v2)), around(&self.cpu, folder(v1))]
    }

    /// The mount point of the hierarchy that has the perf events.
    #[cfg(test)]
    pub(crate) fn perf_event_mount(&self) -> Option<PathBuf> {
        let hierarchy = self.perf_event.as_ref().or(self.v2.as_ref());
        hierarchy.map(|hierarchy| hierarchy.mount.clone())
    }
}

impl Hierarchy {
    /// The groups in which a child may be created: ours and its ancestors.
    fn parents(&self) -> Vec<PathBuf> {
        self.own_group.ancestors().map(|path| self.mount.join(path)).collect()
    }

    /// The folder of the group with this path from the root of the hierarchy, if it exists.
    fn group(&self, path: &Path) -> Option<GroupDir> {
        let path = self.mount.join(path.strip_prefix(&self.base).ok()?);
        path.is_dir().then_some(GroupDir { path, is_ours: false })
    }

    /// The same groups, in the order in which version 2 tries them.
    fn parents_v2(&self) -> Vec<PathBuf> {
        let mut parents = self.parents();
        // Above a group with a limit, the limit would not hold the command.
        if let Some(at) = parents.iter().position(|dir| has_limit(dir)) {
            parents.truncate(at + 1);
        }
        parents.sort_by_key(|dir| {
            let handed_on = fs::read_to_string(dir.join("cgroup.subtree_control"));
            !handed_on.is_ok_and(|list| list.split_whitespace().any(|c| c == "memory"))
        });
        parents
    }
}

/// Whether a cgroup v2 group sets a limit. A limit on the number of processes does not count:
/// systemd sets one on every group.
fn has_limit(dir: &Path) -> bool {
    let text = |file: &str| fs::read_to_string(dir.join(file)).unwrap_or_default();
    let is_set = |file: &&str| text(file).split_whitespace().next().is_some_and(|at| at != "max");
    ["cpu.max", "memory.max", "memory.high", "memory.swap.max"].iter().any(is_set)
        || ["io.max", "cpuset.cpus"].iter().any(|file| !text(file).trim().is_empty())
}

/// The folder of a group. One that capture created is removed when this value is dropped.
#[derive(Debug)]
struct GroupDir {
    path: PathBuf,
    is_ours: bool,
}

impl GroupDir {
    fn create(parents: &[PathBuf], name: &str) -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for parent in parents {
            owner_tag::remove_stale(parent);
            let path = parent.join(name);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { path, is_ours: true }),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.path.join(file)).ok()
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }
}

impl Drop for GroupDir {
    fn drop(&mut self) {
        if !self.is_ours {
            return;
        }
        // The kernel refuses while the group has processes; then the next capture removes it. A
        // process that has just ended keeps the group busy for a moment.
        for _ in 0..50 {
            let left = self.read("cgroup.procs").unwrap_or_default();
            match fs::remove_dir(&self.path) {
                Err(e) if e.kind() == io::ErrorKind::ResourceBusy && left.is_empty() => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => break,
            }
        }
    }
}

/// A group of processes, in each hierarchy that counts something of it.
#[derive(Debug, Default)]
pub(crate) struct ControlGroup {
    v2: Option<GroupDir>,
    /// `None` for a group that is created for a command, which gets no quota of its own.
    cpu: Option<GroupDir>,
    cpuacct: Option<GroupDir>,
    memory: Option<GroupDir>,
    /// In the hierarchy that has the perf events; `None` for a group that is created for a command,
    /// whose counters are inherited.
    perf_event: Option<PathBuf>,
}

impl ControlGroup {
    /// The existing group with this path from the root of the hierarchies; `None` if none of them
    /// has it.
    pub(crate) fn existing(hierarchies: &Hierarchies, path: &Path) -> Option<Self> {
        let find = |hierarchy: &Option<Hierarchy>| hierarchy.as_ref()?.group(path);
        let perf_event = match &hierarchies.perf_event {
            None => find(&hierarchies.v2),
            version_1 => find(version_1),
        };
        let group = Self {
            v2: find(&hierarchies.v2),
            cpu: find(&hierarchies.cpu),
            cpuacct: find(&hierarchies.cpuacct),
            memory: find(&hierarchies.memory),
            perf_event: perf_event.map(|dir| dir.path.clone()),
        };
        (!group.is_empty()).then_some(group)
    }

    /// Creates the groups that can be created. Returns the reasons for those that cannot.
    pub(crate) fn create(hierarchies: &Hierarchies) -> (Self, Vec<String>) {
        let name = OwnerTag::current().to_string();
        let mut group = Self::default();
        let mut reasons = Vec::new();
        let mut make = |parents: Vec<PathBuf>, kind: &str| match GroupDir::create(&parents, &name) {
            Ok(dir) => Some(dir),
            Err(e) => {
                reasons.push(format!("no control group ({kind}): {e}"));
                None
            }
        };
        if let Some(h) = &hierarchies.v2 {
            group.v2 = make(h.parents_v2(), "version 2");
        }
        if let (None, Some(h)) = (group.cpu(), &hierarchies.cpuacct) {
            group.cpuacct = make(h.parents(), "cpuacct");
        }
        if let (None, Some(h)) = (group.memory(), &hierarchies.memory) {
            group.memory = make(h.parents(), "memory");
        }
        if hierarchies == &Hierarchies::default() {
            reasons.push("no control groups are mounted".to_owned());
        }
        (group, reasons)
    }

    fn all(&self) -> impl Iterator<Item = &GroupDir> {
        // The `cpu` hierarchy has quotas only, so its groups do not make a node.
        [&self.v2, &self.cpuacct, &self.memory].into_iter().flatten()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// Moves a process into the groups. Processes that it starts later are in them as well.
    pub(crate) fn add(&self, pid: u32) -> io::Result<()> {
        self.all().try_for_each(|dir| {
            match fs::write(dir.path.join("cgroup.procs"), pid.to_string()) {
                // The process has ended.
                Err(e) if e.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                    Ok(())
                }
                other => other,
            }
        })
    }

    /// The processes in the group; `None` if there is no group, or it cannot be read.
    pub(crate) fn members(&self) -> Option<Vec<u32>> {
        let text = self.all().next()?.read("cgroup.procs")?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// CPU time used by the group.
    pub(crate) fn cpu(&self) -> Option<Ns> {
        let v2 =
            |dir: &GroupDir| keyed(&dir.read("cpu.stat")?, "usage_usec").map(|us| Ns(us * 1000));
        let v1 = |dir: &GroupDir| dir.number("cpuacct.usage").map(Ns);
        self.v2.as_ref().and_then(v2).or_else(|| self.cpuacct.as_ref().and_then(v1))
    }

    /// CPU time used by the group on each core, which only version 1 counts.
    pub(crate) fn cpu_per_core(&self) -> Option<Vec<Ns>> {
        let text = self.cpuacct.as_ref()?.read("cpuacct.usage_percpu")?;
        let cores = text.split_ascii_whitespace().map(|ns| ns.parse().map(Ns));
        cores.collect::<Result<_, _>>().ok().filter(|cores: &Vec<Ns>| !cores.is_empty())
    }

    /// The processes in the group and in the groups below it; `None` if it cannot be read.
    pub(crate) fn all_members(&self) -> Option<Vec<u32>> {
        let mut folders = vec![self.all().next()?.path.clone()];
        let mut members = Vec::new();
        let mut is_read = false;
        while let Some(folder) = folders.pop() {
            let procs = fs::read_to_string(folder.join("cgroup.procs"));
            is_read |= procs.is_ok();
            members.extend(procs.iter().flat_map(|text| text.lines()).filter_map(|line| {
                // A process of another PID namespace is listed as 0.
                line.parse::<u32>().ok().filter(|pid| *pid > 0)
            }));
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()));
            folders.extend(below.map(|entry| entry.path()));
        }
        is_read.then_some(members)
    }

    /// The files of the group's pressure stall information (`io`, `cpu`); `None` in version 1.
    pub(crate) fn pressure(&self) -> Option<[PathBuf; 2]> {
        let dir = &self.v2.as_ref()?.path;
        Some(["io.pressure", "cpu.pressure"].map(|file| dir.join(file)))
    }

    /// The folder of the group in the hierarchy that has the perf events; `None` if the group is
    /// not in it.
    pub(crate) fn perf_event(&self) -> Option<&Path> {
        self.perf_event.as_deref()
    }

    /// The memory limit of the group itself; `None` if it has none.
    pub(crate) fn memory_limit(&self) -> Option<Bytes> {
        /// Version 1 has this number, or up to a large page less, for no limit.
        const NO_LIMIT: u64 = (1 << 63) - (1 << 25);
        let v2 = self.v2.as_ref().and_then(|dir| dir.number("memory.max"));
        let v1 = || self.memory.as_ref()?.number("memory.limit_in_bytes");
        v2.or_else(v1).filter(|limit| *limit < NO_LIMIT).map(Bytes)
    }

    /// Memory charged to the group.
    pub(crate) fn memory(&self) -> Option<Bytes> {
        let v2 = |dir: &GroupDir| dir.number("memory.current");
        let v1 = |dir: &GroupDir| dir.number("memory.usage_in_bytes");
        let found = self.v2.as_ref().and_then(v2);
        found.or_else(|| self.memory.as_ref().and_then(v1)).map(Bytes)
    }

    /// Source of the CPU time, for the manifest.
    pub(crate) fn cpu_source(&self) -> Option<&'static str> {
        let file = if self.v2.is_some() { "cgroup v2 cpu.stat" } else { "cgroup v1 cpuacct.usage" };
        self.cpu().map(|_| file)
    }

    /// Source of the memory, for the manifest.
    pub(crate) fn memory_source(&self) -> Option<&'static str> {
        let v2 = self.v2.as_ref().is_some_and(|dir| dir.number("memory.current").is_some());
        let file = if v2 { "cgroup v2 memory.current" } else { "cgroup v1 memory.usage_in_bytes" };
        self.memory().map(|_| file)
    }

    /// Memory of the group that the kernel cannot drop, and page cache of files; `None` if the
    /// kernel does not count them.
    pub(crate) fn memory_kinds(&self) -> Option<MemoryKinds> {
        let kinds = |dir: &Option<GroupDir>, [anonymous, shared, cached]: [&str; 3]| {
            let text = dir.as_ref()?.read("memory.stat")?;
            let shared = keyed(&text, shared)?;
            Some(MemoryKinds {
                anonymous: Bytes(keyed(&text, anonymous)?.saturating_add(shared)),
                cache: Bytes(keyed(&text, cached)?.saturating_sub(shared)),
            })
        };
        kinds(&self.v2, ["anon ", "shmem ", "file "])
            .or_else(|| kinds(&self.memory, ["total_rss ", "total_shmem ", "total_cache "]))
    }

    /// Sources of the kinds of memory, for the manifest: what cannot be dropped, and page cache.
    pub(crate) fn memory_kinds_sources(&self) -> Option<[&'static str; 2]> {
        let stat = self.v2.as_ref().and_then(|dir| dir.read("memory.stat"));
        let sources = match stat {
            Some(_) => {
                ["cgroup v2 memory.stat: anon + shmem", "cgroup v2 memory.stat: file - shmem"]
            }
            None => [
                "cgroup v1 memory.stat: total_rss + total_shmem",
                "cgroup v1 memory.stat: total_cache - total_shmem",
            ],
        };
        self.memory_kinds().map(|_| sources)
    }

    /// Limits the memory of the group, page cache included.
    pub(crate) fn limit(&self, limit: Bytes) -> Result<(), String> {
        let v2 = self.v2.as_ref().map(|dir| dir.path.join("memory.max"));
        let v1 = self.memory.as_ref().map(|dir| dir.path.join("memory.limit_in_bytes"));
        let file =
            v2.filter(|f| f.exists()).or(v1).ok_or("no memory controller for the command")?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::write(&file, limit.0.to_string()).map_err(|e| format!("{name} refuses it: {e}"))?;
        // The kernel rounds to pages, or to a larger unit if it charges memory in batches.
        let set = fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<u64>().ok());
        match set {
            Some(set) if set.abs_diff(limit.0) <= 1 << 20 => Ok(()),
            _ => Err(format!("{name} did not take it")),
        }
    }
}

/// Memory by whether the kernel can drop it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryKinds {
    /// Anonymous pages and shared memory.
    pub(crate) anonymous: Bytes,
    /// Page cache of files, without shared memory.
    pub(crate) cache: Bytes,
}

/// The number in the line `key number`.
pub(crate) fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        dir
    }

    fn dir_at(root: &tempfile::TempDir, name: &str) -> GroupDir {
        GroupDir { path: root.path().join(name), is_ours: false }
    }

    const V2: &str =
        "25 30 0:23 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    const V1: &str = "\
        22 1 0:20 / /proc rw - proc proc rw\n\
        30 29 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
        31 29 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
        35 29 0:32 /jobs /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

    #[test]
    fn version_2_takes_the_nearest_parent_that_hands_memory_on() {
        let own_group = "user.slice/user-0.slice/session-1.scope";
        let dir = tree(&[
            ("proc/self/mountinfo", V2),
            ("proc/self/cgroup", &format!("0::/{own_group}\n")),
            (&format!("sys/fs/cgroup/{own_group}/cgroup.subtree_control"), ""),
            ("sys/fs/cgroup/user.slice/user-0.slice/cgroup.subtree_control", "memory pids\n"),
            ("sys/fs/cgroup/user.slice/cgroup.subtree_control", "cpu io memory pids\n"),
            ("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu io memory\n"),
        ]);
        let found = Hierarchies::find(dir.path());
        let parents = found.v2.as_ref().unwrap().parents_v2();
        let relative: Vec<_> = parents
            .iter()
            .map(|p| p.strip_prefix(dir.path().join("sys/fs/cgroup")).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(relative, ["user.slice/user-0.slice", "user.slice", "", own_group]);
        // A limit holds in its group only.
        for (group, file, text, expected) in [
            (own_group, "memory.max", "max\n", 4),
            (own_group, "cpu.max", "max 100000\n", 4),
            ("user.slice/user-0.slice", "cpu.max", "50000 100000\n", 2),
            (own_group, "memory.max", "524288000\n", 1),
        ] {
            fs::write(dir.path().join("sys/fs/cgroup").join(group).join(file), text).unwrap();
            assert_eq!(found.v2.as_ref().unwrap().parents_v2().len(), expected, "{group} {file}");
        }
        assert_eq!((found.cpu, found.cpuacct, found.memory), (None, None, None));
    }

    #[test]
    fn version_1_by_controller_and_a_mount_below_the_root() {
        let groups = "9:memory:/jobs/7\n2:cpu,cpuacct:/a\n0::/\n";
        let found = Hierarchies::parse(V1, groups, Path::new("/"));
        let at = |mount: &str, base: &str, own_group: &str| Hierarchy {
            mount: mount.into(),
            base: base.into(),
            own_group: own_group.into(),
        };
        assert_eq!(found.v2, Some(at("/sys/fs/cgroup/unified", "/", "")));
        assert_eq!(found.cpuacct, Some(at("/sys/fs/cgroup/cpu,cpuacct", "/", "a")));
        assert_eq!(found.memory, Some(at("/sys/fs/cgroup/memory", "/jobs", "7")));
    }

    #[test]
    fn values_of_a_version_2_group() {
        let dir = tree(&[
            ("g/cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 2\n"),
            ("g/memory.current", "4096\n"),
            ("g/cgroup.procs", "12\n34\n"),
            ("g/memory.max", "max\n"),
        ]);
        let group = ControlGroup { v2: Some(dir_at(&dir, "g")), ..ControlGroup::default() };
        assert_eq!(group.cpu(), Some(Ns(1_234_567_000)));
        assert_eq!(group.memory(), Some(Bytes(4096)));
        assert_eq!(group.members(), Some(vec![12, 34]));
        assert_eq!(group.limit(Bytes(1 << 30)), Ok(()));
        assert_eq!(fs::read_to_string(dir.path().join("g/memory.max")).unwrap(), "1073741824");
        assert_eq!(group.memory_source(), Some("cgroup v2 memory.current"));
    }

    #[test]
    fn memory_by_kind_in_both_versions() {
        let dir = tree(&[
            ("v2/memory.stat", "anon 4096\nfile 40960\nkernel 1\nshmem 8192\nfile_mapped 7\n"),
            (
                "v1/memory.stat",
                "cache 1\nrss 2\nshmem 3\ntotal_cache 90\ntotal_rss 50\ntotal_shmem 20\n",
            ),
            ("old/memory.stat", "cache 1\nrss 2\ntotal_cache 90\ntotal_rss 50\n"),
        ]);
        let at = |name: &str| Some(dir_at(&dir, name));
        let v2 = ControlGroup { v2: at("v2"), ..ControlGroup::default() };
        let kinds = |anonymous, cache| {
            Some(MemoryKinds { anonymous: Bytes(anonymous), cache: Bytes(cache) })
        };
        assert_eq!(v2.memory_kinds(), kinds(12288, 32768));
        let v1 = ControlGroup { v2: at("none"), memory: at("v1"), ..ControlGroup::default() };
        assert_eq!(v1.memory_kinds(), kinds(70, 70));
        // Without the shared memory, neither is known.
        let old = ControlGroup { memory: at("old"), ..ControlGroup::default() };
        assert_eq!((old.memory_kinds(), old.memory_kinds_sources()), (None, None));
    }

    #[test]
    fn a_group_without_controllers_says_so() {
        let dir = tree(&[("v2/cpu.stat", "usage_usec 5\n"), ("mem/memory.usage_in_bytes", "7\n")]);
        let at = |name: &str| Some(dir_at(&dir, name));
        let group = ControlGroup { v2: at("v2"), memory: at("mem"), ..ControlGroup::default() };
        assert_eq!((group.cpu(), group.memory()), (Some(Ns(5000)), Some(Bytes(7))));
        let bare = ControlGroup { v2: at("v2"), ..ControlGroup::default() };
        assert!(bare.limit(Bytes(1)).is_err());
    }

    #[test]
    fn a_group_of_a_node_is_found_in_each_hierarchy_and_kept() {
        let node = "sys/fs/cgroup/cpu,cpuacct/jobs/n1";
        let memory = "sys/fs/cgroup/memory/n1";
        let dir = tree(&[
            ("proc/self/mountinfo", V1),
            ("proc/self/cgroup", "9:memory:/jobs/7\n2:cpu,cpuacct:/a\n0::/\n"),
            (&format!("{node}/cpuacct.usage_percpu"), "11 22 \n"),
            (&format!("{node}/cgroup.procs"), "5\n"),
            (&format!("{node}/inner/deep/cgroup.procs"), "6\n0\n"),
            (&format!("{memory}/memory.limit_in_bytes"), "2097152\n"),
            (&format!("{memory}/memory.usage_in_bytes"), "4096\n"),
        ]);
        let found = Hierarchies::find(dir.path());
        let group = ControlGroup::existing(&found, Path::new("/jobs/n1")).unwrap();
        assert_eq!(group.cpu_per_core(), Some(vec![Ns(11), Ns(22)]));
        assert_eq!(group.all_members(), Some(vec![5, 6]));
        assert_eq!(
            (group.memory(), group.memory_limit()),
            (Some(Bytes(4096)), Some(Bytes(2 << 20)))
        );
        assert!(group.pressure().is_none());
        assert_eq!(group.perf_event(), None, "it is not in version 2, which has the perf events");
        let limit = dir.path().join(memory).join("memory.limit_in_bytes");
        fs::write(limit, "9223372036854771712\n").unwrap();
        assert_eq!(group.memory_limit(), None);
        drop(group);
        assert!(dir.path().join(node).is_dir());
        assert!(ControlGroup::existing(&found, Path::new("/jobs/n2")).is_none());
    }

    #[test]
    fn perf_events_are_in_their_hierarchy_of_version_1_or_in_version_2() {
        let perf = "40 29 0:40 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n";
        let both = format!("{V1}{perf}");
        let in_unified = "sys/fs/cgroup/unified/jobs/n1";
        let in_perf = "sys/fs/cgroup/perf_event/jobs/n1";
        let groups = "9:memory:/jobs/7\n7:perf_event:/\n2:cpu,cpuacct:/a\n0::/\n";
        for (mounts, expected) in [(V1, Some(in_unified)), (&both, Some(in_perf))] {
            let dir = tree(&[
                ("proc/self/mountinfo", mounts),
                ("proc/self/cgroup", groups),
                (&format!("{in_unified}/cgroup.procs"), ""),
                (&format!("{in_perf}/cgroup.procs"), ""),
            ]);
            let found = Hierarchies::find(dir.path());
            let group = ControlGroup::existing(&found, Path::new("/jobs/n1")).unwrap();
            assert_eq!(group.perf_event(), expected.map(|path| dir.path().join(path)).as_deref());
        }
        // A group that is only in version 2 has no perf events if these are in version 1.
        let dir = tree(&[
            ("proc/self/mountinfo", &both),
            ("proc/self/cgroup", groups),
            (&format!("{in_unified}/cgroup.procs"), ""),
        ]);
        let found = Hierarchies::find(dir.path());
        let group = ControlGroup::existing(&found, Path::new("/jobs/n1")).unwrap();
        assert_eq!(group.perf_event(), None);
    }

    #[test]
    fn nothing_mounted() {
        let dir = tree(&[]);
        let (group, reasons) = ControlGroup::create(&Hierarchies::find(dir.path()));
        assert!(group.is_empty() && group.members().is_none());
        assert_eq!(reasons, ["no control groups are mounted"]);
    }
}

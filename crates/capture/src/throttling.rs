//! Time in which a quota of CPU time held back a group of processes.
//!
//! A group is held back by its own quota and by those of the groups around it, which the kernel
//! counts one by one and at the same time. The largest of the counters is a lower bound of the
//! whole.

use crate::cgroup::{ControlGroup, Hierarchies, keyed};
use gordon_units::Ns;
use std::fs;
use std::path::{Path, PathBuf};

/// The counters of a group and of those around it that have a quota.
pub(crate) struct ThrottledTime {
    counters: Vec<ThrottleCounter>,
    /// Source of the time, for the manifest.
    source: String,
}

struct ThrottleCounter {
    file: PathBuf,
    is_v2: bool,
    base: Ns,
    /// The last total, which stays when the group has gone.
    last: Ns,
}

impl ThrottledTime {
    /// Opens the counters of `group`, or of the group of this process.
    ///
    /// # Errors
    /// The reason, if the kernel counts no such time.
    pub(crate) fn open(
        hierarchies: &Hierarchies,
        group: Option<&ControlGroup>,
    ) -> Result<Self, String> {
        let [v2, v1] = hierarchies.quota_folders(group);
        if v2.is_empty() && v1.is_empty() {
            return Err("no control groups with CPU quotas are mounted".to_owned());
        }
        let mut counters = Vec::new();
        let mut quotas = 0;
        for (folders, is_v2) in [(v2, true), (v1, false)] {
            for (depth, folder) in folders.into_iter().enumerate() {
                let has_quota = has_quota(&folder, is_v2);
                quotas += usize::from(has_quota);
                // A quota of the group itself may be set later.
                if has_quota || depth == 0 {
                    let mut counter = ThrottleCounter::new(folder.join("cpu.stat"), is_v2);
                    if counter.read() {
                        counter.base = counter.last;
                        counters.push(counter);
                    }
                }
            }
        }
        if quotas > 0 && counters.is_empty() {
            return Err("cpu.stat of the control groups with a quota cannot be read".to_owned());
        }
        let source = match (quotas, counters.iter().any(|counter| counter.is_v2)) {
            (0, _) => "cgroup cpu.stat: no control group around it had a quota at the start",
            (_, true) => "cgroup v2 cpu.stat: throttled_usec",
            (_, false) => "cgroup v1 cpu.stat: throttled_time",
        };
        Ok(Self { counters, source: source.to_owned() })
    }

    /// Source of the time, for the manifest.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// Time since the counters were opened, summed over the cores on which tasks waited.
    pub(crate) fn read(&mut self) -> Ns {
        let since = self.counters.iter_mut().map(|counter| {
            counter.read();
            counter.last.saturating_sub(counter.base)
        });
        since.max().unwrap_or(Ns::ZERO)
    }
}

impl ThrottleCounter {
    fn new(file: PathBuf, is_v2: bool) -> Self {
        Self { file, is_v2, base: Ns::ZERO, last: Ns::ZERO }
    }

    /// Whether the file has the counter.
    fn read(&mut self) -> bool {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let found = match self.is_v2 {
            true => keyed(&text, "throttled_usec ").map(|us| us.saturating_mul(1000)),
            false => keyed(&text, "throttled_time "),
        };
        self.last = found.map_or(self.last, |total| self.last.max(Ns(total)));
        found.is_some()
    }
}

fn has_quota(folder: &Path, is_v2: bool) -> bool {
    let file = if is_v2 { "cpu.max" } else { "cpu.cfs_quota_us" };
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    // No quota is `max` or -1.
    text.split_ascii_whitespace().next().is_some_and(|quota| quota.parse::<u64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2: &str = "25 30 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    const V1: &str = "\
        30 29 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
        31 29 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
        32 29 0:29 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n";

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn machine(mounts: &str, groups: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "proc/self/mountinfo", mounts);
        write(dir.path(), "proc/self/cgroup", groups);
        dir
    }

    #[test]
    fn a_quota_of_an_outer_group_counts_from_the_start() {
        let dir = machine(V2, "0::/pod/box\n");
        let root = dir.path();
        write(root, "sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
        write(root, "sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
        write(root, "sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 1\nthrottled_usec 0\n");
        let stat = "sys/fs/cgroup/pod/cpu.stat";
        write(root, stat, "usage_usec 1\nnr_throttled 3\nthrottled_usec 100\n");
        let found = Hierarchies::find(root);
        let mut time = ThrottledTime::open(&found, None).unwrap();
        assert_eq!(time.source(), "cgroup v2 cpu.stat: throttled_usec");
        write(root, stat, "usage_usec 1\nnr_throttled 4\nthrottled_usec 350\n");
        assert_eq!(time.read(), Ns(250_000));
        // A group that has gone keeps its time.
        fs::remove_file(root.join(stat)).unwrap();
        assert_eq!(time.read(), Ns(250_000));
    }

    #[test]
    fn version_1_counts_nanoseconds_in_the_hierarchy_of_cpu() {
        let dir = machine(V1, "2:cpuacct:/\n1:cpu:/\n0::/\n");
        let root = dir.path();
        let node = "sys/fs/cgroup/cpu/nodes/n1";
        write(root, "sys/fs/cgroup/cpuacct/nodes/n1/cpuacct.usage", "5\n");
        write(root, &format!("{node}/cpu.cfs_quota_us"), "50000\n");
        write(root, &format!("{node}/cpu.stat"), "nr_periods 1\nthrottled_time 10\n");
        let found = Hierarchies::find(root);
        let group = ControlGroup::existing(&found, Path::new("/nodes/n1")).unwrap();
        let mut time = ThrottledTime::open(&found, Some(&group)).unwrap();
        write(root, &format!("{node}/cpu.stat"), "nr_periods 9\nthrottled_time 4010\n");
        assert_eq!((time.read(), time.source()), (Ns(4000), "cgroup v1 cpu.stat: throttled_time"));
    }

    #[test]
    fn without_a_quota_the_time_is_zero_and_without_groups_unknown() {
        let dir = machine(V2, "0::/\n");
        write(dir.path(), "sys/fs/cgroup/cpu.stat", "usage_usec 1\n");
        let mut time = ThrottledTime::open(&Hierarchies::find(dir.path()), None).unwrap();
        assert_eq!(time.read(), Ns::ZERO);
        assert!(time.source().contains("no control group"));
        assert!(ThrottledTime::open(&Hierarchies::default(), None).is_err());
    }
}

//! Detects whether a folder for test files is on a local disk.

use rustix::fs::statfs;
use std::path::Path;

/// Magic numbers (linux/magic.h) of file systems in memory or on another machine: tmpfs, ramfs,
/// NFS, CIFS, SMB2, 9p and FUSE, which includes virtiofs.
const ELSEWHERE: [u64; 7] =
    [0x0102_1994, 0x8584_58f6, 0x6969, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997, 0x6573_5546];

/// Whether files in a folder are stored on a block device of this machine.
pub fn is_on_a_disk(folder: &Path) -> bool {
    // `f_type` is signed on some processors, unsigned on others.
    statfs(folder).is_ok_and(|found| !ELSEWHERE.contains(&((found.f_type as u64) & 0xffff_ffff)))
}

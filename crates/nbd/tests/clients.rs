//! Tests with real clients, from Debian's packages nbdkit, libnbd-bin, python3-libnbd, qemu-utils
//! and fio. A test whose client is not installed is skipped by name.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Late, Served, memory, run, serve};
use gordon_testkit::skipped;
use std::fs;
use std::process::Command;
use std::time::Duration;

const SIZE: u64 = 64 << 20;

/// Runs the test with an export that answers at once, and with one that answers late.
fn both(test: impl Fn(&Served, &str)) {
    for late in [false, true] {
        let memory = memory(SIZE);
        let served =
            if late { serve(Late::new(memory, Duration::from_millis(1))) } else { serve(memory) };
        test(&served, &format!("nbd+unix:///?socket={}", served.socket.display()));
    }
}

#[test]
fn nbdinfo() {
    both(|_, uri| {
        let Some(said) = run("nbdinfo", "nbdinfo", &["--json", uri]) else { return };
        for words in [
            "\"protocol\": \"newstyle-fixed\"",
            "\"structured\": true",
            "\"export-size\": 67108864",
            "\"base:allocation\"",
            "\"can_multi_conn\": true",
            "\"can_fast_zero\": true",
            "\"block_size_maximum\": 33554432",
        ] {
            assert!(said.contains(words), "{words} in {said}");
        }
        let list = run("nbdinfo", "nbdinfo", &["--list", uri]).unwrap_or_default();
        assert!(list.contains("export-size: 67108864"), "{list}");
    });
}

#[test]
fn nbdcopy() {
    both(|served, uri| {
        let (from, to) = (served.socket.with_extension("in"), served.socket.with_extension("out"));
        let mut data: Vec<u8> = (0..SIZE).map(|at| (at % 253) as u8).collect();
        data[1 << 20..9 << 20].fill(0);
        fs::write(&from, &data).unwrap();
        let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());
        if run("nbdcopy", "nbdcopy", &["--connections=4", "--flush", from, uri]).is_none() {
            return;
        }
        run("nbdcopy", "nbdcopy", &["--connections=4", uri, to]);
        assert!(fs::read(to).unwrap() == data, "reads return what was written");
        let map = run("nbdcopy", "nbdinfo", &["--map", "--totals", uri]).unwrap_or_default();
        assert!(map.contains("hole,zero"), "{map}");
    });
}

#[test]
fn nbdsh() {
    const SCRIPT: &str = r#"
import errno, sys, nbd
h = nbd.NBD()
h.set_strict_mode(0)
h.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
h.connect_uri(sys.argv[1])
assert h.get_size() == 64 << 20 and h.can_multi_conn() and h.can_fua() and h.can_df()
assert h.get_structured_replies_negotiated()

def fails(number, call, *args):
    try:
        call(*args)
    except nbd.Error as error:
        assert error.errnum == number, (error.errnum, number, error.string)
    else:
        raise AssertionError((number, args))

h.pwrite(b"hello" * 1000, 123456, nbd.CMD_FLAG_FUA)
assert h.pread(5000, 123456, nbd.CMD_FLAG_DF) == b"hello" * 1000
h.flush()
h.zero(65536, 131072, nbd.CMD_FLAG_NO_HOLE)
h.zero(65536, 65536 * 10, nbd.CMD_FLAG_FAST_ZERO)
h.trim(1 << 20, 0)
h.cache(1 << 20, 0)
assert h.pread(1 << 20, 0) == bytearray(1 << 20)
h.pwrite(b"x" * 65536, 65536 * 4)
seen = []
h.block_status(1 << 20, 0, lambda context, offset, entries, error: seen.extend(entries) or 0)
assert sum(seen[0::2]) == 1 << 20 and 0 in seen[1::2] and 3 in seen[1::2], seen
seen.clear()
h.block_status(1 << 20, 0, lambda c, o, entries, e: seen.extend(entries) or 0, nbd.CMD_FLAG_REQ_ONE)
assert seen == [65536 * 4, 3], seen
fails(errno.ENOTSUP, h.zero, 65536, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE)
fails(errno.EINVAL, h.pread, 512, 64 << 20)
fails(errno.ENOSPC, h.pwrite, b"x", 64 << 20)
fails(errno.EINVAL, h.trim, 512, 64 << 20)
fails(errno.EINVAL, h.pread, 0, 0)
h.shutdown()

# Without structured replies, and asynchronously.
h = nbd.NBD()
h.set_request_structured_replies(False)
h.connect_uri(sys.argv[1])
buffers = [nbd.Buffer(65536) for _ in range(64)]
cookies = [h.aio_pread(buffer, 65536 * 4) for buffer in buffers]
while h.aio_in_flight() > 0:
    h.poll(-1)
assert all(h.aio_command_completed(cookie) for cookie in cookies)
assert all(buffer.to_bytearray() == b"x" * 65536 for buffer in buffers)
h.shutdown()
"#;
    // Debian installs the module for the Python of the system, which may not be first in PATH.
    let test = "import importlib.util as u, sys; print(u.find_spec('nbd') is not None)";
    let found = run("nbdsh", "/usr/bin/python3", &["-c", test]).unwrap_or_default();
    if found.trim() != "True" {
        return skipped("nbdsh: python3-libnbd is not installed");
    }
    both(|_, uri| {
        run("nbdsh", "/usr/bin/python3", &["-c", SCRIPT, uri]);
    });
}

#[test]
fn qemu_io() {
    both(|_, uri| {
        let commands = [
            "write -P 7 0 1M",
            "write -f -P 8 4k 4k",
            "read -P 8 4k 4k",
            "write -z -u 64k 64k",
            "read -P 0 64k 64k",
            "discard 128k 64k",
            "read -P 7 512k 512k",
            "aio_write -P 9 2M 1M",
            "aio_read 0 1M",
            "aio_flush",
            "flush",
            "read -P 9 2M 1M",
        ];
        let words: Vec<_> = commands.iter().flat_map(|command| ["-c", command]).collect();
        let words = [&["-f", "raw"], &words[..], &[uri]].concat();
        let Some(said) = run("qemu_io", "qemu-io", &words) else { return };
        assert!(!said.contains("failed"), "{said}");
    });
}

#[test]
fn qemu_img() {
    both(|served, uri| {
        let image = served.socket.with_extension("img");
        let data: Vec<u8> = (0..SIZE).map(|at| (at >> 20) as u8 % 3).collect();
        fs::write(&image, data).unwrap();
        let image = image.to_str().unwrap();
        let convert = ["convert", "-n", "-f", "raw", "-O", "raw", image, uri];
        if run("qemu_img", "qemu-img", &convert).is_none() {
            return;
        }
        let compare = ["compare", "-f", "raw", "-F", "raw", image, uri];
        let said = run("qemu_img", "qemu-img", &compare).unwrap_or_default();
        assert!(said.contains("Images are identical"), "{said}");
    });
}

#[test]
fn fio() {
    let help = run("fio", "fio", &["--enghelp"]).unwrap_or_default();
    if !help.contains("nbd") {
        return skipped("fio: it is not installed, or has no NBD");
    }
    both(|_, uri| {
        let uri = format!("--uri={uri}");
        let job = ["--name=verify", "--ioengine=nbd", &uri, "--size=64m", "--verify=crc32c"];
        let load = ["--rw=randwrite", "--bsrange=512-128k", "--iodepth=32", "--norandommap=0"];
        let limits = ["--io_size=32m", "--verify_fatal=1", "--verify_state_save=0", "--fsync=50"];
        run("fio", "fio", &[&job[..], &load, &limits].concat());
    });
}

/// The harness hides the output of tests that pass; the message that a test was skipped must still
/// appear.
#[test]
fn a_skipped_test_is_reported_by_name() {
    let this = std::env::current_exe().unwrap();
    let ran = Command::new(this).args(["--exact", "nbdinfo"]).env("PATH", "").output().unwrap();
    assert!(ran.status.success());
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(said.contains("skipped: nbdinfo: nbdinfo is not installed\n"), "{said}");
}

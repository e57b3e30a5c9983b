//! Logs of fio.

use super::{case, reads, refused, with};
use gordon_blockio::IoOp::{Discard, Flush, Read, Write};
use gordon_trace::formats::{Format, ReadOptions};

#[test]
fn fio_2() {
    let text = "fio version 2 iolog\n/dev/a add\n/dev/b add\n/dev/a open\n/dev/a read 4096 512\n\
                /dev/a wait 250 0\n/dev/b write 0 8192\n/dev/b sync 0 0\n/dev/b trim 512 512\n\
                /dev/a close\n";
    let case = case(text);
    let (_, counts) = with(&case.path, &ReadOptions::default());
    assert_eq!(counts.other_kinds, 4);
    let b = 250_000;
    let expected = [
        (0, Read, 0, 4096, 512),
        (b, Write, 1, 0, 8192),
        (b, Flush, 1, 0, 0),
        (b, Discard, 1, 512, 512),
    ];
    reads(Format::Fio, text, &expected);
}

#[test]
fn fio_3() {
    let text = "fio version 3 iolog\n20 /f add\n235 /f open\n239 /f read 61440 4096\n\
                412 /f write 774144 4096\n415 /f datasync 0 0\n500 /f close\n";
    let write = (173_000, Write, 0, 774_144, 4096);
    let flush = (176_000, Flush, 0, 0, 0);
    reads(Format::Fio, text, &[(0, Read, 0, 61_440, 4096), write, flush]);
}

#[test]
fn malformed_lines_of_fio() {
    refused(
        Some(Format::Fio),
        "fio version 3 iolog\n1 /f read 0 512\n2 /f wait 5\n",
        &["line 3", "action", "`wait`"],
    );
    refused(Some(Format::Fio), "hello\n", &["line 1", "first line", "version 2"]);
}

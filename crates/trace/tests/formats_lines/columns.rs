//! Formats of one request a line, in columns.

use super::{S, case, reads, refused, with};
use gordon_blockio::IoOp::{Read, Write};
use gordon_trace::formats::{Format, ReadOptions, detect};
use gordon_units::Ns;

#[test]
fn mqsim() {
    let text = "11413000 0 657728 16 1\r\n\n12000000\t3 8 1 0";
    reads(
        Format::MQSIM,
        text,
        &[(0, Read, 0, 657_728 * 512, 8192), (587_000, Write, 3, 4096, 512)],
    );
}

#[test]
fn disksim() {
    let text = "0.500000 0 100 8 1\n2.25 1 7 16 0\n3 0 1 1 0x40000001\n";
    let last = (2_500_000, Read, 0, 512, 512);
    let second = (1_750_000, Write, 1, 7 * 512, 8192);
    reads(Format::DISKSIM, text, &[(0, Read, 0, 51_200, 4096), second, last]);
}

#[test]
fn disksim_validate() {
    let text = "R Hit    1975456   4  15362.00000  56074.00000\nW Miss 8 4 3024.5 27896\n";
    let case = case(text);
    assert_eq!(detect(&case.path).unwrap(), Format::DisksimValidate);
    let (all, _) = with(&case.path, &ReadOptions::default());
    assert_eq!(all[1].at, Ns(71_436_000));
    assert_eq!((all[1].latency, all[1].gap), (Some(Ns(3_024_500)), Some(Ns(27_896_000))));
}

#[test]
fn msr() {
    let text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n\
                128166372003061629,src1,1,Read,383496192,32768,113736\n\
                128166372016382155,src1,1,write, 512, 1024, 7\n";
    let expected = [(0, Read, 1, 383_496_192, 32_768), (1_332_052_600, Write, 1, 512, 1024)];
    reads(Format::MSR, text, &expected);
    let case = case(text);
    assert_eq!(with(&case.path, &ReadOptions::default()).0[0].latency, Some(Ns(11_373_600)));
}

/// The example of the specification, without its last, misprinted line.
#[test]
fn spc() {
    let text = "0,20941264,8192,W,0.551706,Alpha/NT\n0,20939840,8192,W,0.554041\n\
                1,3436288,15872,w,1.250720,0x123,5.99,test\n0,7695360,4096,R,2.346628\n";
    let first = (0, Write, 0, 20_941_264 * 512, 8192);
    let second = (2_335_000, Write, 0, 20_939_840 * 512, 8192);
    let third = (699_014_000, Write, 1, 3_436_288 * 512, 15_872);
    let last = (1_794_922_000, Read, 0, 7_695_360 * 512, 4096);
    reads(Format::SPC, text, &[first, second, third, last]);
}

/// Lines like those of the UMass OLTP traces: lower-case letters, addresses and sizes in sectors,
/// and several requests at the same time.
#[test]
fn spc_of_oltp() {
    let text = "0,404123,3584,w,0.000000\n1,55123,1536,w,0.000000\n23,1200345,512,r,0.065536\n";
    let first = (0, Write, 0, 404_123 * 512, 3584);
    let last = (65_536_000, Read, 23, 1_200_345 * 512, 512);
    reads(Format::SPC, text, &[first, (0, Write, 1, 55_123 * 512, 1536), last]);
}

/// The published file has no header, but parts of it may have one.
#[test]
fn alibaba() {
    let lines = "0,R,120259084288,4096,1577808000000120\n\n998,W,5368713216,77824,1577808000000166\n\
                 0,W,120259088384,1024,1577808144360001\n";
    let first = (0, Read, 0, 120_259_084_288, 4096);
    let second = (46_000, Write, 998, 5_368_713_216, 77_824);
    let expected = [first, second, (144_359_881_000, Write, 0, 120_259_088_384, 1024)];
    reads(Format::ALIBABA, lines, &expected);
    let named = format!("device_id,opcode,offset,length,timestamp\n{lines}");
    reads(Format::ALIBABA, named, &expected);
}

#[test]
fn tencent() {
    let text = "1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n";
    let first = (0, Read, 1063, 12_910_952 * 512, 65_536);
    reads(Format::TENCENT, text, &[first, (S, Write, 1627, 6_338_688 * 512, 4096)]);
}

#[test]
fn malformed_lines() {
    let good = "10 0 8 8 1\n";
    let at = |bad: &str, what: &[&str]| {
        let what = [&["line 3", "format mqsim"], what].concat();
        refused(None, format!("{good}{good}{bad}\n{good}{good}"), &what);
    };
    at("11 0 x 8 1", &["offset (column 3)", "found `x`"]);
    at("11 0 8 8 2", &["op (column 5)", "1 (read), 0 (write)", "found `2`"]);
    at("11 0 8 8", &["op (column 5)", "found nothing"]);
    at("11 0 8 8 1 1", &["number of columns", "expected 5", "found `6`"]);
    at("-1 0 8 8 1", &["time (column 1)", "found `-1`"]);
    at("1.5 0 8 8 1", &["time (column 1)", "found `1.5`"]);
    at("11 0 18446744073709551615 8 1", &["offset (column 3)", "2^64 bytes in units of 512B"]);
    at("11 0 18014398509481984 8 1", &["offset and length", "2^62"]);
    at("11 4294967296 8 8 1", &["device (column 2)", "2^32"]);
    at("11 sda 8 8 1", &["device (column 2)", "found `sda`"]);
    at("9 0 8 8 1", &["time goes backwards", "--order"]);
    refused(None, "1,R,0,512,5\n1,R,0,512,5\n1,X,0,512,6\n", &["line 3", "op", "found `X`"]);
    refused(None, "0,1,512,R,0.1\n0,1,512,R,0.1\n0,1,512,R,-5\n", &["line 3", "time (column 5)"]);
    let msr = "128166372003061629,src1,1,Read,512,512,7\n";
    refused(
        None,
        format!("{msr}{msr}128166372003061629,src1,1,Read,512,512\n"),
        &["line 3", "latency (column 7)", "found nothing"],
    );
    refused(
        Some(Format::DISKSIM),
        "0.5 0 8 8 1\n0.5 0 8 8 x\n",
        &["line 2", "op (column 5)", "flags", "found `x`"],
    );
}

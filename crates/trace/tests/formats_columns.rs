//! Text with described columns: each built-in description with lines in its documented form,
//! columns of a user, and files that fit several formats or have implausible values.
#![allow(clippy::unwrap_used, missing_docs)]

use gordon_blockio::IoOp::{self, Discard, Read, Write};
use gordon_trace::formats::{
    ColumnMap, DelimitedFormat, Format, FormatChoice, FormatError, ObjectRequest, OpWords,
    OpenedTrace, ReadOptions, TraceRequest, columns, open, open_any,
};
use gordon_units::Ns;
use std::fs;
use std::path::Path;
use std::sync::Arc;

struct Case {
    _dir: tempfile::TempDir,
    path: std::path::PathBuf,
}

fn case(content: &str) -> Case {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    fs::write(&path, content).unwrap();
    Case { _dir: dir, path }
}

fn named(name: &str) -> Option<Format> {
    Some(name.parse().unwrap())
}

fn options_of(text: &str) -> ReadOptions {
    described(text, &OpWords::default())
}

fn described(text: &str, words: &OpWords) -> ReadOptions {
    let own = DelimitedFormat::from_options(text, None, 0, words).unwrap();
    ReadOptions { columns: Some(Arc::new(own)), ..ReadOptions::default() }
}

/// Time in ns since the first request, operation, device, offset, length.
type Brief = (u64, IoOp, u32, u64, u64);

fn blocks(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
) -> Result<Vec<Brief>, FormatError> {
    let mut reader = open(path, format, options)?;
    let (mut all, mut batch): (Vec<TraceRequest>, _) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch)? {
        all.extend_from_slice(&batch);
    }
    let brief = |io: &TraceRequest| (io.at.0, io.op, io.device, io.offset.0, io.len.0);
    Ok(all.iter().map(brief).collect())
}

fn objects(
    path: &Path,
    format: Option<Format>,
    options: &ReadOptions,
) -> (Vec<ObjectRequest>, Vec<String>) {
    let OpenedTrace::Objects(mut reader) = open_any(path, format, options, false).unwrap() else {
        panic!("these are objects");
    };
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch).unwrap() {
        all.extend_from_slice(&batch);
    }
    (all, reader.notes())
}

/// Time in ns, size, and whether the request writes.
fn brief(all: &[ObjectRequest]) -> Vec<(u64, u64, bool)> {
    all.iter().map(|one| (one.at.0, one.size, one.write)).collect()
}

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

#[test]
fn fiu_has_nanoseconds_sectors_and_the_devices_numbers() {
    let text = "89968195792462 20782 gzip 283193184 8 R 6 1 56f11b711d91a065a2b6458eca924523\n\
                89968195892462 20782 gzip 100 16 W 6 1 56f11b711d91a065a2b6458eca924523\n";
    let expected = [
        (0, Read, 6 << 20 | 1, 283_193_184 * 512, 4096),
        (100_000, Write, 6 << 20 | 1, 51_200, 8192),
    ];
    let case = case(text);
    assert_eq!(blocks(&case.path, None, &ReadOptions::default()).unwrap(), expected);
    assert_eq!(blocks(&case.path, named("fiu"), &ReadOptions::default()).unwrap(), expected);
}

#[test]
fn systor17_has_seconds_and_a_response_time_that_may_be_missing() {
    let text = "Timestamp,Response,IOType,LUN,Offset,Size\n\
                1455592511.046955,0.000501,R,1,63100723200,8192\n\
                1455592511.546955,,W,2,4096,512\n";
    let case = case(text);
    let expected = [(0, Read, 1, 63_100_723_200, 8192), (500 * MS, Write, 2, 4096, 512)];
    assert_eq!(blocks(&case.path, None, &ReadOptions::default()).unwrap(), expected);
    let mut reader = open(&case.path, named("systor17"), &ReadOptions::default()).unwrap();
    let mut batch = Vec::new();
    reader.fill(&mut batch).unwrap();
    assert_eq!((batch[0].latency, batch[1].latency), (Some(Ns(501_000)), None));
}

#[test]
fn biosnoop_counts_from_the_issue_and_its_process_names_may_hold_blanks() {
    let text = "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)\n\
                0.100000    job            12     sdx       W 4096       8192      0.50\n\
                0.100100    Web Content 3  13     sdy       R 8192       4096      0.70\n";
    let case = case(text);
    let expected = [(0, Read, 1, 8192 * 512, 4096), (100_000, Write, 0, 4096 * 512, 8192)];
    assert_eq!(blocks(&case.path, None, &ReadOptions::default()).unwrap(), expected);
}

#[test]
fn arc_and_lirs_are_blocks_without_times() {
    let arc = case("110765 64 0 0\n40 1 0 1\n110765 8 0 2\n");
    let expected = [
        (0, Read, 0, 110_765 * 512, 32_768),
        (0, Read, 0, 20_480, 512),
        (0, Read, 0, 110_765 * 512, 4096),
    ];
    for format in [None, named("arc")] {
        assert_eq!(blocks(&arc.path, format, &ReadOptions::default()).unwrap(), expected);
    }
    let reader = open(&arc.path, None, &ReadOptions::default()).unwrap();
    assert_eq!(
        (reader.note().time_unit_ns, reader.note().chosen_by),
        (None, FormatChoice::Content)
    );
    let lirs = case("7\n*\n3\n7\n");
    let expected =
        [(0, Read, 0, 28_672, 4096), (0, Read, 0, 12_288, 4096), (0, Read, 0, 28_672, 4096)];
    assert_eq!(blocks(&lirs.path, named("lirs"), &ReadOptions::default()).unwrap(), expected);
    // A list of numbers fits many formats.
    let error = blocks(&lirs.path, None, &ReadOptions::default()).unwrap_err();
    assert!(matches!(error, FormatError::Ambiguous { .. }), "{error}");
}

#[test]
fn midas_has_seconds_pages_and_trims() {
    let case = case("0.5 1 100 4096 0\n0.75 0 100 8192 0\n1.25 3 101 4096 0\n");
    let expected = [
        (0, Write, 0, 409_600, 4096),
        (250 * MS, Read, 0, 409_600, 8192),
        (750 * MS, Discard, 0, 413_696, 4096),
    ];
    for format in [None, named("midas")] {
        assert_eq!(blocks(&case.path, format, &ReadOptions::default()).unwrap(), expected);
    }
}

#[test]
fn webcachesim_and_lrb_are_objects_whose_further_columns_are_features() {
    let three = case("0 11 25\n1 12 9001\n2 11 25\n");
    let (all, _) = objects(&three.path, None, &ReadOptions::default());
    assert_eq!(brief(&all), [(0, 25, false), (S, 9001, false), (2 * S, 25, false)]);
    assert_eq!(all.iter().map(|one| one.key).collect::<Vec<_>>(), [11, 12, 11]);
    // The columns of MQSim fit as well, but half of the requests would have no bytes.
    let features =
        case("0 29 4334 0 1\n1 7 74649 1 0\n2 29 4334 0 1\n3 8 1003 1 1\n4 7 74649 0 0\n");
    let OpenedTrace::Objects(reader) =
        open_any(&features.path, None, &ReadOptions::default(), false).unwrap()
    else {
        panic!("these are objects");
    };
    assert_eq!(reader.format().name(), "lrb");
    let (all, _) = objects(&features.path, named("lrb"), &ReadOptions::default());
    assert_eq!(all.len(), 5);
}

#[test]
fn names_of_objects_may_be_text_and_are_counted() {
    let text = case("0,A,4941\n1,B,1984\n2,A,4941\n");
    let (all, notes) = objects(&text.path, None, &ReadOptions::default());
    assert_eq!(brief(&all), [(0, 4941, false), (S, 1984, false), (2 * S, 4941, false)]);
    assert!(all[0].key == all[2].key && all[0].key != all[1].key);
    assert!(notes.iter().any(|note| note.starts_with("hashed keys: 3 ")), "{notes:?}");
    // 7 and 007 are different names.
    let zeros = case("0,7,10\n1,007,10\n");
    let (all, _) = objects(&zeros.path, named("libcachesim-csv"), &ReadOptions::default());
    assert_ne!(all[0].key, all[1].key);
}

#[test]
fn twitter_adds_key_and_value_and_leaves_deletes_out() {
    let text = "0,nz:u:e15,17,238,3,set,600\n1,nz:u:e15,17,0,3,get,0\n2,nz:u:e15,17,0,3,delete,0\n";
    let case = case(text);
    for format in [None, named("twitter")] {
        let (all, notes) = objects(&case.path, format, &ReadOptions::default());
        assert_eq!(brief(&all), [(0, 255, true), (S, 17, false)]);
        assert!(notes.iter().any(|note| note.starts_with("other kinds: 1 ")), "{notes:?}");
    }
}

#[test]
fn cachelib_finds_its_columns_in_the_header_and_repeats_rows() {
    let old = case("key,op,size,op_count,key_size\n5,SET,82,1,40\n5,GET,82,3,40\n");
    let (all, _) = objects(&old.path, None, &ReadOptions::default());
    assert_eq!(brief(&all), [(0, 122, true), (0, 122, false), (0, 122, false), (0, 122, false)]);
    let new = "op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
               604038471,82131353f9ddc8c6,48,GET,1,87,1,0,366387042,3003229276\n\
               604038473,82131353f9ddc8c6,48,SET,1,87,1,0,366387042,3003229276\n";
    let new = case(new);
    let (all, _) = objects(&new.path, None, &ReadOptions::default());
    assert_eq!(brief(&all), [(604_038_471 * S, 135, false), (604_038_473 * S, 135, true)]);
}

#[test]
fn wiki_cdn_has_tabs_and_two_names_for_its_key() {
    let upload = "relative_unix\thashed_path_query\timage_type\tresponse_size\ttime_firstbyte\n\
                  0\t8833\tjpeg\t5128\t0.001\n2\t8833\tjpeg\t5128\t0.001\n";
    let text = "relative_unix\thashed_host_path_query\tresponse_size\ttime_firstbyte\n\
                0\t8833\t5128\t0.001\n2\t8833\t5128\t0.001\n";
    for text in [upload, text] {
        let case = case(text);
        let (all, _) = objects(&case.path, None, &ReadOptions::default());
        assert_eq!(brief(&all), [(0, 5128, false), (2 * S, 5128, false)]);
        assert_eq!(all[0].key, 8833);
    }
}

#[test]
fn tragen_has_sizes_in_kibibytes() {
    let case = case("timestamp, object_id, object_size (Kb)\n5,1,3\n6,2,7\n");
    let (all, _) = objects(&case.path, named("tragen"), &ReadOptions::default());
    assert_eq!(brief(&all), [(5 * S, 3072, false), (6 * S, 7168, false)]);
    // The sizes could also be bytes.
    let error = open_any(&case.path, None, &ReadOptions::default(), false).unwrap_err();
    let FormatError::Ambiguous { candidates, .. } = error else { panic!("{error}") };
    let options: Vec<&str> = candidates.iter().map(|c| c.options.as_str()).collect();
    assert!(options.contains(&"--format tragen"), "{options:?}");
    assert!(options.contains(&"--format libcachesim-csv"), "{options:?}");
}

#[test]
fn ibm_cos_leaves_out_requests_that_move_no_object() {
    let text = "0 REST.PUT.OBJECT 8d4fcda3d675bac9 1056\n\
                1200 REST.HEAD.OBJECT 39d177fb735ac5df 528\n\
                1300 REST.DELETE.OBJECT 39d177fb735ac5df\n\
                1301 REST.GET.OBJECT 8d4fcda3d675bac9 1056 0 527\n";
    let case = case(text);
    for format in [None, named("ibm-cos")] {
        let (all, notes) = objects(&case.path, format, &ReadOptions::default());
        assert_eq!(brief(&all), [(0, 1056, true), (1301 * MS, 1056, false)]);
        assert!(notes.iter().any(|note| note.starts_with("other kinds: 2 ")), "{notes:?}");
    }
}

#[test]
fn baleen_names_an_object_by_block_and_offset() {
    let text = "# a comment\nblock_id io_offset io_size op_time op_name user_namespace user_name\n\
                7 0 131072 1000.5 1 2 3\n7 131072 131072 1000.6 4 2 3\n7 0 131072 1001 1 2 3\n";
    let case = case(text);
    for format in [None, named("baleen")] {
        let (all, _) = objects(&case.path, format, &ReadOptions::default());
        let ms = |ms: u64| ms * MS;
        let expected = [
            (ms(1_000_500), 131_072, false),
            (ms(1_000_600), 131_072, true),
            (ms(1_001_000), 131_072, false),
        ];
        assert_eq!(brief(&all), expected);
        assert!(all[0].key == all[2].key && all[0].key != all[1].key);
    }
}

#[test]
fn columns_of_a_user_have_units_a_header_and_words() {
    let text = "# time (ms), op, object, bytes\n0,1,alpha,700\n40,1,beta,90\n95,1,alpha,700\n";
    let case = case(text);
    for columns in
        ["time=1:ms,op=2,key=3,size=4:B", "time=time (ms):ms,op=op,key=object,size=bytes:B"]
    {
        let (all, _) = objects(&case.path, None, &options_of(columns));
        assert_eq!(brief(&all), [(0, 700, true), (40 * MS, 90, true), (95 * MS, 700, true)]);
    }
    // Here `1` is a read.
    let words = OpWords { reads: vec!["1".into()], ..OpWords::default() };
    let (all, _) = objects(&case.path, None, &described("time=1:ms,op=2,key=3,size=4:B", &words));
    assert!(all.iter().all(|one| !one.write));
}

#[test]
fn columns_of_a_user_have_addresses_in_any_block_size() {
    let simplessd = case("5 0 16 W\n300 160 16 W\n9000 160 16 R\n");
    let got = blocks(&simplessd.path, None, &options_of("time=1:us,lba=2:512B,size=3:512B,op=4"))
        .unwrap();
    let expected = [
        (0, Write, 0, 0, 8192),
        (295_000, Write, 0, 81_920, 8192),
        (8_995_000, Read, 0, 81_920, 8192),
    ];
    assert_eq!(got, expected);
    // Without sizes, a request is one block.
    let pages = case("3\n9\n");
    let got = blocks(&pages.path, None, &options_of("lba=1:16KiB")).unwrap();
    assert_eq!(got, [(0, Read, 0, 49_152, 16_384), (0, Read, 0, 147_456, 16_384)]);
    let ids = case("x\n7\nx\n");
    let (all, _) = objects(&ids.path, None, &options_of("key=1"));
    assert_eq!(brief(&all), [(0, 1, false), (0, 1, false), (0, 1, false)]);
}

#[test]
fn separators_and_lines_to_skip_are_options() {
    let words = OpWords::default();
    let text = "report of a tool\n\ntime;block;bytes\n1;2;512\n2;3;1024\n";
    let case = case(text);
    let options = |columns: &str, separator| ReadOptions {
        columns: gordon_trace::formats::columns(Some(columns), separator, Some(1), &words).unwrap(),
        ..ReadOptions::default()
    };
    for columns in ["time=1:s,lba=2:4KiB,size=3:B", "time=time:s,lba=block:4KiB,size=bytes:B"] {
        for separator in [None, Some("semicolon"), Some(";")] {
            let got = blocks(&case.path, None, &options(columns, separator)).unwrap();
            assert_eq!(got, [(0, Read, 0, 8192, 512), (S, Read, 0, 12_288, 1024)]);
        }
    }
    assert!(columns(None, Some(";"), None, &words).is_err(), "a separator without columns");
}

#[test]
fn names_in_quotes_hold_separators() {
    let text =
        "when,\"name, or id\",bytes\n0,\"a,b\",10\n1,\"a,c\",20\n\"2\",\"a,b\",\"10\"\n3,\"7\",5\n";
    let case = case(text);
    for columns in ["time=1:s,key=2,size=3:B", "time=when:s,key=2,size=bytes:B"] {
        let (all, _) = objects(&case.path, None, &options_of(columns));
        assert_eq!(
            brief(&all),
            [(0, 10, false), (S, 20, false), (2 * S, 10, false), (3 * S, 5, false)]
        );
        assert!(all[0].key == all[2].key && all[0].key != all[1].key && all[3].key == 7);
    }
    // A skipped column may be quoted as well.
    let skipped = self::case("0,\"x,y\",R,8,4096\n1,\"z\",W,16,512\n");
    let got =
        blocks(&skipped.path, None, &options_of("time=1:s,op=3,lba=4:512B,size=5:B")).unwrap();
    assert_eq!(got, [(0, Read, 0, 4096, 4096), (S, Write, 0, 8192, 512)]);
}

#[test]
fn addresses_may_be_hexadecimal_and_numbers_end_with_zeros() {
    let case = case("0 R 0x1000 4096.0\n1 W 0X2000 512\n");
    let got = blocks(&case.path, None, &options_of("time=1:s,op=2,offset=3:B,size=4:B")).unwrap();
    assert_eq!(got, [(0, Read, 0, 4096, 4096), (S, Write, 0, 8192, 512)]);
}

#[test]
fn the_letters_of_blkparse_are_operations_in_columns_of_a_user() {
    let text = "0 RA 8 512\n1 WSM 8 512\n2 FWFS 8 512\n3 FF 0 0\n4 DS 8 512\n5 N 0 0\n6 RM 8 512\n";
    let case = case(text);
    let columns = "time=1:s,op=2,lba=3,size=4:B";
    let ops: Vec<_> =
        blocks(&case.path, None, &options_of(columns)).unwrap().iter().map(|io| io.1).collect();
    // FWFS is a flush and then a durable write.
    assert_eq!(ops, [Read, Write, IoOp::Flush, Write, IoOp::Flush, Discard, Read]);
    for word in ["DONE", "COMMAND", "MODE", "ERASE", "RR", "FS"] {
        let case = self::case(&format!("0 R 8 512\n1 {word} 8 512\n"));
        assert!(blocks(&case.path, None, &options_of(columns)).is_err(), "{word}");
    }
    // A flush has no address.
    let flush = self::case("0 R 8 512\n1 flush 8 512\n");
    let got = blocks(&flush.path, None, &options_of(columns)).unwrap();
    assert_eq!(got[1], (S, IoOp::Flush, 0, 0, 0));
    // Words that the user names replace the built-in ones.
    let words = OpWords { reads: vec!["RA".into()], ..OpWords::default() };
    assert!(blocks(&case.path, None, &described(columns, &words)).is_err());
}

#[test]
fn devices_have_numbers_or_names_and_never_both() {
    let columns = options_of("time=1:s,device=2,lba=3,size=4");
    let names = case("0 sda 8 512\n1 7 8 512\n2 sda 8 512\n");
    let got = blocks(&names.path, None, &columns).unwrap();
    assert_eq!(got.iter().map(|io| io.2).collect::<Vec<_>>(), [0, 1, 0]);
    let numbers = case("0 7 8 512\n1 sda 8 512\n2 7 8 512\n");
    let error = blocks(&numbers.path, None, &columns).unwrap_err().to_string();
    assert!(error.contains("line 2: device (column 2): expected a whole number"), "{error}");
}

#[test]
fn requests_that_remove_an_object_are_left_out() {
    for words in ["D", "trim", "flush", "delete"] {
        let case = case(&format!("0,get,7,10\n1,{words},7,10\n2,set,7,10\n"));
        let (all, notes) = objects(&case.path, None, &options_of("time=1:s,op=2,key=3,size=4:B"));
        assert_eq!(brief(&all), [(0, 10, false), (2 * S, 10, true)]);
        assert!(notes.iter().any(|note| note.starts_with("other kinds: 1 ")), "{notes:?}");
    }
}

#[test]
fn names_that_start_like_a_comment_are_names() {
    for text in ["# ids\nx\n#7\n#7\n", "#7\n#7\nx\n"] {
        let (all, _) = objects(&case(text).path, None, &options_of("key=1"));
        assert_eq!(all.len(), 3);
        assert_eq!(all.iter().filter(|one| one.key == all[1].key).count(), 2);
    }
}

/// A comma in a name, or as a decimal separator, is not a separator of columns.
#[test]
fn the_separator_makes_as_many_columns_as_are_needed() {
    let names = case("0 /a,b 10\n1 /a,c 20\n");
    let (all, _) = objects(&names.path, None, &options_of("time=1:s,key=2,size=3:B"));
    assert_eq!(brief(&all), [(0, 10, false), (S, 20, false)]);
    let mixed = case("0\tR 8 4096\n1\tW 16 4096\n");
    let got = blocks(&mixed.path, None, &options_of("time=1:s,op=2,lba=3,size=4:B")).unwrap();
    assert_eq!(got, [(0, Read, 0, 4096, 4096), (S, Write, 0, 8192, 4096)]);
    let decimals = case("Zeit;Op;Block;Bytes\n0,5;R;8;4096\n");
    let error =
        blocks(&decimals.path, None, &options_of("time=1:s,op=2,lba=3,size=4:B")).unwrap_err();
    assert!(error.to_string().contains("line 2: time (column 1): expected a time"), "{error}");
}

#[test]
fn a_word_of_the_operation_that_is_not_known_has_the_hint_to_name_it() {
    let case = case("0 SCSI_READ 8 4096\n");
    let error = blocks(&case.path, None, &options_of("time=1:s,op=2,lba=3,size=4")).unwrap_err();
    assert!(error.to_string().contains("try: --reads, --writes or --trims"), "{error}");
}

#[test]
fn comments_precede_the_lines_of_every_description() {
    let lines = [
        ("msr", "128166372003061629,src1,1,Read,383496192,32768,113736"),
        ("mqsim", "11413000 0 657728 16 1"),
        ("disksim", "0.500000 0 100 8 1"),
        ("spc", "0,20941264,8192,W,0.551706"),
        ("alibaba", "419,W,8792731648,16384,1577808144360767"),
        ("tencent", "1538323200,12910952,128,0,1063"),
        ("midas", "0.5 1 100 4096 0"),
    ];
    for (name, line) in lines {
        let case = case(&format!("# made by hand\n\n{line}\n# its middle\n{line}\n"));
        let found = open(&case.path, None, &ReadOptions::default()).unwrap();
        assert_eq!(found.format().name(), name);
        assert_eq!(blocks(&case.path, None, &ReadOptions::default()).unwrap().len(), 2, "{name}");
    }
}

#[test]
fn a_first_line_that_is_malformed_is_not_taken_for_a_header() {
    for line in ["x,src1,1,Read,y,z,w", "time,host,1,op,offset,size,response"] {
        let text = format!("{line}\n{0}\n{0}\n", "128166372003061629,src1,1,Read,512,512,7");
        let error = blocks(&case(&text).path, named("msr"), &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("line 1: time (column 1)"), "{error}");
    }
}

#[test]
fn text_in_utf_16_is_named_with_the_command_that_converts_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("trace");
    let text: Vec<u8> = "\u{feff}10 0 8 8 1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    fs::write(&path, text).unwrap();
    let error = open(&path, None, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("iconv -f UTF-16"), "{error}");
}

#[test]
fn impossible_columns_are_refused() {
    let wrong = [
        "",
        "time",
        "time=0,key=2",
        "time=1:s",
        "time=1:h,key=2",
        "key=1,offset=2,size=3",
        "key=1,key=2",
        "time=1,key=1",
        "offset=1:B",
        "colour=1,key=2",
        "key=1:B",
        "size=1:2MB2,key=2",
        "time=1+2,key=3",
        "key=1,device=2",
        "lba=1:0B,size=2",
        "time=1:2s,key=2",
    ];
    for text in wrong {
        assert!(ColumnMap::parse(text).is_err(), "{text}");
    }
    let twice = OpWords { reads: vec!["1".into()], writes: vec!["1".into()], trims: Vec::new() };
    assert!(DelimitedFormat::from_options("op=1,key=2", None, 0, &twice).is_err());
    assert!(
        DelimitedFormat::from_options("key=2", None, 0, &OpWords { trims: Vec::new(), ..twice })
            .is_err()
    );
}

#[test]
fn an_unknown_word_or_a_missing_column_is_an_error_with_its_place() {
    let text = case("1 R 10 4096\n2 X 10 4096\n");
    let error = blocks(&text.path, None, &options_of("time=1:s,op=2,lba=3,size=4"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 2: op (column 2): expected one of R, W"), "{error}");
    let short = case("1 R 10 4096\n2 W 10\n");
    let error = blocks(&short.path, None, &options_of("time=1:s,op=2,lba=3,size=4"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 2: size (column 4): expected a whole number"), "{error}");
    assert!(error.contains("try: --columns and --separator that fit this line"), "{error}");
    let header = case("time,key\n1,2\n");
    let error = open_any(&header.path, None, &options_of("time=time,key=id"), false).unwrap();
    let OpenedTrace::Objects(mut reader) = error else { panic!("these are objects") };
    let error = reader.fill(&mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("header: expected a column named `id`, found `time key`"), "{error}");
}

/// The options and the meaning of each candidate that the error lists.
fn candidates(text: &str) -> Vec<(String, String)> {
    let case = case(text);
    match open_any(&case.path, None, &ReadOptions::default(), false) {
        Err(FormatError::Ambiguous { candidates, .. }) => {
            candidates.into_iter().map(|c| (c.options, c.meaning)).collect()
        }
        Err(error) => panic!("{error}"),
        Ok(opened) => panic!("{opened:?}"),
    }
}

#[test]
fn seconds_in_the_columns_of_disksim_are_not_read_as_milliseconds() {
    for text in [
        "100.250000000 0 1024 8 1\n100.350000000 0 2048 16 0\n102.250000000 0 4096 8 1\n",
        "0.25 0 1024 8 1\n0.30 0 2048 16 0\n0.35 0 4096 8 1\n0.40 0 8192 32 0\n",
    ] {
        let listed = candidates(text);
        // Formats that read the same requests are one candidate.
        let both = "--format mqsim --time-unit 1s or --format disksim --time-unit 1s";
        let seconds = listed.iter().find(|(options, _)| options == both).unwrap();
        assert!(!seconds.1.contains("implausible"), "{listed:?}");
        let ms = listed.iter().find(|(options, _)| options == "--format disksim").unwrap();
        assert!(ms.1.contains("implausible: "), "{listed:?}");
        let case = case(text);
        let unit = ReadOptions { time_unit: Some(Ns::SECOND), ..ReadOptions::default() };
        let span = |format| blocks(&case.path, format, &unit).unwrap().last().unwrap().0;
        assert!(span(None) >= 150 * MS);
        // Naming the unit allows decimals in MQSim's times.
        assert_eq!(span(named("mqsim")), span(None));
    }
}

#[test]
fn bytes_where_sectors_belong_are_noticed() {
    let text = "1000000 0 8 4096 1\n2000000 0 16 8192 0\n3000000 0 8 4096 1\n";
    let listed = candidates(text);
    assert!(
        listed.iter().any(|(o, m)| o == "--format mqsim" && m.contains("may be bytes")),
        "{listed:?}"
    );
    // A format that the user names is read, with a warning.
    let case = case(text);
    let reader = open(&case.path, named("mqsim"), &ReadOptions::default()).unwrap();
    assert_eq!((reader.note().chosen_by, reader.note().doubts.len()), (FormatChoice::Format, 1));
    let plain = self::case("1000000 0 8 8 1\n2000000 0 16 16 0\n3000000 0 8 8 1\n");
    let reader = open(&plain.path, None, &ReadOptions::default()).unwrap();
    assert_eq!((reader.format(), reader.note().doubts.len()), (Format::MQSIM, 0));
}

#[test]
fn a_large_discard_is_plausible() {
    let text = "0.5 1 100 4096 0\n0.75 3 0 68719476736 0\n1.25 0 101 4096 0\n";
    let case = case(text);
    let reader = open(&case.path, None, &ReadOptions::default()).unwrap();
    assert_eq!((reader.format().name(), reader.note().doubts.len()), ("midas", 0));
}

#[test]
fn a_second_read_as_nanoseconds_is_noticed() {
    let listed = candidates("100 0 8 8 1\n101 0 16 16 0\n102 0 8 8 1\n104 0 8 8 1\n");
    let both = "--format mqsim --time-unit 1s or --format disksim --time-unit 1s";
    let seconds = listed.iter().find(|(options, _)| options == both).unwrap();
    assert!(seconds.1.contains("over 4s"), "{listed:?}");
    assert!(listed.iter().any(|(o, m)| o == "--format disksim" && m.contains("over 4ms")));
}

#[test]
fn a_format_that_fits_only_in_another_unit_of_time_is_a_candidate() {
    let text = "419,W,8792731648,16384,0.25\n7,R,4096,512,0.75\n419,R,0,4096,2.25\n";
    let listed = candidates(text);
    let seconds = listed.iter().find(|(o, _)| o == "--format alibaba --time-unit 1s").unwrap();
    assert_eq!(seconds.1, "3 requests, 20.5KiB, over 2s");
    let case = case(text);
    let unit = ReadOptions { time_unit: Some(Ns::SECOND), ..ReadOptions::default() };
    for format in [None, named("alibaba")] {
        assert_eq!(blocks(&case.path, format, &unit).unwrap()[2].0, 2 * S);
    }
    let decimals =
        "128166372003061629.5,s,1,Read,512,512,7\n128166372003161629.5,s,1,Read,512,512,7\n";
    let listed = candidates(decimals);
    assert_eq!(listed[0].0, "--format msr --time-unit 100ns", "{listed:?}");
    let line = |ns: u64| format!("1,R,0,4096,{}\n", 1_577_808_144_360_767_000 + ns);
    let nanoseconds = [line(0), line(1_000), line(3_000)].concat();
    let listed = candidates(&nanoseconds);
    let [(options, meaning)] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(options, "--format alibaba --time-unit 1ns");
    assert_eq!(meaning, "3 requests, 12KiB, over 3us");
}

#[test]
fn two_names_of_one_reading_are_one_candidate() {
    let listed = candidates("0 7 100\n1 7 101\n2 7 102\n");
    let names: Vec<_> = listed.iter().map(|(options, _)| options.as_str()).collect();
    assert_eq!(names, ["--format webcachesim or --format lrb"]);
}

#[test]
fn archives_are_named_with_the_command_that_unpacks_them() {
    let zip = case("PK\u{3}\u{4}and so on");
    let error = open(&zip.path, None, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("zip archive"), "{error}");
    let mut tar = "a".repeat(257);
    tar.push_str("ustar  and so on");
    let tar = case(&tar);
    let error = open(&tar.path, None, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("tar -xf"), "{error}");
}

//! Output of other programs that cannot be read as a trace: which program printed it, and the
//! command that prints what can be read.

/// What a text is, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeignText {
    pub what: &'static str,
    pub hint: &'static str,
}

const SAR: ForeignText = ForeignText {
    what: "it is the text of sar, which is for people",
    hint: "sadf -j FILE -- -u ALL -P ALL -r ALL -d -n DEV, where FILE is the data file that sar \
           read, such as /var/log/sysstat/sa02",
};
const IOSTAT: ForeignText = ForeignText {
    what: "it is the output of iostat, which has means without the machine's network and memory",
    hint: "record with `sar -o FILE 1 -S DISK`, then sadf -j FILE -- -u ALL -P ALL -r ALL -d \
           -n DEV",
};
const MPSTAT: ForeignText = ForeignText {
    what: "it is the output of mpstat, which has the processors only",
    hint: "record with `sar -o FILE 1 -S DISK`, then sadf -j FILE -- -u ALL -P ALL -r ALL -d \
           -n DEV",
};
const PIDSTAT: ForeignText = ForeignText {
    what: "it is the output of pidstat, which has processes and not the machine",
    hint: "record with `sar -o FILE 1 -S DISK`, then sadf -j FILE -- -u ALL -P ALL -r ALL -d \
           -n DEV",
};

/// What a text is, by its first bytes; `None` for a text of no program that is known here.
pub(crate) fn foreign_text(head: &str) -> Option<ForeignText> {
    let text = |what, hint| Some(ForeignText { what, hint });
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let first = head.lines().next().unwrap_or_default();
    let has = |word: &str| head.contains(word);
    if head.starts_with('{') && has("\"sysstat\"") {
        return sysstat_json(head);
    }
    // The banner of sysstat: Linux RELEASE (HOST) DATE _ARCHITECTURE_ (N CPU)
    if first.starts_with("Linux ") && first.contains('(') && first.contains(" CPU)") {
        return Some(if has("avg-cpu") || has("Device") {
            IOSTAT
        } else if has(" PID ") {
            PIDSTAT
        } else if has("CPU    %usr ") {
            MPSTAT
        } else {
            SAR
        });
    }
    if first.starts_with("avg-cpu") || (first.starts_with("Device") && first.contains("kB_read")) {
        return Some(IOSTAT);
    }
    let is_header = |line: &str| {
        let has = |word: &str| line.contains(word);
        !has(";")
            && !has("\t")
            && (has("%user") && has("%idle") || has("runq-sz") && has("plist-sz"))
    };
    if head.lines().take(HEADER_LINES).any(is_header) {
        return Some(SAR);
    }
    if head.starts_with("<svg") || (head.starts_with("<?xml") && has("<svg")) {
        return text(
            "it is a picture (SVG), such as sadf -g draws",
            "sadf -j FILE -- -u ALL -P ALL -r ALL -d -n DEV, which prints the figures",
        );
    }
    if head.starts_with("<?xml") || head.starts_with("<sysstat") || head.starts_with("<!DOCTYPE") {
        return match has("sysstat") {
            true => text(
                "it is the XML of sadf -x",
                "sadf -j FILE -- -u ALL -P ALL -r ALL -d -n DEV, which prints JSON of the same \
                 file",
            ),
            false => text("it is XML", "the trace in one of the formats of `gordon trace formats`"),
        };
    }
    if first.starts_with("# HELP ") || first.starts_with("# TYPE ") || first.starts_with("node_cpu")
    {
        return text(
            "it is one scrape of an exporter of Prometheus, which has no earlier values",
            "a range query of the server that scrapes it: `promtool query range --format json \
             --start=T --end=T --step=15s SERVER '{__name__=~\"node_.*\"}'`",
        );
    }
    if first.ends_with("=>") && first.starts_with('{') {
        return text(
            "it is the text of promtool",
            "promtool query range --format json, with the same arguments",
        );
    }
    if first.starts_with("\"Time\"") && first.contains(',') {
        return text(
            "it is a table that Grafana exported, whose columns are results of formulas",
            "a range query of the counters themselves: `promtool query range --format json \
             --start=T --end=T --step=15s SERVER '{__name__=~\"node_.*\"}'`",
        );
    }
    if first.starts_with("procs ---") || first.split_whitespace().eq(VMSTAT) {
        return text("it is the output of vmstat", RECORD);
    }
    if first.starts_with("top - ") {
        return text("it is the output of top", RECORD);
    }
    let is_dstat = first.contains("Dstat") || first.contains("dstat");
    if is_dstat && first.starts_with('"') || first.starts_with("----total-") {
        return text("it is the output of dstat", RECORD);
    }
    if first.starts_with("AAA,progname,nmon") {
        return text("it is a record of nmon", RECORD);
    }
    if first.starts_with("ATOP ") || first.starts_with("RESET") && has("\nCPU ") {
        return text("it is the output of atop", RECORD);
    }
    if first.starts_with("[{") && first.contains("\"attempts\"") {
        return text(
            "it is the list of applications of Spark's history server",
            "the event log of one: `curl -o LOGS.zip SERVER/api/v1/applications/APP/logs`, then \
             the file in it",
        );
    }
    let words = first.split_whitespace();
    if words.clone().any(|word| word == "LAT(ms)") && !words.clone().any(|word| word == "SECTOR") {
        return text(
            "it is the output of bpftrace's biosnoop.bt, which has no sectors and sizes",
            "biosnoop of BCC or of libbpf-tools, or blktrace, which have both",
        );
    }
    None
}

/// Lines among which the line of column names of sar is looked for.
const HEADER_LINES: usize = 4;
const VMSTAT: [&str; 17] = [
    "r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy",
    "id", "wa", "st",
];
const RECORD: &str = "record with `sar -o FILE 1 -S DISK`, then sadf -j FILE -- -u ALL -P ALL -r \
                      ALL -d -n DEV; or trace the job itself: gordon trace -o OUT -- COMMAND";

/// JSON that starts as that of sadf, and is of another program of sysstat or of another locale.
fn sysstat_json(head: &str) -> Option<ForeignText> {
    if head.contains("\"avg-cpu\"") {
        return Some(IOSTAT);
    }
    // mpstat prints the time of day alone.
    if head.contains("\"timestamp\": \"") || head.contains("\"timestamp\":\"") {
        return Some(if head.contains("\"cpu-load\"") { MPSTAT } else { IOSTAT });
    }
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let mut is_text = false;
    let mut has_comma = false;
    let bytes = head.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' => is_text = !is_text,
            b',' if !is_text && at > 0 => {
                has_comma |= is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
            }
            _ => {}
        }
    }
    has_comma.then_some(ForeignText {
        what: "its numbers have decimal commas, which JSON cannot have",
        hint: "LC_ALL=C sadf -j, with the same arguments, which prints decimal points",
    })
}

/// Whether bytes are text in UTF-16: a byte order mark, and a character of ASCII after it.
pub(crate) fn is_utf16(head: &[u8]) -> bool {
    matches!(head, [0xff, 0xfe, low, 0, ..] | [0xfe, 0xff, 0, low, ..] if *low > 0)
}

/// What to do about UTF-16.
pub(crate) const UTF16: ForeignText = ForeignText {
    what: "it is text in UTF-16, as Windows' PowerShell redirects it",
    hint: "`iconv -f UTF-16 -t UTF-8 FILE > TRACE`, then TRACE",
};

#[cfg(test)]
mod tests {
    use super::*;

    fn what(text: &str) -> &'static str {
        foreign_text(text).map_or("", |foreign| foreign.what)
    }

    #[test]
    fn the_program_is_named_by_what_it_prints() {
        let banner = "Linux 6.1.0-18-amd64 (db1) \t03/02/2026 \t_x86_64_\t(4 CPU)\n\n";
        let sar =
            "10:00:01        CPU     %user     %nice   %system   %iowait    %steal     %idle\n";
        let iostat = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n";
        let mpstat = "10:00:01 AM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  \
                      %guest  %gnice   %idle\n";
        let pidstat =
            "10:00:01 AM   UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n";
        for (text, program) in [
            (format!("{banner}{sar}"), "sar"),
            (sar.to_owned(), "sar"),
            (format!("{banner}{iostat}"), "iostat"),
            (iostat.to_owned(), "iostat"),
            (format!("{banner}{mpstat}"), "mpstat"),
            (format!("{banner}{pidstat}"), "pidstat"),
            ("<?xml version=\"1.0\"?>\n<sysstat>\n".to_owned(), "sadf -x"),
            ("# HELP node_cpu_seconds_total Seconds\n".to_owned(), "exporter"),
            ("{__name__=\"node_load1\"} =>\n1 @[1772445600]\n".to_owned(), "promtool"),
            ("\"Time\",\"CPU busy\"\n".to_owned(), "Grafana"),
            ("procs -----------memory---------- ---swap-- -----io----\n".to_owned(), "vmstat"),
            ("top - 10:00:01 up 1 day\n".to_owned(), "top"),
            ("\"pcp-dstat 5.3.6 CSV Output\"\n".to_owned(), "dstat"),
            ("<?xml version=\"1.0\"?>\n<svg xmlns=\"\"></svg>\n".to_owned(), "picture"),
            ("AAA,progname,nmon\n".to_owned(), "nmon"),
            ("TIME(ms)     DISK    COMM           PID     LAT(ms)\n".to_owned(), "biosnoop.bt"),
            ("{\"sysstat\": {\"hosts\": [{\"statistics\": [{\"avg-cpu\": {".to_owned(), "iostat"),
            ("{\"sysstat\": {\"hosts\": [{\"user\": 50,0,".to_owned(), "decimal commas"),
        ] {
            assert!(what(&text).contains(program), "{text}: {}", what(&text));
        }
        let readable =
            "{\"sysstat\": {\"hosts\": [{\"release\": \"6,1.0\", \"user\": 50.0, \"n\": 1,\n2";
        for text in [readable, "", "1,2,3\n", "0.1 fio R 8 8\n", "root:x:0:0\n"] {
            assert_eq!(what(text), "", "{text}");
        }
    }

    #[test]
    fn text_in_utf16_has_a_mark_and_a_character() {
        assert!(is_utf16(b"\xff\xfe0\0.\0") && is_utf16(b"\xfe\xff\x000"));
        assert!(!is_utf16(b"\xff\xfe\x00\x01") && !is_utf16(b"\xff\xfe") && !is_utf16(b"0,1"));
    }
}

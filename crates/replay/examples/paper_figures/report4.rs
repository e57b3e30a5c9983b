//! The paper's statements about figure 4, compared with the simulation.

use crate::bench::KIB;
use crate::figure4::{BYTES, Case, Figure4, RANDOM_WRITE, SPAN, SUPER_PAGES, TRANSFERS};
use crate::table::Table;

/// Prints the section.
pub fn print(figure: &Figure4) {
    println!(
        "## Figure 4: size of super-pages and of transfers\n\n\
         MB/s by size of super-page. A run has 200,000 accesses, or fewer if these would program \
         more than 4 GiB, to a span of {} GiB that holds data. 4 MiB are outstanding, in 32 to 512 \
         requests. There is a write point for each die group, and no garbage collection.\n",
        SPAN >> 30
    );
    for (write, what) in [(true, "Writes"), (false, "Reads")] {
        for (sequential, order) in [(false, "random"), (true, "sequential")] {
            for (bypass, how) in [(false, "without"), (true, "with")] {
                println!("{what}, {order}, {how} bypassing and combining:\n");
                println!("{}", figure.table(write, sequential, bypass, true));
            }
        }
    }
    println!("Writes, sequential, with bypassing and combining, to a span without data:\n");
    println!("{}", figure.table(true, true, true, false));
    checklist(figure);
}

fn checklist(figure: &Figure4) {
    let mb_s = |case: Case| figure.get(case).mb_s();
    let at = |transfer, super_page| mb_s(Case { transfer, super_page, ..RANDOM_WRITE });
    let mut table = Table::new(["the paper", "ours", "why"].map(str::to_owned).to_vec());
    let mut row = |paper: &str, ours: String, why: String| table.row(vec![paper.into(), ours, why]);

    let off =
        SUPER_PAGES.iter().filter(|size| **size <= 32).map(|&size| at(32, size) / at(128, size));
    let off = off.map(|ratio| (ratio - 1.0).abs() * 100.0).fold(0.0, f64::max);
    row(
        "\"bandwidth for 32KB and 128KB transfers is the same until the page size exceeds 32KB\"",
        format!(
            "within {off:.1} % up to 32 KiB; {:.0} and {:.0} MB/s at 64 KiB",
            at(32, 64),
            at(128, 64)
        ),
        "as the paper".into(),
    );
    row(
        "\"Then, the extra work required to read the rest of the super-page reduces performance\"",
        format!(
            "32 KiB on 64 KiB: {:.0} % of {:.0} MB/s",
            100.0 * at(32, 64) / at(32, 32),
            at(32, 32)
        ),
        "64 KiB cross the buses twice, once read and once written, for 32 KiB: a quarter".into(),
    );
    let read = |bypass, transfer, super_page| {
        mb_s(Case { write: false, sequential: true, bypass, transfer, super_page, ..RANDOM_WRITE })
    };
    row(
        "this \"nearly eliminates the negative impact of large pages for small sequential reads\"",
        format!(
            "2 KiB on 64 KiB: {:.0}, with bypassing {:.0} MB/s; 8 KiB: {:.0} and {:.0}",
            read(false, 2, 64),
            read(true, 2, 64),
            read(false, 8, 64),
            read(true, 8, 64)
        ),
        "as the paper".into(),
    );
    row(
        "\"The small dip in performance is due to the overhead of scanning the queue of pending \
         reads\"",
        format!("{:.1} %", (1.0 - read(true, 2, 64) / read(true, 64, 64)) * 100.0),
        "the simulated controller takes no time".into(),
    );
    let write = |mapped, transfer| {
        let case =
            Case { sequential: true, bypass: true, transfer, super_page: 64, ..RANDOM_WRITE };
        mb_s(Case { mapped, ..case })
    };
    row(
        "\"The effect is similar\" for the other kind of access (writes, here)",
        format!(
            "2 KiB on 64 KiB: {:.0} MB/s, on new pages {:.0}, of {:.0} for 64 KiB",
            write(true, 2),
            write(false, 2),
            write(true, 64)
        ),
        "the first piece written to a page with data makes the controller read the page before the \
         other pieces arrive, so that the page crosses the buses twice. A new page is not read"
            .into(),
    );
    let small = TRANSFERS.iter().filter(|transfer| **transfer <= 32);
    let gains = small.flat_map(|&transfer| {
        [true, false].into_iter().flat_map(move |write| {
            SUPER_PAGES.map(|super_page| {
                let case = Case { write, transfer, super_page, ..RANDOM_WRITE };
                mb_s(Case { bypass: true, ..case }) / mb_s(case)
            })
        })
    });
    let best = gains.fold(0.0, f64::max);
    row(
        "\"As expected, bypassing and combining do not improve random access performance\"",
        format!("at most {:+.1} % (transfers of 2 to 32 KiB)", (best - 1.0) * 100.0),
        format!(
            "some outstanding accesses are to the same super-page: of 256 KiB there are only {} in \
             the span",
            SPAN / KIB / 256
        ),
    );
    row(
        "256 KB: \"only one request can be active at once. As a result, performance degrades even \
         with write combining\"",
        format!("{:.0} of {:.0} MB/s", at(256, 256), at(256, 64)),
        "128 pages over 4 buses take 8.9 us each, and then the buses are idle for 200 us; one page \
         of 64 is a summary"
            .into(),
    );
    let ways = [16, 32, 64, 128, 256].map(|size| format!("{:.0}", at(256, size)));
    let planes = Case { transfer: 64, super_page: 8, ..RANDOM_WRITE };
    let planes = planes.run(BYTES, |config| config.ftl.write_points = Some(32.into()));
    row(
        "\"Using 64KB pages gives the best performance\"",
        format!("256 KiB written on 16 to 256 KiB: {} MB/s", ways.join(", ")),
        format!(
            "16 and 32 KiB saturate the buses too; with 64 KiB the map is smallest. Below 16 KiB, \
             one write point per die group keeps only one plane of each die busy: {:.0} MB/s with \
             8 KiB. With 32 write points, one per plane, it is {:.0}: two planes program together \
             only at the same page number, as {:.0} % of the programs do, because write points do \
             not advance together",
            at(64, 8),
            planes.mb_s(),
            planes.joined as f64 / planes.programs as f64 * 100.0
        ),
    );
    let base = Case { transfer: 64, super_page: 64, ..RANDOM_WRITE };
    row(
        "\"Transferring 64KB of data over four 133Mhz buses takes 58 us, or about 0.29 times the \
         program time\"; at a third, \"bus utilization would be nearly 100%\"",
        format!("71.4 us; buses busy {:.1} %", figure.get(base).bus * 100.0),
        "64 KiB at 4 x 266 MiB/s take 58.7 us. With 32 out-of-band bytes and 1.1 us of commands \
         per page they take 8 x 8.9 us, 0.36 times the program time, which is more than a third"
            .into(),
    );
    println!("{table}");
    let unit = Case { transfer: 8, super_page: 64, ..RANDOM_WRITE };
    let unit = Case { bypass: true, ..unit };
    println!(
        "With mapping units of 8 KiB, super-pages of 64 KiB take random 8 KiB writes at {:.0} MB/s \
         (mapped as a whole: {:.0}) and reads at {:.0} ({:.0}). This is not in the paper; the map \
         is eight times as large.\n",
        unit.run(BYTES, |config| config.super_page.unit =
            Some(gordon_units::Bytes(8 * KIB).into()))
            .mb_s(),
        mb_s(unit),
        Case { write: false, ..unit }
            .run(BYTES, |config| config.super_page.unit = Some(gordon_units::Bytes(8 * KIB).into()))
            .mb_s(),
        mb_s(Case { write: false, ..unit }),
    );
}

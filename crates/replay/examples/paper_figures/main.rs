//! Section 4.2.2 of the Gordon paper, simulated, as a Markdown page: figures 4 and 5, write points,
//! other buses and chips, memory and lifetime of the array.
//!
//!     cargo run --release -p gordon-replay --example paper_figures > docs/design/paper-flash.md
//!
//! `GORDON_TRACES`: folder of block traces for figure 5. `GORDON_DEMO_TRACE`: trace of `make demo`
//! [default: its output folder]. `GORDON_FIGURES_JSON`: file for the numbers.
#![allow(clippy::print_stdout, clippy::cast_precision_loss)]

mod bench;
mod figure4;
mod figure5;
mod points;
mod report4;
mod report5;
mod table;

fn main() {
    println!(
        "# The flash array of the paper, simulated\n\n\
         Printed by `cargo run --release -p gordon-replay --example paper_figures`; do not edit. \
         Every number of *ours* is simulated. *The paper* is Gordon, ASPLOS 2009, section 4. Its \
         figures for chips and for peak rates of the array are in [timing.md](timing.md). The \
         preset is gordon-slc-256g: 4 buses with 16 dies of two planes each, 2 KiB pages, 133 MHz. \
         MB are 10^6 bytes.\n"
    );
    let points = points::Points::simulate();
    let figure4 = figure4::Figure4::simulate();
    let (rows, missing) = figure5::simulate();
    report4::print(&figure4);
    report5::points(&points);
    report5::figure_5(&rows, &missing);
    report5::parts(&rows);
    report5::array();
    if let Some(path) = std::env::var_os("GORDON_FIGURES_JSON") {
        let all = serde_json::json!({
            "figure_4": figure4.json(), "write_points": points.json(), "figure_5": figure5::json(&rows),
        });
        std::fs::write(path, format!("{all:#}\n")).expect("the file can be written");
    }
}

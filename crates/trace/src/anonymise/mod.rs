//! Copies a trace, or a run of several nodes, with pseudonyms in place of all names, so that it can
//! be shared. `docs/TRACE.md` lists what is replaced and what is kept.
//!
//! The same name has the same pseudonym in all files of a copy. All figures are kept: numbers of
//! processes, devices and sectors, times since 1970, sizes, and the models of hardware, which a
//! survey needs.

mod manifest;
mod names;
mod run;
mod tables;

use crate::error::TraceError;
use crate::manifest::{BLOCK_FILE, MANIFEST_FILE, TracePart};
use crate::read::Trace;
use crate::spark::{STAGES_FILE, TASKS_FILE};
use crate::write::{BlockWriter, TraceFolder};
use names::{NameKind, Names};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the description of a run.
const RUN_FILE: &str = "run.json";

/// What a copy consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AnonymiseReport {
    /// Number of traces.
    pub traces: u64,
    /// Number of replaced names, by kind.
    pub replaced: BTreeMap<&'static str, u64>,
    /// Files and folders of the input that the copy does not have, because they may hold names
    /// anywhere.
    pub left_out: Vec<String>,
}

/// Copies the trace or run at `input` to the new folder `output`.
///
/// # Errors
/// When `input` is neither, is damaged, or `output` exists or cannot be written. Nothing is left
/// then.
pub fn anonymise(input: &Path, output: &Path) -> Result<AnonymiseReport, TraceError> {
    let folder = TraceFolder::create(output)?;
    let mut copy = Copy { names: Names::default(), report: AnonymiseReport::default() };
    if input.join(MANIFEST_FILE).exists() || !input.is_dir() {
        let trace = Trace::open(input)?;
        copy.tables(input, &folder)?;
        copy.trace(&trace, folder)?;
    } else {
        copy.run(input, folder)?;
    }
    copy.report.replaced = copy.names.counts();
    Ok(copy.report)
}

/// A copy in progress.
struct Copy {
    names: Names,
    report: AnonymiseReport,
}

impl Copy {
    /// Copies the files of a trace, and completes `folder`.
    fn trace(&mut self, trace: &Trace, folder: TraceFolder) -> Result<(), TraceError> {
        let mut manifest = trace.manifest().clone();
        manifest::replace(&mut manifest, &mut self.names);
        for part in &mut manifest.parts {
            if part.file == BLOCK_FILE {
                *part = self.block(trace, part, &folder)?;
            } else {
                // These have no text.
                copy_file(&trace.path().join(&part.file), &folder.file(&part.file))?;
            }
        }
        let known: Vec<&str> = manifest.parts.iter().map(|part| part.file.as_str()).collect();
        let known = [&known[..], &[MANIFEST_FILE, STAGES_FILE, TASKS_FILE]].concat();
        self.leave_out(trace.path(), &known)?;
        self.report.traces += 1;
        folder.commit(&manifest)
    }

    fn block(
        &mut self,
        trace: &Trace,
        part: &TracePart,
        folder: &TraceFolder,
    ) -> Result<TracePart, TraceError> {
        let mut reader = trace.block()?;
        let mut writer = BlockWriter::create(folder, part.columns.clone())?;
        let mut numbers: Vec<u32> = Vec::new();
        let mut batch = Vec::new();
        while reader.next_batch(&mut batch)? {
            for name in &reader.names()[numbers.len()..] {
                let name = self.names.of(NameKind::Process, name);
                numbers.push(writer.process(&name));
            }
            for io in &mut batch {
                io.process = numbers[io.process as usize];
                writer.push(*io)?;
            }
        }
        writer.finish()
    }

    /// Copies a run, or the folder of several traces that a conversion makes.
    fn run(&mut self, input: &Path, folder: TraceFolder) -> Result<(), TraceError> {
        let run = run::read(&input.join(RUN_FILE))?;
        let mut nodes = folders(input)?;
        if let Some(run) = &run {
            run::register(run, &mut self.names);
            let order = run::folders(run);
            let place = |name: &String| order.iter().position(|other| other == name);
            nodes.sort_by_key(|name| place(name).unwrap_or(usize::MAX));
        }
        let is_trace = |name: &String| input.join(name).join(MANIFEST_FILE).exists();
        let (nodes, others): (Vec<String>, Vec<String>) = nodes.into_iter().partition(is_trace);
        if nodes.is_empty() {
            let why = "it is neither a trace nor a folder of traces";
            return Err(TraceError::foreign(input, why));
        }
        for name in &nodes {
            self.names.of(NameKind::Node, name);
        }
        for name in &nodes {
            let trace = Trace::open(&input.join(name))?;
            let of_copy = self.names.of(NameKind::Node, name);
            self.tables(trace.path(), &folder)?;
            self.trace(&trace, TraceFolder::create(&folder.file(&of_copy))?)?;
        }
        self.tables(input, &folder)?;
        let known: Vec<&str> = nodes.iter().map(String::as_str).collect();
        self.leave_out(input, &[&known[..], &[RUN_FILE, STAGES_FILE, TASKS_FILE]].concat())?;
        debug_assert!(others.iter().all(|other| self.report.left_out.contains(other)));
        if let Some(mut run) = run {
            run::replace(&mut run, &mut self.names);
            let path = folder.file(RUN_FILE);
            let text = serde_json::to_string_pretty(&run).expect("JSON is plain data") + "\n";
            fs::write(&path, text).map_err(|error| TraceError::write(&path, error))?;
        }
        folder.publish()
    }

    /// Copies the tables of stages and tasks that `input` has.
    fn tables(&mut self, input: &Path, folder: &TraceFolder) -> Result<(), TraceError> {
        for file in [STAGES_FILE, TASKS_FILE] {
            let path = input.join(file);
            if path.exists() {
                tables::copy(&path, &folder.file(file), &mut self.names)?;
            }
        }
        Ok(())
    }

    /// Reports what of `input` is not copied.
    fn leave_out(&mut self, input: &Path, known: &[&str]) -> Result<(), TraceError> {
        for name in entries(input)? {
            if !known.contains(&name.as_str()) {
                self.report.left_out.push(name);
            }
        }
        Ok(())
    }
}

/// The names in a folder, sorted; those of nodes by their numbers.
fn entries(folder: &Path) -> Result<Vec<String>, TraceError> {
    let failed = |source| TraceError::Read { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort_by_key(|name| (name.len(), name.clone()));
    Ok(names)
}

fn folders(folder: &Path) -> Result<Vec<String>, TraceError> {
    match folder.exists() {
        true => {
            let names = entries(folder)?;
            Ok(names.into_iter().filter(|name| folder.join(name).is_dir()).collect())
        }
        false => Err(TraceError::Missing(folder.to_owned())),
    }
}

fn copy_file(from: &PathBuf, to: &Path) -> Result<(), TraceError> {
    let mut source =
        fs::File::open(from).map_err(|source| TraceError::Read { path: from.clone(), source })?;
    let written = fs::File::create_new(to).and_then(|mut file| {
        std::io::copy(&mut source, &mut file)?;
        file.sync_all()
    });
    written.map_err(|error| TraceError::write(to, error))
}

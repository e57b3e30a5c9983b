//! The `job` model in a survey.

use super::evaluate::{JobModel, cores_key, index, shares};
use super::group::JobGroup;
use super::load::JobStretches;
use super::notes::{assumptions, warnings};
use super::report::{JobExtras, MachineReport};
use super::rows::rows;
use super::traces::reference_report;
use super::verdict::answer;
use crate::survey::report::Assumption;
use crate::survey::{Choice, Chosen, Chunk, Conclusion, Model, NamedColumn, chunks, in_order};
use crate::trace::report::StageOnDesign;
use crate::trace::stages::StageWindow;

impl Model for JobModel<'_> {
    type Design = MachineReport;
    type Extras = JobExtras;

    fn designs_total(&self) -> u64 {
        self.space.designs.len() as u64
    }

    fn candidates(&self) -> impl Iterator<Item = u64> {
        0..self.designs_total()
    }

    /// Groups of the same cores.
    fn chunks(&self) -> Vec<Chunk> {
        chunks(self.same_cores.iter().map(Vec::len))
    }

    fn names(&self) -> &'static [&'static str] {
        self.compared.names()
    }

    fn objectives(&self) -> Vec<usize> {
        self.compared.fronts()
    }

    fn compare(&self, chunk: &Chunk, choice: &mut Choice) {
        let is_candidate =
            |number: &usize| self.traces.fit(&self.space.designs[*number]).is_candidate();
        let candidates: Vec<usize> =
            self.members(chunk).iter().copied().filter(is_candidate).collect();
        self.each_group(&candidates, |group, designs, numbers| {
            for (number, figures) in numbers.iter().zip(self.figures(group, designs)) {
                self.compared.compare(*number as u64, &figures, choice);
            }
        });
    }

    /// The recommended design, those with a name and the traced machine are always reported.
    fn conclude(&self, chosen: &Chosen) -> Conclusion<JobExtras> {
        let answer = answer(self, chosen);
        let traced = (0..).zip(&self.space.designs).filter(|(_, design)| self.is_reference(design));
        let traced = traced.map(|(number, _)| number);
        let shown: Vec<u64> =
            answer.recommended.into_iter().chain(chosen.named()).chain(traced).collect();
        let memory = || self.traces.streams.iter().map(|stream| &stream.memory);
        Conclusion {
            extras: JobExtras {
                reference: reference_report(&self.traces.references),
                peak_memory_bytes: memory().filter_map(|m| m.used).max().map(|peak| peak.0),
                peak_cache_bytes: memory().map(|m| m.cache).max().unwrap_or_default().0,
                operation: self.survey.catalogue.operation.clone(),
                objectives: self.compared.objectives(),
                verdict: answer.verdict,
                floor_s: answer.floor_s,
            },
            in_stages: shown.clone(),
            shown,
        }
    }

    fn id(&self, number: u64) -> String {
        self.space.id(&self.space.designs[index(number)])
    }

    fn reports(&self, numbers: &[u64]) -> Vec<MachineReport> {
        let numbers: Vec<usize> = numbers.iter().copied().map(index).collect();
        let key = |number: &usize| {
            let design = &self.space.designs[*number];
            (cores_key(design), design.place)
        };
        in_order(&numbers, key, |some| {
            let mut reports = Vec::with_capacity(some.len());
            self.each_group(some, |group, designs, _| {
                reports.extend(designs.iter().map(|design| self.report(group, design)));
            });
            reports
        })
    }

    fn in_stage(&self, numbers: &[u64], window: &StageWindow) -> Vec<StageOnDesign> {
        let on_design = |number: &u64| {
            let design = &self.space.designs[index(*number)];
            let load = self.loads[design.place].in_stage(window);
            let stretches = JobStretches::new(&load, design.cores());
            let group = JobGroup::new(&load, &stretches);
            let own = self.job_design(design);
            StageOnDesign {
                id: self.space.id(design),
                time_s: group.times(&[own])[0],
                limits: shares(&group.limits(&own)),
            }
        };
        numbers.iter().map(on_design).collect()
    }

    fn rows(&self, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
        rows(self, chunk, front)
    }

    fn warnings(&self) -> Vec<String> {
        warnings(&self.traces, self.space)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        assumptions(self.survey, self.traces.streams)
    }
}

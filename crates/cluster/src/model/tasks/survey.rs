//! The `tasks` model in a survey.

use super::evaluate::TasksModel;
use super::notes::{assumptions, warnings};
use super::report::{TasksExtras, TasksReport, TasksVerdict};
use super::rows::rows;
use crate::model::cost::Recommended;
use crate::model::job::report::ReferenceReport;
use crate::survey::report::Assumption;
use crate::survey::{Choice, Chosen, Chunk, Conclusion, Model, NamedColumn, chunks, in_order};
use crate::trace::report::StageOnDesign;
use crate::trace::stages::StageWindow;

impl Model for TasksModel<'_> {
    type Design = TasksReport;
    type Extras = TasksExtras;

    fn designs_total(&self) -> u64 {
        self.answers.len() as u64
    }

    fn candidates(&self) -> impl Iterator<Item = u64> {
        0..self.designs_total()
    }

    fn chunks(&self) -> Vec<Chunk> {
        chunks([self.answers.len()].into_iter())
    }

    fn names(&self) -> &'static [&'static str] {
        self.compared.names()
    }

    fn objectives(&self) -> Vec<usize> {
        self.compared.fronts()
    }

    fn compare(&self, chunk: &Chunk, choice: &mut Choice) {
        for number in self.members(chunk) {
            self.compared.compare(number, &self.figures(number), choice);
        }
    }

    fn conclude(&self, chosen: &Chosen) -> Conclusion<TasksExtras> {
        let recommended = self.compared.recommended(chosen);
        let verdict = recommended.map(|Recommended { by, number, fastest }| {
            let (design, _, nodes) = self.cluster(number);
            TasksVerdict {
                id: self.name(number),
                machine: design.id(),
                nodes,
                fastest: self.name(fastest),
                deadline_s: self.survey.goals.deadline_s,
                by,
            }
        });
        let floors = (0..self.designs_total()).map(|number| self.answer(number).floor);
        let recorded = (0..self.designs_total()).filter(|number| {
            let (design, _, nodes) = self.cluster(*number);
            self.is_reference(design, nodes)
        });
        let shown: Vec<u64> =
            recommended.iter().map(|found| found.number).chain(recorded).collect();
        let notable = shown.iter().copied().chain(chosen.named()).collect();
        self.notable.set(notable).expect("a survey concludes once");
        let reference = &self.reference;
        Conclusion {
            extras: TasksExtras {
                reference: ReferenceReport {
                    machine: reference.name.map(str::to_owned),
                    core_speed: reference.speed,
                    is_assumed: reference.is_assumed,
                },
                application: self.application_report(),
                operation: self.survey.catalogue.operation.clone(),
                objectives: self.compared.objectives(),
                refused: self.space.refused.clone(),
                verdict,
                floor_s: floors.fold(f64::INFINITY, f64::min),
            },
            in_stages: Vec::new(),
            shown,
        }
    }

    fn id(&self, number: u64) -> String {
        self.name(number)
    }

    fn reports(&self, numbers: &[u64]) -> Vec<TasksReport> {
        in_order(
            numbers,
            |number| *number,
            |some| some.iter().map(|number| self.report(*number)).collect(),
        )
    }

    fn in_stage(&self, _numbers: &[u64], _window: &StageWindow) -> Vec<StageOnDesign> {
        Vec::new()
    }

    fn rows(&self, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
        rows(self, chunk, front)
    }

    fn warnings(&self) -> Vec<String> {
        warnings(self)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        assumptions(self)
    }
}

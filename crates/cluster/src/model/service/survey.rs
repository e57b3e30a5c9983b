//! The `service` model in a survey.

use super::evaluate::ServiceModel;
use super::load::ServiceSample;
use super::notes::{assumptions, warnings};
use super::report::{Demand, LoadReport, LoadSeries, ServiceExtras, ServiceReport};
use super::rows::rows;
use super::sample::Rates;
use super::series::Series;
use super::traces::{ServiceTraces, reference_report};
use super::verdict::{compare, conclude, names};
use crate::survey::report::Assumption;
use crate::survey::{Choice, Chosen, Chunk, Conclusion, Model, NamedColumn, chunks, in_order};
use crate::trace::report::StageOnDesign;
use crate::trace::stages::StageWindow;
use crate::trace::timeline::POINTS;

impl Model for ServiceModel<'_> {
    type Design = ServiceReport;
    type Extras = ServiceExtras;

    fn designs_total(&self) -> u64 {
        self.count()
    }

    fn candidates(&self) -> impl Iterator<Item = u64> {
        0..self.count()
    }

    fn chunks(&self) -> Vec<Chunk> {
        #[allow(clippy::cast_possible_truncation)]
        let count = self.count() as usize;
        chunks([count].into_iter())
    }

    fn names(&self) -> &'static [&'static str] {
        names(&self.survey.goals)
    }

    fn objectives(&self) -> Vec<usize> {
        // The greatest use is compared, too.
        vec![self.survey.goals.objectives.len().max(1) + 1]
    }

    fn compare(&self, chunk: &Chunk, choice: &mut Choice) {
        members(chunk).for_each(|number| compare(self, number, choice));
    }

    /// The recommended design, those that come near, and the recorded one are always reported.
    fn conclude(&self, chosen: &Chosen) -> Conclusion<ServiceExtras> {
        let found = conclude(self, chosen);
        let recorded = (0..self.count()).filter(|number| self.is_reference(*number));
        Conclusion {
            extras: ServiceExtras {
                reference: reference_report(&self.traces.references),
                headroom: self.survey.headroom,
                load: load_report(&self.traces),
                operation: self.operation.clone(),
                objectives: self.survey.goals.objectives.clone(),
                verdict: found.verdict,
                maybe: found.maybe,
                nearest: found.nearest,
            },
            shown: found.shown.into_iter().chain(recorded).collect(),
            in_stages: Vec::new(),
        }
    }

    fn id(&self, number: u64) -> String {
        self.name(number)
    }

    fn reports(&self, numbers: &[u64]) -> Vec<ServiceReport> {
        let of_some = |some: &[u64]| some.iter().map(|number| self.report(*number)).collect();
        in_order(numbers, |number| *number, of_some)
    }

    fn in_stage(&self, _numbers: &[u64], _window: &StageWindow) -> Vec<StageOnDesign> {
        Vec::new()
    }

    fn rows(&self, chunk: &Chunk, front: &[u64]) -> Vec<NamedColumn> {
        rows(self, members(chunk), front)
    }

    fn warnings(&self) -> Vec<String> {
        warnings(self)
    }

    fn assumptions(&self) -> Vec<Assumption> {
        assumptions(self)
    }
}

/// Numbers of a chunk.
fn members(chunk: &Chunk) -> impl Iterator<Item = u64> + use<> {
    chunk.members.start as u64..chunk.members.end as u64
}

/// What is reported of the load.
fn load_report(traces: &ServiceTraces<'_>) -> LoadReport {
    let load = &traces.load;
    let demand = |of: &dyn Fn(&ServiceSample) -> f64| {
        let series: Series = load.series(of);
        Demand { mean: series.mean(), p99: series.p99(), peak: series.peak() }
    };
    let of_sum = |of: fn(&Rates) -> f64| demand(&|sample| of(&sample.sum));
    let memory = |of: usize| {
        load.recorded.memory.then(|| {
            let recorded = load.samples.iter().filter(|sample| sample.most.memory[1] > 0.0);
            let series = Series::new(recorded.map(|sample| (sample.most.memory[of], sample.secs)));
            Demand { mean: series.mean(), p99: series.p99(), peak: series.peak() }
        })
    };
    let full = ["cpu", "disk", "network"].into_iter().zip(load.full());
    LoadReport {
        nodes: load.nodes,
        samples: load.samples.len(),
        span_s: load.secs(),
        interval_s: load.interval(),
        samples_left_out: load.left_out,
        left_out_s: load.left_out_secs,
        cpu_cores: of_sum(|rates| rates.busy),
        memory_bytes: memory(1),
        memory_with_cache_bytes: memory(2),
        disk: load.recorded.disk.then(|| {
            [
                ("reads_per_s", of_sum(|rates| rates.requests[0])),
                ("writes_per_s", of_sum(|rates| rates.requests[1])),
                ("read_bytes_per_s", of_sum(|rates| rates.bytes[0])),
                ("write_bytes_per_s", of_sum(|rates| rates.bytes[1])),
            ]
            .into()
        }),
        network: load.recorded.network.then(|| {
            [
                ("rx_bytes_per_s", of_sum(|rates| rates.network[0])),
                ("tx_bytes_per_s", of_sum(|rates| rates.network[1])),
            ]
            .into()
        }),
        hidden: full.filter(|(_, share)| *share > 0.0).collect(),
        series: series(&load.samples),
    }
}

/// The load over time, in at most [`POINTS`] points.
fn series(samples: &[ServiceSample]) -> LoadSeries {
    let per_point = samples.len().div_ceil(POINTS).max(1);
    let mut all = LoadSeries { samples_per_point: per_point, ..LoadSeries::default() };
    for point in samples.chunks(per_point) {
        let secs: f64 = point.iter().map(|sample| sample.secs).sum();
        let mean = |of: fn(&Rates) -> f64| {
            point.iter().map(|sample| of(&sample.sum) * sample.secs).sum::<f64>() / secs
        };
        let most = |of: fn(&ServiceSample) -> f64| point.iter().map(of).fold(0.0, f64::max);
        all.start_s.push(point[0].start);
        all.cpu_cores.push(mean(|rates| rates.busy));
        all.cpu_cores_peak.push(most(|sample| sample.sum.busy));
        all.memory_bytes.push(most(|sample| sample.most.memory[1]));
        all.disk_bytes_per_s.push(mean(|rates| rates.bytes[0] + rates.bytes[1]));
        all.network_bytes_per_s.push(mean(|rates| rates.network[0].max(rates.network[1])));
    }
    all
}

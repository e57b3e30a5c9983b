//! The kinds of config that users write, and the kinds of report, without those of Linux.

use crate::trace::FormatRow;
use gordon_cachesim::flashcache::{Design, FlashCacheReport};
use gordon_cachesim::tiered::TieredReport;
use gordon_cachesim::{CacheReport, CurveReport};
use gordon_cluster::model::doubt::{DoubtsReport, RankingReport};
use gordon_cluster::model::job::mean::JobMeanReport;
use gordon_cluster::model::job::report::{JobExtras, MachineReport};
use gordon_cluster::model::paper::mean::PaperMeanReport;
use gordon_cluster::model::paper::report::{DesignReport, PaperExtras};
use gordon_cluster::model::service::report::{ServiceExtras, ServiceReport};
use gordon_cluster::model::tasks::report::{TasksExtras, TasksReport};
use gordon_cluster::space::config::{Cpu, Memory, MeteredMachine, Network, Overhead, Space};
use gordon_cluster::space::supply::PowerSupply;
use gordon_cluster::survey::report::SurveyReport;
use gordon_cluster::trace::measured_times::MeasuredTimes;
use gordon_config::{Kind, ReportKind};
use gordon_hdd::DiskConfig;
use gordon_hdd::classic::ClassicConfig;
use gordon_plan::{JobQueue, PlanReport};
use gordon_replay::characterise;
use gordon_replay::replicas::ReplicasReport;
use gordon_replay::results::disk::DiskReport;
use gordon_replay::results::flash::FlashReport;
use gordon_replay::results::report::Report;
use gordon_replay::wa::WaReport;
use gordon_ssd::SsdConfig;
use gordon_trace::activity::ActivityReport;
use gordon_trace::formats::ConversionReport;
use gordon_trace::spark::{EventLogSummary, NetworkEstimate, RecordedStages};
use gordon_trace::{AnonymiseReport, TraceSummary};
use gordon_workload::WebReport;

pub(crate) const KINDS: [Kind; 12] = [
    Kind::of::<Space>("space"),
    Kind::of::<Cpu>("cpu"),
    Kind::of::<Memory>("memory"),
    Kind::of::<Network>("network"),
    Kind::of::<Overhead>("overhead"),
    Kind::of::<MeteredMachine>("machine"),
    Kind::of::<PowerSupply>("supply"),
    Kind::of::<SsdConfig>("flash"),
    Kind::of::<DiskConfig>("disk"),
    Kind::of::<ClassicConfig>("drive"),
    Kind::of::<Design>("flashcache"),
    Kind::of::<JobQueue>("jobs"),
];

/// A type of the Python package has the name of its kind; `scripts/build/results.py` writes them.
pub(crate) const REPORTS: [ReportKind; 28] = [
    ReportKind::of::<SurveyReport<DesignReport, PaperExtras>>("paper-survey"),
    ReportKind::of::<SurveyReport<MachineReport, JobExtras>>("job-survey"),
    ReportKind::of::<SurveyReport<TasksReport, TasksExtras>>("tasks-survey"),
    ReportKind::of::<SurveyReport<ServiceReport, ServiceExtras>>("service-survey"),
    ReportKind::of::<PaperMeanReport>("paper-mean"),
    ReportKind::of::<JobMeanReport>("job-mean"),
    ReportKind::of::<DoubtsReport>("doubts-report"),
    ReportKind::of::<RankingReport>("ranking-report"),
    ReportKind::of::<Report<FlashReport>>("flash-run"),
    ReportKind::of::<Report<DiskReport>>("disk-run"),
    ReportKind::of::<WaReport>("wa-report"),
    ReportKind::of::<ReplicasReport>("replicas-report"),
    ReportKind::of::<CacheReport>("cache-report"),
    ReportKind::of::<CurveReport>("curve-report"),
    ReportKind::of::<FlashCacheReport>("flash-cache-report"),
    ReportKind::of::<TieredReport>("tiered-report"),
    ReportKind::of::<characterise::CharacteriseReport>("simulated-storage"),
    ReportKind::of::<MeasuredTimes>("measured-times"),
    ReportKind::of::<TraceSummary>("trace-summary"),
    ReportKind::of::<FormatRow>("format-row"),
    ReportKind::of::<ConversionReport>("conversion-report"),
    ReportKind::of::<ActivityReport>("activity-report"),
    ReportKind::of::<AnonymiseReport>("anonymise-report"),
    ReportKind::of::<EventLogSummary<'_>>("event-log-summary"),
    ReportKind::of::<RecordedStages>("recorded-stages"),
    ReportKind::of::<NetworkEstimate>("network-estimate"),
    ReportKind::of::<WebReport>("web-report"),
    ReportKind::of::<PlanReport>("plan-report"),
];

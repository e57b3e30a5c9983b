//! The kinds of config and of report that exist on Linux only.

use super::block::{Created, Ready};
use super::nodes::CaptureReport;
use gordon_blockdev::Status;
use gordon_capture::CaptureOutcome;
use gordon_config::{Kind, ReportKind};
use gordon_objectcache::{
    Checked as ObjectCacheChecked, Recovery as ObjectCacheRecovery, Stats as ObjectCacheStats,
};
use gordon_probe::{CharacteriseReport, TargetDescription};
use gordon_serve::{ServeStats, Warmed};
use gordon_sort::{Generated, Settings, SortReport, Validated};
use gordon_store::{CheckReport, ExportReport, RepairReport, Wear};
use gordon_workload::CorpusManifest;

pub(crate) const KINDS: [Kind; 1] = [Kind::of::<Settings>("sort")];

pub(crate) const REPORTS: [ReportKind; 20] = [
    ReportKind::of::<ObjectCacheStats>("object-cache-stats"),
    ReportKind::of::<ObjectCacheRecovery>("object-cache-recovery"),
    ReportKind::of::<ObjectCacheChecked>("object-cache-checked"),
    ReportKind::of::<ServeStats>("serve-stats"),
    ReportKind::of::<Warmed>("warmed"),
    ReportKind::of::<SortReport>("sort-report"),
    ReportKind::of::<Generated>("generated"),
    ReportKind::of::<Validated>("validated"),
    ReportKind::of::<CharacteriseReport>("measured-storage"),
    ReportKind::of::<TargetDescription>("target-description"),
    ReportKind::of::<CheckReport>("check-report"),
    ReportKind::of::<RepairReport>("repair-report"),
    ReportKind::of::<ExportReport>("export-report"),
    ReportKind::of::<Wear>("wear"),
    ReportKind::of::<Created>("created"),
    ReportKind::of::<Ready>("ready"),
    ReportKind::of::<Status>("block-status"),
    ReportKind::of::<CaptureOutcome>("capture-outcome"),
    ReportKind::of::<CaptureReport>("capture-report"),
    ReportKind::of::<CorpusManifest>("corpus-manifest"),
];

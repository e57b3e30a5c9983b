"""The kinds of results. Type checkers read their keys and attributes in `fields.pyi`, which
`scripts/build/fields.py` writes; at run time a kind has the keys that its report has.
"""

from typing import Any

from gordon.result import Result

#: The TypedDicts that the report of a kind of result may have.
KINDS = {
    "CreateResult": ["gordon.reports.block.Created"],
    "StatusResult": ["gordon.reports.block.BlockStatus"],
    "CheckResult": ["gordon.reports.block.CheckReport"],
    "RepairResult": ["gordon.reports.block.RepairReport"],
    "ExportResult": ["gordon.reports.block.ExportReport"],
    "WearResult": ["gordon.reports.block.Wear"],
    "CacheResult": ["gordon.reports.cache.CacheReport"],
    "TwoLevelResult": ["gordon.reports.cache.FlashCacheReport"],
    "CacheSweepResult": ["gordon.cache.results.OneLevelSweep"],
    "TwoLevelSweepResult": ["gordon.cache.results.TwoLevelSweep"],
    "LatencyResult": ["gordon.cache.results.ByLatency"],
    "CurveResult": ["gordon.reports.cache.CurveReport"],
    "TieredResult": ["gordon.reports.cache.TieredReport"],
    "WebResult": ["gordon.reports.workload.WebReport"],
    "CompareResult": ["gordon.compare.compared.Compared"],
    "PetabyteResult": ["gordon.cost.report.Petabyte"],
    "PlanResult": ["gordon.cost.plan.Planned"],
    "RackResult": ["gordon.cost.rack.Rack"],
    "ReplicasResult": ["gordon.cost.replicas.Replicas"],
    "TcoResult": ["gordon.cost.tco.Tco"],
    "FlashResult": ["gordon.reports.devices.FlashRun"],
    "DiskResult": ["gordon.reports.devices.DiskRun"],
    "FitResult": ["gordon.disk.fit.report.FitReport"],
    "FlashFitResult": ["gordon.storage.fit.report.FlashFit"],
    "FlashValidationResult": ["gordon.storage.fit.report.FlashValidation"],
    "AmplificationResult": ["gordon.reports.devices.WaReport"],
    "RecordingResult": ["gordon.energy.record.Report"],
    "JouleSortResult": ["gordon.joulesort.report.Report"],
    "SortResult": ["gordon.sort.run.TimedSort"],
    "GenerateResult": ["gordon.sort.data.GeneratedFile"],
    "ValidateResult": ["gordon.sort.data.Checked"],
    "TuneResult": ["gordon.sort.tune.report.TuneReport"],
    "SteerResult": ["gordon.sort.tune.report.SteerReport"],
    "ExtrapolateResult": ["gordon.sort.systems.report.Extrapolation"],
    "PaperResult": [
        *("gordon.reproduce.row.Comparison", "gordon.reproduce.joulesort.report.Study"),
    ],
    "RewriteResult": ["gordon.reproduce.rewriting_report.Rewritten"],
    "StorageResult": ["gordon.storage.result.Measured", "gordon.storage.result.Modelled"],
    "GridSurvey": ["gordon.survey.results.GridResult"],
    "JobSurvey": ["gordon.survey.results.JobResult"],
    "TasksSurvey": ["gordon.survey.results.TasksResult"],
    "ServiceSurvey": ["gordon.survey.results.ServiceResult"],
    "GridMeanSurvey": ["gordon.survey.results.GridMean"],
    "MachinesMeanSurvey": ["gordon.survey.results.MachinesMean"],
    "SweepResult": ["gordon.sweep.result.SweepReport"],
    "CorpusResult": ["gordon.workload.data.CorpusFolder"],
    "RunResult": ["gordon.run.report.RunReport"],
    "RecordResult": ["gordon.reports.trace.CaptureOutcome"],
    "ConvertResult": ["gordon.reports.trace.ConversionReport"],
    "ActivityResult": ["gordon.reports.trace.ActivityReport"],
    "AnonymiseResult": ["gordon.reports.trace.AnonymiseReport"],
    "SummaryResult": [
        *("gordon.trace.summary.ShownTrace", "gordon.trace.summary.ShownNodes"),
        "gordon.trace.summary.ShownJobs",
    ],
}
#: Kinds that stand for several, by name: a result is one of these, with the keys of any.
UNIONS = {
    "Survey": [
        *("GridSurvey", "JobSurvey", "TasksSurvey", "ServiceSurvey"),
        *("GridMeanSurvey", "MachinesMeanSurvey"),
    ],
}


def __getattr__(name: str) -> type[Result[Any]]:
    if name not in KINDS and name not in UNIONS:
        raise AttributeError(f"there is no kind of result {name}")
    return Result

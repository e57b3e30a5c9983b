//! Validates a survey; errors name the invalid value.

use crate::error::ClusterError;
use crate::model::paper::PaperSurvey;
use crate::space::config::Overhead;

/// Returns an error if the survey has an invalid value.
pub(crate) fn check(survey: &PaperSurvey) -> Result<(), ClusterError> {
    let impossible = |what: &str, why: &str| {
        Err(ClusterError::Impossible { what: what.into(), why: why.into() })
    };
    if survey.nodes == 0 {
        return impossible("nodes", "at least 1 is needed");
    }
    if survey.traces.is_empty() {
        return impossible("traces", "at least one is needed");
    }
    if survey.traces.len() > survey.nodes as usize {
        return impossible("traces", "there are more of them than nodes to run them");
    }
    if !(0.0..=1.0).contains(&*survey.shift) {
        return impossible("shift", "it is a share of the trace's length, 0 to 1");
    }
    let sane = |what: String, value: f64| {
        if value.is_finite() && value > 0.0 {
            Ok(())
        } else {
            Err(ClusterError::Impossible { what, why: format!("{value} is not above zero") })
        }
    };
    let ordered = |what: String, low: f64, high: f64| {
        if low <= high {
            Ok(())
        } else {
            Err(ClusterError::Impossible { what, why: format!("{low} is above {high}") })
        }
    };
    for reference in &survey.references {
        sane(format!("reference `{}`: ipc", reference.name), *reference.ipc)?;
    }
    for (name, cpu) in &survey.parts.cpu {
        sane(format!("cpu `{name}`: ipc"), *cpu.ipc)?;
        sane(format!("cpu `{name}`: clock_min"), cpu.clock_min.0)?;
        sane(format!("cpu `{name}`: volt_min"), cpu.volt_min.0)?;
        ordered(format!("cpu `{name}`: clock_min, clock_max"), cpu.clock_min.0, cpu.clock_max.0)?;
        ordered(format!("cpu `{name}`: volt_min, volt_max"), cpu.volt_min.0, cpu.volt_max.0)?;
        ordered(format!("cpu `{name}`: idle, active"), cpu.idle.0, cpu.active.0)?;
    }
    for (name, flash) in &survey.parts.flash {
        let power = &flash.power;
        for (unit, idle, active) in [
            ("die", &power.die_idle, &power.die_active),
            ("controller", &power.controller_idle, &power.controller_active),
            ("dram", &power.dram_idle, &power.dram_active),
        ] {
            ordered(format!("flash `{name}`: {unit}_idle, {unit}_active"), idle.0, active.0)?;
        }
        for (key, time) in [
            ("read", flash.timing.read.longest()),
            ("program", flash.timing.program.longest()),
            ("erase", *flash.timing.erase),
        ] {
            sane(format!("flash `{name}`: timing.{key}"), time.as_secs())?;
        }
    }
    #[allow(clippy::cast_precision_loss)]
    for (name, memory) in &survey.parts.memory {
        sane(format!("memory `{name}`: bandwidth"), memory.bandwidth.0 as f64)?;
        ordered(format!("memory `{name}`: idle, active"), memory.idle.0, memory.active.0)?;
    }
    #[allow(clippy::cast_precision_loss)]
    for (name, network) in &survey.parts.network {
        sane(format!("network `{name}`: bandwidth"), network.bandwidth.0 as f64)?;
    }
    Ok(())
}

/// The overhead ratio, as given or fitted.
pub(crate) fn overhead_ratio(overhead: &Overhead) -> Result<f64, ClusterError> {
    match &overhead.ratio {
        Some(ratio) if ratio.is_finite() && **ratio >= 1.0 => Ok(**ratio),
        Some(ratio) => Err(ClusterError::Impossible {
            what: "overhead: ratio".into(),
            why: format!("{} is below 1, so the node would draw less than its parts", **ratio),
        }),
        None => Err(ClusterError::Impossible {
            what: "overhead: ratio".into(),
            why: "it is not given, and anchors are fitted before a survey is run".into(),
        }),
    }
}

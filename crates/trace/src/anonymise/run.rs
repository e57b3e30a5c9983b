//! Replaces the names in the description of a run.
//!
//! All texts are replaced, also those under keys that are not known here, except versions, names of
//! formats and states, and those that are numbers, sizes or times.

use super::names::{NameKind, Names, is_kernel_disk};
use crate::error::TraceError;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Keys whose texts say nothing of the owner.
const KEPT: [&str; 17] = [
    "bound",
    "cpu_model",
    "format",
    "gordon",
    "java",
    "job",
    "kind",
    "kind_of",
    "model",
    "python",
    "role",
    "scala",
    "scheduler",
    "status",
    "unit",
    "version",
    "with",
];
/// Objects and their keys whose text is one of our names: a check, an engine, a job.
const OURS: [(&str, &str); 3] = [("checks", "name"), ("engine", "name"), ("job", "id")];
/// Sentences.
const TEXTS: [&str; 8] =
    ["detail", "error", "hint", "message", "warning", "warnings", "what", "why"];

/// The run that the file describes; `None` if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<Value>, TraceError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(TraceError::Read { path: path.to_owned(), source }),
    };
    let run: Value =
        serde_json::from_slice(&text).map_err(|error| TraceError::damaged(path, error))?;
    if run["format"] != "gordon-run" {
        let why = "its run.json does not say \"format\": \"gordon-run\"";
        return Err(TraceError::foreign(path.parent().unwrap_or(path), why));
    }
    Ok(Some(run))
}

/// The folders of the nodes, in the order of the run.
pub(super) fn folders(run: &Value) -> Vec<String> {
    let nodes = run["nodes"].as_array().into_iter().flatten();
    nodes.filter_map(|node| node["folder"].as_str().map(str::to_owned)).collect()
}

/// Gives the nodes and hosts of a run their pseudonyms, in its order.
pub(super) fn register(run: &Value, names: &mut Names) {
    for node in run["nodes"].as_array().into_iter().flatten() {
        let text = |key: &str| node[key].as_str().filter(|text| !text.is_empty());
        let folder = text("folder");
        if let Some(name) = text("name").or(folder) {
            names.alias(NameKind::Node, name, folder.unwrap_or(name));
        }
        if let Some(host) = text("host") {
            names.of(NameKind::Host, host);
        }
    }
}

/// Replaces all names in `run`, whose nodes are [registered](register).
pub(super) fn replace(run: &mut Value, names: &mut Names) {
    // The log is not copied.
    if let Some(log) = run.get_mut("event_log") {
        *log = Value::Null;
    }
    // The program of the owner, not one of our jobs.
    let app = run.get_mut("job").filter(|job| job.get("app").is_some());
    if let Some(Value::String(id)) = app.and_then(|job| job.get_mut("id")) {
        *id = names.of(NameKind::Value, id);
    }
    object(run, "", names);
}

/// Replaces the texts of a value under `key`, which is in an object under `parent`.
fn value(value: &mut Value, key: &str, parent: &str, names: &mut Names) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => string(text, key, parent, names),
        Value::Array(items) if is_command(key) => {
            let words: Vec<String> = items
                .iter()
                .map(|item| match item {
                    Value::String(word) => word.clone(),
                    other => other.to_string(),
                })
                .collect();
            if !words.is_empty() {
                let command = names.of(NameKind::Command, &words.join(" "));
                *items = vec![Value::String(command)];
            }
        }
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(_) => object(item, key, names),
                    other => self::value(other, key, parent, names),
                }
            }
        }
        Value::Object(_) => object(value, key, names),
    }
}

fn object(value: &mut Value, key: &str, names: &mut Names) {
    let Value::Object(fields) = value else { return self::value(value, key, "", names) };
    let mut replaced = serde_json::Map::new();
    for (name, mut field) in std::mem::take(fields) {
        self::value(&mut field, &name, key, names);
        // An object with a field for each node or host.
        let name = names.known(&name).unwrap_or(name);
        replaced.insert(name, field);
    }
    *fields = replaced;
}

fn is_command(key: &str) -> bool {
    matches!(key, "command" | "argv")
}

fn string(text: &mut String, key: &str, parent: &str, names: &mut Names) {
    let is_ours = OURS.contains(&(parent, key));
    if KEPT.contains(&key) && parent != "settings" || is_ours || is_amount(text) {
        return;
    }
    if TEXTS.contains(&key) {
        return names.text(text);
    }
    if (parent, key) == ("stages", "name") {
        // The number of the stage comes first.
        *text = match text.split_once(": ") {
            Some((number, name)) if number.bytes().all(|b| b.is_ascii_digit()) => {
                format!("{number}: {}", names.stage(name))
            }
            _ => names.stage(text),
        };
        return;
    }
    if key == "cgroup" {
        return names.group(text);
    }
    let kind = match key {
        _ if parent == "settings" || parent == "parameters" => NameKind::Value,
        _ if is_command(key) => NameKind::Command,
        "host" | "hostname" | "address" => NameKind::Host,
        "user" => NameKind::User,
        "folder" => NameKind::Node,
        "name" | "nodes" if parent == "nodes" || parent == "scope" => NameKind::Node,
        "devices" | "members" => NameKind::Device,
        "name" if parent == "disks" || is_kernel_disk(text) => NameKind::Device,
        "name" if parent == "interfaces" => NameKind::Interface,
        _ => {
            let kind = if text.contains('/') { NameKind::Path } else { NameKind::Value };
            *text = names.known(text).unwrap_or_else(|| names.of(kind, text));
            return;
        }
    };
    names.replace(kind, text);
}

/// Whether a text is a number with an optional unit, a truth value, or a short word of letters for
/// a unit.
fn is_amount(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let is_number = rest.len() < text.len() && rest.len() <= 3;
    matches!(text, "true" | "false") || (is_number && rest.chars().all(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn amounts_are_kept() {
        for text in ["12", "1.5", "4g", "512MiB", "-1", "true", "30s"] {
            assert!(is_amount(text), "{text}");
        }
        for text in ["", "acme", "4-acme", "10.1.2.3:80", "5abcd", "x7"] {
            assert!(!is_amount(text), "{text}");
        }
    }

    #[test]
    fn every_text_of_a_run_is_replaced_unless_it_is_known_to_be_safe() {
        let mut run = json!({
            "format": "gordon-run", "version": 1, "gordon": "0.1.0",
            "command": ["./acme.sh", "--user", "ann", 3],
            "nodes": [
                {"name": "acme-a", "host": "db1.acme.example", "folder": "acme-a",
                 "status": "complete", "role": "worker", "clock": {"offset_ns": -5},
                 "machine": {"cpu_model": "Xeon", "disks": [{"name": "vg-acme"}, {"name": "sda"}]}},
            ],
            "engine": {"name": "spark", "version": "4.0.1", "settings": {
                "spark.master": "spark://db1.acme.example:7077", "spark.executor.memory": "4g",
                "spark.version": "acme-build"}},
            "totals": {"nodes": {"acme-a": {"cpu_s": 1.25}}, "checks": [
                {"name": "cpu_s", "with": "machine", "bound": "at most", "passed": true}]},
            "data": {"path": "/home/ann/corpus", "owner": "ann"},
            "verification": {"passed": true, "checks": [
                {"name": "order", "passed": true, "detail": "of /home/ann/corpus"}]},
            "stages": [{"name": "3: csv at /home/ann/acme.py:7", "start_s": 0.5, "end_s": 2}],
            "job": {"id": "sort", "parameters": {"pattern": "acme"}},
            "warnings": ["db1.acme.example did not answer"],
            "unheard_of": {"acme": ["acme", {"deep": "acme"}]},
        });
        let mut names = Names::default();
        register(&run, &mut names);
        replace(&mut run, &mut names);
        let text = run.to_string();
        for word in ["acme", "ann"] {
            let without_keys = text.replace("\"acme\":", "");
            assert!(!without_keys.contains(word), "{word} in {text}");
        }
        assert_eq!(run["nodes"][0]["name"], "node-1");
        assert_eq!(run["nodes"][0]["folder"], "node-1");
        assert_eq!(run["nodes"][0]["host"], "host-1");
        assert_eq!(run["nodes"][0]["status"], "complete");
        assert_eq!(run["nodes"][0]["role"], "worker");
        assert_eq!(run["nodes"][0]["clock"]["offset_ns"], -5);
        assert_eq!(run["nodes"][0]["machine"]["cpu_model"], "Xeon");
        assert_eq!(run["nodes"][0]["machine"]["disks"][1]["name"], "sda");
        assert_eq!(run["engine"]["name"], "spark");
        assert_eq!(run["engine"]["settings"]["spark.executor.memory"], "4g");
        assert_eq!(run["totals"]["nodes"]["node-1"]["cpu_s"], 1.25);
        let checks = json!([
            {"name": "cpu_s", "with": "machine", "bound": "at most", "passed": true}]);
        assert_eq!(run["totals"]["checks"], checks);
        assert_eq!(run["command"], json!(["command-1"]));
        assert_eq!(run["verification"]["checks"][0]["name"], "order");
        assert_eq!(run["verification"]["checks"][0]["detail"], "of path-1");
        assert_eq!(run["data"]["path"], "path-1");
        assert_eq!(run["stages"][0]["name"], "3: csv at place-1");
        assert_eq!(run["stages"][0]["start_s"], 0.5);
        assert_eq!(run["job"]["id"], "sort");
        assert_eq!(run["warnings"][0], "host-1 did not answer");
    }

    #[test]
    fn a_program_of_the_owner_has_no_name_of_its_own() {
        let mut run = json!({"job": {"id": "acme-etl", "app": "/home/ann/acme-etl.py",
            "arguments": ["--user=ann", "7"], "py_files": ["acme.zip"], "class": "com.acme.Etl"}});
        replace(&mut run, &mut Names::default());
        let text = run.to_string();
        assert!(!text.contains("acme") && !text.contains("ann"), "{text}");
        assert_eq!(run["job"]["arguments"][1], "7");
    }
}

//! Names stages of SQL queries by the operators that they run: `scan text, filter, exchange`.
//!
//! Spark names a stage by the place in the program that started it. For a query this is often a
//! thread of Spark (`$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java`), and the same
//! for all of its stages. The RDDs of a stage name the operators of the query's plan that made
//! them; operators that were compiled together have one name (`WholeStageCodegen (1)`), and the
//! plan says which they are.

use super::events::{PlanNode, RddInfo};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Operators that move or convert rows and say nothing about a stage.
const LEFT_OUT: [&str; 11] = [
    "AdaptiveSparkPlan",
    "BroadcastQueryStage",
    "ColumnarToRow",
    "DeserializeToObject",
    "InputAdapter",
    "Project",
    "ResultQueryStage",
    "RowToColumnar",
    "SerializeFromObject",
    "ShuffleQueryStage",
    "TableCacheQueryStage",
];
/// Operators that shuffle rows, or read shuffled rows.
const EXCHANGES: [&str; 4] =
    ["AQEShuffleRead", "CustomShuffleReader", "Exchange", "ReusedExchange"];
/// Start of the names of operators that write files.
const WRITES: [&str; 5] =
    ["WriteFiles", "Execute InsertInto", "AppendData", "Overwrite", "ReplaceTable"];
/// What is read, if it is the second word of a name. Other second words may be names of tables.
const SOURCES: [&str; 7] = ["avro", "binaryFile", "csv", "json", "orc", "parquet", "text"];
/// Operators that were compiled together.
const CODEGEN: &str = "WholeStageCodegen";
/// Where operators that were compiled together end.
const INPUT: &str = "InputAdapter";

/// The words of the names of Spark's operators. Others may be those of a person's own operators.
const WORDS: &[&str] = &[
    "aggregate",
    "and",
    "append",
    "arrow",
    "avro",
    "batch",
    "binaryfile",
    "broadcast",
    "cartesian",
    "checkpoint",
    "co",
    "coalesce",
    "collect",
    "columnar",
    "command",
    "csv",
    "empty",
    "eval",
    "event",
    "exchange",
    "existing",
    "expand",
    "external",
    "file",
    "filter",
    "flat",
    "generate",
    "global",
    "group",
    "groups",
    "hash",
    "hive",
    "in",
    "join",
    "json",
    "limit",
    "local",
    "loop",
    "map",
    "memory",
    "merge",
    "metrics",
    "micro",
    "nested",
    "object",
    "offset",
    "one",
    "orc",
    "ordered",
    "pandas",
    "parquet",
    "partitions",
    "product",
    "project",
    "python",
    "range",
    "rdd",
    "relation",
    "row",
    "sample",
    "save",
    "scan",
    "session",
    "shuffled",
    "sort",
    "state",
    "store",
    "table",
    "take",
    "text",
    "union",
    "watermark",
    "window",
    "write",
];

const EXCHANGE: &str = "exchange";
const BROADCAST: &str = "broadcast exchange";
const SAMPLE: &str = "sample";

/// Whether a name is made of the words for Spark's own operators, so that it says nothing of the
/// owner of the program.
pub(crate) fn is_of_operators(name: &str) -> bool {
    name.split(", ").flat_map(|words| words.split(' ')).all(|word| WORDS.contains(&word))
}

/// What the plans of a query say, the later ones of adaptive execution included.
#[derive(Debug, Default)]
pub(super) struct QueryPlan {
    /// The operators that were compiled together, by the name that they have together, in the order
    /// of the data. `None` if a subquery has the same name for others.
    compiled: BTreeMap<String, Option<Vec<String>>>,
}

impl QueryPlan {
    /// Adds a plan of the query, which replaces what earlier ones said.
    pub fn add(&mut self, root: &PlanNode) {
        let mut found: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
        let mut nodes = vec![root];
        while let Some(node) = nodes.pop() {
            nodes.extend(&node.children);
            if node.name.starts_with(CODEGEN) {
                let mut operators = Vec::new();
                node.children.iter().for_each(|child| compiled(child, &mut operators));
                found
                    .entry(node.name.clone())
                    .and_modify(|known| {
                        if known.as_ref() != Some(&operators) {
                            *known = None;
                        }
                    })
                    .or_insert(Some(operators));
            }
        }
        self.compiled.extend(found);
    }
}

/// Adds the operators from `node` to the inputs of the compiled part, in the order of the data.
fn compiled(node: &PlanNode, operators: &mut Vec<String>) {
    if node.name == INPUT {
        return;
    }
    for child in &node.children {
        compiled(child, operators);
    }
    operators.push(node.name.clone());
}

/// What the events of a stage say about its operators.
#[derive(Debug)]
pub(super) struct StageOperators {
    /// The query of the stage.
    pub query: u64,
    /// The operators that made the RDDs of the stage, in the order of the data. Neighbours differ.
    scopes: Vec<String>,
    /// Whether an exchange started the job of the stage: to sample its input for the bounds of a
    /// range partitioning, or, in adaptive execution, to shuffle.
    is_of_exchange: bool,
}

/// A scope of RDD operations, as `RDDOperationScope` writes it.
#[derive(Deserialize)]
struct OperationScope {
    name: String,
}

impl OperationScope {
    fn name(json: Option<&str>) -> Option<String> {
        serde_json::from_str::<Self>(json?).ok().map(|scope| scope.name.trim().to_owned())
    }
}

impl StageOperators {
    /// `job_scope` is the scope in which the job of the stage was started.
    pub fn new(query: u64, rdds: &[RddInfo], job_scope: Option<&str>) -> Self {
        // An RDD has a higher number than those that it reads.
        let mut rdds: Vec<&RddInfo> = rdds.iter().collect();
        rdds.sort_by_key(|rdd| rdd.id);
        let mut scopes: Vec<String> =
            rdds.iter().filter_map(|rdd| OperationScope::name(rdd.scope.as_deref())).collect();
        scopes.dedup();
        let job_scope = OperationScope::name(job_scope);
        let is_of_exchange = job_scope.is_some_and(|name| EXCHANGES.contains(&name.as_str()));
        Self { query, scopes, is_of_exchange }
    }

    /// The name of the stage; `None` if its operators are unknown. `has_shuffled` says whether it
    /// wrote shuffle data.
    pub fn stage_name(&self, plan: Option<&QueryPlan>, has_shuffled: bool) -> Option<String> {
        let mut words: Vec<String> = Vec::new();
        // Each operator once: the branches of a join have the same.
        let mut add = |word: Option<String>| match word {
            Some(word) if !words.contains(&word) => words.push(word),
            _ => {}
        };
        let (last, others) = self.scopes.split_last()?;
        for scope in others {
            operators(scope, plan).for_each(&mut add);
        }
        let output = match operator(last).as_deref() {
            Some(EXCHANGE) if !others.is_empty() => match self.is_of_exchange && !has_shuffled {
                true => SAMPLE,
                false => EXCHANGE,
            },
            Some(BROADCAST) => BROADCAST,
            _ => "",
        };
        if output.is_empty() {
            operators(last, plan).for_each(&mut add);
        } else {
            // The stage may begin with another exchange.
            words.push(output.to_owned());
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// The words for a scope: one, or those of the operators that were compiled together.
fn operators<'a>(
    scope: &'a str,
    plan: Option<&'a QueryPlan>,
) -> impl Iterator<Item = Option<String>> + 'a {
    let compiled = plan.and_then(|plan| plan.compiled.get(scope)?.as_deref()).unwrap_or_default();
    compiled.iter().map(|name| operator(name)).chain(std::iter::once(operator(scope)))
}

/// The words for an operator; `None` if it says nothing about a stage, or is not one of a plan.
fn operator(name: &str) -> Option<String> {
    let name = name.trim();
    if LEFT_OUT.contains(&name) || name.starts_with(CODEGEN) {
        return None;
    }
    if EXCHANGES.contains(&name) {
        return Some(EXCHANGE.to_owned());
    }
    if WRITES.iter().any(|start| name.starts_with(start)) {
        return Some("write".to_owned());
    }
    // Operations on RDDs, such as `mapPartitionsInternal`, begin with a small letter.
    let mut parts = name.split_whitespace();
    let first = parts.next().filter(|first| first.starts_with(|c: char| c.is_ascii_uppercase()))?;
    let mut words = separated(first)?;
    if let Some(source) = parts.next().filter(|source| SOURCES.contains(source)) {
        words.push(' ');
        words.push_str(&source.to_ascii_lowercase());
    }
    Some(words)
}

/// The words of a name such as `BroadcastHashJoin`, in small letters; `None` if it has anything but
/// letters.
fn separated(name: &str) -> Option<String> {
    if !name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let is_upper = |at: usize| letters.get(at).is_some_and(char::is_ascii_uppercase);
        let is_lower = |at: usize| letters.get(at).is_some_and(char::is_ascii_lowercase);
        let starts = index > 0
            && is_upper(index)
            && (is_lower(index - 1) || (is_upper(index - 1) && is_lower(index + 1)));
        if starts {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::super::events::StorageLevel;
    use super::*;

    fn node(name: &str, children: Vec<PlanNode>) -> PlanNode {
        PlanNode { name: name.to_owned(), children }
    }

    fn rdd(id: u32, scope: &str) -> RddInfo {
        RddInfo {
            id,
            level: StorageLevel::default(),
            scope: Some(serde_json::json!({ "id": "7", "name": scope }).to_string()),
        }
    }

    fn name(scopes: &[&str], plan: &QueryPlan) -> Option<String> {
        let rdds: Vec<RddInfo> = (0..).zip(scopes).map(|(id, scope)| rdd(id, scope)).collect();
        StageOperators::new(0, &rdds, None).stage_name(Some(plan), true)
    }

    #[test]
    fn names_of_operators_become_words() {
        let expected = [
            ("Scan text ", Some("scan text")),
            ("Scan parquet spark_catalog.default.payroll", Some("scan parquet")),
            ("Scan JDBCRelation(payroll) [numPartitions=1]", Some("scan")),
            ("BatchScan payroll", Some("batch scan")),
            ("BroadcastHashJoin", Some("broadcast hash join")),
            ("RDDScan", Some("rdd scan")),
            ("TakeOrderedAndProject", Some("take ordered and project")),
            ("Execute InsertIntoHadoopFsRelationCommand", Some("write")),
            ("AQEShuffleRead", Some("exchange")),
            ("Project", None),
            ("WholeStageCodegen (3)", None),
            ("mapPartitionsInternal", None),
            ("", None),
        ];
        for (name, words) in expected {
            assert_eq!(operator(name).as_deref(), words, "{name}");
            assert!(words.is_none_or(is_of_operators), "{name}");
        }
        for name in ["acme", "scan acme", "sort at acme.py:3", "sort,filter", ""] {
            assert!(!is_of_operators(name), "{name}");
        }
    }

    #[test]
    fn a_stage_has_the_operators_that_were_compiled_together() {
        let scan = node("Scan text ", vec![]);
        let first = node(CODEGEN_1, vec![node("Project", vec![node("Filter", vec![input(scan)])])]);
        let exchange = node("Exchange", vec![first]);
        let second = node("HashAggregate", vec![node("Sort", vec![input(exchange)])]);
        let mut plan = QueryPlan::default();
        plan.add(&node(
            "Execute InsertIntoHadoopFsRelationCommand",
            vec![node(CODEGEN_2, vec![second])],
        ));
        let map = ["Scan text ", "Scan text ", CODEGEN_1, "Exchange"];
        assert_eq!(name(&map, &plan).as_deref(), Some("scan text, filter, exchange"));
        let reduce = ["Exchange", CODEGEN_2, "mapPartitionsInternal", "WriteFiles"];
        assert_eq!(name(&reduce, &plan).as_deref(), Some("exchange, sort, hash aggregate, write"));
        let both = ["Exchange", CODEGEN_2, "Exchange"];
        assert_eq!(name(&both, &plan).as_deref(), Some("exchange, sort, hash aggregate, exchange"));
        assert_eq!(name(&["Exchange", "collect"], &plan).as_deref(), Some("exchange"));
        assert_eq!(name(&["Exchange"], &plan).as_deref(), Some("exchange"));
        assert_eq!(name(&["map", "collect"], &plan), None);
        assert_eq!(name(&[], &plan), None);
    }

    const CODEGEN_1: &str = "WholeStageCodegen (1)";
    const CODEGEN_2: &str = "WholeStageCodegen (2)";

    fn input(child: PlanNode) -> PlanNode {
        node(INPUT, vec![child])
    }

    #[test]
    fn a_later_plan_replaces_an_earlier_one_and_a_name_for_two_parts_says_nothing() {
        let part = |operator| node(CODEGEN_1, vec![node(operator, vec![])]);
        let mut plan = QueryPlan::default();
        plan.add(&part("Filter"));
        let scopes = ["Scan text ", CODEGEN_1];
        assert_eq!(name(&scopes, &plan).as_deref(), Some("scan text, filter"));
        plan.add(&part("Sort"));
        assert_eq!(name(&scopes, &plan).as_deref(), Some("scan text, sort"));
        plan.add(&node("Union", vec![part("Sort"), part("Filter")]));
        assert_eq!(name(&scopes, &plan).as_deref(), Some("scan text"));
    }

    #[test]
    fn a_stage_that_an_exchange_starts_and_that_shuffles_nothing_samples() {
        let rdds = [rdd(9, "Exchange"), rdd(7, "Scan text "), rdd(8, "Scan text ")];
        let scope = r#"{"id":"spark_plan_51","name":"Exchange"}"#;
        let of_exchange = StageOperators::new(0, &rdds, Some(scope));
        assert_eq!(of_exchange.stage_name(None, false).as_deref(), Some("scan text, sample"));
        assert_eq!(of_exchange.stage_name(None, true).as_deref(), Some("scan text, exchange"));
        let other = StageOperators::new(0, &rdds, None);
        assert_eq!(other.stage_name(None, false).as_deref(), Some("scan text, exchange"));
        let broken = [
            RddInfo { id: 1, scope: Some("{".to_owned()), level: StorageLevel::default() },
            RddInfo { id: 2, scope: None, level: StorageLevel::default() },
        ];
        assert_eq!(StageOperators::new(0, &broken, None).stage_name(None, true), None);
    }
}

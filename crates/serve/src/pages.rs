//! The pages of the server itself: statistics, metrics and the dashboard. Only clients on this
//! machine get them.

use crate::body::Content;
use crate::site::{Served, Site};
use crate::stats::ServeStats;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;

/// The paths of the server's own pages begin with this.
pub(crate) const PREFIX: &str = "/-/";

const DASHBOARD: &str = include_str!("dashboard.html");

/// The page of a path; `None` if it is a path of the site.
pub(crate) fn answer(site: &Arc<Site>, head: &http::request::Parts) -> Option<Served> {
    let (kind, text) = match head.uri.path() {
        "/-/stats" => ("application/json", json(site)),
        "/-/metrics" => ("text/plain; version=0.0.4", metrics(&ServeStats::of(site))),
        "/-/cache" => ("text/html; charset=utf-8", DASHBOARD.to_owned()),
        _ => return None,
    };
    if head.method != Method::GET && head.method != Method::HEAD {
        return Some(Served::error(StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD only\n"));
    }
    let mut response = Response::new(Content::Bytes(Bytes::from(text)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Some(Served { response, status: None })
}

pub(crate) fn json(site: &Site) -> String {
    serde_json::to_string(&ServeStats::of(site)).expect("numbers and names")
}

/// All numbers of the statistics in the text format of Prometheus: the keys of JSON with `_`
/// between them. What only grows is a counter.
fn metrics(stats: &ServeStats) -> String {
    let mut out = String::new();
    let value = serde_json::to_value(stats).expect("numbers and names");
    numbers("gordon_cache", &value, &mut out);
    out
}

fn numbers(name: &str, value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                numbers(&format!("{name}_{key}"), value, out);
            }
        }
        Value::Number(number) => {
            // Writing to a `String` does not fail.
            let _ = writeln!(out, "# TYPE {name} untyped\n{name} {number}");
        }
        Value::Array(list) => {
            let _ = writeln!(out, "# TYPE {name} untyped");
            for (place, number) in list.iter().enumerate().filter(|(_, value)| value.is_number()) {
                let _ = writeln!(out, "{name}{{class=\"{}xx\"}} {number}", place + 1);
            }
        }
        _ => {}
    }
}

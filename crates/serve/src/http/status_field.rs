//! Cache-Status (RFC 9211), and how requests are counted by it.

use http::HeaderValue;
use std::fmt::Write as _;

/// How a request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CacheResult {
    /// From DRAM or flash, fresh.
    Dram,
    Flash,
    /// Stale, because that was allowed.
    Stale,
    /// From the cache, after the origin said that it is current.
    Revalidated,
    /// Not in the cache.
    Miss,
    /// In the cache, but no longer current.
    Expired,
    /// Not looked up.
    Bypass,
}

/// The parts of the field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheStatus {
    pub result: CacheResult,
    /// Seconds that a hit stays fresh; negative if it is stale.
    pub ttl_s: Option<i64>,
    /// The status of the origin's response.
    pub forwarded_status: Option<u16>,
    /// The response will be stored.
    pub is_stored: bool,
    /// The request waited for the fetch of another one.
    pub is_collapsed: bool,
    /// Why a request was not looked up.
    pub why: &'static str,
}

impl CacheStatus {
    pub fn new(result: CacheResult) -> Self {
        Self {
            result,
            ttl_s: None,
            forwarded_status: None,
            is_stored: false,
            is_collapsed: false,
            why: "bypass",
        }
    }

    pub fn bypass(why: &'static str) -> Self {
        Self { why, ..Self::new(CacheResult::Bypass) }
    }

    /// The value of the field.
    pub fn value(&self) -> HeaderValue {
        let fixed = match (self.result, self.ttl_s) {
            (CacheResult::Dram, None) => Some("gordon; hit; detail=dram"),
            (CacheResult::Flash, None) => Some("gordon; hit; detail=flash"),
            _ => None,
        };
        if let Some(fixed) = fixed {
            return HeaderValue::from_static(fixed);
        }
        let mut text = String::from("gordon");
        text.push_str(match self.result {
            CacheResult::Dram => "; hit; detail=dram",
            CacheResult::Flash => "; hit; detail=flash",
            CacheResult::Stale => "; hit; detail=stale",
            CacheResult::Revalidated | CacheResult::Expired => "; fwd=stale",
            CacheResult::Miss => "; fwd=uri-miss",
            CacheResult::Bypass => "; fwd=",
        });
        if self.result == CacheResult::Bypass {
            text.push_str(self.why);
        }
        // Writing to a `String` does not fail.
        if let Some(ttl) = self.ttl_s {
            let _ = write!(text, "; ttl={ttl}");
        }
        if let Some(status) = self.forwarded_status {
            let _ = write!(text, "; fwd-status={status}");
        }
        for (is_set, name) in [(self.is_stored, "; stored"), (self.is_collapsed, "; collapsed")] {
            if is_set {
                text.push_str(name);
            }
        }
        HeaderValue::from_str(&text).expect("only ASCII is written")
    }
}

//! The state that all threads of a server share.

use super::budget::MemoryPool;
use super::inbox::Inbox;
use super::options::{ClientEvent, ConnectionLimits, EventCallback};
use super::tls::Tls;
use crate::codec::Offer;
use crate::codec::handshake::TlsPolicy;
use crate::export::Export;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The state that all threads of a server share.
pub(super) struct ServerState {
    pub(super) exports: Vec<Arc<dyn Export>>,
    pub(super) offers: Arc<[Offer]>,
    pub(super) tls: Option<Tls>,
    pub(super) limits: ConnectionLimits,
    pub(super) memory_pool: Arc<MemoryPool>,
    pub(super) on_event: Option<EventCallback>,
    pub(super) clients: Mutex<BTreeMap<u64, Arc<Inbox>>>,
    /// Notified when a client is removed from `clients`.
    pub(super) client_left: Condvar,
}

impl ServerState {
    pub(super) fn tls_policy(&self) -> TlsPolicy {
        match &self.tls {
            None => TlsPolicy::Off,
            Some(tls) if tls.required => TlsPolicy::Required,
            Some(_) => TlsPolicy::Offered,
        }
    }

    pub(super) fn clients(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Inbox>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn emit(&self, event: &ClientEvent) {
        if let Some(on_event) = &self.on_event {
            on_event(event);
        }
    }
}

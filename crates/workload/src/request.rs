//! A request for a file, and the interface of the models that generate requests.

use gordon_units::Ns;

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Static,
    Get,
    Advertisement,
    Post,
    Cgi,
}

impl RequestKind {
    pub(crate) const ALL: [Self; 5] =
        [Self::Static, Self::Get, Self::Advertisement, Self::Post, Self::Cgi];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Static => "static",
            Self::Get => "dynamic-get",
            Self::Advertisement => "dynamic-get-advertisement",
            Self::Post => "dynamic-post",
            Self::Cgi => "dynamic-get-cgi",
        }
    }
}

/// One request of a client for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRequest {
    pub(crate) at: Ns,
    pub(crate) client: u32,
    pub(crate) file: u32,
    pub(crate) kind: RequestKind,
}

/// Generates the requests of all clients, in order of time.
pub(crate) trait ClientModel {
    /// The sizes of the files, by file number.
    fn sizes(&self) -> &[u32];
    /// Generates the next request.
    fn next(&mut self) -> FileRequest;
}

//! A request for a file, and who makes it.

use gordon_units::Ns;

/// What a request is.
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

/// One request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRequest {
    pub(crate) at: Ns,
    pub(crate) client: u32,
    pub(crate) file: u32,
    pub(crate) kind: RequestKind,
}

/// Something that asks for files, in order of time.
pub(crate) trait ClientModel {
    /// The files' sizes, by their numbers.
    fn sizes(&self) -> &[u32];
    /// The next request.
    fn next(&mut self) -> FileRequest;
}

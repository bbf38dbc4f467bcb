//! External programs as variants: a request in a file, a result in a file, and nothing taken on trust.
//!
//! The program finds the request's path in `NCUGATE_REQUEST`. It reports differences and samples. This module decides whether
//! they are within the tolerance and complete.

mod error;
mod measure;
mod prestarted;
mod request;
mod result;

pub use error::ExternalError;
pub use measure::measure;
pub use prestarted::PrestartedCommand;
pub use request::{PROTOCOL, Request, RequestMode, RequestShape, command};
pub use result::{ExternalRecords, unmeasured};

//! A budget instead of a grid: strategies that propose variants, and what they did.

mod candidates;
mod chosen;
mod encoding;
mod explore;
mod facts;
mod forest;
mod proposer;
mod recorded;
mod replay;

pub use candidates::{Candidates, Listed, candidates};
pub use chosen::{ChosenError, with_chosen};
pub use encoding::{Encoding, Scale};
pub use explore::{Exploration, Explored, SearchError};
pub use proposer::{Proposal, Proposer, Trial};
pub use recorded::{RecordedError, RecordedSpace};
pub use replay::{Learning, ReplayScore, ReplaySettings, replay};

//! Search under a budget instead of a grid: strategies that propose variants, and their history.

mod answer;
mod attempt;
mod candidates;
mod duplicates;
mod explore;
mod facts;
mod finalist_phase;
mod history;
mod next;
mod proposer;
mod trial;

pub use answer::{ANSWER_BYTES, AgentFinding, AgentTime, AttemptAnswer, line};
pub use attempt::{AttemptError, AttemptPhase, AttemptSource, attempt_phase, usual_params};
pub use candidates::{PointList, PointSource, candidates};
pub use explore::{Exploration, SearchError, SearchOutcome};
pub use finalist_phase::{ChosenError, with_chosen};
pub use history::{AttemptHistory, AttemptRecord, MAX_SOURCE};
pub use next::{NextAnswer, NextPoint, next, untried};
pub use proposer::Proposer;
pub use trial::SearchTrial;

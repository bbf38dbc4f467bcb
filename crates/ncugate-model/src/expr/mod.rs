//! The small language of requirements, grids, shapes, scalars, `where` and templates.
//!
//! A text is split into tokens and parsed once, into a tree whose nodes know their bytes ([`Node`]). The tree is then
//! evaluated over named scalars ([`Expr`], [`Template`]), or bound to operands and evaluated for many variants
//! ([`Requirement`], in `judge`). The language has no loops, no growing texts and no wrapping integers. The callers
//! define the meaning of names.

mod ast;
mod eval;
mod expression;
mod limit;
mod parse;
mod requirement;
mod template;
mod token;
mod trivial;
mod unit;
mod value;

pub use ast::{Arithmetic, Comparison, Node, NodeKind, Owner, Quantity, Reference, Span};
pub use eval::{EvalError, EvalResult};
pub use expression::{Expr, ExprError};
pub use limit::UnitError;
pub use requirement::{Form, Reads, Requirement, RequirementError};
pub use template::{Template, render};
pub use trivial::{Source, Trivial};
pub use unit::Unit;
pub use value::{Names, Value};

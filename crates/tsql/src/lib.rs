//! T-SQL as text: the lexer, the parser and the tree. Pure: knows no catalog, no session, no types beyond literals.
//!
//! The front door is [`parse_batch`]: it turns one batch into a [`ast::Batch`] or the one syntax error that the
//! client sees. Names are not resolved and nothing is checked against a catalog; that is the binder's work.

#![forbid(unsafe_code)]

pub mod ast;
pub mod keywords;
mod lexer;
pub mod names;
mod parser;
mod shape;
#[cfg(test)]
mod tests;

pub use parser::{
    ParseOptions, parse_batch, parse_condition, parse_expression, parse_name, parse_parameters,
};
pub use shape::shape_hash;

/// How high a tree may grow: deeper text is refused with error 191, so that recursive walks find enough stack
/// ([`duramen_os::stack::RESERVE`] is made for this height).
pub const MAX_HEIGHT: usize = 2000;

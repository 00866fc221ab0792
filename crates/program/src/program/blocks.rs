//! TRY and CATCH blocks while a program is compiled: what BREAK, CONTINUE and GOTO leave on their way.
//!
//! At run time an open TRY block is an entry in a list, and so is the error of a running CATCH block. A jump out of
//! them takes its entries away first ([`Op::Unwind`]); a jump into them is an error (1026).

use super::Op;

/// A block that is open where the compiler is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Each block of a program has its own.
    pub id: u32,
    pub catch: bool,
}

/// What a jump from within `inner` to where only its first `keep` blocks are open takes away; `None`: nothing.
pub fn leaving(inner: &[Block], keep: usize) -> Option<Op> {
    let left = inner.get(keep..).unwrap_or_default();
    let catches = left.iter().filter(|b| b.catch).count();
    let tries = left.len() - catches;
    (!left.is_empty()).then_some(Op::Unwind { tries, catches })
}

/// How many blocks stay open in a jump from `from` to `to`; `None` for a jump into a block.
pub fn common(from: &[Block], to: &[Block]) -> Option<usize> {
    from.starts_with(to).then_some(to.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_leave_blocks_but_do_not_enter_them() {
        let block = |id, catch| Block { id, catch };
        let outer = [block(1, false)];
        let inner = [block(1, false), block(2, true), block(3, false)];
        assert_eq!(common(&inner, &outer), Some(1));
        assert_eq!(common(&outer, &inner), None);
        assert_eq!(common(&[block(4, false)], &outer), None);
        assert!(matches!(
            leaving(&inner, 1),
            Some(Op::Unwind {
                tries: 1,
                catches: 1
            })
        ));
        assert!(leaving(&inner, 3).is_none());
    }
}

//! The stack that is left to the calling thread, and more of it where a deep walk needs it.
//!
//! A statement decides how deep the walks over it go: its parentheses, its views over views, its chains of common table
//! expressions. Two things together keep any of them from running off the end of a stack:
//!
//! 1. What makes trees (the parser, the binder) bounds how high they grow, and refuses more with an error.
//! 2. Recursions with large frames, and whoever begins a statement, go through [`deep`]: whatever runs inside has
//!    [`RESERVE`] bytes at least, on a further segment when the thread's own stack has no more.
//!
//! So a walk with small frames over a tree of bounded height (comparing, copying, evaluating, dropping) needs no care of
//! its own: the reserve is made for the highest tree.

use std::cell::Cell;

/// Unoptimised code keeps every temporary in a place of its own.
const WIDE: usize = if cfg!(debug_assertions) { 4 } else { 1 };

/// What is left of the stack, in bytes, to whoever was called through [`deep`].
pub const RESERVE: usize = WIDE * (4 << 20);

/// Bytes of a further segment: address space, of which only what is used becomes memory, until the call returns.
const SEGMENT: usize = 2 * RESERVE;

/// The stack of threads that are started by [`crate::thread`], in bytes: address space as well.
pub(crate) const OF_THREAD: usize = 2 * RESERVE;

/// Further segments of one thread before [`is_spent`] says so.
const SEGMENTS_MAX: u32 = 16;

thread_local! {
    /// Below this address a call goes to a further segment; all ones until the thread has asked for its bounds.
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
    static SEGMENTS: Cell<u32> = const { Cell::new(0) };
}

/// About where the stack ends at this moment.
#[inline(always)]
fn here() -> usize {
    let mark = 0_u8;
    std::ptr::from_ref(&mark).addr()
}

/// Runs `f` with [`RESERVE`] bytes of stack at least. A comparison, while the thread's own stack has them.
#[inline(always)]
pub fn deep<R>(f: impl FnOnce() -> R) -> R {
    match here() > LIMIT.get() {
        true => f(),
        false => low(f),
    }
}

/// Whether the thread has as much stack as a statement may have: who can refuse to go deeper does so.
#[inline]
pub fn is_spent() -> bool {
    SEGMENTS.get() >= SEGMENTS_MAX
}

/// The address below which less than the reserve is left, where the system tells.
fn limit() -> Option<usize> {
    let left = stacker::remaining_stack()?;
    Some(here().saturating_sub(left).saturating_add(RESERVE))
}

#[cold]
#[inline(never)]
fn low<R>(f: impl FnOnce() -> R) -> R {
    if LIMIT.get() == usize::MAX {
        LIMIT.set(limit().unwrap_or(0));
        if here() > LIMIT.get() {
            return f();
        }
    }
    let _outside = Outside {
        limit: LIMIT.get(),
        segments: SEGMENTS.get(),
    };
    SEGMENTS.set(SEGMENTS.get() + 1);
    stacker::grow(SEGMENT, || {
        LIMIT.set(limit().unwrap_or(0));
        f()
    })
}

/// What was before a further segment, put back when it is left, by a panic too.
struct Outside {
    limit: usize,
    segments: u32,
}

impl Drop for Outside {
    fn drop(&mut self) {
        LIMIT.set(self.limit);
        SEGMENTS.set(self.segments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses a kilobyte of stack a level and more.
    fn down(levels: usize) -> usize {
        deep(|| {
            let frame = std::hint::black_box([levels as u8; 1024]);
            match levels {
                0 => 0,
                n => down(n - 1) + 1 + usize::from(frame[0] != n as u8),
            }
        })
    }

    #[test]
    fn recursion_goes_on_where_a_stack_would_end() {
        let levels = 8 * SEGMENT / 1024;
        assert_eq!(down(levels), levels);
        assert!(!is_spent());
    }

    #[test]
    fn a_panic_on_a_further_segment_gives_it_back() {
        let unwound = std::panic::catch_unwind(|| {
            fn fall(levels: usize) -> usize {
                deep(|| {
                    let frame = std::hint::black_box([0_u8; 4096]);
                    assert!(levels > 0, "the bottom");
                    fall(levels - 1) + usize::from(frame[0])
                })
            }
            fall(3 * SEGMENT / 4096)
        });
        assert!(unwound.is_err());
        assert_eq!(SEGMENTS.get(), 0);
        assert_eq!(down(100), 100);
    }

    #[test]
    fn too_many_segments_are_said_to_be() {
        fn until_spent(levels: usize) -> usize {
            deep(|| {
                let frame = std::hint::black_box([0_u8; 64 << 10]);
                match is_spent() {
                    true => levels,
                    false => until_spent(levels + 1) + usize::from(frame[9]),
                }
            })
        }
        let levels = until_spent(0);
        assert!(levels > 100, "{levels}");
        assert!(!is_spent());
    }
}

//! A page under a latch: what is on it, and which page of which database it is.

use std::ops::Deref;

use duramen_base::{DbId, PageId, SqlError, SqlResult};
use duramen_format::alloc::Iam;
use duramen_format::page::PageRef;
use duramen_format::{FormatError, FormatResult, RowRef};

use super::{db_of, page_of};
use crate::error::corrupt;

/// A latched page, which says itself that it contradicts itself: 824, with its name. Whoever words such an error otherwise
/// asks the [`PageRef`] behind it.
#[derive(Clone, Copy)]
pub struct PageAt<'a> {
    page: PageRef<'a>,
    key: u64,
}

impl<'a> PageAt<'a> {
    #[inline]
    pub(super) fn new(page: PageRef<'a>, key: u64) -> PageAt<'a> {
        PageAt { page, key }
    }

    /// The page that was asked for. What its header says ([`PageRef::page_id`]) may be another.
    #[inline]
    pub fn id(self) -> PageId {
        page_of(self.key)
    }

    /// The row of a slot, which must have one.
    #[inline]
    pub fn row(self, slot: u16) -> SqlResult<RowRef<'a>> {
        self.sound(self.page.expect_record(slot))
    }

    /// The row of a slot, if it has one.
    #[inline]
    pub fn row_or_none(self, slot: u16) -> SqlResult<Option<RowRef<'a>>> {
        self.sound(self.page.record(slot))
    }

    /// The page as a part of an IAM chain, which it must be.
    #[inline]
    pub fn iam(self) -> SqlResult<Iam<'a>> {
        self.sound(Iam::new(self.page.bytes()))
    }

    /// What was read from the page's bytes, or 824.
    #[inline]
    pub fn sound<T>(self, read: FormatResult<T>) -> SqlResult<T> {
        match read {
            Ok(value) => Ok(value),
            Err(e) => Err(self.corrupt(e)),
        }
    }

    /// 824 for what the page's bytes contradict.
    #[cold]
    pub fn corrupt(self, error: FormatError) -> SqlError {
        corrupt(DbId(db_of(self.key)), self.id(), error)
    }
}

impl<'a> Deref for PageAt<'a> {
    type Target = PageRef<'a>;

    #[inline]
    fn deref(&self) -> &PageRef<'a> {
        &self.page
    }
}

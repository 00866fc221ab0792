//! Rows and pages of an allocation unit, counted on its pages; how full they are.

use duramen_base::PageId;
use duramen_format::alloc::pfs;
use duramen_format::page::{PageRef, page_type, record_kind};
use duramen_format::{PageBytes, RowRef};
use duramen_storage::class_of;

/// Pages with a wrong class that are remembered of a unit: B-trees, which keep no class, have them all.
const MAX_WRONG: usize = 16;

/// Rows of one allocation unit, found on its pages.
#[derive(Clone, Default, Debug)]
pub(super) struct Counted {
    /// On data pages; forwarded rows are counted where their stub is.
    pub data: i64,
    /// On index pages of level 0: the rows of a nonclustered index. (Inner pages of a clustered one may say 0 as well.)
    pub index: i64,
    pub data_pages: u64,
    pub index_pages: u64,
    pub text_pages: u64,
    /// All, IAM pages included.
    pub pages: u64,
    /// Pages whose class of fullness is not what the PFS says, the first of them: page, PFS class, class.
    pub wrong_class: Vec<(PageId, u8, u8)>,
}

impl Counted {
    /// Counts a sound page, whose PFS byte this is.
    pub fn add(&mut self, page: &PageBytes, byte: u8) {
        let p = PageRef::new(page);
        let (said, class) = (byte & pfs::FULLNESS, class_of(p));
        let kept = matches!(
            p.page_type(),
            page_type::DATA | page_type::TEXT_MIX | page_type::TEXT_TREE
        );
        if kept && said != class && self.wrong_class.len() < MAX_WRONG {
            self.wrong_class.push((p.page_id(), said, class));
        }
        let is_row = |r: RowRef<'_>| !r.is_ghost() && r.kind() != record_kind::FORWARDED;
        let rows = || {
            let found =
                (0..p.slot_count()).filter(|s| matches!(p.record(*s), Ok(Some(r)) if is_row(r)));
            found.count() as i64
        };
        self.pages += 1;
        match p.page_type() {
            page_type::TEXT_MIX | page_type::TEXT_TREE => self.text_pages += 1,
            page_type::DATA => {
                self.data += rows();
                self.data_pages += 1;
            }
            page_type::INDEX if p.level() == 0 => {
                self.index += rows();
                self.index_pages += 1;
            }
            _ => {}
        }
    }

    pub fn merge(&mut self, other: Counted) {
        self.data += other.data;
        self.index += other.index;
        self.data_pages += other.data_pages;
        self.index_pages += other.index_pages;
        self.text_pages += other.text_pages;
        self.pages += other.pages;
        self.wrong_class.extend(other.wrong_class);
        self.wrong_class.sort_unstable();
        self.wrong_class.truncate(MAX_WRONG);
    }

    /// `pcdata`
    pub fn leaves(&self) -> u64 {
        match (self.data_pages, self.text_pages) {
            (0, 0) => self.index_pages,
            (data, text) => data + text,
        }
    }

    pub fn rows(&self) -> i64 {
        if self.data_pages > 0 {
            self.data
        } else {
            self.index
        }
    }
}

/// How full a page is, as messages write it.
pub(super) fn fullness_name(byte: u8) -> &'static str {
    match byte & pfs::FULLNESS {
        0 => "0_PCT_FULL",
        1 => "50_PCT_FULL",
        2 => "80_PCT_FULL",
        3 => "95_PCT_FULL",
        _ => "100_PCT_FULL",
    }
}

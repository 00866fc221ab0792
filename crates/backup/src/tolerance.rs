//! CONTINUE_AFTER_ERROR: damaged pages go along as they are, and are remembered.
//!
//! A set says by its pages where they belong, so each extent needs one page that says so: of an extent without a sound page
//! the first that is not all zeros has its number put right, and stays damaged.

use std::sync::Arc;

use duramen_base::PageId;
use duramen_os::sync::Mutex;

/// Whether damage is tolerated, and what was met. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Tolerance {
    met: Option<Arc<Mutex<Vec<PageId>>>>,
}

impl Tolerance {
    /// Damage is an error where `tolerant` is false.
    pub fn new(tolerant: bool) -> Tolerance {
        Tolerance {
            met: tolerant.then(Arc::default),
        }
    }

    pub fn is_tolerant(&self) -> bool {
        self.met.is_some()
    }

    pub(super) fn meet(&self, page: PageId) {
        if let Some(met) = &self.met {
            met.lock().push(page);
        }
    }

    /// The damaged pages that were taken along, each once, in order.
    pub fn met(&self) -> Vec<PageId> {
        let mut pages = self.met.as_ref().map_or(Vec::new(), |m| m.lock().clone());
        pages.sort_unstable();
        pages.dedup();
        pages
    }
}

//! A striped set: media that hold its extents and its log together.
//!
//! Every medium of the set has its own header, which says how many there are and which it is, and the same sets with the
//! same headers; pages and log blocks are each on one of them. Put together they are one [`Medium`] whose runs say on
//! which of the files they are.

use duramen_base::{SqlError, SqlResult, messages};

use super::read::{Medium, malformed};

impl Medium {
    /// Puts the media of one set together, in any order. 3132 when one is missing, 3227 when one is there twice, 3258 for
    /// one of another set, 3241 when their sets differ.
    pub fn joined(media: Vec<Medium>) -> SqlResult<Medium> {
        let mut media = media;
        media.sort_by_key(|m| m.media.number);
        let Some(first) = media.first() else {
            return Err(malformed(""));
        };
        let (guid, families) = (first.media.set_guid, first.media.families);
        if let Some(other) = media.iter().find(|m| m.media.set_guid != guid) {
            let args: [&dyn std::fmt::Display; 1] = [&other.shown];
            return Err(SqlError::new(&messages::MEDIUM_OF_ANOTHER_SET, &args));
        }
        let twice = media
            .windows(2)
            .find(|m| m[0].media.number == m[1].media.number);
        if let Some([one, other]) = twice {
            let args: [&dyn std::fmt::Display; 3] = [&other.shown, &other.media.number, &one.shown];
            return Err(SqlError::new(&messages::MEDIUM_GIVEN_TWICE, &args));
        }
        if media.len() != usize::from(families) {
            let args: [&dyn std::fmt::Display; 2] = [&families, &media.len()];
            return Err(SqlError::new(&messages::MEDIA_FAMILIES_MISSING, &args));
        }
        let mut all = media.into_iter();
        let Some(mut joined) = all.next() else {
            return Err(malformed(""));
        };
        for (i, other) in all.enumerate() {
            if other.sets.len() != joined.sets.len() {
                return Err(malformed(&other.shown));
            }
            for (set, part) in joined.sets.iter_mut().zip(&other.sets) {
                if set.header.guid != part.header.guid {
                    return Err(malformed(&other.shown));
                }
                let of_family = |run: &super::read::Run| super::read::Run {
                    family: i + 1,
                    ..*run
                };
                set.pages.extend(part.pages.iter().map(of_family));
                set.log.extend(part.log.iter().map(of_family));
                set.sums.extend(&part.sums);
                set.complete &= part.complete;
                set.stored += part.stored;
                set.header.checksums |= part.header.checksums;
            }
            joined.others.push(other);
        }
        for set in &mut joined.sets {
            // Log is laid and read in its order, which only ours tell.
            if set.header.own {
                set.log.sort_by_key(|run| (run.vlf, run.first_block));
            }
        }
        Ok(joined)
    }
}

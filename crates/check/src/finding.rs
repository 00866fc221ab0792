//! What a check finds: SQL Server's messages about one structure.

use std::fmt::Display;

use duramen_base::messages::Message;
use duramen_base::{AllocUnitId, PageId};

/// One thing that must not be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    pub number: u32,
    pub severity: u8,
    pub state: u8,
    pub page: Option<PageId>,
    /// The table it is about; `None`: it is not associated with any single object.
    pub object: Option<i32>,
    /// Index, partition and allocation unit, where the message names one.
    pub unit: Option<(i32, i64, i64)>,
    pub text: String,
}

impl Finding {
    /// Whether building indexes or writing counts anew is enough to repair it.
    pub fn is_rebuilt(&self) -> bool {
        let of_index = self.unit.is_some_and(|(index, ..)| index > 1);
        matches!(self.number, 2508 | 8914 | 8951 | 8952 | 8955 | 8956)
            || of_index && !self.is_allocation()
    }

    /// Whether it counts as an error of allocation, not of consistency.
    pub fn is_allocation(&self) -> bool {
        matches!(
            self.number,
            2575..=2577 | 2579 | 8903..=8906 | 8910 | 8913 | 8946..=8948 | 8959 | 8968 | 8969 | 8996 | 8998
        )
    }
}

/// An allocation unit as messages name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Whose {
    pub object: i32,
    pub index: i32,
    pub partition: i64,
    pub unit: AllocUnitId,
    /// 1 in-row data, 2 LOB data, 3 row-overflow data; 0 unknown.
    pub kind: u8,
}

impl Whose {
    /// A unit that the catalog does not have.
    pub fn unknown(unit: AllocUnitId) -> Whose {
        Whose {
            object: 0,
            index: -1,
            partition: 0,
            unit,
            kind: 0,
        }
    }

    /// What follows "type" in messages.
    pub fn kind_name(&self) -> &'static str {
        match self.kind {
            1 => "In-row data",
            2 => "LOB data",
            3 => "Row-overflow data",
            _ => "Unknown",
        }
    }

    /// A finding about the unit, which the message names first.
    pub fn finding(
        &self,
        message: &Message,
        page: Option<PageId>,
        rest: &[&dyn Display],
    ) -> Finding {
        self.finding_after(message, page, &[], rest)
    }

    /// The same with something before the unit.
    pub fn finding_after(
        &self,
        message: &Message,
        page: Option<PageId>,
        before: &[&dyn Display],
        rest: &[&dyn Display],
    ) -> Finding {
        let kind = self.kind_name();
        let AllocUnitId(unit) = self.unit;
        let own: [&dyn Display; 5] = [&self.object, &self.index, &self.partition, &unit, &kind];
        // Forwarded rows are a heap's: their messages name no index.
        let own: Vec<&dyn Display> = match message.number {
            8971 | 8972 => own
                .into_iter()
                .enumerate()
                .filter(|(i, _)| *i != 1)
                .map(|(_, v)| v)
                .collect(),
            _ => own.to_vec(),
        };
        let args: Vec<&dyn Display> = before.iter().chain(&own).chain(rest).copied().collect();
        Finding {
            number: message.number.unsigned_abs(),
            severity: message.severity,
            state: 1,
            page,
            object: (self.object != 0).then_some(self.object),
            unit: Some((self.index, self.partition, unit)),
            text: duramen_base::messages::format_message(message.text, &args),
        }
    }
}

/// A finding about no table.
pub(super) fn of_nobody(message: &Message, page: Option<PageId>, args: &[&dyn Display]) -> Finding {
    Finding {
        number: message.number.unsigned_abs(),
        severity: message.severity,
        state: 1,
        page,
        object: None,
        unit: None,
        text: duramen_base::messages::format_message(message.text, args),
    }
}

//! Lock modes and the two tables over them: which modes of different owners live together, and what a mode
//! becomes when its owner asks for another.
//!
//! A mode is a set of *components*: `SIX` is {S, IX}, `RangeS-U` is {range S, row U}. Two modes are compatible when
//! every pair of their components is, and a conversion is the smallest mode that covers both sets. The published
//! tables follow from the twelve components; `mode/tests.rs` holds them against those tables cell by cell.

/// A lock mode, in the order of SQL Server's mode numbers (`syslockinfo.req_mode` is this number + 1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum LockMode {
    SchS = 0,
    SchM,
    S,
    U,
    X,
    IS,
    IU,
    IX,
    SIU,
    SIX,
    UIX,
    BU,
    RangeSS,
    RangeSU,
    RangeIN,
    RangeIS,
    RangeIU,
    RangeIX,
    RangeXS,
    RangeXU,
    RangeXX,
}

use LockMode::*;

const C_SCH_S: u16 = 1;
const C_SCH_M: u16 = 1 << 1;
const C_BU: u16 = 1 << 2;
const C_IS: u16 = 1 << 3;
const C_IU: u16 = 1 << 4;
const C_IX: u16 = 1 << 5;
const C_S: u16 = 1 << 6;
const C_U: u16 = 1 << 7;
const C_X: u16 = 1 << 8;
const C_RANGE_S: u16 = 1 << 9;
const C_RANGE_I: u16 = 1 << 10;
const C_RANGE_X: u16 = 1 << 11;
const C_RANGES: u16 = C_RANGE_S | C_RANGE_I | C_RANGE_X;

const MODES: usize = 21;

impl LockMode {
    pub const ALL: [LockMode; MODES] = [
        SchS, SchM, S, U, X, IS, IU, IX, SIU, SIX, UIX, BU, RangeSS, RangeSU, RangeIN, RangeIS,
        RangeIU, RangeIX, RangeXS, RangeXU, RangeXX,
    ];

    const fn components(self) -> u16 {
        match self {
            SchS => C_SCH_S,
            SchM => C_SCH_M,
            S => C_S,
            U => C_U,
            X => C_X,
            IS => C_IS,
            IU => C_IU,
            IX => C_IX,
            SIU => C_S | C_IU,
            SIX => C_S | C_IX,
            UIX => C_U | C_IX,
            BU => C_BU,
            RangeSS => C_RANGE_S | C_S,
            RangeSU => C_RANGE_S | C_U,
            RangeIN => C_RANGE_I,
            RangeIS => C_RANGE_I | C_S,
            RangeIU => C_RANGE_I | C_U,
            RangeIX => C_RANGE_I | C_X,
            RangeXS => C_RANGE_X | C_S,
            RangeXU => C_RANGE_X | C_U,
            RangeXX => C_RANGE_X | C_X,
        }
    }

    /// May two owners hold these at the same time? Symmetric.
    #[inline]
    pub fn compatible(self, other: LockMode) -> bool {
        COMPATIBLE[self as usize] & (1 << other as u32) != 0
    }

    /// Whatever stands against `other` stands against `self`.
    #[inline]
    pub fn stands_against_all_of(self, other: LockMode) -> bool {
        COMPATIBLE[self as usize] & !COMPATIBLE[other as usize] == 0
    }

    /// The mode an owner holds after asking for `other` while holding `self`.
    #[inline]
    pub fn join(self, other: LockMode) -> LockMode {
        JOIN[self as usize][other as usize]
    }

    /// Does holding `self` already give what `other` asks for?
    #[inline]
    pub fn covers(self, other: LockMode) -> bool {
        self.join(other) as u8 == self as u8
    }

    /// The name in `sys.dm_tran_locks.request_mode`.
    pub const fn name(self) -> &'static str {
        match self {
            SchS => "Sch-S",
            SchM => "Sch-M",
            S => "S",
            U => "U",
            X => "X",
            IS => "IS",
            IU => "IU",
            IX => "IX",
            SIU => "SIU",
            SIX => "SIX",
            UIX => "UIX",
            BU => "BU",
            RangeSS => "RangeS-S",
            RangeSU => "RangeS-U",
            RangeIN => "RangeI-N",
            RangeIS => "RangeI-S",
            RangeIU => "RangeI-U",
            RangeIX => "RangeI-X",
            RangeXS => "RangeX-S",
            RangeXU => "RangeX-U",
            RangeXX => "RangeX-X",
        }
    }

    /// Does it lock the range below a key too?
    pub const fn is_range(self) -> bool {
        self.components() & C_RANGES != 0
    }

    /// Does it, on a table, stand for locks of this mode on everything in the table?
    pub fn covers_below(self, fine: LockMode) -> bool {
        match self {
            X | SchM => true,
            S | SIU | SIX => matches!(fine, S | IS | RangeSS),
            U | UIX => matches!(fine, S | U | IS | IU | RangeSS | RangeSU),
            _ => false,
        }
    }

    /// Is this one of the intent modes, which only announce finer locks?
    pub const fn is_intent(self) -> bool {
        matches!(self, IS | IU | IX)
    }
}

/// Which components live together with component `c`.
const fn friends(c: u16) -> u16 {
    let all = (1 << 12) - 1;
    let not_schema = all & !C_SCH_M;
    match c {
        C_SCH_S => not_schema,
        C_SCH_M => 0,
        C_BU => C_SCH_S | C_BU,
        C_IS => not_schema & !(C_BU | C_X),
        C_IU => not_schema & !(C_BU | C_U | C_X),
        C_IX => not_schema & !(C_BU | C_S | C_U | C_X),
        C_S => not_schema & !(C_BU | C_IX | C_X),
        C_U => not_schema & !(C_BU | C_IU | C_IX | C_U | C_X),
        C_X => C_SCH_S | C_RANGES,
        C_RANGE_S => not_schema & !(C_BU | C_RANGE_I | C_RANGE_X),
        C_RANGE_I => not_schema & !(C_BU | C_RANGE_S | C_RANGE_X),
        _ => not_schema & !(C_BU | C_RANGES),
    }
}

const fn sets_compatible(a: u16, b: u16) -> bool {
    let mut bit = 0;
    while bit < 12 {
        let c = 1 << bit;
        if a & c != 0 && b & !friends(c) != 0 {
            return false;
        }
        bit += 1;
    }
    true
}

const fn with_row(range: LockMode, s: LockMode, u: LockMode, x: LockMode, row: u16) -> LockMode {
    if row & C_X != 0 {
        x
    } else if row & C_U != 0 {
        u
    } else if row & C_S != 0 {
        s
    } else {
        range
    }
}

/// The weakest mode that covers the union of the sets.
const fn cover(all: u16) -> LockMode {
    if all & C_SCH_M != 0 {
        return SchM;
    }
    let set = all & !C_SCH_S; // every other mode keeps the schema stable too
    if set == 0 {
        return SchS;
    }
    if set == C_BU {
        return BU;
    }
    // A bulk load that also reads or writes by rows needs the table to itself.
    let set = if set & C_BU != 0 { set | C_X } else { set };
    if set & C_RANGES != 0 {
        // Ranges are of keys, intents of what holds keys: no resource sees both, but the algebra stays whole.
        let set = set | ((set & (C_IS | C_IU | C_IX)) << 3);
        let shared = set & C_RANGE_S != 0;
        let insert = set & C_RANGE_I != 0;
        if set & C_RANGE_X != 0 || (shared && insert) || (shared && set & C_X != 0) {
            return with_row(RangeXS, RangeXS, RangeXU, RangeXX, set);
        }
        if shared {
            return with_row(RangeSS, RangeSS, RangeSU, RangeXX, set);
        }
        return with_row(RangeIN, RangeIS, RangeIU, RangeIX, set);
    }
    if set & C_X != 0 {
        return X;
    }
    let ix = set & C_IX != 0;
    let iu = set & C_IU != 0;
    if set & C_U != 0 {
        return if ix { UIX } else { U };
    }
    if set & C_S != 0 {
        return if ix {
            SIX
        } else if iu {
            SIU
        } else {
            S
        };
    }
    if ix {
        IX
    } else if iu {
        IU
    } else {
        IS
    }
}

/// Bit `m` of row `n`: modes `n` and `m` are compatible.
static COMPATIBLE: [u32; MODES] = {
    let mut table = [0; MODES];
    let mut a = 0;
    while a < MODES {
        let mut b = 0;
        while b < MODES {
            if sets_compatible(LockMode::ALL[a].components(), LockMode::ALL[b].components()) {
                table[a] |= 1 << b;
            }
            b += 1;
        }
        a += 1;
    }
    table
};

static JOIN: [[LockMode; MODES]; MODES] = {
    let mut table = [[SchS; MODES]; MODES];
    let mut a = 0;
    while a < MODES {
        let mut b = 0;
        while b < MODES {
            table[a][b] = cover(LockMode::ALL[a].components() | LockMode::ALL[b].components());
            b += 1;
        }
        a += 1;
    }
    table
};

/// What several requests ask for together: the modes that all of them are compatible with.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModeSet(u32);

impl Default for ModeSet {
    fn default() -> ModeSet {
        ModeSet(u32::MAX)
    }
}

impl ModeSet {
    pub fn add(&mut self, mode: LockMode) {
        self.0 &= COMPATIBLE[mode as usize];
    }

    pub fn compatible(self, mode: LockMode) -> bool {
        self.0 & (1 << mode as u32) != 0
    }

    /// No mode is compatible with all of them.
    pub fn stands_against_all(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests;

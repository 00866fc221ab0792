//! Comparing strings under a collation.
//!
//! Two machines, as on the server: varchar under an `SQL_*` collation uses one weight per byte (sort order 52),
//! nvarchar uses word-sort rules: hyphen and apostrophe count last, `ß` is `ss`, `æ` is `ae`. Here every collation that is not
//! binary uses the first for varchar and the second for nvarchar (*assumed* for Windows collations of varchar).
//!
//! Both compare level by level: letters first, then accents, then case when the collation has it. Trailing blanks
//! never count: the shorter string is padded.
//!
//! *Assumed* (not verified against a server): the order among symbols (code order for varchar, the order of spreadsheet
//! programs on Windows for nvarchar), the places of ð, þ, ø, that accents are a second level for varchar, and that letters
//! outside Latin order by lower-case code point. Known: classes (symbols < digits < letters), `'a-c' < 'ab'`, `N'a-c' > N'ab'`,
//! that UTF-16 surrogates weigh nothing in these old collations (two emoji are equal).

use std::cmp::Ordering;
use std::hash::Hasher;

use duramen_base::{SqlResult, given_up};

use crate::cp1252;
use crate::{CollationId, Value};

/// Weights of a byte: primary in the high byte, accent in bits 1-7, upper case in bit 0.
const fn byte_weights() -> [u16; 256] {
    let mut table = [0u16; 256];
    let mut next = 1u16;
    // Symbols in code order, then digits, then letters.
    let mut b = 0;
    while b < 256 {
        let unit = byte_unit(b as u8);
        if letter(unit).0 == 0 && !(b >= b'0' as usize && b <= b'9' as usize) {
            table[b] = next << 8;
            next += 1;
        }
        b += 1;
    }
    let mut d = b'0';
    while d <= b'9' {
        table[d as usize] = next << 8;
        next += 1;
        d += 1;
    }
    let mut b = 0;
    while b < 256 {
        let (base, accent, upper) = letter(byte_unit(b as u8));
        if base != 0 {
            // Letters follow: at most 32 different bases, `next` is below 200 here.
            table[b] = (next + base as u16) << 8 | (accent as u16) << 1 | upper as u16;
        }
        b += 1;
    }
    table
}

const fn byte_unit(b: u8) -> u16 {
    cp1252::to_utf16(b)
}

/// Base letter (1..), accent (0 plain) and case of a Latin letter; `(0, 0, false)` for anything else.
/// æ, œ and ß have bases of their own here; nvarchar expands them before it asks.
const fn letter(u: u16) -> (u8, u8, bool) {
    // The order of the bases: a æ b c d ð e ... o œ ø ... s ß t þ ... z.
    const fn base(c: u8) -> u8 {
        let i = c - b'a' + 1;
        // Room for æ after a, ð after d, œ and ø after o, ß after s, þ after t.
        i + (c > b'a') as u8
            + (c > b'd') as u8
            + 2 * (c > b'o') as u8
            + (c > b's') as u8
            + (c > b't') as u8
    }
    const AE: u8 = base(b'a') + 1;
    const ETH: u8 = base(b'd') + 1;
    const OE: u8 = base(b'o') + 1;
    const OSLASH: u8 = base(b'o') + 2;
    const SHARP_S: u8 = base(b's') + 1;
    const THORN: u8 = base(b't') + 1;
    match u {
        0x41..=0x5a => (base(u as u8 + 32), 0, true),
        0x61..=0x7a => (base(u as u8), 0, false),
        // ª and º are forms of a and o.
        0xaa => (base(b'a'), 14, false),
        0xba => (base(b'o'), 14, false),
        0xd7 | 0xf7 => (0, 0, false),
        0xdf => (SHARP_S, 0, false),
        0xff => (base(b'y'), 4, false),
        0x178 => (base(b'y'), 4, true),
        0xc0..=0xfe => {
            let upper = u < 0xe0;
            let low = if upper { u + 0x20 } else { u };
            let (b, a) = match low {
                0xe0 => (base(b'a'), 1),
                0xe1 => (base(b'a'), 2),
                0xe2 => (base(b'a'), 3),
                0xe3 => (base(b'a'), 5),
                0xe4 => (base(b'a'), 4),
                0xe5 => (base(b'a'), 6),
                0xe6 => (AE, 0),
                0xe7 => (base(b'c'), 7),
                0xe8 => (base(b'e'), 1),
                0xe9 => (base(b'e'), 2),
                0xea => (base(b'e'), 3),
                0xeb => (base(b'e'), 4),
                0xec => (base(b'i'), 1),
                0xed => (base(b'i'), 2),
                0xee => (base(b'i'), 3),
                0xef => (base(b'i'), 4),
                0xf0 => (ETH, 0),
                0xf1 => (base(b'n'), 5),
                0xf2 => (base(b'o'), 1),
                0xf3 => (base(b'o'), 2),
                0xf4 => (base(b'o'), 3),
                0xf5 => (base(b'o'), 5),
                0xf6 => (base(b'o'), 4),
                0xf8 => (OSLASH, 0),
                0xf9 => (base(b'u'), 1),
                0xfa => (base(b'u'), 2),
                0xfb => (base(b'u'), 3),
                0xfc => (base(b'u'), 4),
                0xfd => (base(b'y'), 2),
                _ => (THORN, 0),
            };
            (b, a, upper)
        }
        0x152 => (OE, 0, true),
        0x153 => (OE, 0, false),
        0x160 => (base(b's'), 8, true),
        0x161 => (base(b's'), 8, false),
        0x17d => (base(b'z'), 8, true),
        0x17e => (base(b'z'), 8, false),
        // ƒ, a form of f.
        0x192 => (base(b'f'), 14, false),
        // Latin Extended-A: the base is the letter the best fit of the code page gives; the code point serves as accent.
        0x100..=0x17f => match cp1252::best_fit_letter(u) {
            0 => (0, 0, false),
            c @ b'A'..=b'Z' => (base(c + 32), 16 + ((u - 0x100) / 2) as u8 % 96, true),
            c => (base(c), 16 + ((u - 0x100) / 2) as u8 % 96, false),
        },
        _ => (0, 0, false),
    }
}

static BYTES: [u16; 256] = byte_weights();

const CASE: u16 = 1;
const ACCENT: u16 = 0xfe;

/// Which bits of a weight matter for equality under the collation.
#[inline]
fn mask(coll: CollationId) -> u16 {
    let mut m = 0xffff;
    if coll.ignores_case() || coll == CollationId::NONE {
        m &= !CASE;
    }
    if coll.ignores_accent() {
        m &= !ACCENT;
    }
    m
}

/// Length without trailing blanks.
#[inline]
pub fn trimmed(b: &[u8]) -> &[u8] {
    let mut n = b.len();
    while n > 0 && b[n - 1] == b' ' {
        n -= 1;
    }
    &b[..n]
}

/// The UTF-16 form of `trimmed`.
#[inline]
pub fn trimmed_units(u: &[u16]) -> &[u16] {
    let mut n = u.len();
    while n > 0 && u[n - 1] == b' ' as u16 {
        n -= 1;
    }
    &u[..n]
}

/// Orders two varchar values.
pub fn compare_bytes(a: &[u8], b: &[u8], coll: CollationId) -> Ordering {
    let (a, b) = (trimmed(a), trimmed(b));
    if coll.is_utf8() {
        // Windows rules on the decoded text, as for nvarchar.
        let a: Vec<u16> = String::from_utf8_lossy(a).encode_utf16().collect();
        let b: Vec<u16> = String::from_utf8_lossy(b).encode_utf16().collect();
        return compare_units(&a, &b, coll);
    }
    let n = a.len().min(b.len());
    if coll.is_binary() {
        return a[..n]
            .cmp(&b[..n])
            .then_with(|| padded(&a[n..], &b[n..], |x| *x as u16));
    }
    let mask = mask(coll);
    let mut later = Ordering::Equal;
    for (x, y) in a[..n].iter().zip(&b[..n]) {
        if x == y {
            continue;
        }
        let (x, y) = (BYTES[*x as usize], BYTES[*y as usize]);
        if x >> 8 != y >> 8 {
            return x.cmp(&y);
        }
        if later == Ordering::Equal {
            later = (x & mask).cmp(&(y & mask));
        }
    }
    padded(&a[n..], &b[n..], |x| BYTES[*x as usize] >> 8).then(later)
}

/// A number that stands to another string's as the strings stand, or is the same: the first eight weights. `None` where a
/// collation does not weigh byte by byte.
pub fn prefix(s: &[u8], coll: CollationId) -> Option<u64> {
    if coll.is_utf8() {
        return None;
    }
    let weight = |b: u8| match coll.is_binary() {
        true => b,
        false => (BYTES[b as usize] >> 8) as u8,
    };
    let mut weights = [weight(b' '); 8];
    for (w, b) in weights.iter_mut().zip(s) {
        *w = weight(*b);
    }
    Some(u64::from_be_bytes(weights))
}

/// Orders the tails of two strings, one of which is empty, as if it went on in blanks.
fn padded<T>(a: &[T], b: &[T], weight: impl Fn(&T) -> u16) -> Ordering
where
    T: From<u8>,
{
    let blank = weight(&T::from(b' '));
    for x in a {
        match weight(x).cmp(&blank) {
            Ordering::Equal => {}
            other => return other,
        }
    }
    for y in b {
        match blank.cmp(&weight(y)) {
            Ordering::Equal => {}
            other => return other,
        }
    }
    Ordering::Equal
}

/// The order of ASCII symbols for nvarchar; hyphen and apostrophe are not in it.
const SYMBOLS: &[u8] = b"\t\n\x0b\x0c\r !\"#$%&()*,./:;?@[\\]^_`{|}~+<=>";

/// One weighed element of a UTF-16 string.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Element {
    /// 0: compared at the last level only (hyphen, apostrophe).
    primary: u32,
    accent: u8,
    upper: bool,
    unit: u16,
}

/// The elements of a string: expansions made, weightless units dropped.
struct Elements<'a> {
    units: std::slice::Iter<'a, u16>,
    pending: Option<Element>,
}

fn elements(u: &[u16]) -> Elements<'_> {
    Elements {
        units: u.iter(),
        pending: None,
    }
}

const LETTERS: u32 = 1 << 8;
const OTHERS: u32 = 1 << 16;
const DIGITS: u32 = 0x80;

fn plain(primary: u32, unit: u16) -> Element {
    Element {
        primary,
        accent: 0,
        upper: false,
        unit,
    }
}

fn latin(c: u8, upper: bool, unit: u16) -> Element {
    Element {
        primary: LETTERS + letter(c as u16).0 as u32,
        accent: 0,
        upper,
        unit,
    }
}

impl Iterator for Elements<'_> {
    type Item = Element;

    #[inline]
    fn next(&mut self) -> Option<Element> {
        if let Some(e) = self.pending.take() {
            return Some(e);
        }
        loop {
            let u = *self.units.next()?;
            let e = match u {
                0x61..=0x7a | 0x41..=0x5a => {
                    let (b, _, upper) = letter(u);
                    Element {
                        primary: LETTERS + b as u32,
                        accent: 0,
                        upper,
                        unit: u,
                    }
                }
                0x30..=0x39 => plain(DIGITS + (u - 0x30) as u32, u),
                // Control characters, zero-width marks and surrogates weigh nothing.
                0..=8 | 0xe..=0x1f | 0x7f..=0x9f | 0xd800..=0xdfff | 0x200b..=0x200f | 0xfeff => {
                    continue;
                }
                0x27 | 0x2d | 0x2010..=0x2015 | 0xad => plain(0, u),
                0xe6 | 0xc6 => self.pair(b'a', b'e', u == 0xc6, u),
                0x153 | 0x152 => self.pair(b'o', b'e', u == 0x152, u),
                0xdf => self.pair(b's', b's', false, u),
                0xfe | 0xde => self.pair(b't', b'h', u == 0xde, u),
                0x20..=0x7e | 9..=13 => {
                    let at = SYMBOLS.iter().position(|&s| s as u16 == u).unwrap_or(0);
                    plain(1 + at as u32, u)
                }
                0xa0 => plain(1 + 5, b' ' as u16),
                0xff01..=0xff5e => {
                    // Full-width forms are the narrow ones unless the collation is width-sensitive, which none here is.
                    let narrow = [u - 0xfee0];
                    match elements(&narrow).next() {
                        Some(e) => e,
                        None => continue,
                    }
                }
                _ => other(u),
            };
            return Some(e);
        }
    }
}

impl Elements<'_> {
    fn pair(&mut self, first: u8, second: u8, upper: bool, unit: u16) -> Element {
        // Both carry the unit of the plain letters: 'æ' must be equal to 'ae' at every level.
        self.pending = Some(latin(second, upper, second as u16));
        let _ = unit;
        latin(first, upper, first as u16)
    }
}

#[cold]
fn other(u: u16) -> Element {
    let (base, accent, upper) = letter(u);
    if base != 0 {
        return Element {
            primary: LETTERS + base as u32,
            accent,
            upper,
            unit: u,
        };
    }
    let c = char::from_u32(u as u32).unwrap_or('\u{fffd}');
    let mut lower = c.to_lowercase();
    let low = lower.next().unwrap_or(c) as u32;
    if c.is_alphabetic() {
        return Element {
            primary: OTHERS + low,
            accent: 0,
            upper: low != u as u32,
            unit: u,
        };
    }
    // Symbols beyond ASCII: after the ASCII symbols, before digits; their code point decides among them.
    Element {
        primary: 1 + SYMBOLS.len() as u32,
        accent: 0,
        upper: false,
        unit: u,
    }
}

impl Element {
    /// What two elements must share at the first level. Symbols beyond ASCII share a primary, their code point splits it.
    #[inline]
    fn first(&self) -> (u32, u16) {
        if self.primary == 1 + SYMBOLS.len() as u32 {
            (self.primary, self.unit)
        } else {
            (self.primary, 0)
        }
    }
}

/// Orders two nvarchar values.
pub fn compare_units(a: &[u16], b: &[u16], coll: CollationId) -> Ordering {
    // Whoever does not ask hears of nothing.
    units_compared(a, b, coll, |_| Ok(())).unwrap_or(Ordering::Equal)
}

/// The same of values that may be so long that the work is given up meanwhile.
pub fn compare_long_units(a: &[u16], b: &[u16], coll: CollationId) -> SqlResult<Ordering> {
    units_compared(a, b, coll, given_up::after_step)
}

#[inline]
fn units_compared(
    a: &[u16],
    b: &[u16],
    coll: CollationId,
    after_step: impl Fn(usize) -> SqlResult<()>,
) -> SqlResult<Ordering> {
    let (a, b) = (trimmed_units(a), trimmed_units(b));
    if coll.is_binary() {
        return Ok(compare_units_binary(a, b, coll.is_binary2()));
    }
    if a == b {
        return Ok(Ordering::Equal);
    }
    // One pass: the first difference of each level, the highest level wins. Specials are compared by position.
    let (mut accent, mut case, mut special) = (Ordering::Equal, Ordering::Equal, Ordering::Equal);
    let blank = plain(1 + 5, b' ' as u16);
    let (mut ia, mut ib) = (elements(a), elements(b));
    let (mut at_a, mut at_b) = (Specials::default(), Specials::default());
    for step in 0.. {
        after_step(step)?;
        let x = at_a.skip(&mut ia);
        let y = at_b.skip(&mut ib);
        if special == Ordering::Equal {
            special = at_a.gap.cmp(&at_b.gap);
        }
        let (x, y) = match (x, y) {
            (None, None) => break,
            (x, y) => (x.unwrap_or(blank), y.unwrap_or(blank)),
        };
        match x.first().cmp(&y.first()) {
            Ordering::Equal => {}
            different => return Ok(different),
        }
        if accent == Ordering::Equal {
            accent = x.accent.cmp(&y.accent);
        }
        if case == Ordering::Equal {
            case = x.upper.cmp(&y.upper);
        }
    }
    let accent = if coll.ignores_accent() {
        Ordering::Equal
    } else {
        accent
    };
    let case = if coll.ignores_case() {
        Ordering::Equal
    } else {
        case
    };
    Ok(accent.then(case).then(special))
}

/// The hyphens and apostrophes in front of an element: a plain letter comes before one that has any.
#[derive(Default)]
struct Specials {
    gap: Vec<u16>,
}

impl Specials {
    #[inline]
    fn skip(&mut self, it: &mut Elements<'_>) -> Option<Element> {
        self.gap.clear();
        loop {
            let e = it.next()?;
            if e.primary != 0 {
                return Some(e);
            }
            self.gap.push(e.unit);
        }
    }
}

fn compare_units_binary(a: &[u16], b: &[u16], by_code_point: bool) -> Ordering {
    let n = a.len().min(b.len());
    let body = if by_code_point {
        // Surrogates stand for code points above all other units.
        let key = |u: &u16| {
            if (0xd800..0xe000).contains(u) {
                *u as u32 + 0x2_0000
            } else {
                *u as u32
            }
        };
        a[..n].iter().map(key).cmp(b[..n].iter().map(key))
    } else {
        // _BIN: the first character as a number, the rest by stored bytes.
        let first = a[..n].first().cmp(&b[..n].first());
        let bytes = |s: &[u16]| {
            s.iter()
                .skip(1)
                .map(|u| u.swap_bytes())
                .collect::<Vec<u16>>()
        };
        first.then_with(|| bytes(&a[..n]).cmp(&bytes(&b[..n])))
    };
    body.then_with(|| padded(&a[n..], &b[n..], |x| *x))
}

/// Equality of two varchar values, cheaper than ordering them.
#[inline]
pub fn equal_bytes(a: &[u8], b: &[u8], coll: CollationId) -> bool {
    compare_bytes(a, b, coll) == Ordering::Equal
}

/// Feeds a hasher so that equal varchar values hash alike.
pub fn hash_bytes<H: Hasher>(b: &[u8], coll: CollationId, hasher: &mut H) {
    let b = trimmed(b);
    if coll.is_utf8() {
        let u: Vec<u16> = String::from_utf8_lossy(b).encode_utf16().collect();
        return hash_units(&u, coll, hasher);
    }
    if coll.is_binary() {
        hasher.write(b);
    } else {
        let mask = mask(coll);
        for x in b {
            hasher.write_u16(BYTES[*x as usize] & mask);
        }
    }
    hasher.write_u8(0xff);
}

/// Feeds a hasher so that equal nvarchar values hash alike.
pub fn hash_units<H: Hasher>(u: &[u16], coll: CollationId, hasher: &mut H) {
    let u = trimmed_units(u);
    if coll.is_binary() {
        for x in u {
            hasher.write_u16(*x);
        }
    } else {
        feed(elements(u), &mut 0, coll, hasher);
    }
    hasher.write_u8(0xff);
}

/// Feeds elements to a hasher. Blanks at their end pad too, as a weightless unit may follow them: so many of them have
/// not been fed.
#[inline]
fn feed<H: Hasher>(
    elements: impl Iterator<Item = Element>,
    blanks: &mut u32,
    coll: CollationId,
    hasher: &mut H,
) {
    for e in elements {
        if e.primary == 1 + 5 {
            *blanks += 1;
            continue;
        }
        for _ in 0..std::mem::take(blanks) {
            hasher.write_u32(1 + 5);
        }
        let (primary, unit) = e.first();
        let accent = if coll.ignores_accent() { 0 } else { e.accent };
        let upper = e.upper && !coll.ignores_case();
        hasher.write_u32(primary | (accent as u32) << 20 | (upper as u32) << 28);
        hasher.write_u16(if primary == 0 { e.unit } else { unit });
    }
}

/// Elements that are fed between two looks at whether somebody still wants the hash.
const PIECE: usize = 1 << 16;

/// Feeds a hasher with a value that may be long, as [`crate::hash_key`] does; `go_on` is asked before each piece of it, and
/// its error is the end.
pub fn hash_long<H: Hasher>(
    v: &Value,
    coll: CollationId,
    hasher: &mut H,
    go_on: &mut dyn FnMut() -> SqlResult<()>,
) -> SqlResult<()> {
    match v {
        Value::VarChar(b) if b.len() > PIECE && !coll.is_utf8() && !coll.is_binary() => {
            let mask = mask(coll);
            for piece in trimmed(b).chunks(PIECE) {
                go_on()?;
                for x in piece {
                    hasher.write_u16(BYTES[*x as usize] & mask);
                }
            }
            hasher.write_u8(0xff);
        }
        Value::NVarChar(u) if u.len() > PIECE && !coll.is_binary() => {
            let (mut elements, mut blanks) = (elements(trimmed_units(u)).peekable(), 0);
            while elements.peek().is_some() {
                go_on()?;
                feed(elements.by_ref().take(PIECE), &mut blanks, coll, hasher);
            }
            hasher.write_u8(0xff);
        }
        _ => crate::hash_key(v, coll, hasher),
    }
    Ok(())
}

/// The place of one UTF-16 unit in the order of the collation: for LIKE and its ranges. Equal keys match.
pub fn unit_key(u: u16, coll: CollationId) -> (u32, u16, u8, bool) {
    if coll.is_binary() {
        return (u as u32, 0, 0, false);
    }
    match elements(&[u]).next() {
        None => (0, u, 0, false),
        Some(e) => {
            let (primary, unit) = e.first();
            // A ligature is not its first letter in LIKE.
            let unit = if e.unit != u || primary == 0 { u } else { unit };
            (
                primary,
                unit,
                if coll.ignores_accent() { 0 } else { e.accent },
                e.upper && !coll.ignores_case(),
            )
        }
    }
}

/// The same for one byte of varchar data.
pub fn byte_key(b: u8, coll: CollationId) -> (u32, u16, u8, bool) {
    if coll.is_binary() {
        return (b as u32, 0, 0, false);
    }
    let w = BYTES[b as usize] & mask(coll);
    ((w >> 8) as u32, 0, (w & ACCENT) as u8, w & CASE != 0)
}

#[cfg(test)]
mod tests;

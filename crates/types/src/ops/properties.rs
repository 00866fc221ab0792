//! Decimal arithmetic, conversions and the calendar against slow obvious models, over values drawn from a fixed seed.

use num_bigint::BigInt;

use super::*;
use crate::temporal::{days_from_ymd, days_in_month, weekday, ymd_from_days};
use crate::{Date, DateTime, Decimal, Time, convert};

/// A generator of its own, so that every run draws the same (Vigna's splitmix64).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A decimal of any precision and scale, small and large digits alike.
    fn decimal(&mut self) -> (Value, SqlType, BigInt) {
        let precision = 1 + self.below(38) as u8;
        let scale = self.below(u64::from(precision) + 1) as u8;
        let digits = 1 + self.below(u64::from(precision)) as u32;
        let mut m = 0i128;
        for _ in 0..digits {
            m = m * 10 + self.below(10) as i128;
        }
        if self.below(2) == 0 {
            m = -m;
        }
        let d = Decimal::new(m, precision, scale)
            .unwrap_or_else(|| panic!("{m} as ({precision},{scale})"));
        (
            Value::Decimal(d),
            SqlType::numeric(precision, scale),
            BigInt::from(m),
        )
    }
}

fn ten(n: u32) -> BigInt {
    BigInt::from(10).pow(n)
}

/// `m / 10^n`, half away from zero.
fn rounded(m: &BigInt, n: u32) -> BigInt {
    if n == 0 {
        return m.clone();
    }
    let unit: BigInt = ten(n);
    let half: BigInt = &unit / 2;
    let zero = BigInt::from(0);
    let magnitude: BigInt = if *m < zero { &zero - m } else { m.clone() };
    let whole: BigInt = (magnitude + half) / unit;
    if *m < zero { zero - whole } else { whole }
}

#[test]
fn decimals_are_what_long_numbers_say() {
    let ctx = ConvertCtx::default();
    let mut draws = Draws(1);
    let (mut results, mut overflows) = (0, 0);
    for _ in 0..40_000 {
        let ((a, ta, ma), (b, tb, mb)) = (draws.decimal(), draws.decimal());
        let op = [Add, Sub, Mul, Div, Mod][draws.below(5) as usize];
        let ty = result_type(op, &ta, &tb).unwrap_or_else(|e| panic!("{e}"));
        let got = arithmetic(op, &a, &ta, &b, &tb, &ty, &ctx);
        let (sa, sb, s) = (
            u32::from(ta.scale),
            u32::from(tb.scale),
            u32::from(ty.scale),
        );
        let zero = BigInt::from(0);
        if matches!(op, Div | Mod) && mb == zero {
            assert_eq!(got.map_err(|e| e.number), Err(8134));
            continue;
        }
        let widest = sa.max(sb);
        let (x, y) = (&ma * ten(widest - sa), &mb * ten(widest - sb));
        let expected = match op {
            Add => rounded(&(x + y), widest - s),
            Sub => rounded(&(x - y), widest - s),
            Mul => rounded(&(&ma * &mb), sa + sb - s),
            // Cut, not rounded: BigInt divides towards zero.
            Div => (&ma * ten(s + sb)) / (&mb * ten(sa)),
            _ => x % y,
        };
        let fits =
            expected < ten(u32::from(ty.precision)) && expected > -ten(u32::from(ty.precision));
        match got {
            Ok(Value::Decimal(d)) => {
                results += 1;
                assert_eq!(
                    BigInt::from(d.mantissa()),
                    expected,
                    "{a:?} {op:?} {b:?} as {ty}"
                );
            }
            Ok(other) => panic!("{other:?}"),
            Err(e) => {
                overflows += 1;
                assert_eq!(e.number, 8115);
                assert!(!fits, "{a:?} {op:?} {b:?} as {ty} is {expected}");
            }
        }
    }
    assert!(results > 10_000 && overflows > 100, "{results} {overflows}");
}

#[test]
fn decimals_become_other_decimals_by_rounding() {
    let ctx = ConvertCtx::default();
    let mut draws = Draws(2);
    for _ in 0..20_000 {
        let (a, ta, ma) = draws.decimal();
        let (_, to, _) = draws.decimal();
        let (from, scale) = (u32::from(ta.scale), u32::from(to.scale));
        let expected = match scale >= from {
            true => &ma * ten(scale - from),
            false => rounded(&ma, from - scale),
        };
        let limit = ten(u32::from(to.precision));
        let fits = expected < limit && expected > -limit;
        match convert(&a, &ta, &to, None, &ctx) {
            Ok(Value::Decimal(d)) => {
                assert_eq!(BigInt::from(d.mantissa()), expected, "{a:?} as {to}")
            }
            other => {
                assert_eq!(other.map_err(|e| e.number), Err(8115), "{a:?} as {to}");
                assert!(!fits, "{a:?} as {to} is {expected}");
            }
        }
    }
}

/// A calendar that counts every day, against the formulas.
#[test]
fn every_day_of_the_calendar() {
    let (mut y, mut m, mut d) = (1, 1, 1);
    for days in 0..=crate::temporal::MAX_DAYS {
        assert_eq!(ymd_from_days(days), (y, m, d));
        assert_eq!(days_from_ymd(y, m, d), Some(days));
        // 0001-01-01 was a Monday.
        assert_eq!(weekday(days), (days % 7 + 1) as u32 % 7);
        let leap = y % 4 == 0 && (y % 100 != 0 || y % 400 == 0);
        let last = match m {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        assert_eq!(days_in_month(y, m), last);
        (y, m, d) = match (m, d) {
            (12, 31) => (y + 1, 1, 1),
            (m, d) if d == last => (y, m + 1, 1),
            (m, d) => (y, m, d + 1),
        };
    }
    assert_eq!((y, m, d), (10_000, 1, 1));
    assert_eq!(days_from_ymd(2023, 2, 29), None);
}

/// What a style that shows all of a value writes, CAST reads again.
#[test]
fn values_come_back_from_their_text() {
    let ctx = ConvertCtx::default();
    let text = SqlType::varchar(100);
    let mut draws = Draws(3);
    for _ in 0..5_000 {
        let days = draws.below(crate::temporal::MAX_DAYS as u64 + 1) as i32;
        let units = draws.below(crate::temporal::UNITS_PER_DAY);
        let n = draws.next();
        let ticks = draws.below(25_920_000) as u32;
        let (decimal, decimal_type, _) = draws.decimal();
        let cases = [
            (Value::BigInt(n as i64), SqlType::BIGINT, None),
            (Value::Int(n as i32), SqlType::INT, None),
            (Value::SmallInt(n as i16), SqlType::SMALLINT, None),
            (Value::Money(n as i64), SqlType::MONEY, Some(2)),
            (decimal, decimal_type, None),
            (Value::Float(f64::from_bits(n)), SqlType::FLOAT, Some(3)),
            (Value::Date(Date(days)), SqlType::DATE, None),
            (Value::Time(Time(units)), SqlType::time(7), None),
            (
                Value::DateTime2(crate::DateTime2 { days, time: units }),
                SqlType::datetime2(7),
                None,
            ),
            (
                Value::DateTime(DateTime {
                    days: days - crate::temporal::DAYS_TO_1900,
                    ticks,
                }),
                SqlType::DATETIME,
                Some(126),
            ),
        ];
        for (value, ty, style) in cases {
            let skipped = match &value {
                Value::Float(f) => !f.is_finite(),
                Value::DateTime(_) => days < crate::temporal::DAYS_TO_1753,
                _ => false,
            };
            if skipped {
                continue;
            }
            let shown = convert(&value, &ty, &text, style, &ctx);
            let shown = shown.unwrap_or_else(|e| panic!("{value:?}: {e}"));
            let back = convert(&shown, &text, &ty, None, &ctx);
            assert_eq!(back, Ok(value.clone()), "{:?}", shown.as_text());
        }
    }
}

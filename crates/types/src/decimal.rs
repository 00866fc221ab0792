//! decimal / numeric: a 38-digit integer and a scale.

use std::fmt;

/// A decimal value. Invariant: `|mantissa| < 10^38`, `scale <= precision <= 38`.
///
/// The mantissa is kept in two words so that the struct needs 8-byte alignment only and a `Value` stays 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Decimal {
    high: i64,
    low: u64,
    precision: u8,
    scale: u8,
}

/// The most digits.
pub const MAX_PRECISION: u8 = 38;

/// `10^n` for n up to 38.
pub const POW10: [i128; 39] = {
    let mut table = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

impl Decimal {
    /// `None` when the mantissa does not fit the precision, or the facets are not a decimal type.
    pub fn new(mantissa: i128, precision: u8, scale: u8) -> Option<Decimal> {
        if precision == 0 || precision > MAX_PRECISION || scale > precision {
            return None;
        }
        if mantissa.unsigned_abs() >= POW10[precision as usize].unsigned_abs() {
            return None;
        }
        Some(Decimal {
            high: (mantissa >> 64) as i64,
            low: mantissa as u64,
            precision,
            scale,
        })
    }

    #[inline]
    pub fn mantissa(&self) -> i128 {
        ((self.high as i128) << 64) | self.low as i128
    }

    pub fn precision(&self) -> u8 {
        self.precision
    }

    pub fn scale(&self) -> u8 {
        self.scale
    }

    /// From an integer: precision enough for it, scale 0.
    pub fn from_i64(v: i64) -> Decimal {
        Decimal {
            high: (v as i128 >> 64) as i64,
            low: v as u64,
            precision: 19,
            scale: 0,
        }
    }

    /// The same number at another precision and scale, rounding half away from zero; `None` when it does not fit.
    pub fn rescale(&self, precision: u8, scale: u8) -> Option<Decimal> {
        let m = rescale_mantissa(self.mantissa(), self.scale, scale)?;
        Decimal::new(m, precision, scale)
    }

    /// The integral part, cut towards zero.
    pub fn trunc(&self) -> i128 {
        self.mantissa() / POW10[self.scale as usize]
    }

    pub fn to_f64(&self) -> f64 {
        // Through text: correctly rounded whatever the scale.
        self.to_string().parse().unwrap_or(0.0)
    }
}

/// Moves a mantissa between scales, rounding half away from zero; `None` on overflow of 38 digits.
pub fn rescale_mantissa(m: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        let p = *POW10.get((to - from) as usize)?;
        m.checked_mul(p)
            .filter(|v| v.unsigned_abs() < POW10[38].unsigned_abs())
    } else {
        let p = *POW10.get((from - to) as usize)?;
        Some(div_round(m, p))
    }
}

/// `m / d` for positive `d`, rounded half away from zero.
pub fn div_round(m: i128, d: i128) -> i128 {
    let q = m / d;
    let r = (m % d).unsigned_abs();
    if r >= d.unsigned_abs() - r {
        q + m.signum()
    } else {
        q
    }
}

/// All digits of the scale, a zero before the point: `0.50`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.mantissa();
        if m < 0 {
            f.write_str("-")?;
        }
        let a = m.unsigned_abs();
        if self.scale == 0 {
            return write!(f, "{a}");
        }
        let p = POW10[self.scale as usize].unsigned_abs();
        write!(f, "{}.{:0w$}", a / p, a % p, w = self.scale as usize)
    }
}

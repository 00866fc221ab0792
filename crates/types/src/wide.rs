//! 256-bit magnitudes, for products and quotients of 38-digit numbers.
//!
//! Only the slow path of decimal arithmetic comes here: values that fit 128 bits are computed with them.

/// An unsigned 256-bit number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct U256 {
    high: u128,
    low: u128,
}

const HALF: u128 = u64::MAX as u128;

impl U256 {
    pub const ZERO: U256 = U256 { high: 0, low: 0 };

    pub fn new(low: u128) -> U256 {
        U256 { high: 0, low }
    }

    /// The value when it fits 128 bits.
    pub fn to_u128(self) -> Option<u128> {
        (self.high == 0).then_some(self.low)
    }

    /// The full product of two 128-bit numbers.
    pub fn product(a: u128, b: u128) -> U256 {
        let (a1, a0) = (a >> 64, a & HALF);
        let (b1, b0) = (b >> 64, b & HALF);
        let low = a0 * b0;
        let mid = a1 * b0 + (low >> 64);
        let mid2 = a0 * b1 + (mid & HALF);
        U256 {
            high: a1 * b1 + (mid >> 64) + (mid2 >> 64),
            low: mid2 << 64 | low & HALF,
        }
    }

    /// `self * m`; `None` on overflow of 256 bits.
    pub fn checked_mul(self, m: u128) -> Option<U256> {
        let low = U256::product(self.low, m);
        let high = U256::product(self.high, m);
        if high.high != 0 {
            return None;
        }
        let high = high.low.checked_add(low.high)?;
        Some(U256 { high, low: low.low })
    }

    /// `self * 10^n`; `None` on overflow of 256 bits.
    pub fn checked_scale(self, mut n: u32) -> Option<U256> {
        let mut v = self;
        while n > 0 {
            let step = n.min(38);
            v = v.checked_mul(10u128.pow(step))?;
            n -= step;
        }
        Some(v)
    }

    pub fn checked_add(self, other: U256) -> Option<U256> {
        let (low, carry) = self.low.overflowing_add(other.low);
        let high = self.high.checked_add(other.high)?;
        Some(U256 {
            high: high.checked_add(carry as u128)?,
            low,
        })
    }

    /// `self - other`, which must not be larger.
    pub fn wrapping_sub(self, other: U256) -> U256 {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        U256 {
            high: self
                .high
                .wrapping_sub(other.high)
                .wrapping_sub(borrow as u128),
            low,
        }
    }

    fn bit(self, i: u32) -> bool {
        if i >= 128 {
            self.high >> (i - 128) & 1 != 0
        } else {
            self.low >> i & 1 != 0
        }
    }

    fn bits(self) -> u32 {
        if self.high != 0 {
            256 - self.high.leading_zeros()
        } else {
            128 - self.low.leading_zeros()
        }
    }

    /// Quotient and remainder by shift and subtract; `None` for a zero divisor.
    pub fn checked_div_rem(self, d: U256) -> Option<(U256, U256)> {
        if d == U256::ZERO {
            return None;
        }
        if self.high == 0 && d.high == 0 {
            return Some((U256::new(self.low / d.low), U256::new(self.low % d.low)));
        }
        let (mut q, mut r) = (U256::ZERO, U256::ZERO);
        for i in (0..self.bits()).rev() {
            // A divisor below 2^255 keeps the shift from losing the top bit; ours have at most 77 digits.
            r = U256 {
                high: r.high << 1 | r.low >> 127,
                low: r.low << 1 | self.bit(i) as u128,
            };
            if r >= d {
                r = r.wrapping_sub(d);
                if i >= 128 {
                    q.high |= 1 << (i - 128);
                } else {
                    q.low |= 1 << i;
                }
            }
        }
        Some((q, r))
    }

    /// Drops `n` decimal digits, rounding half up.
    pub fn round_digits(self, n: u32) -> U256 {
        if n == 0 {
            return self;
        }
        let mut v = self;
        let mut left = n - 1;
        while left > 0 {
            let step = left.min(38);
            if let Some((q, _)) = v.checked_div_rem(U256::new(10u128.pow(step))) {
                v = q;
            }
            left -= step;
        }
        // The first dropped digit is exact now, and it alone decides.
        match v.checked_div_rem(U256::new(10)) {
            Some((q, r)) if r.low >= 5 => q.checked_add(U256::new(1)).unwrap_or(q),
            Some((q, _)) => q,
            None => v,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_inverts_multiplication() {
        let a = 10u128.pow(38) - 7;
        let p = U256::product(a, a);
        assert_eq!(
            p.checked_div_rem(U256::new(a)),
            Some((U256::new(a), U256::ZERO))
        );
        let p1 = p.checked_add(U256::new(5)).unwrap();
        assert_eq!(
            p1.checked_div_rem(U256::new(a)),
            Some((U256::new(a), U256::new(5)))
        );
        assert_eq!(p.checked_div_rem(U256::ZERO), None);
    }

    #[test]
    fn digits_are_rounded_half_up() {
        assert_eq!(U256::new(149).round_digits(2), U256::new(1));
        assert_eq!(U256::new(150).round_digits(2), U256::new(2));
        let big = U256::new(15).checked_scale(60).unwrap();
        assert_eq!(big.round_digits(61), U256::new(2));
        assert_eq!(U256::new(1).checked_scale(90), None);
    }
}

//! From values to places: linear and logarithmic scales, their ticks, and how a number is written.

/// An axis: the range of its values and whether equal distances are equal ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    /// From 0 (or the least value below it) to a round number at or above the greatest.
    pub fn linear(values: impl IntoIterator<Item = f64>) -> Scale {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for v in values.into_iter().filter(|v| v.is_finite()) {
            low = low.min(v);
            high = high.max(v);
        }
        if high <= low {
            high = low + 1.0;
        }
        let step = step(high - low);
        Scale {
            low: (low / step).floor() * step,
            high: (high / step).ceil() * step,
            log: false,
        }
    }

    /// Exactly from one value to another.
    pub fn exact(low: f64, high: f64) -> Scale {
        let high = if high > low { high } else { low + 1.0 };
        Scale {
            low,
            high,
            log: false,
        }
    }

    /// Whole decades around the values above 0.
    pub fn log(values: impl IntoIterator<Item = f64>) -> Scale {
        let positive = values.into_iter().filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = positive.fold((f64::INFINITY, 0.0_f64), |(l, h), v| (l.min(v), h.max(v)));
        if high == 0.0 {
            return Scale {
                low: 1.0,
                high: 10.0,
                log: true,
            };
        }
        let low = 10_f64.powf(low.log10().floor());
        let high = 10_f64.powf(high.log10().ceil()).max(low * 10.0);
        Scale {
            low,
            high,
            log: true,
        }
    }

    /// Where a value lies, 0 to 1; values outside lie at the ends.
    pub fn place(&self, value: f64) -> f64 {
        let part = match self.log {
            true if value <= 0.0 => 0.0,
            true => (value / self.low).log10() / (self.high / self.low).log10(),
            false => (value - self.low) / (self.high - self.low),
        };
        part.clamp(0.0, 1.0)
    }

    /// The values that get a number.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10().round() as i32;
            let every = 1 + decades / 8;
            let at = |n: i32| self.low * 10_f64.powi(n);
            return (0..=decades).filter(|n| n % every == 0).map(at).collect();
        }
        let step = step(self.high - self.low);
        let first = (self.low / step).ceil() as i64;
        let last = ((self.high + step * 1e-6) / step).floor() as i64;
        (first..=last).map(|n| n as f64 * step).collect()
    }
}

/// A round distance (1, 2 or 5 times a power of ten) that cuts a range into 3 to 8 parts.
fn step(range: f64) -> f64 {
    let rough = range / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    steps
        .map(|s| s * power)
        .into_iter()
        .find(|s| *s >= rough * 0.999)
        .unwrap_or(power * 10.0)
}

/// A number as short as it can be read: three digits that count, k, M and G.
pub fn shown(value: f64) -> String {
    let size = value.abs();
    let (number, unit) = match size {
        s if s >= 999.5e6 => (value / 1e9, " G"),
        s if s >= 999.5e3 => (value / 1e6, " M"),
        s if s >= 9_999.5 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let size = number.abs();
    let digits = match size {
        s if s >= 99.95 || s == 0.0 => 0,
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{number:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

//! Dates and times, and the calendar under them (proleptic Gregorian, years 1 to 9999).

/// Days since 0001-01-01 of 1900-01-01, the zero of datetime.
pub const DAYS_TO_1900: i32 = 693_595;
/// Days since 0001-01-01 of 1970-01-01, the zero of the machine's clock.
pub const DAYS_TO_1970: i32 = 719_162;
/// Days since 0001-01-01 of 9999-12-31, the last date.
pub const MAX_DAYS: i32 = 3_652_058;
/// Days since 0001-01-01 of 1753-01-01, the first datetime.
pub const DAYS_TO_1753: i32 = 639_905;
/// 100 ns units of a day.
pub const UNITS_PER_DAY: u64 = 864_000_000_000;
/// 100 ns units of a second.
pub const UNITS_PER_SECOND: u64 = 10_000_000;
/// 1/300 s ticks of a day.
pub const TICKS_PER_DAY: u32 = 25_920_000;

/// Whether days since 1900 and ticks since midnight are a datetime: 1753-01-01 to 9999-12-31.
pub fn is_datetime(days: i32, ticks: u32) -> bool {
    ticks < TICKS_PER_DAY && (DAYS_TO_1753 - DAYS_TO_1900..=MAX_DAYS - DAYS_TO_1900).contains(&days)
}

/// Days since 0001-01-01.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date(pub i32);

/// 100 ns units since midnight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Time(pub u64);

/// datetime: days since 1900-01-01 and 1/300 s ticks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTime {
    pub days: i32,
    pub ticks: u32,
}

/// smalldatetime: days since 1900-01-01 and minutes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SmallDateTime {
    pub days: u16,
    pub minutes: u16,
}

/// datetime2: days since 0001-01-01 and 100 ns units.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTime2 {
    pub days: i32,
    pub time: u64,
}

/// datetimeoffset: a UTC instant and the offset in minutes. Ordering by instant comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DateTimeOffset {
    /// Days since 0001-01-01, UTC.
    pub days: i32,
    /// 100 ns units, UTC.
    pub time: u64,
    pub offset: i16,
}

pub fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 => 28 + is_leap(year) as u32,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 0001-01-01; `None` when there is no such date in the years 1 to 9999.
pub fn days_from_ymd(year: i32, month: u32, day: u32) -> Option<i32> {
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    if day == 0 || day > days_in_month(year, month) {
        return None;
    }
    // Count from 1 March, so that the leap day is the last of its year.
    let (y, m) = if month > 2 {
        (year, month as i32 - 3)
    } else {
        (year - 1, month as i32 + 9)
    };
    let days = 365 * y + y.div_euclid(4) - y.div_euclid(100)
        + y.div_euclid(400)
        + (153 * m + 2) / 5
        + day as i32
        - 1;
    // Day 0 of this count is 0000-03-01, 306 days before 0001-01-01.
    Some(days - 306)
}

/// Year, month, day of a day number.
pub fn ymd_from_days(days: i32) -> (i32, u32, u32) {
    let z = days + 306;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    let year = yoe + era * 400 + (month <= 2) as i32;
    (year, month, day)
}

/// Year, month and day, and hour, minute and second of a moment in seconds since 1970.
pub fn ymd_hms(unix_seconds: i64) -> ((i32, u32, u32), [u32; 3]) {
    let days = unix_seconds.div_euclid(86_400) as i32;
    let second = unix_seconds.rem_euclid(86_400) as u32;
    let time = [second / 3600, second / 60 % 60, second % 60];
    (ymd_from_days(days + DAYS_TO_1970), time)
}

/// Sunday 0 to Saturday 6.
pub fn weekday(days: i32) -> u32 {
    (days + 1).rem_euclid(7) as u32
}

/// Day of the year, from 1.
pub fn day_of_year(days: i32) -> u32 {
    let (y, _, _) = ymd_from_days(days);
    match days_from_ymd(y, 1, 1) {
        Some(first) => (days - first + 1) as u32,
        None => 1,
    }
}

impl Date {
    pub fn from_ymd(year: i32, month: u32, day: u32) -> Option<Date> {
        days_from_ymd(year, month, day).map(Date)
    }

    pub fn ymd(self) -> (i32, u32, u32) {
        ymd_from_days(self.0)
    }
}

impl Time {
    /// From the parts of a clock; `None` when a part is out of range.
    pub fn from_hms(hour: u32, minute: u32, second: u32, units: u32) -> Option<Time> {
        if hour > 23 || minute > 59 || second > 59 || units as u64 >= UNITS_PER_SECOND {
            return None;
        }
        let s = (hour * 3600 + minute * 60 + second) as u64;
        Some(Time(s * UNITS_PER_SECOND + units as u64))
    }

    /// Hour, minute, second, 100 ns units.
    pub fn hms(self) -> (u32, u32, u32, u32) {
        let s = (self.0 / UNITS_PER_SECOND) as u32;
        (
            s / 3600,
            s / 60 % 60,
            s % 60,
            (self.0 % UNITS_PER_SECOND) as u32,
        )
    }
}

/// 100 ns units rounded half up to `scale` digits; may reach a whole day.
pub fn round_units(units: u64, scale: u8) -> u64 {
    let step = 10u64.pow(7 - scale.min(7) as u32);
    (units + step / 2) / step * step
}

impl DateTime {
    /// Nearest tick, carried into the day; `None` outside 1753-9999.
    pub fn from_days_units(days_since_0001: i32, units: u64) -> Option<DateTime> {
        // One tick is 100_000/3 units.
        let mut ticks = ((units * 3 + 50_000) / 100_000) as u32;
        let mut days = days_since_0001;
        if ticks >= TICKS_PER_DAY {
            ticks -= TICKS_PER_DAY;
            days += 1;
        }
        if !(DAYS_TO_1753..=MAX_DAYS).contains(&days) {
            return None;
        }
        Some(DateTime {
            days: days - DAYS_TO_1900,
            ticks,
        })
    }

    /// Milliseconds since midnight as datetime shows them: .000, .003, .007.
    pub fn millis(self) -> u32 {
        (self.ticks * 10 + 1) / 3
    }

    /// Exact 100 ns units since midnight, rounded to the nearest (level 130 and above).
    pub fn units(self) -> u64 {
        (self.ticks as u64 * 100_000 * 2 + 3) / 6
    }

    /// Days since 0001-01-01.
    pub fn days_since_0001(self) -> i32 {
        self.days + DAYS_TO_1900
    }
}

impl DateTimeOffset {
    /// The local date and time: days since 0001-01-01 and 100 ns units.
    pub fn local(self) -> (i32, u64) {
        let shift = self.offset as i64 * 60 * UNITS_PER_SECOND as i64;
        let t = self.time as i64 + shift;
        let day = UNITS_PER_DAY as i64;
        (
            self.days + t.div_euclid(day) as i32,
            t.rem_euclid(day) as u64,
        )
    }

    /// From local parts; `None` when the UTC instant leaves the calendar.
    pub fn from_local(days: i32, units: u64, offset: i16) -> Option<DateTimeOffset> {
        let shift = offset as i64 * 60 * UNITS_PER_SECOND as i64;
        let t = units as i64 - shift;
        let day = UNITS_PER_DAY as i64;
        let days = days + t.div_euclid(day) as i32;
        if !(0..=MAX_DAYS).contains(&days) {
            return None;
        }
        Some(DateTimeOffset {
            days,
            time: t.rem_euclid(day) as u64,
            offset,
        })
    }
}

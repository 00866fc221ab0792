//! Small texts of statements.

use std::time::Duration;

/// `hh:mm[:ss[.mmm]]` of WAITFOR DELAY, less than 24 hours.
pub fn parse_delay(text: &str) -> Option<Duration> {
    let mut parts = text.trim().split(':');
    let hours: u64 = parts.next()?.trim().parse().ok().filter(|h| *h < 24)?;
    let minutes: u64 = parts.next()?.trim().parse().ok().filter(|m| *m < 60)?;
    let seconds: f64 = match parts.next() {
        Some(s) => s.trim().parse().ok().filter(|s| (0.0..60.0).contains(s))?,
        None => 0.0,
    };
    parts.next().is_none().then(|| {
        Duration::from_secs(hours * 3600 + minutes * 60) + Duration::from_secs_f64(seconds)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_are_hours_minutes_seconds() {
        assert_eq!(parse_delay("00:00:01"), Some(Duration::from_secs(1)));
        assert_eq!(parse_delay("0:1"), Some(Duration::from_secs(60)));
        assert_eq!(
            parse_delay("00:00:00.250"),
            Some(Duration::from_millis(250))
        );
        assert_eq!(parse_delay("24:00:00"), None);
        assert_eq!(parse_delay("soon"), None);
    }
}

//! STOPAT, STOPATMARK and STOPBEFOREMARK of RESTORE as a point in the log.

use duramen_backup::{RecordTime, StopPoint};
use duramen_base::{Lsn, SqlError, SqlResult, messages};

use super::options::{Options, moment};

/// The point that the options name; `None` without one. 241 for a text that is no time, 4334 for one that is no LSN.
pub fn stop_point(options: &Options) -> SqlResult<Option<StopPoint>> {
    if options.has("STOPAT") {
        let time = time(&options.text("STOPAT"))?;
        return Ok(Some(StopPoint::Time(time)));
    }
    for (option, before) in [("STOPATMARK", false), ("STOPBEFOREMARK", true)] {
        if !options.has(option) {
            continue;
        }
        let name = options.text(option);
        if let Some(number) = name.strip_prefix("lsn:") {
            let lsn = lsn(number).ok_or_else(|| SqlError::new(&messages::MARK_IS_NO_LSN, &[]))?;
            return Ok(Some(StopPoint::Lsn { lsn, before }));
        }
        let after = match options.has("AFTER") {
            true => Some(time(&options.text("AFTER"))?),
            false => None,
        };
        return Ok(Some(StopPoint::Mark {
            name,
            after,
            before,
        }));
    }
    Ok(None)
}

fn time(text: &str) -> SqlResult<RecordTime> {
    let t = moment(text)?;
    Ok(RecordTime {
        days: t.days,
        ticks: t.ticks,
    })
}

/// `43000000001600001`, or hexadecimal `0x0000002b:00000010:0001`.
fn lsn(text: &str) -> Option<Lsn> {
    if text.contains(':') {
        return Lsn::parse(text);
    }
    let number: u128 = text.trim().parse().ok()?;
    let vlf = u32::try_from(number / 1_000_000_000_000_000).ok()?;
    let block = u32::try_from(number / 100_000 % 10_000_000_000).ok()?;
    let slot = u16::try_from(number % 100_000).ok()?;
    Some(Lsn::new(vlf, block, slot))
}

#[cfg(test)]
mod tests {
    use super::super::options::Given;
    use super::*;

    #[test]
    fn points() {
        let of = |list: &[(&str, &str)]| {
            let text = |(n, t): &(&str, &str)| ((*n).to_owned(), Given::Text((*t).to_owned()));
            stop_point(&Options(list.iter().map(text).collect()))
        };
        assert_eq!(of(&[]), Ok(None));
        let lsn = Lsn::new(43, 16, 1);
        for text in ["lsn:43000000001600001", "lsn:0x0000002b:00000010:0001"] {
            let found = of(&[("STOPBEFOREMARK", text)]);
            assert_eq!(found, Ok(Some(StopPoint::Lsn { lsn, before: true })));
        }
        assert_eq!(
            of(&[("STOPATMARK", "lsn:x")]).map_err(|e| e.number),
            Err(4334)
        );
        let time = RecordTime {
            days: 46_346,
            ticks: 300,
        };
        let stop = of(&[("STOPAT", "2026-11-22 00:00:01")]);
        assert_eq!(stop, Ok(Some(StopPoint::Time(time))));
        let mark = of(&[("STOPATMARK", "m"), ("AFTER", "2026-11-22 00:00:01")]);
        let expected = StopPoint::Mark {
            name: "m".to_owned(),
            after: Some(time),
            before: false,
        };
        assert_eq!(mark, Ok(Some(expected)));
        assert!(of(&[("STOPAT", "soon")]).is_err());
    }
}

//! `sys.fn_PageResCracker(page_resource)`: the page that the eight bytes of `page_resource` name: its number, its file, its
//! database, the low bytes first.
//! <https://learn.microsoft.com/sql/relational-databases/system-functions/sys-fn-pagerescracker-transact-sql>

use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-5030, &VIEW),
];

/// Database, file and page.
type Page = (u16, u16, u32);

columns! { Page;
    "db_id", T::INT, NOT_NULL, |p| int(p.0);
    "file_id", T::INT, NOT_NULL, |p| int(p.1);
    "page_id", T::INT, NOT_NULL, |p| Value::Int(p.2 as i32);
}

/// The parameter is `binary(8)`: what is shorter is padded, what is longer is cut.
pub const VIEW: View = View::new("fn_PageResCracker", SERVER_STATE, COLUMNS, |_, args| {
    let Some(Value::Binary(given)) = args.first() else {
        return Ok(Vec::new());
    };
    let mut bytes = [0; 8];
    let known = given.len().min(8);
    bytes[..known].copy_from_slice(&given[..known]);
    let [p0, p1, p2, p3, f0, f1, d0, d1] = bytes;
    let page = u32::from_le_bytes([p0, p1, p2, p3]);
    let (file, database) = (u16::from_le_bytes([f0, f1]), u16::from_le_bytes([d0, d1]));
    Ok(vec![row(&(database, file, page))])
});

/// The page that a wait is for, from its resource's text: `5:1:103` of a latch, `PAGE: 5:1:103` and `RID: 5:1:103:0` of a
/// lock; NULL for any other.
pub(super) fn of_wait(resource: &str) -> Value {
    let place = match resource.split_once(": ") {
        Some(("PAGE" | "RID", place)) => place,
        Some(_) => return Value::Null,
        None => resource,
    };
    let mut parts = place.split(':');
    let mut next = || parts.next()?.trim().parse::<u32>().ok();
    let (Some(database), Some(file), Some(page)) = (next(), next(), next()) else {
        return Value::Null;
    };
    let (Ok(database), Ok(file)) = (u16::try_from(database), u16::try_from(file)) else {
        return Value::Null;
    };
    let mut bytes = page.to_le_bytes().to_vec();
    bytes.extend(file.to_le_bytes());
    bytes.extend(database.to_le_bytes());
    Value::Binary(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_waits_are_named() {
        let page = Value::Binary(vec![0x50, 1, 0, 0, 1, 0, 6, 0]);
        for resource in ["6:1:336", "PAGE: 6:1:336", "RID: 6:1:336:2"] {
            assert_eq!(of_wait(resource), page, "{resource}");
        }
        for resource in [
            "KEY: 6:72057594043432960 (98ec012aa510)",
            "LOG_MANAGER",
            "",
            "6:1",
        ] {
            assert_eq!(of_wait(resource), Value::Null, "{resource}");
        }
    }
}

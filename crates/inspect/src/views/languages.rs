//! `sys.syslanguages`.

use duramen_program::column::*;
use duramen_types::language::LanguageData;
use duramen_types::{Language, SqlType as T, Value};

use super::View;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1050, &VIEW),
];

columns! { &'static LanguageData;
    "langid", T::SMALLINT, NOT_NULL, |l| small(l.id);
    "dateformat", T::nchar(3), NOT_NULL, |l| text(l.order.name());
    "datefirst", T::TINYINT, NOT_NULL, |l| tiny(l.datefirst);
    "upgrade", T::INT, NULL, |_| int(0);
    "name", T::SYSNAME, NOT_NULL, |l| text(l.name);
    "alias", T::SYSNAME, NOT_NULL, |l| text(l.alias);
    "months", T::nvarchar(372), NULL, |l| text(l.months());
    "shortmonths", T::nvarchar(132), NULL, |l| text(l.short_months());
    "days", T::nvarchar(217), NULL, |l| text(l.days());
    "lcid", T::INT, NOT_NULL, |l| int(l.lcid);
    "msglangid", T::SMALLINT, NOT_NULL, |l| small(l.msglangid);
}

pub const VIEW: View = View::new("syslanguages", FACTS, COLUMNS, |_, _| {
    Ok(Language::all()
        .map(|l| row(&l))
        .collect::<Vec<Vec<Value>>>())
})
.of_dbo();

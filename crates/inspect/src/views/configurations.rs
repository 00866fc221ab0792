//! `sys.configurations`: the options of SQL Server's sp_configure, with what is configured and what holds (`settings`).

use duramen_core::settings::Setting;
use duramen_program::column::*;
use duramen_types::{SqlType as T, Value};

use super::View;
use crate::context::Context;

#[rustfmt::skip]
pub(super) const VIEWS: &[(i32, &View)] = &[
    (-1067, &VIEW),
];

pub struct Source<'a>(&'static Setting, &'a Context);

fn variant(n: i64) -> Value {
    let n = i32::try_from(n).unwrap_or(i32::MAX);
    Value::Variant(Box::new((T::INT, Value::Int(n))))
}

columns! { Source<'_>;
    "configuration_id", T::INT, NOT_NULL, |s| int(s.0.id);
    "name", T::nvarchar(35), NOT_NULL, |s| text(s.0.name);
    "value", T::VARIANT, NULL, |s| variant(s.1.instance.settings.configured(s.0.id));
    "minimum", T::VARIANT, NULL, |s| variant(s.0.least);
    "maximum", T::VARIANT, NULL, |s| variant(s.0.greatest);
    "value_in_use", T::VARIANT, NULL, |s| variant(s.1.instance.settings.holding(s.0.id));
    "description", T::nvarchar(255), NOT_NULL, |s| text(s.0.description);
    "is_dynamic", T::BIT, NOT_NULL, |s| bit(s.0.dynamic);
    "is_advanced", T::BIT, NOT_NULL, |s| bit(s.0.advanced);
}

pub const VIEW: View = View::new("configurations", FACTS, COLUMNS, |cx, _| {
    let all = duramen_core::settings::all().iter();
    Ok(all.map(|s| row(&Source(s, cx))).collect())
});

//! The examples of https://learn.microsoft.com/sql/t-sql/functions/format-transact-sql and of the pages about .NET's
//! standard and custom format strings.

use super::{Culture, format};
use crate::{ConvertCtx, SqlType, Value, convert};

fn of(text: &str, ty: SqlType, pattern: &str, culture: &str) -> Option<String> {
    let from = SqlType::varchar(100);
    let v = convert(
        &Value::varchar(text),
        &from,
        &ty,
        None,
        &ConvertCtx::default(),
    );
    let v = v.unwrap_or_else(|e| panic!("{e}"));
    format(
        &v,
        &ty,
        pattern,
        Culture::find(culture).unwrap_or(Culture::invariant()),
    )
}

fn number(n: f64, pattern: &str) -> String {
    let culture = Culture::find("en-US").unwrap_or(Culture::invariant());
    format(&Value::Float(n), &SqlType::FLOAT, pattern, culture).unwrap_or_default()
}

#[test]
fn standard_numbers() {
    let dec = |t: &str, p: &str, c: &str| of(t, SqlType::numeric(20, 4), p, c).unwrap_or_default();
    assert_eq!(dec("123.456", "C", "en-US"), "$123.46");
    assert_eq!(dec("-123.456", "C3", "en-US"), "($123.456)");
    assert_eq!(dec("-1234.5", "C", "de-DE"), "-1.234,50 €");
    assert_eq!(dec("1234.567", "N1", "en-US"), "1,234.6");
    assert_eq!(dec("-1234.56", "N3", "de-DE"), "-1.234,560");
    assert_eq!(dec("-1234.56", "F4", "en-US"), "-1234.5600");
    assert_eq!(dec("1", "P", ""), "100.00 %");
    assert_eq!(dec("-0.3968", "P1", "en-US"), "-39.7%");
    assert_eq!(dec("1052.0329", "E", ""), "1.052033E+003");
    assert_eq!(dec("-1052.0329", "e2", ""), "-1.05e+003");
    assert_eq!(dec("12.5", "G", ""), "12.5000");
    assert_eq!(
        of("1234", SqlType::INT, "D6", "").as_deref(),
        Some("001234")
    );
    assert_eq!(of("255", SqlType::INT, "X4", "").as_deref(), Some("00FF"));
    assert_eq!(of("-1", SqlType::INT, "x", "").as_deref(), Some("ffffffff"));
    assert_eq!(of("1.5", SqlType::FLOAT, "D", ""), None);
    assert_eq!(of("1", SqlType::INT, "J", ""), None);
    assert_eq!(number(1e20, "G"), "1E+20");
    assert_eq!(number(0.00001234, "G"), "1.234E-05");
    assert_eq!(number(0.1 + 0.2, "G"), "0.3");
    assert_eq!(number(0.1 + 0.2, "R"), "0.30000000000000004");
}

#[test]
fn custom_numbers() {
    for (n, pattern, expected) in [
        (1234.5678, "00000", "01235"),
        (0.456_78, "0.00", "0.46"),
        (1234.5678, "#####", "1235"),
        (0.456_78, "#.##", ".46"),
        (0.0, "#.##", ""),
        (2_147_483_647.0, "##,#", "2,147,483,647"),
        (2_147_483_647.0, "#,#,,", "2,147"),
        (0.3697, "%#0.00", "%36.97"),
        (0.036_97, "#0.00‰", "36.97‰"),
        (987_654.0, "#0.0e0", "98.8e4"),
        (1_503.925_111_11, "0.0##e+00", "1.504e+03"),
        (12.345, "#0.0#;(#0.0#);-0-", "12.35"),
        (0.0, "#0.0#;(#0.0#);-0-", "-0-"),
        (-12.345, "#0.0#;(#0.0#);-0-", "(12.35)"),
        (123_456_789.0, "###-##-####", "123-45-6789"),
        (68.0, "# 'degrees'", "68 degrees"),
        (987_654.0, "\\###00\\#", "#987654#"),
        (-5.0, "0.0", "-5.0"),
        (1_234_567.0, "#,##0.00", "1,234,567.00"),
        (5.0, "[##-##-##]", "[--5]"),
    ] {
        assert_eq!(number(n, pattern), expected, "{n} as {pattern}");
    }
}

#[test]
fn dates() {
    let at = |p: &str, c: &str| of("2011-10-01T12:15:18.123", SqlType::datetime2(3), p, c);
    let shown = |p: &str, c: &str| at(p, c).unwrap_or_default();
    assert_eq!(shown("d", "en-US"), "10/1/2011");
    assert_eq!(shown("d", "en-gb"), "01/10/2011");
    assert_eq!(shown("d", "de-de"), "01.10.2011");
    assert_eq!(shown("d", "zh-cn"), "2011/10/1");
    assert_eq!(shown("D", "en-US"), "Saturday, October 1, 2011");
    assert_eq!(shown("D", "en-gb"), "01 October 2011");
    assert_eq!(shown("D", "de-de"), "Samstag, 1. Oktober 2011");
    assert_eq!(shown("D", "zh-cn"), "2011年10月1日");
    assert_eq!(shown("G", "en-US"), "10/1/2011 12:15:18 PM");
    assert_eq!(shown("dd/MM/yyyy", "en-US"), "01/10/2011");
    assert_eq!(
        shown("yyyy-MM-dd HH:mm:ss.fff", ""),
        "2011-10-01 12:15:18.123"
    );
    assert_eq!(
        shown("ddd, MMM d yy h:m tt", "en-US"),
        "Sat, Oct 1 11 12:15 PM"
    );
    assert_eq!(shown("o", ""), "2011-10-01T12:15:18.1230000");
    assert_eq!(shown("R", "de-DE"), "Sat, 01 Oct 2011 12:15:18 GMT");
    assert_eq!(shown("%d", ""), "1");
    assert_eq!(shown("'at' hh \\h", ""), "at 12 h");
    assert_eq!(at("'open", ""), None);
    assert_eq!(at("Q", ""), None);
}

#[test]
fn times_must_escape_their_separators() {
    let at = |p: &str| of("07:35", SqlType::time(0), p, "en-US");
    assert_eq!(at("hh.mm"), None);
    assert_eq!(at("hh:mm"), None);
    assert_eq!(at("hh\\.mm").as_deref(), Some("07.35"));
    assert_eq!(at("hh\\:mm").as_deref(), Some("07:35"));
    assert_eq!(at("c").as_deref(), Some("07:35:00"));
    assert_eq!(at("hh':'mm tt"), None);
}

use crate::world;

fn check(cases: &[(&str, &str)]) {
    let toy = world();
    for (expr, expected) in cases {
        assert_eq!(toy.text(&format!("select {expr}")), *expected, "{expr}");
    }
}

#[test]
fn text() {
    check(&[
        ("len('ab  '), datalength(N'ab'), datalength('ab ')", "2|4|3"),
        (
            "upper('aé'), lower('AB'), ltrim('  a '), rtrim(' a  ') + '.', trim(' a ')",
            "AÉ|ab|a | a.|a",
        ),
        (
            "left('abc', 2), right('abc', 2), left('abc', 9), substring('abcd', 2, 2), substring('abc', 0, 2)",
            "ab|bc|abc|bc|a",
        ),
        (
            "replace('aXbx', 'x', '-'), stuff('abcd', 2, 2, 'zz'), reverse('abc'), replicate('ab', 2)",
            "a-b-|azzd|cba|abab",
        ),
        (
            "charindex('B', 'abcb'), charindex('b', 'abcb', 3), charindex('z', 'abc'), patindex('%c_', 'abcd')",
            "2|4|0|3",
        ),
        (
            "concat('a', null, 1, 2.5), concat_ws('-', 'a', null, 'b')",
            "a12.5|a-b",
        ),
        (
            "ascii('A'), unicode(N'é'), char(65), nchar(233), char(256)",
            "65|233|A|é|NULL",
        ),
        (
            "quotename('a]b'), quotename('a', ''''), quotename('x', '#')",
            "[a]]b]|'a'|NULL",
        ),
        (
            "str(123.456, 6, 2), str(12), str(1234, 3)",
            "123.46|        12|***",
        ),
        (
            "translate('2*[3+4]', '[]', '()'), soundex('Robert'), difference('Smith', 'Smyth')",
            "2*(3+4)|R163|4",
        ),
        (
            "left(12345, 2), len(null), isnull(null, 'x'), space(2) + '.'",
            "12|NULL|x|  .",
        ),
    ]);
}

#[test]
fn math() {
    check(&[
        (
            "abs(-3), abs(-2.5), sign(-7), floor(-2.5), ceiling(2.1), floor(123.45)",
            "3|2.5|-1|-3|3|123",
        ),
        (
            "round(123.456, 2), round(155, -1), round(123.456, 1, 1), round(2.5e0, 0)",
            "123.460|160|123.400|3",
        ),
        (
            "power(2, 10), power(2.0, 3), sqrt(9), square(3)",
            "1024|8.0|3|9",
        ),
        ("exp(0), log(1), log(8, 2), log10(100)", "1|0|3|2"),
        (
            "isnumeric('1.5'), isnumeric('x'), isnumeric(null), isdate('2020-02-30'), isdate('2020-02-28')",
            "1|0|0|0|1",
        ),
        (
            "checksum(42), iif(checksum('A') = checksum('a'), 1, 0)",
            "42|1",
        ),
        ("sign(null), round(null, 1)", "NULL|NULL"),
    ]);
    let toy = world();
    for (sql, number) in [
        ("select round(748.58, -3)", 8115),
        ("select abs(-2147483647 - 1)", 8115),
        ("select sqrt(-1)", 3623),
        ("select log(0)", 3623),
        ("select power(10, 20)", 232),
        ("select left('a')", 174),
        ("select round(1)", 189),
        ("select left('a', -1)", 537),
        ("select right('a', -1)", 536),
    ] {
        assert_eq!(toy.fails(sql).number, number, "{sql}");
    }
}

#[test]
fn dates() {
    check(&[
        (
            "dateadd(month, 1, cast('2024-01-31' as date)), datediff(day, '2024-02-28', '2024-03-01')",
            "2024-02-29|2",
        ),
        (
            "datepart(weekday, '2024-01-01'), datename(month, '2024-01-01'), year('2024-05-06'), month('2024-05-06'), day('2024-05-06')",
            "2|January|2024|5|6",
        ),
        (
            "eomonth('2024-02-10'), eomonth('2024-02-10', 1), datefromparts(2024, 2, 29), timefromparts(1, 2, 3, 5, 1)",
            "2024-02-29|2024-03-31|2024-02-29|01:02:03.5",
        ),
        ("datetrunc(month, cast('2024-05-17' as date))", "2024-05-01"),
        (
            "datediff(year, getdate(), getdate()), datediff(hour, getutcdate(), getdate())",
            "0|1",
        ),
    ]);
    let toy = world();
    assert_eq!(toy.fails("select datefromparts(2023, 2, 29)").number, 289);
    assert_eq!(toy.fails("select datepart(nope, '2024-01-01')").number, 155);
}

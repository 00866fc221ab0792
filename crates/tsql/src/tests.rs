//! The parser through its front door: what parses, what is refused and how, and that no text can hurt it.

use crate::ast::*;
use crate::{ParseOptions, parse_batch, parse_expression};
use duramen_base::SqlError;

mod robust;
mod statements;

fn parse(sql: &str) -> Result<Vec<Statement>, SqlError> {
    parse_batch(sql, &ParseOptions::default()).map(|b| b.statements)
}

fn ok(sql: &str) -> Vec<Statement> {
    parse(sql).unwrap_or_else(|e| panic!("{sql}\n{e}"))
}

/// (number, line) of the error.
fn error(sql: &str) -> (i32, i32) {
    match parse(sql) {
        Ok(tree) => panic!("{sql} parsed: {tree:?}"),
        Err(e) => (e.number, e.line),
    }
}

/// An expression as fully parenthesised text, to show what binds to what.
fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Literal(Literal::Int(v)) => v.to_string(),
        ExprKind::Literal(Literal::Decimal(t)) => t.clone(),
        ExprKind::Literal(other) => format!("{other:?}"),
        ExprKind::Column(name) => name.display(),
        ExprKind::Variable(name) => name.clone(),
        ExprKind::Unary { op, expr } => format!("({op:?} {})", show(expr)),
        ExprKind::Binary { op, left, right } => format!("({} {op:?} {})", show(left), show(right)),
        ExprKind::Compare { op, left, right } => format!("({} {op:?} {})", show(left), show(right)),
        ExprKind::And(a, b) => format!("({} and {})", show(a), show(b)),
        ExprKind::Or(a, b) => format!("({} or {})", show(a), show(b)),
        ExprKind::Not(a) => format!("(not {})", show(a)),
        other => format!("{other:?}"),
    }
}

fn expr(sql: &str) -> String {
    let parsed = parse_expression(sql, &ParseOptions::default());
    show(&parsed.unwrap_or_else(|e| panic!("{sql}\n{e}")))
}

fn spec(sql: &str) -> QuerySpec {
    match ok(sql).remove(0).kind {
        StatementKind::Select(query) => match query.body {
            QueryExpr::Select(spec) => *spec,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn items(sql: &str) -> Vec<(Option<String>, String)> {
    let show_item = |item: SelectItem| match item {
        SelectItem::Expr { expr, alias } => (alias, show(&expr)),
        SelectItem::Star { qualifier, .. } => (qualifier.map(|q| q.display()), "*".to_string()),
        SelectItem::Assign {
            variable, op, expr, ..
        } => (Some(format!("{variable} {op:?}")), show(&expr)),
    };
    spec(sql).items.into_iter().map(show_item).collect()
}

#[test]
fn unary_minus_ranks_below_products() {
    assert_eq!(
        expr("-100/-100*10"),
        "(Minus (100 Div (Minus (100 Mul 10))))"
    );
    assert_eq!(expr("1+2*3-4"), "((1 Add (2 Mul 3)) Sub 4)");
    assert_eq!(expr("1&2+3"), "((1 BitAnd 2) Add 3)");
    assert_eq!(expr("~1*2"), "((BitNot 1) Mul 2)");
}

#[test]
fn conditions_bind_not_and_or() {
    let where_ = spec("SELECT 1 WHERE NOT a = 1 AND b > = 2 OR (c <> 3 OR (d) ! = (4))").where_;
    let text = where_.as_ref().map(show);
    assert_eq!(
        text.as_deref(),
        Some("(((not (a Eq 1)) and (b Ge 2)) or ((c Ne 3) or (d Ne 4)))")
    );
}

#[test]
fn literals_get_their_kind() {
    let kind = |sql: &str| parse_expression(sql, &ParseOptions::default()).map(|e| e.kind);
    let literal = |l| Ok(ExprKind::Literal(l));
    assert_eq!(kind("2147483647"), literal(Literal::Int(i32::MAX)));
    assert_eq!(
        kind("2147483648"),
        literal(Literal::Decimal("2147483648".into()))
    );
    assert_eq!(kind("012.50"), literal(Literal::Decimal("12.50".into())));
    assert_eq!(kind("0.5"), literal(Literal::Decimal(".5".into())));
    assert_eq!(kind("1e"), literal(Literal::Float(1.0)));
    assert_eq!(kind("1.e-2"), literal(Literal::Float(0.01)));
    assert_eq!(kind("0xABC"), literal(Literal::Binary(vec![0x0a, 0xbc])));
    assert_eq!(kind("0x"), literal(Literal::Binary(vec![])));
    assert_eq!(kind("$"), literal(Literal::Money(0)));
    assert_eq!(kind("$-23"), literal(Literal::Money(-230_000)));
    assert_eq!(kind("$1.23456"), literal(Literal::Money(12_346)));
    let text = |value: &str, national| {
        Literal::String(StringLiteral {
            value: value.into(),
            national,
            namespaces: String::new(),
        })
    };
    assert_eq!(kind("N'it''s'"), literal(text("it's", true)));
    assert_eq!(kind("'a\\\r\nb'"), literal(text("ab", false)));
    assert_eq!(
        error("SELECT 123456789012345678901234567890123456789"),
        (1007, 1)
    );
    assert_eq!(error("SELECT 1e999"), (168, 1));
}

#[test]
fn aliases_in_all_their_forms() {
    let name = |n: &str| Some(n.to_string());
    assert_eq!(items("SELECT 1x"), [(name("x"), "1".into())]);
    assert_eq!(
        items("SELECT x = 1, 2 AS [y z], 3 'w'"),
        [
            (name("x"), "1".into()),
            (name("y z"), "2".into()),
            (name("w"), "3".into())
        ]
    );
    assert_eq!(items("SELECT 1 THROW"), [(name("THROW"), "1".into())]);
    assert_eq!(
        items("SELECT @a += 1, *, t.*"),
        [
            (name("@a Some(Add)"), "1".into()),
            (None, "*".into()),
            (name("t"), "*".into())
        ]
    );
}

#[test]
fn errors_name_the_token_and_its_line() {
    let message = |sql: &str| parse(sql).expect_err(sql).message;
    assert_eq!(message("SELECT * FROM"), "Incorrect syntax near 'FROM'.");
    assert_eq!(
        message("SELECT FROM t"),
        "Incorrect syntax near the keyword 'FROM'."
    );
    assert_eq!(message("SELECT 1 1"), "Incorrect syntax near '1'.");
    assert_eq!(
        message("SELECT 'abc"),
        "Unclosed quotation mark after the character string 'abc'."
    );
    assert_eq!(error("SELECT 1\nSELECT 2 +\n\nFROM t"), (156, 4));
    assert_eq!(error("/* /* */ SELECT 1"), (113, 1));
    assert_eq!(error("SELECT 1=1"), (102, 1));
    assert_eq!(error("SELECT 1 WHERE 1"), (4145, 1));
    assert_eq!(error("IF 1 PRINT 'x'"), (4145, 1));
    assert_eq!(error("SELECT 1 FROM t WHERE a *= b"), (4147, 1));
    assert_eq!(error("BEGIN END"), (156, 1));
    assert_eq!(error("SELECT 1 AS []"), (1038, 1));
    assert_eq!(error("SELECT 1 FROM a.b.c.d.e"), (117, 1));
    assert_eq!(
        error("SELECT 1 WITH c AS (SELECT 1 x) SELECT * FROM c"),
        (319, 1)
    );
    assert_eq!(
        error("MERGE t USING s ON t.a = s.a WHEN MATCHED THEN DELETE"),
        (10713, 1)
    );
    assert_eq!(error("EXEC p @a = 1, 2"), (119, 1));
    assert_eq!(error("SELECT 1 CREATE PROCEDURE p AS SELECT 1"), (111, 1));
    assert_eq!(error("GOTO nowhere"), (133, 1));
    assert_eq!(error("BREAK"), (135, 1));
    assert_eq!(error("SELECT * FROM t FOR XML AUTO"), (40517, 1));
    assert_eq!(error("INSERT BULK t (a int) WITH (MAGIC)"), (40517, 1));
    assert_eq!(error("SET NOSUCH ON"), (195, 1));
}

#[test]
fn quoted_identifier_acts_by_position() {
    let batch = ok("SELECT \"a\" SET QUOTED_IDENTIFIER OFF SELECT \"it's\"");
    let first = |s: &Statement| match &s.kind {
        StatementKind::Select(q) => match &q.body {
            QueryExpr::Select(spec) => spec.items[0].clone(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        first(&batch[0]),
        SelectItem::Expr {
            expr: Expr {
                kind: ExprKind::Column(_),
                ..
            },
            ..
        }
    ));
    assert!(matches!(
        first(&batch[2]),
        SelectItem::Expr {
            expr: Expr {
                kind: ExprKind::Literal(_),
                ..
            },
            ..
        }
    ));
}

#[test]
fn statements_need_no_separators() {
    let batch = ok("DECLARE @a int SET @a=1 SELECT @a RETURN");
    assert_eq!(batch.len(), 4);
    assert_eq!(ok(";;;").len(), 0);
    let batch = ok("BEGIN TRAN SELECT 1\nCOMMIT");
    assert_eq!(
        batch[0].kind,
        StatementKind::BeginTran {
            name: None,
            mark: None,
            distributed: false
        }
    );
    assert_eq!(batch[2].line, 2);
    assert_eq!(ok("again: SELECT 1 lbl: GOTO again").len(), 4);
}

#[test]
fn bare_calls_only_open_the_batch() {
    let batch = ok("sp_who 5, abc, @x = NULL");
    let StatementKind::Exec(exec) = &batch[0].kind else {
        panic!()
    };
    let ExecCall::Procedure { name, args, .. } = &exec.call else {
        panic!()
    };
    assert_eq!((name.name(), args.len()), ("sp_who", 3));
    assert_eq!(error("SELECT 1; sp_who"), (102, 1));
}

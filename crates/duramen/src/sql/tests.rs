//! Arguments, scripts and output as text; no server is needed.

use super::args::{Options, Parsed, parse_with};
use super::format::{Layout, message};
use super::script::{Command, Item, Script, Variables};
use duramen_tds::token::{Column, ServerMessage};
use duramen_types::{SqlType, Value};

fn parse(line: &[&str]) -> Result<Options, String> {
    let args: Vec<String> = line.iter().map(|a| a.to_string()).collect();
    match parse_with(&args, |_| None)? {
        Parsed::Run(options) => Ok(*options),
        Parsed::Help => Err("help".to_string()),
    }
}

#[test]
fn values_may_be_attached_or_apart() {
    let options = parse(&[
        "-Stcp:db,1500",
        "-U",
        "sa",
        "-Pp w",
        "-h",
        "-1",
        "-W",
        "-v",
        "a=1",
        "b=\"x y\"",
        "-b",
    ]);
    let options = options.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((options.host.as_str(), options.port), ("db", 1500));
    assert_eq!((options.password.as_str(), options.headers), ("p w", -1));
    assert_eq!(options.variables.get("B").map(String::as_str), Some("x y"));
    assert!(options.trim && options.exit_on_error);
    assert_eq!(parse(&["-U", "sa", "-h-1"]).map(|o| o.headers), Ok(-1));
    assert_eq!(
        parse(&["-U", "sa", "-ia.sql,b.sql"]).map(|o| o.inputs.len()),
        Ok(2)
    );
}

#[test]
fn wrong_arguments_are_named() {
    assert!(parse(&["-U", "sa", "-Z"]).is_err_and(|e| e.contains("-Z")));
    assert!(parse(&["-E"]).is_err_and(|e| e.contains("integrated")));
    assert!(parse(&["-U", "sa", "-S", "a\\b"]).is_err_and(|e| e.contains("named instances")));
    assert!(parse(&["-U", "sa", "-Q"]).is_err_and(|e| e.contains("Missing")));
    assert!(parse(&["-U", "sa", "-Q", "x", "-i", "y"]).is_err());
    assert!(parse(&[]).is_err_and(|e| e.contains("-U")));
}

fn items(text: &str, variables: &[(&str, &str)]) -> Result<(Vec<Item>, String), String> {
    let variables: Variables = variables
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect();
    let mut script = Script::default();
    let mut items = Vec::new();
    for line in text.lines() {
        items.extend(script.line(line, &variables)?);
    }
    Ok((items, script.finish()))
}

#[test]
fn go_cuts_batches_but_not_inside_comments_and_strings() {
    let (got, rest) = items(
        "SELECT 1\n go 3 -- thrice\n/*\nGO\n*/ SELECT '\nGO\n'\nGO\nSELECT 2",
        &[],
    )
    .unwrap_or_default();
    let batch = |text: &str, count| Item::Batch {
        text: text.to_string(),
        count,
    };
    assert_eq!(
        got,
        [
            batch("SELECT 1\n", 3),
            batch("/*\nGO\n*/ SELECT '\nGO\n'\n", 1)
        ]
    );
    assert_eq!(rest, "SELECT 2\n");
    assert!(items("GO x", &[]).is_err());
    assert_eq!(
        items("GOTO x", &[]).map(|i| i.1),
        Ok("GOTO x\n".to_string())
    );
}

#[test]
fn variables_are_filled_in_outside_comments() {
    let (_, rest) = items(
        "SELECT '$(a)$(A)' -- $(nope)\nSIZE = $(a)MB [$(a)]",
        &[("A", "64")],
    )
    .unwrap_or_default();
    assert_eq!(rest, "SELECT '6464' -- $(nope)\nSIZE = 64MB [64]\n");
    assert!(items("SELECT $(nope_undefined)", &[]).is_err_and(|e| e.contains("not defined")));
    assert_eq!(
        items("SELECT $(", &[]).map(|i| i.1),
        Ok("SELECT $(\n".to_string())
    );
}

#[test]
fn commands_are_found_at_line_starts() {
    let text = ":r \"a b.sql\"\n:setvar x \"1 2\"\n:setvar y\n:on error exit\n:out stdout\nexit(SELECT 3)\n:exit\nQUIT\n:reset";
    let (got, _) = items(text, &[]).unwrap_or_default();
    let set = |name: &str, value: Option<&str>| Command::SetVariable {
        name: name.to_string(),
        value: value.map(str::to_string),
    };
    let expected = [
        Command::Read("a b.sql".to_string()),
        set("x", Some("1 2")),
        set("y", None),
        Command::OnError(true),
        Command::Out("stdout".to_string()),
        Command::Exit(Some("SELECT 3".to_string())),
        Command::Exit(None),
        Command::Quit,
        Command::Reset,
    ];
    assert_eq!(got, expected.map(Item::Command));
    assert!(items(":nosuch", &[]).is_err());
}

fn column(name: &str, ty: SqlType, nullable: bool) -> Column {
    Column {
        name: name.to_string(),
        ty,
        flags: u16::from(nullable),
    }
}

#[test]
fn rows_align_like_sqlcmd() {
    let int = duramen_types::SqlType::INT;
    let layout = Layout::new(
        vec![column("a", int, false), column("", int, true)],
        " ",
        false,
    );
    assert_eq!(
        layout.header(),
        "a                      \n----------- -----------\n"
    );
    assert_eq!(
        layout.row(&[Value::Int(1), Value::Null]),
        "          1        NULL\n"
    );
    let layout = Layout::new(
        vec![column("name", int, false), column("b", int, true)],
        ",",
        true,
    );
    assert_eq!(layout.header(), "name,b\n----,-\n");
    assert_eq!(
        layout.row(&[Value::Int(-5), Value::Float(0.1)]),
        "-5,0.10000000000000001\n"
    );
    assert_eq!(
        layout.row(&[Value::Float(1e20), Value::Float(1.5)]),
        "1E+020,1.5\n"
    );
}

#[test]
fn messages_have_their_line_above() {
    let mut m = ServerMessage {
        number: 102,
        state: 1,
        class: 15,
        text: "Incorrect syntax near 'x'.".to_string(),
        server: "S".to_string(),
        procedure: String::new(),
        line: 3,
    };
    assert_eq!(
        message(&m),
        "Msg 102, Level 15, State 1, Server S, Line 3\nIncorrect syntax near 'x'.\n"
    );
    m.class = 0;
    assert_eq!(message(&m), "Incorrect syntax near 'x'.\n");
}

//! Arguments, scripts and output as text; no server is needed.

use super::args::{Options, Parsed, parse_with};
use super::format::{Layout, Style, message};
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
    assert!(parse(&["-U", "sa", "-S", "np:a"]).is_err_and(|e| e.contains("protocol np")));
    assert!(parse(&["-U", "sa", "-L"]).is_err_and(|e| e.contains("a list of servers")));
    assert!(parse(&["-U", "sa", "-W", "-y", "0"]).is_err_and(|e| e.contains("exclusive")));
    assert!(parse(&["-U", "sa", "-w", "8"]).is_err_and(|e| e.contains("from 9")));
    assert!(parse(&["-U", "sa", "-Q"]).is_err_and(|e| e.contains("Missing")));
    assert!(parse(&["-U", "sa", "-Q", "x", "-i", "y"]).is_err());
    assert!(parse(&[]).is_err_and(|e| e.contains("-U")));
}

fn items(text: &str, variables: &[(&str, &str)]) -> Result<(Vec<Item>, String), String> {
    let variables: Variables = variables
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_string()))
        .collect();
    let mut script = Script::new("GO", false);
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
    let text = ":r \"a b.sql\"\n:setvar x \"1 2\"\n:setvar y\n:on error exit\n:out stdout\nexit(SELECT 3)\n:exit\nQUIT\n:reset\n:exit()\n!!ls -l\n:error e.txt\n:connect db,1 -U me\n:list\nED";
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
        Command::Exit(Some(String::new())),
        Command::Shell("ls -l".to_string()),
        Command::Error("e.txt".to_string()),
        Command::Connect(["db,1", "-U", "me"].map(str::to_string).to_vec()),
        Command::List,
        Command::Edit,
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

fn style(separator: &str, trim: bool) -> Style {
    Style::of(&Options {
        separator: separator.to_string(),
        trim,
        max_width: 256,
        ..Options::default()
    })
}

#[test]
fn names_of_servers_come_apart() {
    let server = |name: &str| {
        let options = parse(&["-U", "sa", &format!("-S{name}")]).unwrap_or_else(|e| panic!("{e}"));
        (options.host, options.instance, options.port)
    };
    let local = |instance: Option<&str>, port| {
        ("localhost".to_string(), instance.map(str::to_string), port)
    };
    assert_eq!(server("(local)\\SQL2012"), local(Some("SQL2012"), 1433));
    assert_eq!(server(".\\MSSQLSERVER"), local(None, 1433));
    assert_eq!(server("tcp:.\\X,1500"), local(None, 1500));
    let reply =
        b"\x05\x40\x00ServerName;H;InstanceName;X;IsClustered;No;Version;16.0.1;tcp;50123;;";
    assert_eq!(super::connection::port_of(reply), Some(50123));
    assert_eq!(super::connection::port_of(b"\x05\x00\x00np;x"), None);
}

#[test]
fn variables_of_sqlcmd_are_settings() {
    let args: Vec<String> = ["-U", "sa", "-h", "5"].map(str::to_string).to_vec();
    let environment = |name: &str| match name {
        "SQLCMDHEADERS" => Some("9".to_string()),
        "SQLCMDMAXVARTYPEWIDTH" => Some("40".to_string()),
        _ => None,
    };
    let Ok(Parsed::Run(options)) = parse_with(&args, environment) else {
        panic!("refused");
    };
    // The command line goes before the environment.
    assert_eq!((options.headers, options.max_width), (5, 40));
    assert!(parse_with(&args, |n| (n == "SQLCMDCOLWIDTH").then(|| "x".to_string())).is_err());
}

#[test]
fn widths_of_text_may_be_changed() {
    let columns = || {
        vec![
            column("v", SqlType::VARCHAR_MAX, false),
            column("c", SqlType::varchar(10), false),
        ]
    };
    let with = |max_width, fixed_width, screen_width, control| {
        Layout::new(
            columns(),
            Style::of(&Options {
                separator: " ".to_string(),
                max_width,
                fixed_width,
                screen_width,
                control,
                ..Options::default()
            }),
        )
    };
    let row = [Value::varchar("abc\t\n def"), Value::varchar("0123456789")];
    assert_eq!(with(4, 5, 0, 0).row(&row), "abc\t 01234\n");
    assert_eq!(with(0, 0, 0, 1).row(&row), "abc   def 0123456789\n");
    assert_eq!(with(0, 0, 0, 2).row(&row), "abc  def 0123456789\n");
    assert!(!with(0, 0, 0, 0).has_header());
    assert_eq!(with(8, 0, 10, 2).row(&row), "abc  def 0\n123456789\n");
}

#[test]
fn rows_align_like_sqlcmd() {
    let int = duramen_types::SqlType::INT;
    let layout = Layout::new(
        vec![column("a", int, false), column("", int, true)],
        style(" ", false),
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
        style(",", true),
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

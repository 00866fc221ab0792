//! `duramen sql` as scripts use it: flags in, output, standard error and exit code out. And `check` over what is left.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{BINARY, PASSWORD, Process, Scratch, check};

struct Outcome {
    code: i32,
    out: String,
    err: String,
}

/// Runs `duramen sql` against the server at `port`, in `dir`, with `input` as standard input.
fn sql(port: u16, dir: &Path, args: &[&str], input: &str) -> Outcome {
    let mut child = Command::new(BINARY)
        .arg("sql")
        .args(["-S", &format!("tcp:127.0.0.1,{port}"), "-U", "sa", "-C"])
        .args(args)
        .env("SQLCMDPASSWORD", PASSWORD)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("duramen sql starts");
    let mut stdin = child.stdin.take().expect("piped");
    // It may end without reading all of it.
    let _ = std::io::Write::write_all(&mut stdin, input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    Outcome {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn scripts_flags_and_exit_codes() {
    let scratch = Scratch::new("sqlcmd");
    let dir = scratch.path();
    let data = dir.join("data");
    let server = Process::start(&data, &[]);
    let port = server.port;
    let run = |args: &[&str], input: &str| sql(port, dir, args, input);
    let name = {
        let got = run(
            &[
                "-h",
                "-1",
                "-W",
                "-Q",
                "SET NOCOUNT ON; SELECT @@SERVERNAME",
            ],
            "",
        );
        assert_eq!((got.code, got.err.as_str()), (0, ""));
        got.out.trim().to_owned()
    };

    // Columns as wide as their types; counts; messages with their line above.
    let got = run(&["-Q", "SELECT 1 AS a, 'x' AS b; PRINT 'said'"], "");
    assert_eq!(
        got.out,
        "a           b\n----------- -\n          1 x\n\n(1 rows affected)\nsaid\n"
    );
    let got = run(&["-Q", "SELECT * FROM nowhere"], "");
    let error = format!(
        "Msg 208, Level 16, State 1, Server {name}, Line 1\nInvalid object name 'nowhere'.\n"
    );
    assert_eq!((got.code, got.out.as_str()), (0, error.as_str()));

    // -b ends at the first error; without it the next batch runs.
    let script = "SELECT * FROM nowhere\nGO\nPRINT 'after'\nGO\n";
    assert_eq!(run(&[], script).out, format!("{error}after\n"));
    let got = run(&["-b"], script);
    assert_eq!((got.code, got.out.as_str()), (1, error.as_str()));
    let got = run(&[], &format!(":on error exit\n{script}"));
    assert_eq!((got.code, got.out.as_str()), (1, error.as_str()));
    let got = run(&["-b", "-V", "17"], script);
    assert_eq!((got.code, got.out.ends_with("after\n")), (0, true));
    assert_eq!(run(&["-b", "-V", "16"], script).code, 16);
    // -r: errors to standard error; -m: those below the level are not shown.
    let got = run(&["-r", "-Q", "SELECT * FROM nowhere"], "");
    assert_eq!((got.out.as_str(), got.err.as_str()), ("", error.as_str()));
    assert_eq!(
        run(&["-m", "17", "-Q", "SELECT * FROM nowhere"], "").out,
        ""
    );

    // GO n, files, :r, variables from everywhere, -x.
    std::fs::write(
        dir.join("a.sql"),
        ":r b.sql\nPRINT '$(who) $(what)'\nGO 2\n",
    )
    .expect("written");
    std::fs::write(
        dir.join("b.sql"),
        "\u{feff}PRINT 'b'\r\nGO\r\n:setvar what there\r\n",
    )
    .expect("written");
    let got = run(&["-i", "a.sql,b.sql", "-v", "who=you", "other=1"], "");
    assert_eq!(
        (got.code, got.out.as_str()),
        (0, "b\nyou there\nyou there\nb\n")
    );
    let got = run(&["-x", "-Q", "PRINT '$(who)'"], "");
    assert_eq!(got.out, "$(who)\n");
    let got = run(&["-Q", "PRINT '$(nobody_defined_this)'"], "");
    assert_eq!(got.code, 1);
    assert!(
        got.err
            .contains("'nobody_defined_this' scripting variable not defined"),
        "{}",
        got.err
    );
    let got = run(&["-i", "missing.sql"], "");
    assert_eq!(
        (got.code, got.err.as_str()),
        (1, "Sqlcmd: 'missing.sql': Invalid filename.\n")
    );

    // A path of Windows, attached, as articles type it; the server's name with an instance is asked for elsewhere.
    std::fs::create_dir(dir.join("sub")).expect("made");
    std::fs::copy(dir.join("b.sql"), dir.join("sub/b.sql")).expect("copied");
    let got = run(
        &[
            "--drive",
            "C=sub",
            "-iC:\\b.sql",
            "-oc:\\out.txt",
            "-dmaster",
        ],
        "",
    );
    assert_eq!((got.code, got.out.as_str()), (0, ""));
    let output = std::fs::read_to_string(dir.join("sub/out.txt")).expect("an output");
    assert_eq!(output, "b\n");

    // -q goes on with standard input, -Q does not; -d; -e.
    assert_eq!(run(&["-q", "PRINT 1"], "PRINT 2\nGO\n").out, "1\n2\n");
    assert_eq!(run(&["-Q", "PRINT 1"], "PRINT 2\nGO\n").out, "1\n");
    let got = run(
        &[
            "-d",
            "tempdb",
            "-h-1",
            "-W",
            "-Q",
            "SET NOCOUNT ON; SELECT DB_NAME()",
        ],
        "",
    );
    assert_eq!(got.out.trim(), "tempdb");
    assert_eq!(run(&["-e", "-Q", "PRINT 1"], "").out, "PRINT 1\n1\n");
    // -W -s, -o and :out.
    let got = run(
        &[
            "-W",
            "-s,",
            "-Q",
            "SET NOCOUNT ON; SELECT 'a ' AS x, 2 AS y",
        ],
        "",
    );
    assert_eq!(got.out, "x,y\n-,-\na,2\n");
    let got = run(
        &["-o", "o.txt"],
        "PRINT 'one'\nGO\n:out p.txt\nPRINT 'two'\nGO\n",
    );
    assert_eq!((got.code, got.out.as_str()), (0, ""));
    let file = |name: &str| std::fs::read_to_string(dir.join(name)).expect("a file");
    assert_eq!(
        (file("o.txt"), file("p.txt")),
        ("one\n".to_owned(), "two\n".to_owned())
    );

    // :error, :list, !!, :connect, -c, -u, -X, and what is refused.
    let got = run(
        &[],
        ":error e.txt\nSELECT * FROM nowhere\nPRINT 'x'\n:list\nGO\n!!echo shell\nED\n",
    );
    assert_eq!(
        (got.code, got.out.as_str(), file("e.txt").as_str()),
        (
            1,
            "SELECT * FROM nowhere\nPRINT 'x'\nshell\n",
            error.as_str()
        )
    );
    let got = run(&["-X"], "!!echo shell\nPRINT 1\n");
    assert_eq!(
        (got.code, got.out.as_str(), got.err.contains("disabled")),
        (0, "1\n", true)
    );
    assert_eq!(run(&["-X1"], "!!echo shell\nPRINT 1\n").code, 1);
    let again = format!(":connect tcp:127.0.0.1,{port} -U sa\nPRINT DB_NAME()\nGO\n");
    let got = run(&["-d", "tempdb"], &again);
    let expected =
        format!("Sqlcmd: Successfully connected to server 'tcp:127.0.0.1,{port}'.\nmaster\n");
    assert_eq!((got.code, got.out), (0, expected));
    assert_eq!(run(&["-c", "end"], "PRINT 1\nEND\nPRINT 2\n").out, "1\n2\n");
    let got = run(&["-u", "-o", "u.txt", "-Q", "PRINT N'\u{e9}'"], "");
    assert_eq!(got.code, 0, "{}", got.err);
    let wide = std::fs::read(dir.join("u.txt")).expect("a file");
    assert_eq!(wide, [0xFF, 0xFE, 0xE9, 0, 10, 0]);
    let got = run(&[], ":setvar SQLCMDUSER x\n");
    assert!(
        got.code == 1 && got.err.contains("read-only"),
        "{}",
        got.err
    );
    let got = run(&["-p1", "-Q", "PRINT 1"], "");
    assert!(got.out.starts_with("1\n\n4096:1:"), "{}", got.out);

    // Exit codes of their own; the system keeps the low byte.
    assert_eq!(run(&[], ":exit(SELECT 7)\n").code, 7);
    assert_eq!(run(&[], "PRINT 'x'\nEXIT\nGO\n").out, "");
    assert_eq!(run(&[], "PRINT 'x'\nEXIT()\nPRINT 'y'\nGO\n").out, "x\n");
    assert_eq!(run(&[], ":exit(SELECT 1 WHERE 1 = 0)\n").code, -101 & 0xff);
    assert_eq!(run(&[], ":exit(SELECT 'x')\n").code, -102 & 0xff);
    assert_eq!(run(&[], ":exit(SELECT * FROM nowhere)\n").code, -100 & 0xff);
    let got = run(&[], "RAISERROR ('stop', 11, 127)\nGO\nPRINT 'never'\nGO\n");
    assert_eq!(
        (got.code, got.out.contains("never")),
        (50_000 & 0xff, false)
    );
    assert_eq!(run(&[], "QUIT\nPRINT 'never'\nGO\n").out, "");

    // Time-outs, refusals, a wrong password.
    let late = "WAITFOR DELAY '00:00:30'\nGO\nPRINT 'after'\nGO\n";
    let got = run(&["-t", "1", "-b"], late);
    assert_eq!(
        (
            got.code,
            got.err.contains("Timeout expired"),
            got.out.as_str()
        ),
        (1, true, "")
    );
    // The server has stopped the query, and the connection goes on.
    let got = run(&["-t", "1"], late);
    assert_eq!(
        (
            got.code,
            got.err.contains("Timeout expired"),
            got.out.as_str()
        ),
        (0, true, "after\n")
    );
    assert_eq!(run(&["-Z"], "").code, 1);
    assert!(run(&["-E"], "").err.contains("integrated security"));
    let got = run(&["-P", "wrong", "-Q", "SELECT 1"], "");
    assert!(
        got.code == 1 && got.err.contains("Login failed for user 'sa'."),
        "{}",
        got.err
    );
    // -I and its absence.
    let quoted = "SET NOCOUNT ON; SELECT \"x\" AS a";
    assert!(run(&["-I", "-Q", quoted], "").out.contains("Msg 207"));
    assert!(run(&["-Q", quoted], "").out.contains('x'));
    server.stop();
    assert_eq!(run(&["-l", "2", "-Q", "SELECT 1"], "").code, 1);

    // The check of what the server has left: whole, and named when it is not.
    let (code, text) = check(&data);
    assert_eq!(code, 0, "{text}");
    let path = data.join("master.mdf");
    let mut bytes = std::fs::read(&path).expect("master");
    let last = bytes
        .chunks_exact(8192)
        .rposition(|page| page[1] == 1)
        .expect("a data page");
    bytes[last * 8192 + 200] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let (code, text) = check(&data);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("8939: Table error")
            && text.contains(&format!("page (1:{last}). Test (IS_OFF")),
        "{text}"
    );
}

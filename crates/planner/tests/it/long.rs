//! Work on long texts is done in pieces, between which somebody is asked whether it is still wanted; nothing is done behind the
//! word. Counted in questions, not in time: a piece is 65,536 elements, or twice as many.

use std::sync::atomic::Ordering;

use super::*;

const ELEMENTS: usize = 1_000_000;

/// Over `@b` (varchar), `@u` (nvarchar), `@x` (varbinary), all (max) and of so many elements.
const WORK: &[&str] = &[
    "LEN(REVERSE(@b))",
    "LEN(REVERSE(@u))",
    "LEN(UPPER(@b))",
    "LEN(LOWER(@u))",
    "LEN(REPLACE(@b, 'q', 'cc'))",
    "LEN(TRANSLATE(@u, 'ab', 'cd'))",
    "LEN(STUFF(@b, 5, 1, 'xyz'))",
    "LEN(CONCAT(@b, 1, 'x'))",
    "LEN(CONCAT_WS('-', @u, 'x'))",
    "LEN(RTRIM(@b))",
    "LEN(TRIM(@u))",
    "LEN(LEFT(@b, 900000))",
    "LEN(RIGHT(@u, 900000))",
    "LEN(SUBSTRING(@b, 2, 900000))",
    "DATALENGTH(SUBSTRING(@x, 2, 900000))",
    "CHARINDEX('zz', @u)",
    "CHECKSUM(@b)",
    "CHECKSUM(@u)",
    "DATALENGTH(HASHBYTES('SHA2_256', @b))",
    "DATALENGTH(HASHBYTES('MD5', @u))",
    "DATALENGTH(CONVERT(nvarchar(max), @b))",
    "DATALENGTH(CONVERT(varchar(max), @u))",
    "DATALENGTH(CONVERT(varbinary(max), @u))",
    "DATALENGTH(CONVERT(varchar(max), @x))",
    "DATALENGTH(@b + 'x')",
    "DATALENGTH(@x + @x)",
    "LEN(REPLICATE(@b, 4))",
];

fn long() -> Toy {
    let mut toy = world();
    toy.workspace = Workspace::new(1 << 30);
    let bytes = || b"ab".repeat(ELEMENTS / 2);
    let units = "ab".repeat(ELEMENTS / 2).encode_utf16().collect();
    toy.variables = vec![
        ("@b", SqlType::VARCHAR_MAX, Value::VarChar(bytes())),
        ("@u", SqlType::NVARCHAR_MAX, Value::NVarChar(units)),
        ("@x", SqlType::VARBINARY_MAX, Value::Binary(bytes())),
    ];
    toy
}

#[test]
fn long_texts_are_asked_for_between_pieces() {
    let toy = long();
    for work in WORK {
        let sql = format!("SELECT {work}");
        toy.asked.store(0, Ordering::Relaxed);
        toy.given_up_at.store(0, Ordering::Relaxed);
        toy.text(&sql);
        let asked = toy.asked.load(Ordering::Relaxed);
        assert!(asked >= 900_000 / (1 << 17), "{work} asked {asked} times");
        // In the middle of it: not one piece more.
        let word = asked / 2 + 1;
        toy.asked.store(0, Ordering::Relaxed);
        toy.given_up_at.store(word, Ordering::Relaxed);
        let error = toy.fails(&sql);
        assert_eq!((error.number, error.state), (0, 0), "{work}: {error:?}");
        assert_eq!(toy.asked.load(Ordering::Relaxed), word, "{work}");
    }
}

/// A variable that is lent to a function is there again after it, whatever became of the call, and may be named twice.
#[test]
fn a_lent_variable_comes_back() {
    let toy = long();
    assert_eq!(
        toy.text(
            "SELECT LEN(REPLACE(@b, @b, 'x')); SELECT LEN(@b); SELECT CONCAT(LEN(@b), LEFT(@b, 2), LEN(@b))"
        ),
        "1 1000000 1000000ab1000000"
    );
    assert_eq!(
        toy.text(
            "SELECT REPLACE(LEFT(@b, 3), LEFT(@b, 1), RIGHT(@b, 1)); SELECT LEN(CONCAT(@b, @b, @u))"
        ),
        "bbb 3000000"
    );
    assert_eq!(toy.fails("SELECT LEFT(@b, -1)").number, 537);
    toy.given_up_at.store(1, Ordering::Relaxed);
    toy.fails("SELECT LEN(UPPER(@b))");
    toy.given_up_at.store(0, Ordering::Relaxed);
    assert_eq!(toy.text("SELECT LEN(@b)"), "1000000");
}

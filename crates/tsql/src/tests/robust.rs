//! No text may panic, recurse without bound or take long.

use super::*;

/// Text with most of the grammar in it, to cut and to shuffle.
const SAMPLE: &str = "WITH c AS (SELECT a.*, -1.5e3 x FROM dbo.[t]]x] AS a WITH (NOLOCK) LEFT JOIN b ON a.x >= b.x WHERE (a.y IN (1, 0x2) OR NOT b.z LIKE N'%''x') AND EXISTS (SELECT $1.5)) \
INSERT INTO #t (a) OUTPUT inserted.a SELECT TOP (5) CASE WHEN 1 = 1 THEN CAST('x' AS varchar(max)) END FROM c GROUP BY x ORDER BY 1 OFFSET 1 ROWS; \
CREATE TABLE t (a int IDENTITY(1,1) DEFAULT ((0)), b AS a + 1, CHECK (a > 0)) BEGIN TRY EXEC @r = p @x = 1, @y = @z OUTPUT END TRY BEGIN CATCH THROW END CATCH \
CREATE DATABASE d ON (NAME = 'a', SIZE = 10MB, FILEGROWTH = 5%) LOG ON (NAME = l) BACKUP DATABASE d TO DISK = 'x' WITH INIT \
ALTER DATABASE d SET RECOVERY SIMPLE WITH ROLLBACK IMMEDIATE DBCC PAGE ('d', 1, 9, 3) WITH TABLERESULTS \
DECLARE c CURSOR FOR SELECT 1 /* /* */ */ -- end\n WHILE @i < 3 BEGIN SET @i += 1 IF @i = 2 CONTINUE ELSE PRINT {fn NOW()} END";

/// A small generator with a fixed start: the same texts in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[test]
fn every_prefix_and_suffix_ends_in_a_tree_or_an_error() {
    for (at, _) in SAMPLE.char_indices() {
        let _ = parse(&SAMPLE[..at]);
        let _ = parse(&SAMPLE[at..]);
    }
}

#[test]
fn shuffled_tokens_and_random_bytes_are_harmless() {
    let words: Vec<&str> = SAMPLE.split_inclusive([' ', '(', ')', ',', '.']).collect();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for _ in 0..3000 {
        let length = random.below(40);
        let text: String = (0..length)
            .map(|_| words[random.below(words.len())])
            .collect();
        let _ = parse(&text);
        let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
        let _ = parse(&String::from_utf8_lossy(&bytes));
    }
}

// A thread of its own only for its stack; nothing here touches a simulated world.
#[allow(clippy::disallowed_methods)]
#[test]
fn deep_nesting_is_error_191_on_a_small_stack() {
    let deep = |open: &str, middle: &str, close: &str| {
        format!("{}{middle}{}", open.repeat(20_000), close.repeat(20_000))
    };
    let texts = [
        deep("SELECT (", "1", ")"),
        format!("SELECT {}", deep("(", "1", ")")),
        format!("SELECT 1 WHERE {}", deep("(", "1 = 1", ")")),
        format!("SELECT 1 WHERE {}", deep("NOT ", "1 = 1", "")),
        format!("SELECT {}1", "- ".repeat(20_000)),
        format!("SELECT {}1", "~".repeat(20_000)),
        format!("SELECT {}", deep("f(", "1", ")")),
        format!("SELECT {}", deep("CASE WHEN 1=1 THEN ", "1", " END")),
        format!("SELECT * FROM {}", deep("(SELECT * FROM ", "t", ") x")),
        format!("SELECT * FROM {}", deep("(", "t CROSS JOIN u", ")")),
        deep("BEGIN ", "SELECT 1", " END"),
        deep("IF 1=1 ", "SELECT 1", ""),
        deep("(", "SELECT 1", ")"),
        format!("SELECT * FROM a {}", "JOIN b ".repeat(20_000)),
        format!("SELECT 1{}", " + 1".repeat(20_000)),
        format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(20_000)),
        format!("SELECT x{}", " COLLATE y".repeat(20_000)),
        format!(
            "BACKUP DATABASE d TO DISK = 'x' WITH {}",
            deep("A(", "B", ")")
        ),
    ];
    let check = move || {
        for text in &texts {
            let number = parse(text).err().map(|e| e.number);
            assert_eq!(number, Some(191), "{}", &text[..60]);
        }
        // Within the bound, all of it works, on this stack: parsing, comparing, cloning, dropping.
        let tree = ok(&format!("SELECT {}1{}", "(f(".repeat(38), "))".repeat(38)));
        assert_eq!(tree, tree.clone());
    };
    let thread = std::thread::Builder::new().stack_size(3 << 19).spawn(check);
    assert!(thread.is_ok_and(|t| t.join().is_ok()));
}

#[test]
fn long_flat_lists_are_fine() {
    ok(&format!("SELECT 1 WHERE a = 1{}", " OR a = 2".repeat(5000)));
    ok(&format!("SELECT 1 WHERE a IN (1{})", ", 2".repeat(20_000)));
    ok(&format!("SELECT 'a'{}", " + 'b'".repeat(300)));
    ok(&format!("INSERT t VALUES (1){}", ", (2)".repeat(999)));
    assert_eq!(
        error(&format!("INSERT t VALUES (1){}", ", (2)".repeat(1000))),
        (10738, 1)
    );
    ok(&"SELECT 1 ".repeat(5000));
}

/// The scripts of the published experiments parse, batch by batch. DURAMEN_MATERIAL names the directory above them.
// A test that reads fixtures.
#[allow(clippy::disallowed_methods)]
#[test]
fn published_scripts_parse() {
    let Some(material) = std::env::var_os("DURAMEN_MATERIAL") else {
        eprintln!("skipped: DURAMEN_MATERIAL is not set");
        return;
    };
    let scripts = std::path::Path::new(&material).join("sources/scripts");
    let mut batches = 0;
    for entry in std::fs::read_dir(&scripts).expect("the scripts directory") {
        let path = entry.expect("a directory entry").path();
        let mut text = std::fs::read_to_string(&path).expect("a script");
        for (name, value) in [
            ("growth", "64"),
            ("ver", "2022"),
            ("rows", "10"),
            ("batch", "5"),
            ("DATASIZE", "1GB"),
        ] {
            text = text.replace(&format!("$({name})"), value);
        }
        let mut batch = String::new();
        for line in text.lines().chain(["GO"]) {
            if line.trim().eq_ignore_ascii_case("GO") {
                parse(&batch).unwrap_or_else(|e| panic!("{}\n{batch}\n{e}", path.display()));
                batches += 1;
                batch.clear();
            } else {
                batch.push_str(line);
                batch.push('\n');
            }
        }
    }
    assert!(batches > 30, "{batches}");
}

//! The T-SQL of the sample: a bank's members, who they pay, and their charges.
//!
//! Nine tables as the articles know them. Numbers are hashed row numbers: `h(n, k)` is a multiplicative hash of the
//! row and a stream number, from 0 to 65,535; powers of it give the skew (few members charge much, most little).

/// Charges of one statement.
const CHUNK: u64 = 1 << 20;

/// CREATE DATABASE with files named as the scripts' MOVE expects them.
///
/// The log becomes 400 MB of 15 VLFs in every version: 8 from its creation, 8 from a growth, and one that [`LOG`]
/// shrinks away at the end. (In the version that the articles used, the sample came with 15.)
pub fn database(data: &str, log: &str) -> String {
    format!(
        "CREATE DATABASE Credit ON (NAME = CreditData, FILENAME = {data}, SIZE = 1000MB, FILEGROWTH = 10%)
         LOG ON (NAME = CreditLog, FILENAME = {log}, SIZE = 218752KB, FILEGROWTH = 10%);
         ALTER DATABASE Credit SET RECOVERY SIMPLE;
         ALTER DATABASE Credit MODIFY FILE (NAME = CreditLog, SIZE = 436864KB)"
    )
}

/// What is left of the log when its last VLF has gone.
pub const LOG: &str = "CHECKPOINT; DBCC SHRINKFILE (CreditLog, 400) WITH NO_INFOMSGS";

pub const TABLES: &str = "
CREATE TABLE dbo.region (
    region_no int IDENTITY(1, 1) NOT NULL CONSTRAINT region_ident PRIMARY KEY,
    region_name varchar(15) NOT NULL, street varchar(15) NOT NULL, city varchar(15) NOT NULL, state_prov char(2) NOT NULL,
    country char(2) NOT NULL, mail_code char(10) NOT NULL, phone_no char(13) NOT NULL, region_code char(2) NOT NULL);
CREATE TABLE dbo.corporation (
    corp_no int IDENTITY(1, 1) NOT NULL CONSTRAINT corporation_ident PRIMARY KEY,
    corp_name varchar(31) NOT NULL, street varchar(15) NOT NULL, city varchar(15) NOT NULL, state_prov char(2) NOT NULL,
    country char(2) NOT NULL, mail_code char(10) NOT NULL, phone_no char(13) NOT NULL, expr_dt datetime NOT NULL,
    region_no int NOT NULL, corp_code char(2) NOT NULL);
CREATE TABLE dbo.provider (
    provider_no int IDENTITY(1, 1) NOT NULL CONSTRAINT provider_ident PRIMARY KEY,
    provider_name varchar(15) NOT NULL, street varchar(15) NOT NULL, city varchar(15) NOT NULL, state_prov char(2) NOT NULL,
    country char(2) NOT NULL, mail_code char(10) NOT NULL, phone_no char(13) NOT NULL, issue_dt datetime NOT NULL,
    expr_dt datetime NOT NULL, region_no int NOT NULL, provider_code char(2) NOT NULL);
CREATE TABLE dbo.category (
    category_no int IDENTITY(1, 1) NOT NULL CONSTRAINT category_ident PRIMARY KEY,
    category_desc varchar(31) NOT NULL, category_code char(2) NOT NULL);
CREATE TABLE dbo.member (
    member_no int IDENTITY(1, 1) NOT NULL CONSTRAINT member_ident PRIMARY KEY,
    lastname varchar(15) NOT NULL, firstname varchar(15) NOT NULL, middleinitial char(1) NULL, street varchar(15) NOT NULL,
    city varchar(15) NOT NULL, state_prov char(2) NOT NULL, country char(2) NOT NULL, mail_code char(10) NOT NULL,
    phone_no char(13) NULL, issue_dt datetime NOT NULL, expr_dt datetime NOT NULL, region_no int NOT NULL, corp_no int NULL,
    prev_balance money NULL, curr_balance money NULL, member_code char(2) NOT NULL);
CREATE TABLE dbo.statement (
    statement_no int NOT NULL CONSTRAINT statement_ident PRIMARY KEY,
    member_no int NOT NULL, statement_dt datetime NOT NULL, due_dt datetime NOT NULL, statement_amt money NOT NULL,
    statement_code char(2) NOT NULL);
CREATE TABLE dbo.payment (
    payment_no int IDENTITY(1, 1) NOT NULL CONSTRAINT payment_ident PRIMARY KEY,
    member_no int NOT NULL, payment_dt datetime NOT NULL, payment_amt money NOT NULL, statement_no int NULL,
    payment_code char(2) NOT NULL);
CREATE TABLE dbo.charge (
    charge_no int IDENTITY(1, 1) NOT NULL CONSTRAINT ChargePK PRIMARY KEY CLUSTERED,
    member_no int NOT NULL, provider_no int NOT NULL, category_no int NOT NULL, charge_dt datetime NOT NULL,
    charge_amt money NOT NULL, statement_no int NOT NULL, charge_code char(2) NOT NULL);
CREATE TABLE dbo.[status] (
    status_code char(2) NOT NULL CONSTRAINT status_ident PRIMARY KEY, status_desc varchar(31) NOT NULL)";

/// A temporary table `#n` with the numbers 1 to [`CHUNK`]: every version has one, and all else is read from it.
pub const NUMBERS: &str = "
SET NOCOUNT ON;
CREATE TABLE #n (n bigint NOT NULL PRIMARY KEY);
INSERT #n VALUES (1);
DECLARE @have bigint = 1;
WHILE @have < 1048576 BEGIN INSERT #n SELECT n + @have FROM #n; SET @have *= 2 END";

/// A hash of a row number and a stream, 0 to 65,535.
fn hash(n: &str, stream: u64, seed: u64) -> String {
    // Constants of the type int: a longer one would be numeric, and with it the whole expression.
    let add = (stream * 40_503 + seed * 97_861) % 1_000_003 * 2_003;
    format!("({n} * 1640531527 + {add}) / 32768 % 65536")
}

/// Everything but the charges.
pub fn people(seed: u64) -> String {
    let h = |stream| hash("t.n", stream, seed);
    let place = format!(
        "CHAR(65 + {} % 26) + 'street ' + CONVERT(varchar(6), t.n), CHAR(65 + {} % 26) + 'ville', SUBSTRING('CAWAORNYTXILMAFLGAOH', 1 + 2 * ({} % 10), 2), 'US', RIGHT('0000' + CONVERT(varchar(5), {} % 100000), 5), '(' + RIGHT('00' + CONVERT(varchar(3), {} % 1000), 3) + ')555-0100'",
        h(1),
        h(2),
        h(3),
        h(4),
        h(5)
    );
    format!(
        "SET NOCOUNT ON;
         INSERT dbo.[status] VALUES ('  ', 'no status'), ('OK', 'in good standing'), ('LA', 'late'), ('ST', 'stolen');
         INSERT dbo.category VALUES ('Travel', '  '), ('Meals', '  '), ('Lodging', '  '), ('Fuel', '  '), ('Clothing', '  '),
             ('Groceries', '  '), ('Health', '  '), ('Education', '  '), ('Electronics', '  '), ('Other', '  ');
         INSERT dbo.region SELECT 'Region ' + CONVERT(varchar(6), t.n), {place}, '  ' FROM #n AS t WHERE t.n <= 9;
         INSERT dbo.corporation SELECT 'Corp ' + CONVERT(varchar(6), t.n), {place}, DATEADD(day, {h6} % 1000, '20000101'), 1 + t.n % 9, '  '
             FROM #n AS t WHERE t.n <= 500;
         INSERT dbo.provider SELECT 'Prov ' + CONVERT(varchar(6), t.n), {place}, '19990101', DATEADD(day, {h6} % 1000, '20000101'), 1 + t.n % 9, '  '
             FROM #n AS t WHERE t.n <= 500;
         INSERT dbo.member SELECT CHAR(65 + {h7} % 26) + 'son ' + CONVERT(varchar(6), t.n), CHAR(65 + {h8} % 26) + 'anne', CHAR(65 + {h9} % 26), {place},
             '19990101', DATEADD(day, {h6} % 1000, '20000101'), 1 + t.n % 9, CASE WHEN {h9} % 10 < 7 THEN NULL ELSE 1 + {h9} % 500 END,
             0, CONVERT(money, {h8} % 5000), '  '
             FROM #n AS t WHERE t.n <= 10000;
         INSERT dbo.statement SELECT t.n, 1 + t.n % 10000, DATEADD(day, t.n % 365, '19990701'), DATEADD(day, 30 + t.n % 365, '19990701'), CONVERT(money, {h8} % 3000), '  '
             FROM #n AS t WHERE t.n <= 20000;
         INSERT dbo.payment SELECT 1 + {h7} % 10000, DATEADD(day, t.n % 365, '19990715'), CONVERT(money, {h8} % 3000), 1 + t.n % 20000, '  '
             FROM #n AS t WHERE t.n <= 15554",
        h6 = h(6),
        h7 = h(7),
        h8 = h(8),
        h9 = h(9)
    )
}

/// The charges, a statement for every [`CHUNK`]: what it is and its text.
pub fn charges(rows: u64, seed: u64) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut done = 0;
    while done < rows {
        let count = CHUNK.min(rows - done);
        let n = format!("(t.n + {done})");
        let h = |stream| hash(&n, stream, seed);
        // Squares and cubes: most charges are small, most come from few members and go to few providers.
        let text = format!(
            "SET NOCOUNT ON;
             INSERT dbo.charge WITH (TABLOCK) (member_no, provider_no, category_no, charge_dt, charge_amt, statement_no, charge_code)
             SELECT 1 + ({h1}) * ({h1}) / 65536 * 10000 / 65536, 1 + ({h2}) * ({h2}) / 65536 * ({h2}) / 65536 * 500 / 65536,
                    1 + ({h3}) % 10, DATEADD(minute, {n} % 525600, '19990701'),
                    CONVERT(money, 1 + ({h4}) * ({h4}) / 65536 * ({h4}) / 65536 * 5000 / 65536),
                    1 + ({h1}) % 20000, '  '
             FROM #n AS t WHERE t.n <= {count}",
            h1 = h(11),
            h2 = h(12),
            h3 = h(13),
            h4 = h(14)
        );
        done += count;
        out.push((format!("charges to {done}"), text));
    }
    out
}

pub const INDEXES: &str = "
CREATE INDEX charge_category_link ON dbo.charge (category_no);
CREATE INDEX charge_provider_link ON dbo.charge (provider_no);
CREATE INDEX charge_statement_link ON dbo.charge (statement_no);
CREATE INDEX member_corporation_link ON dbo.member (corp_no);
CREATE INDEX member_region_link ON dbo.member (region_no);
CREATE INDEX corp_region_link ON dbo.corporation (region_no);
CREATE INDEX prov_region_link ON dbo.provider (region_no);
CREATE INDEX payment_member_link ON dbo.payment (member_no);
CREATE INDEX statement_member_link ON dbo.statement (member_no);
ALTER TABLE dbo.member ADD CONSTRAINT member_region_fk FOREIGN KEY (region_no) REFERENCES dbo.region (region_no);
ALTER TABLE dbo.member ADD CONSTRAINT member_corporation_fk FOREIGN KEY (corp_no) REFERENCES dbo.corporation (corp_no);
ALTER TABLE dbo.corporation ADD CONSTRAINT corp_region_fk FOREIGN KEY (region_no) REFERENCES dbo.region (region_no);
ALTER TABLE dbo.provider ADD CONSTRAINT prov_region_fk FOREIGN KEY (region_no) REFERENCES dbo.region (region_no);
ALTER TABLE dbo.statement ADD CONSTRAINT statement_member_fk FOREIGN KEY (member_no) REFERENCES dbo.member (member_no);
ALTER TABLE dbo.payment ADD CONSTRAINT payment_member_fk FOREIGN KEY (member_no) REFERENCES dbo.member (member_no)";

//! The inputs that mutations start from: small, valid, and together of every shape.

use duramen_base::{AllocUnitId, Lsn, PAGE_BYTES, PageId, XdesId};
use duramen_format::alloc::{format_bitmap, format_iam, format_pfs};
use duramen_format::page::{PageMut, page_type, seal};
use duramen_format::{ColumnSpec, RowKind, RowLayout, encode_row, layout_for, row};
use duramen_tds::login::Login;
use duramen_tds::packet::PacketType;
use duramen_tds::request::{AllHeaders, Batch};
use duramen_tds::token::put_row;
use duramen_tds::typeinfo::{Place, put_type_info};
use duramen_tds::value::put_value;
use duramen_types::{SqlType, Value};
use duramen_wal::record::{Lcx, Lop, RecordBuilder};

use super::files;

const SQL: [&str; 14] = [
    "SELECT TOP (10) a.b, COUNT(*) AS n FROM dbo.t AS a LEFT JOIN [x y] z ON a.id = z.id WHERE a.c LIKE N'%''é%' \
     GROUP BY a.b HAVING COUNT(*) > 1 ORDER BY n DESC OFFSET 1 ROWS FETCH NEXT 5 ROWS ONLY",
    "CREATE TABLE dbo.t (id int IDENTITY(1,1) NOT NULL PRIMARY KEY, c decimal(18, 4) NULL DEFAULT (0), \
     v varchar(max), CONSTRAINT k UNIQUE (c))",
    "INSERT INTO t (a, b) VALUES (1, 0xFF), (-2.5e3, $1.5); INSERT t DEFAULT VALUES",
    "UPDATE t SET a += 1 OUTPUT inserted.a INTO @r FROM t WHERE b IN (SELECT 1) OR NOT EXISTS (SELECT * FROM u)",
    "DECLARE @a int = 1, @t TABLE (x int); WHILE @a < 5 BEGIN SET @a += 1; IF @a = 3 BREAK ELSE CONTINUE END",
    "BEGIN TRY BEGIN TRAN x; COMMIT; END TRY BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK; THROW END CATCH",
    "EXEC @r = sp_executesql N'SELECT @p', N'@p int', @p = 1 OUTPUT; EXEC ('x' + 'y')",
    "CREATE PROCEDURE p @a int = 1 OUTPUT AS BEGIN SET NOCOUNT ON; RETURN 1 END",
    "WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c) SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY x) FROM c",
    "SELECT CASE a WHEN 1 THEN 'x' ELSE CAST(NULL AS nvarchar(10)) END, CONVERT(varchar(30), GETDATE(), 121), a.b.c.d -- y",
    "CREATE DATABASE d ON PRIMARY (NAME = d, FILENAME = 'C:\\d.mdf', SIZE = 8MB) LOG ON (NAME = l, FILENAME = 'l.ldf')",
    "ALTER DATABASE d SET RECOVERY SIMPLE WITH NO_WAIT; BACKUP DATABASE d TO DISK = 'x'; DBCC CHECKDB ('d') WITH NO_INFOMSGS",
    "MERGE t USING s ON t.a = s.a WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a);",
    "/* a /* nested */ b */ GRANT SELECT ON dbo.t TO u; SELECT ((((1)))), - - 1, ~0x, \"q\", [a]]b]; GO",
];

pub fn tsql() -> Vec<Vec<u8>> {
    SQL.iter().map(|s| s.as_bytes().to_vec()).collect()
}

/// Values of most types, each with its type.
fn typed() -> Vec<(SqlType, Value)> {
    vec![
        (SqlType::INT, Value::Int(7)),
        (SqlType::BIT, Value::Bit(true)),
        (SqlType::BIGINT, Value::BigInt(-1)),
        (SqlType::TINYINT, Value::Null),
        (SqlType::nvarchar(30), Value::nvarchar("Zoë")),
        (SqlType::binary(6), Value::Binary(vec![1, 2, 3, 4, 5, 6])),
        (SqlType::char(2), Value::VarChar(b"ab".to_vec())),
        (
            SqlType::VARIANT,
            Value::Variant(Box::new((SqlType::BIGINT, Value::BigInt(9)))),
        ),
    ]
}

pub fn values() -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let mut all = Vec::new();
    for (ty, value) in typed() {
        for place in [Place::Column, Place::Parameter] {
            let mut one = Vec::new();
            put_type_info(&mut one, &ty);
            if put_value(&mut one, &ty, &value, place).is_ok() {
                all.extend_from_slice(&one);
                out.push(one);
            }
        }
    }
    out.push(all);
    // nvarchar(max), in chunks of known and of unknown total length.
    for total in [6, u64::MAX - 1] {
        let mut b = vec![0xE7, 0xFF, 0xFF, 9, 4, 0xD0, 0, 0x34];
        b.extend_from_slice(&total.to_le_bytes());
        b.extend_from_slice(&[
            4, 0, 0, 0, b'a', 0, b'b', 0, 2, 0, 0, 0, b'c', 0, 0, 0, 0, 0,
        ]);
        out.push(b);
    }
    out
}

pub fn rpcs() -> Vec<Vec<u8>> {
    let mut heads = vec![Vec::new(), Vec::new()];
    for (i, head) in heads.iter_mut().enumerate() {
        AllHeaders::default().put(head);
        if i == 0 {
            head.extend_from_slice(&[0xFF, 0xFF, 10, 0, 0, 0]);
        } else {
            head.extend_from_slice(&[2, 0, b'p', 0, b'q', 0, 1, 0]);
        }
    }
    let mut out = Vec::new();
    for head in heads {
        for value in values() {
            let mut b = head.clone();
            b.extend_from_slice(&[2, b'@', 0, b'a', 0, 0]);
            b.extend_from_slice(&value);
            out.push(b);
        }
        // A table-valued parameter: one int column, one row.
        let mut b = head;
        b.extend_from_slice(&[
            0, 0, 0xF3, 0, 0, 1, b't', 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x26, 4, 0,
        ]);
        b.extend_from_slice(&[0, 1, 4, 9, 0, 0, 0, 0]);
        out.push(b);
    }
    out
}

pub fn logins() -> Vec<Vec<u8>> {
    let login = Login {
        tds_version: duramen_tds::login::TDS_7_4,
        packet_bytes: 4096,
        user: "sa".into(),
        password: "Pässword".into(),
        host: "h".into(),
        app: "app".into(),
        database: "master".into(),
        features: vec![(duramen_tds::login::FEATURE_UTF8, vec![1])],
        ..Login::default()
    };
    vec![
        login.build(),
        Login::default().build(),
        vec![0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 1, 0, 0, 2],
    ]
}

pub fn packets() -> Vec<Vec<u8>> {
    let mut bodies = rpcs();
    bodies.extend(SQL.map(|sql| Batch::build(sql, AllHeaders::default())));
    let kinds = [PacketType::from_byte(1), PacketType::from_byte(3)];
    let mut out = Vec::new();
    for (i, body) in bodies.iter().enumerate() {
        if let Some(kind) = kinds[i % 2] {
            let mut bytes = Vec::new();
            for (at, piece) in body.chunks(300).enumerate() {
                let last = (at + 1) * 300 >= body.len();
                let len = (piece.len() + 8) as u16;
                bytes.extend_from_slice(&[kind.to_byte(), u8::from(last)]);
                bytes.extend_from_slice(&len.to_be_bytes());
                bytes.extend_from_slice(&[0, 0, at as u8, 0]);
                bytes.extend_from_slice(piece);
            }
            out.push(bytes);
        }
    }
    out
}

pub fn tokens() -> Vec<Vec<u8>> {
    // Columns: one int that may be NULL, named "a"; then rows and DONE.
    let mut out = vec![0x81, 1, 0, 0, 0, 0, 0, 1, 0, 0x26, 4, 1, b'a', 0];
    for value in [Value::Int(1), Value::Null] {
        let _ = put_row(&mut out, [&SqlType::INT], &[value]);
    }
    let done = [0xFD, 0x10, 0, 0xC1, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    out.extend_from_slice(&done);
    let env = vec![0xE3, 9, 0, 4, 2, b'4', 0, b'0', 0, 1, b'1', 0];
    vec![out, done.to_vec(), env, vec![0x79, 0, 0, 0, 0]]
}

/// Bulk loads: columns of most types, a row of values, a row with its NULLs in a bitmap, with and without an end.
pub fn bulk_loads() -> Vec<Vec<u8>> {
    let mut out = vec![0x81];
    let typed = typed();
    let types: Vec<SqlType> = typed.iter().map(|(ty, _)| *ty).collect();
    let values: Vec<Value> = typed.into_iter().map(|(_, value)| value).collect();
    out.extend_from_slice(&(types.len() as u16).to_le_bytes());
    for ty in &types {
        out.extend_from_slice(&[0, 0, 0, 0, 1, 0]);
        put_type_info(&mut out, ty);
        out.extend_from_slice(&[1, b'c', 0]);
    }
    let _ = put_row(&mut out, &types, &values);
    out.extend_from_slice(&[0xD2, 0xFF]);
    let mut ended = out.clone();
    ended.extend_from_slice(&[0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    vec![out, ended]
}

/// Begin (named, SERIALIZABLE), commit and begin again, roll back to a savepoint, save, promote.
pub fn manager_requests() -> Vec<Vec<u8>> {
    let bodies: [&[u8]; 5] = [
        &[5, 0, 4, 4, b't', 0, b'n', 0],
        &[7, 0, 0, 1, 2, 0],
        &[8, 0, 2, b's', 0, 0],
        &[9, 0, 2, b's', 0],
        &[6, 0],
    ];
    let request = |body: &[u8]| {
        let mut out = Vec::new();
        AllHeaders::default().put(&mut out);
        out.extend_from_slice(body);
        out
    };
    bodies.into_iter().map(request).collect()
}

/// The layout by which every record is decoded, whatever it was.
pub fn layout() -> RowLayout {
    let specs: Vec<ColumnSpec> = typed()
        .iter()
        .map(|(ty, _)| ColumnSpec::new(*ty, true))
        .collect();
    layout_for(&specs, RowKind::Data)
}

/// A layout that a row of any table may fit: its fixed part as one column, the rest of variable length.
pub fn layout_of(row: &[u8]) -> RowLayout {
    const MOST_COLUMNS: u16 = 64;
    let u16_at = |at: usize| Some(u16::from_le_bytes([*row.get(at)?, *row.get(at + 1)?]));
    let fixed = u16_at(2).unwrap_or(4).clamp(5, 8000);
    let columns = u16_at(usize::from(fixed))
        .unwrap_or(1)
        .clamp(1, MOST_COLUMNS);
    let mut specs = vec![ColumnSpec::new(SqlType::binary(fixed - 4), true)];
    let variable = ColumnSpec::new(SqlType::varbinary(8000), true);
    specs.resize(usize::from(columns), variable);
    layout_for(&specs, RowKind::Data)
}

pub fn rows() -> Vec<Vec<u8>> {
    let values: Vec<Value> = typed().into_iter().map(|(_, v)| v).collect();
    let nulls = vec![Value::Null; values.len()];
    let mut out: Vec<Vec<u8>> = [values, nulls]
        .iter()
        .filter_map(|v| encode_row(&layout(), v).ok())
        .collect();
    out.push(row::forwarding_stub(PageId::new(1, 80), 3).to_vec());
    out
}

/// Built rows, and rows of files.
pub fn rows_and_files() -> Vec<Vec<u8>> {
    let mut out = rows();
    out.extend(files::seeds().rows.iter().cloned());
    out
}

pub fn pages() -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    let (id, unit) = (PageId::new(1, 80), AllocUnitId::from_parts(256, 77));
    for kind in [page_type::DATA, page_type::INDEX, page_type::TEXT_MIX] {
        let mut page = [0; PAGE_BYTES];
        let mut p = PageMut::new(&mut page);
        p.format(id, kind, unit, 0, 8);
        for (slot, row) in rows().iter().cycle().take(20).enumerate() {
            let _ = p.insert_record(slot as u16, row);
        }
        out.push(page);
    }
    let mut page = [0; PAGE_BYTES];
    let _ = format_pfs(&mut page, id);
    out.push(page);
    let _ = format_bitmap(&mut page, id, page_type::GAM, PageId::new(1, 0), true);
    out.push(page);
    let _ = format_iam(&mut page, id, unit, PageId::new(1, 0), 0);
    out.push(page);
    out.iter_mut().for_each(seal);
    let built = out.iter().map(|p| p.to_vec());
    built.chain(files::seeds().pages.iter().cloned()).collect()
}

pub fn records() -> Vec<Vec<u8>> {
    let xdes = XdesId(5);
    let lsn = Lsn::new(7, 16, 1);
    let mut out = vec![
        RecordBuilder::new(Lop::INSERT_ROWS, Lcx::HEAP)
            .xdes(xdes)
            .finish(&[&[1; 40], &[2; 7], &[]]),
        RecordBuilder::commit_xact(xdes, lsn, [3; 8]),
        RecordBuilder::savepoint(xdes, lsn, "s"),
    ];
    out.extend(RecordBuilder::active_xacts(lsn, &[]));
    out.extend(files::seeds().records.iter().cloned());
    out
}

pub fn blocks() -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for bytes in [512, 1024, 4096] {
        let mut b = vec![0; bytes];
        let mut at = 72;
        let mut offsets = Vec::new();
        for record in records() {
            if at + record.len() + 2 * offsets.len() + 16 < bytes {
                b[at..at + record.len()].copy_from_slice(&record);
                offsets.push(at as u16);
                at = (at + record.len()).next_multiple_of(8);
            }
        }
        let used = at + 2 * offsets.len();
        for (i, offset) in offsets.iter().enumerate() {
            let place = used - 2 * (i + 1);
            b[place..place + 2].copy_from_slice(&offset.to_le_bytes());
        }
        for (place, v) in [
            (2, offsets.len()),
            (4, used),
            (6, bytes),
            (8, 3),
            (12, 7),
            (16, 16),
        ] {
            b[place..place + 2].copy_from_slice(&(v as u16).to_le_bytes());
        }
        b[bytes - 1] = 5;
        fix_block(&mut b);
        out.push(b);
    }
    out.extend(files::seeds().blocks.iter().cloned());
    out
}

/// Whole sectors, their marks, the CRC32C where the block says that it is one of ours, and the XOR checksum.
pub fn fix_block(b: &mut Vec<u8>) {
    const OUR_MAGIC: &[u8] = b"DuLB";
    let parity = match b.first() {
        Some(first) if first & 0x80 != 0 => 0x80,
        _ => 0x40,
    };
    let sectors = b.len().div_ceil(512).clamp(1, 120);
    b.resize(sectors * 512, 0);
    b[6..8].copy_from_slice(&((sectors * 512) as u16).to_le_bytes());
    for (s, sector) in b.chunks_exact_mut(512).enumerate() {
        let first = if s == 0 { 0x10 } else { 0 };
        let last = if s + 1 == sectors { 8 } else { 0 };
        sector[0] = parity | first | last;
    }
    b[24..28].fill(0);
    if &b[28..32] == OUR_MAGIC {
        b[44..48].fill(0);
        let crc = crc32c::crc32c(b);
        b[44..48].copy_from_slice(&crc.to_le_bytes());
    }
    let mut sum = 0u32;
    for (s, sector) in b.chunks_exact(512).enumerate() {
        let words = sector.chunks_exact(4);
        let word = words.fold(0, |x, w| x ^ u32::from_le_bytes([w[0], w[1], w[2], w[3]]));
        sum ^= word.rotate_left(((sectors - 1 - s) % 32) as u32);
    }
    b[24..28].copy_from_slice(&sum.to_le_bytes());
}

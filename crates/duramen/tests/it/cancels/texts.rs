//! Statements whose work is one large value, or which are long themselves.

use super::kinds::{Kind, after, kind, undone};

pub const KINDS: &[Kind] = &[
    kind(
        "TRANSLATE, TRIM, STUFF",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), 'ab '), 10000000); SELECT LEN(TRANSLATE(@s, 'ab', 'ba')), LEN(TRIM(@s)), LEN(STUFF(@s, 100, 100, 'x'))",
    ),
    kind(
        "REPLACE, linguistic",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aé'), 3000000); SELECT LEN(REPLACE(@s COLLATE Latin1_General_100_CI_AI, N'E', N'xyz'))",
    ),
    kind(
        "CHARINDEX, linguistic",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aé'), 10000000); SELECT CHARINDEX(N'zz', @s COLLATE Latin1_General_100_CI_AI)",
    ),
    kind(
        "comparison of long texts",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aé'), 10000000); DECLARE @t nvarchar(max) = @s + N'x'; SELECT 1 WHERE @s COLLATE Latin1_General_100_CI_AS = @t COLLATE Latin1_General_100_CI_AS OR @s < @t",
    ),
    kind(
        "LIKE, linguistic",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aé'), 2000000); SELECT 1 WHERE @s COLLATE Latin1_General_100_CI_AI LIKE N'%e%a%e%[b-c]%z%'",
    ),
    kind(
        "binary as text",
        "DECLARE @s varbinary(max) = CONVERT(varbinary(max), REPLICATE(CONVERT(varchar(max), 'ab'), 10000000)); DECLARE @t varchar(max) = CONVERT(varchar(max), @s, 2); SELECT DATALENGTH(CONVERT(varbinary(max), @t, 2))",
    ),
    kind(
        "text as a code page",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'aж'), 10000000); SELECT DATALENGTH(CONVERT(varchar(max), @s)), UNICODE(UPPER(@s)), LEN(LOWER(@s))",
    ),
    kind(
        "xml of a text and back",
        "DECLARE @x xml = '<a>' + REPLICATE(CONVERT(varchar(max), '<b c=\"1\">x</b>'), 300000) + '</a>'; DECLARE @t nvarchar(max) = CONVERT(nvarchar(max), @x); SELECT LEN(@t), DATALENGTH(@x)",
    ),
    kind(
        "xml, query",
        "DECLARE @x xml = '<a>' + REPLICATE(CONVERT(varchar(max), '<b c=\"1\">x</b>'), 200000) + '</a>'; SELECT DATALENGTH(@x.query('/a/b[@c = \"1\"]')), @x.value('count(//b)', 'int'), @x.exist('/a/b[. = \"y\"]')",
    ),
    kind(
        "xml, deep",
        "DECLARE @s varchar(max) = REPLICATE(CONVERT(varchar(max), '<b>'), 120) + REPLICATE(CONVERT(varchar(max), '<c/>'), 300000) + REPLICATE(CONVERT(varchar(max), '</b>'), 120); DECLARE @x xml = @s; SELECT COUNT(*) FROM @x.nodes('//c') n (r)",
    ),
    kind(
        "large values compared",
        "SELECT COUNT(*) FROM (SELECT DISTINCT doc FROM lob) a CROSS JOIN (SELECT MAX(doc) m FROM lob) b WHERE a.doc < b.m + 'x'",
    ),
    kind(
        "large values sorted",
        "SELECT MAX(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY doc, id DESC) r FROM lob) x",
    ),
    kind(
        "a long comment",
        "DECLARE @s nvarchar(max) = N'/*' + REPLICATE(CONVERT(nvarchar(max), N' x'), 15000000) + N'*/ SELECT 1'; EXEC sp_executesql @s",
    ),
    kind(
        "a long literal",
        "DECLARE @s nvarchar(max) = N'SELECT LEN(N''' + REPLICATE(CONVERT(nvarchar(max), N'x'), 20000000) + N''')'; EXEC sp_executesql @s",
    ),
    kind(
        "a long parameter",
        "DECLARE @p nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'x'), 20000000); EXEC sp_executesql N'DECLARE @q nvarchar(max) = @p + @p; SELECT LEN(@q + @p)', N'@p nvarchar(max)', @p",
    ),
    undone(
        "CREATE PROCEDURE, long",
        "DECLARE @s nvarchar(max) = N'CREATE PROCEDURE long_one AS ' + REPLICATE(CONVERT(nvarchar(max), N'IF 1 = 2 SELECT COUNT(*) FROM t a JOIN u b ON a.id = b.id WHERE a.a = 3; '), 10000); EXEC (@s)",
        "DROP PROCEDURE IF EXISTS long_one",
    ),
    undone(
        "CREATE VIEW, long",
        "DECLARE @s nvarchar(max) = N'CREATE VIEW long_view AS SELECT id FROM t WHERE id = 1' + REPLICATE(CONVERT(nvarchar(max), N' UNION ALL SELECT id FROM t WHERE id = 2'), 1500); EXEC (@s)",
        "DROP VIEW IF EXISTS long_view",
    ),
    kind(
        "many variables",
        "DECLARE @s nvarchar(max) = N'DECLARE @v int', @i int = 1; WHILE @i < 8000 SELECT @s += N', @v' + CONVERT(nvarchar(10), @i) + N' varchar(100) = ''x''', @i += 1; EXEC (@s)",
    ),
    kind(
        "many results",
        "DECLARE @s nvarchar(max) = N'SELECT 0 c', @i int = 1; WHILE @i < 4000 SELECT @s += N', a + ' + CONVERT(nvarchar(10), @i) + N' AS c' + CONVERT(nvarchar(10), @i), @i += 1; SET @s = N'SELECT COUNT(*) FROM (' + @s + N' FROM t) x'; EXEC (@s)",
    ),
    kind(
        "many cases",
        "DECLARE @s nvarchar(max) = N'SELECT SUM(CASE a', @i int = 0; WHILE @i < 5000 SELECT @s += N' WHEN ' + CONVERT(nvarchar(10), @i + 1000) + N' THEN ' + CONVERT(nvarchar(10), @i), @i += 1; SET @s += N' ELSE 0 END) FROM t'; EXEC (@s)",
    ),
    kind(
        "many ORs",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM t WHERE a = -1', @i int = 0; WHILE @i < 20000 SELECT @s += N' OR a = ' + CONVERT(nvarchar(10), 1000 + @i), @i += 1; EXEC (@s)",
    ),
    kind(
        "many different values",
        "DECLARE @s nvarchar(max) = (SELECT STRING_AGG(CONVERT(nvarchar(max), value), N',') FROM GENERATE_SERIES(1, 100000)); SET @s = N'SELECT COUNT(*) FROM hp WHERE id IN (' + @s + N')'; EXEC (@s)",
    ),
    kind(
        "many texts as values",
        "DECLARE @s nvarchar(max) = (SELECT STRING_AGG(CONVERT(nvarchar(max), N'''v' + CONVERT(nvarchar(10), value) + N''''), N',') FROM GENERATE_SERIES(1, 50000)); SET @s = N'SELECT COUNT(*) FROM hp WHERE pad IN (' + @s + N')'; EXEC (@s)",
    ),
    kind(
        "many terms",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM t WHERE pad = ''a''' + REPLICATE(CONVERT(nvarchar(max), N' + ''b'''), 5000); EXEC (@s)",
    ),
    kind(
        "many rows of VALUES",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM (VALUES (0, ''x'')' + REPLICATE(CONVERT(nvarchar(max), N', (1, ''y'')'), 50000) + N') v (a, b)'; EXEC (@s)",
    ),
    undone(
        "many INSERTs",
        "DECLARE @s nvarchar(max) = REPLICATE(CONVERT(nvarchar(max), N'INSERT h VALUES (1, 2); '), 20000); EXEC (@s)",
        "TRUNCATE TABLE h",
    ),
    kind(
        "many subqueries",
        "DECLARE @s nvarchar(max) = N'SELECT COUNT(*) FROM t WHERE id = 1', @i int = 0; WHILE @i < 500 SELECT @s += N' OR EXISTS (SELECT 1 FROM u WHERE u.id = t.a + ' + CONVERT(nvarchar(10), @i) + N' AND u.a > 200)', @i += 1; EXEC (@s)",
    ),
    after(
        "views of views",
        "EXEC('CREATE OR ALTER VIEW v0 AS SELECT id FROM t'); DECLARE @i int = 1, @s nvarchar(max); WHILE @i <= 9 BEGIN SET @s = N'CREATE OR ALTER VIEW v' + CONVERT(nvarchar(10), @i) + N' AS SELECT a.id FROM v' + CONVERT(nvarchar(10), @i - 1) + N' a JOIN v' + CONVERT(nvarchar(10), @i - 1) + N' b ON a.id = b.id'; EXEC (@s); SET @i += 1 END",
        "SELECT COUNT(*) FROM v9",
        "",
    ),
    kind(
        "different batches",
        "DECLARE @s nvarchar(max), @i int = 0; WHILE @i < 100000 BEGIN SET @s = N'SELECT TOP 0 a FROM t WHERE id = ' + CONVERT(nvarchar(10), @i) + N' OR pad = ''x'''; EXEC (@s); SET @i += 1 END",
    ),
    kind(
        "described",
        "DECLARE @s nvarchar(max) = N'SELECT 0 c', @i int = 1; WHILE @i < 2000 SELECT @s += N', a + ' + CONVERT(nvarchar(10), @i) + N' AS c' + CONVERT(nvarchar(10), @i), @i += 1; SET @s += N' FROM t'; EXEC sp_describe_first_result_set @s",
    ),
];

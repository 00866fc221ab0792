-- What the drivers' programs find in their database; made anew for every driver.
CREATE TABLE dbo.pair (id int NOT NULL CONSTRAINT pk_pair PRIMARY KEY, name nvarchar(40) NULL);
CREATE TABLE dbo.copied (
    id int NOT NULL CONSTRAINT pk_copied PRIMARY KEY, small smallint NULL, wide bigint NULL, truth bit NULL,
    amount decimal(18,4) NULL, ratio float NULL, name varchar(40) NULL, note nvarchar(40) NULL, born date NULL,
    seen datetime2(3) NULL, bytes varbinary(40) NULL, story nvarchar(max) NULL);
CREATE TABLE dbo.parent (
    id int IDENTITY(1,1) NOT NULL CONSTRAINT pk_parent PRIMARY KEY, code varchar(10) NOT NULL CONSTRAINT uq_parent UNIQUE,
    amount decimal(10,2) NOT NULL CONSTRAINT df_amount DEFAULT 0, note nvarchar(50) NULL);
GO
CREATE PROCEDURE dbo.fails @n int AS
BEGIN
    SET NOCOUNT ON;
    RAISERROR('wrong thing %d', 12, 7, @n);
END
GO
CREATE PROCEDURE dbo.outputs @a int, @b nvarchar(50) OUTPUT, @c decimal(18,4) OUTPUT, @d datetime2(3) OUTPUT AS
BEGIN
    SET NOCOUNT ON;
    SET @b = @b + N'-' + CAST(@a AS nvarchar(10));
    SET @c = @a * 1.5;
    SET @d = '2020-01-02T03:04:05.678';
    RETURN @a + 1;
END
GO
CREATE PROCEDURE dbo.rows_and_status @n int AS
BEGIN
    SET NOCOUNT ON;
    SELECT @n AS n, N'first' AS word;
    SELECT @n + 1 AS m;
    RETURN 7;
END
GO
CREATE PROCEDURE dbo.status @n int AS
    RETURN @n + 1;
GO
-- Whether dbo.copied holds the 1,000 rows of the bulk copy: how many there are, how many are not as they should be.
CREATE PROCEDURE dbo.check_copied AS
BEGIN
    SET NOCOUNT ON;
    SELECT COUNT(*) AS found, SUM(CASE
        WHEN id % 10 = 0 AND small IS NULL AND wide IS NULL AND truth IS NULL AND amount IS NULL AND ratio IS NULL
            AND name IS NULL AND note IS NULL AND born IS NULL AND seen IS NULL AND bytes IS NULL AND story IS NULL THEN 0
        WHEN id % 10 <> 0 AND small = id % 100 - 50 AND wide = id * CAST(1000000000000 AS bigint) AND truth = id % 2
            AND amount = id + 0.25 AND ratio = id / 4E0 AND name = 'name ' + CAST(id AS varchar(10))
            AND note = NCHAR(945) + CAST(id AS nvarchar(10)) AND born = DATEADD(day, id, CAST('2000-01-01' AS date))
            AND seen = DATEADD(minute, id, CAST('2020-01-02T03:04:05.678' AS datetime2(3)))
            AND bytes = CAST(id AS binary(4)) AND LEN(story) = id * 10 AND LEFT(story, 1) = NCHAR(1078) THEN 0
        ELSE 1 END) AS wrong
    FROM dbo.copied;
END
GO

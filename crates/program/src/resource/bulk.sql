-- What bulk copies of drivers ask of a table before they send rows.
-- needs: asks
CREATE PROCEDURE sys.sp_tablecollations_100 @object nvarchar(4000)
AS
SET NOCOUNT ON
SELECT c.column_id AS colid, c.name, CONVERT(binary(5), COLLATIONPROPERTY(c.collation_name, 'TDSCollation')) AS tds_collation,
    c.collation_name AS collation
FROM sys.all_columns AS c
WHERE c.object_id = OBJECT_ID(@object)
ORDER BY c.column_id

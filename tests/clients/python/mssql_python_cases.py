"""mssql-python (Microsoft's ODBC driver 18) against a running server; the cases are those of cases.md."""
import datetime
import re

import mssql_python

from dbapi import BULK_COLUMNS, Driver
from harness import Skip, check

mssql_python.pooling(enabled=False)


class CopyError(mssql_python.DatabaseError):
    """What a bulk copy raises as a RuntimeError: the driver copies by another library of its own."""

    def __init__(self, text):
        super().__init__("bulk copy", text)
        self.number = int(re.search(r"Sql Error: (\d+)", text).group(1))


class MssqlPython(Driver):
    mark = "?"
    Error = mssql_python.Error

    def connect(self, mode="tls", password=None, database=None, autocommit=True, timeout=30):
        a = self.arguments
        more = {
            "clear": None,
            "login-only": "Encrypt=no",
            "tls": "Encrypt=yes;TrustServerCertificate=yes",
            "strict": "Encrypt=strict;ServerCertificate=" + a.certificate,
        }[mode]
        if more is None:
            raise Skip("the driver encrypts at least the login")
        connection = mssql_python.connect("SERVER=%s,%s;UID=sa;PWD=%s;DATABASE=%s;%s" % (
            a.host, a.port, password or a.password, database or a.database, more), autocommit=autocommit)
        connection.timeout = timeout
        return connection

    def fields(self, error):
        if isinstance(error, CopyError):
            return {"message": str(error), "number": error.number}
        # The driver keeps the number to itself; the two of a refused login are known by their words.
        text = re.sub(r"^(\[[^\]]*\])+", "", error.ddbc_error)
        number = 18456 if text.startswith("Login failed") else 4060 if text.startswith("Cannot open database") else None
        return {"message": text, "number": number}

    def refused(self, text, connection=None):
        found = super().refused(text, connection)
        found["number"] = self.rows("SELECT @@ERROR", connection=connection)[0][0]
        return found

    def parameter(self, value, wanted):
        # The driver sends no dates before 1753 as dates.
        if isinstance(value, datetime.date) and value.year < 1753 or wanted.type.startswith("smalldatetime"):
            return None if value is None else wanted.text
        return value

    def types_surrogate(self):
        raise Skip("the driver decodes whole characters")

    def query_prepared(self):
        self.do("DELETE FROM dbo.pair")
        cursor = self.connection.cursor()
        for i in range(20):
            cursor.execute("INSERT INTO dbo.pair (id, name) VALUES (?, ?)", (i, None if i % 5 == 0 else "n%d" % i))
        for i in range(20):
            cursor.execute("SELECT name FROM dbo.pair WHERE id = ?", (i,))
            check("row %d" % i, [tuple(r) for r in cursor.fetchall()], [(None if i % 5 == 0 else "n%d" % i,)])
        cursor.executemany("INSERT INTO dbo.pair (id, name) VALUES (?, ?)", [(100 + i, "m%d" % i) for i in range(50)])
        cursor.close()
        check("many", self.rows("SELECT COUNT(*) FROM dbo.pair WHERE name LIKE N'm%'"), [(50,)])

    def messages(self, text):
        cursor = self.connection.cursor()
        cursor.execute(text)
        # The driver may go on at the first message; those behind it come with the next result.
        told = list(cursor.messages)
        while cursor.nextset():
            told += cursor.messages
        cursor.close()
        return [re.sub(r"^(\[[^\]]*\])+", "", text) for _, text in told]

    def cancel(self, connection, cursor):
        # SQLCancel, which the driver itself uses and does not give out.
        cursor.hstmt._cancel()

    def copy(self, rows):
        cursor = self.connection.cursor()
        try:
            cursor.bulkcopy("dbo.copied", rows, column_mappings=BULK_COLUMNS)
        except RuntimeError as error:
            raise CopyError(str(error)) from error
        finally:
            cursor.close()

    def describe_columns(self):
        def described(ask, *columns):
            cursor = self.connection.cursor()
            ask(cursor)
            names = [c[0].lower() for c in cursor.description]
            rows = [tuple(row[names.index(c)] for c in columns) for row in cursor.fetchall()]
            cursor.close()
            return rows

        check("tables", described(lambda c: c.tables(schema="dbo", tableType="TABLE", table="p%"),
                                  "table_name", "table_type"), [("pair", "TABLE"), ("parent", "TABLE")])
        check("columns", described(lambda c: c.columns(table="parent", schema="dbo"),
                                   "column_name", "data_type", "type_name", "column_size", "nullable", "is_nullable"),
              [("id", 4, "int identity", 10, 0, "NO"), ("code", 12, "varchar", 10, 0, "NO"),
               ("amount", 3, "decimal", 10, 0, "NO"), ("note", -9, "nvarchar", 50, 1, "YES")])
        check("keys", described(lambda c: c.primaryKeys("parent", schema="dbo"), "column_name", "key_seq", "pk_name"),
              [("id", 1, "pk_parent")])
        indexes = described(lambda c: c.statistics("parent", schema="dbo", unique=True),
                            "index_name", "column_name", "non_unique")
        check("indexes", [i for i in indexes if i[0]], [("pk_parent", "id", 0), ("uq_parent", "code", 0)])
        found = described(lambda c: c.procedures(procedure="outputs", schema="dbo"), "procedure_name")
        check("procedures", found, [("outputs;1",)])
        types = dict(described(lambda c: c.getTypeInfo(), "type_name", "data_type"))
        check("types", (types["int"], types["nvarchar"], types["datetime2"]), (4, -9, 93))
        check("row id", described(lambda c: c.rowIdColumns("parent", schema="dbo"), "column_name"), [("id",)])

    def reset_session(self):
        mssql_python.pooling(max_size=1, idle_timeout=60, enabled=True)
        first = self.connect()
        self.do("CREATE TABLE #mine (a int); SET LOCK_TIMEOUT 77; USE master", connection=first)
        ((session,),) = self.rows("SELECT @@SPID", connection=first)
        first.close()
        again = self.connect()
        asked = "SELECT @@SPID, OBJECT_ID('tempdb..#mine'), @@LOCK_TIMEOUT, DB_NAME()"
        check("state", self.rows(asked, connection=again), [(session, None, -1, self.arguments.database)])
        again.close()


if __name__ == "__main__":
    MssqlPython().main()

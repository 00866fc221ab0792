"""pymssql (FreeTDS' DB-Library) against a running server; the cases are those of cases.md."""
import datetime
import decimal

import pymssql
from pymssql import _mssql

from dbapi import MANY_ROWS, Driver
from harness import Skip, check


class Pymssql(Driver):
    Error = (pymssql.Error, _mssql.MSSQLDatabaseException)

    def connect(self, mode="tls", password=None, database=None, autocommit=True, timeout=30):
        if mode == "strict":
            raise Skip("the driver has no TDS 8.0")
        a = self.arguments
        encryption = {"clear": "off", "login-only": "request", "tls": "require"}[mode]
        return pymssql.connect(
            server=a.host, port=a.port, user="sa", password=password or a.password, database=database or a.database,
            autocommit=autocommit, timeout=timeout, login_timeout=10, encryption=encryption, use_datetime2=True,
            tds_version="7.4")

    def connect_versions(self):
        a = self.arguments
        for version in ("7.1", "7.2", "7.3", "7.4"):
            connection = pymssql.connect(server=a.host, port=a.port, user="sa", password=a.password, database=a.database,
                                         tds_version=version, autocommit=True)
            text = ("SELECT 1 AS a, N'\u03b1' AS b, CAST(1.5 AS decimal(10,2)) AS c, CAST(9223372036854775807 AS bigint) AS d, "
                    "REPLICATE(CAST('x' AS varchar(max)), 9000) AS e, NULL AS f, CAST('2020-01-02' AS datetime) AS g")
            found = self.rows(text, connection=connection)
            check(version, found, [(1, "\u03b1", decimal.Decimal("1.50"), 2**63 - 1, "x" * 9000, None, datetime.datetime(2020, 1, 2))])
            check(version + " error", self.refused("EXEC dbo.fails 42", connection)["number"], 50000)
            self.do("DELETE FROM dbo.pair", connection=connection)
            check(version + " count", self.do("INSERT INTO dbo.pair (id) VALUES (1), (2)", connection=connection), 2)
            connection.close()

    def fields(self, error):
        # A refused login has its number one level deeper. The driver tells no more than number and text.
        if isinstance(error, _mssql.MSSQLDatabaseException):
            return {"number": error.number, "message": error.message}
        first = error.args[0]
        number, text = first if isinstance(first, tuple) else error.args[:2]
        text = text.decode() if isinstance(text, bytes) else text
        return {"number": number, "message": text.split("DB-Lib error")[0].rstrip()}

    def parameter(self, value, wanted):
        # Parameters are written into the text: bytes as a string unless they are a bytearray, and a datetime with six
        # digits, which only datetime2 takes.
        if isinstance(value, bytes):
            return bytearray(value)
        if isinstance(value, datetime.datetime) and wanted.type.startswith(("datetime", "smalldatetime")):
            return wanted.text
        return value

    def types_sql_variant(self):
        raise Skip("the driver gives the bytes of a sql_variant, not its value")

    def types_surrogate(self):
        raise Skip("the driver decodes whole characters")

    def messages(self, text):
        a = self.arguments
        found = []
        connection = _mssql.connect(server=a.host, port=a.port, user="sa", password=a.password, database=a.database)
        connection.set_msghandler(lambda state, severity, server, procedure, line, text: found.append(text.decode()))
        connection.execute_query(text)
        list(connection)
        connection.close()
        return found

    def error_fields(self):
        super().error_fields()
        a = self.arguments
        connection = _mssql.connect(server=a.host, port=a.port, user="sa", password=a.password, database=a.database)
        try:
            connection.execute_non_query("\n\nEXEC dbo.fails 42")
        except _mssql.MSSQLDatabaseException as error:
            check("fields", (error.number, error.severity, error.state, error.line, error.procname.decode().split(".")[-1]),
                  (50000, 12, 7, 4, "fails"))
        else:
            raise AssertionError("no error")
        connection.close()

    def procedure_output(self):
        a = self.arguments
        connection = _mssql.connect(server=a.host, port=a.port, user="sa", password=a.password, database=a.database)
        call = connection.init_procedure("dbo.outputs")
        call.bind(3, _mssql.SQLINT4, "@a")
        call.bind("in", _mssql.SQLVARCHAR, "@b", output=True, max_length=50)
        call.bind(None, _mssql.SQLFLT8, "@c", null=True, output=True)
        call.bind(None, _mssql.SQLDATETIME, "@d", null=True, output=True)
        check("status", call.execute(), 4)
        check("values", (call.parameters["@b"], call.parameters["@c"]), ("in-3", 4.5))
        connection.close()

    def procedure_status(self):
        cursor = self.connection.cursor()
        cursor.callproc("dbo.rows_and_status", (5,))
        check("first", cursor.fetchall(), [(5, "first")])
        cursor.nextset()
        check("second", cursor.fetchall(), [(6,)])
        cursor.close()
        a = self.arguments
        connection = _mssql.connect(server=a.host, port=a.port, user="sa", password=a.password, database=a.database)
        call = connection.init_procedure("dbo.status")
        call.bind(6, _mssql.SQLINT4, "@n")
        check("status", call.execute(), 7)
        connection.close()

    def cancel_timeout(self):
        super().cancel_timeout()
        # DB-Library has one timeout for all: the last connection's.
        self.connect().close()

    def cancel_request(self):
        a = self.arguments
        connection = _mssql.connect(server=a.host, port=a.port, user="sa", password=a.password, database=a.database)
        connection.execute_query(MANY_ROWS)
        connection.cancel()
        check("usable", connection.execute_scalar("SELECT 7"), 7)
        connection.close()

    def copy(self, rows):
        # Of dates the driver copies datetime alone.
        day = datetime.date
        rows = [tuple(datetime.datetime(v.year, v.month, v.day) if type(v) is day else v for v in row) for row in rows]
        self.connection.bulk_copy("dbo.copied", rows)


if __name__ == "__main__":
    Pymssql().main()

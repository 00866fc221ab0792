"""python-tds against a running server; the cases are those of cases.md."""
import pytds
from pytds import tds_base, tds_types

from dbapi import BULK_COLUMNS, MANY_ROWS, Driver
from harness import Skip, check

# A NULL and an untyped number have to be given the type of their column.
TYPES = {
    "binary": lambda: tds_types.VarBinaryMaxType(),
    "guid": lambda: tds_types.UniqueIdentifierType(),
    "real": lambda: tds_types.FloatType(),
}


class PythonTds(Driver):
    Error = pytds.Error

    def connect(self, mode="tls", password=None, database=None, autocommit=True, timeout=30):
        if mode == "strict":
            raise Skip("the driver has no TDS 8.0")
        a = self.arguments
        more = {}
        if mode != "clear":
            more = dict(cafile=a.certificate, validate_host=False, enc_login_only=mode == "login-only")
        return pytds.connect(
            dsn=a.host, port=int(a.port), user="sa", password=password or a.password, database=database or a.database,
            autocommit=autocommit, timeout=timeout, login_timeout=10, **more)

    def fields(self, error):
        return {"number": error.number, "severity": error.severity, "state": error.state, "line": error.line,
                "procedure": error.procname, "message": error.text}

    def parameter(self, value, wanted):
        if wanted.type == "sql_variant" and wanted.kind in ("text", "binary"):
            # Texts and bytes are sent as types of (max), which a sql_variant does not take.
            short = tds_types.NVarCharType(10) if wanted.kind == "text" else tds_types.VarBinaryType(10)
            return tds_base.Param(type=short, value=value)
        if wanted.kind in TYPES:
            return tds_base.Param(type=TYPES[wanted.kind](), value=value)
        return value

    def bytes_parameter(self, value):
        return tds_base.Param(type=tds_types.VarBinaryType(8), value=value)

    def types_surrogate(self):
        raise Skip("the driver decodes whole characters")

    def set_isolation(self, connection, level):
        levels = {"READ UNCOMMITTED": 1, "READ COMMITTED": 2, "SERIALIZABLE": 4, "SNAPSHOT": 5}
        # It goes with the next BEGIN of the transaction manager.
        connection.autocommit = False
        connection.commit()
        connection.isolation_level = levels[level]

    def messages(self, text):
        cursor = self.connection.cursor()
        cursor.execute(text)
        found = [error.text for _, error in cursor.messages]
        cursor.close()
        return found

    def procedure_output(self):
        cursor = self.connection.cursor()
        values = cursor.callproc("dbo.outputs", (
            3, pytds.output("in", str), pytds.output(None, "decimal(18,4)"), pytds.output(None, "datetime2")))
        check("values", [str(v) for v in values], ["3", "in-3", "4.5", "2020-01-02 03:04:05.678000"])
        check("status", cursor.get_proc_return_status(), 4)
        cursor.close()

    def procedure_status(self):
        cursor = self.connection.cursor()
        cursor.callproc("dbo.rows_and_status", (5,))
        check("first", cursor.fetchall(), [(5, "first")])
        cursor.nextset()
        check("second", cursor.fetchall(), [(6,)])
        cursor.nextset()
        check("status", cursor.get_proc_return_status(), 7)
        cursor.close()

    def cancel_request(self):
        # Rows that wait to be read are cancelled; the driver has no second thread for a request that runs.
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute(MANY_ROWS)
        check("a row", len(cursor.fetchone()), 1)
        cursor.cancel()
        check("usable", self.rows("SELECT 7", connection=connection), [(7,)])
        connection.close()

    def copy(self, rows):
        types = [
            tds_types.IntType(), tds_types.SmallIntType(), tds_types.BigIntType(), tds_types.BitType(),
            tds_types.DecimalType(18, 4), tds_types.FloatType(), tds_types.VarCharType(40), tds_types.NVarCharType(40),
            tds_types.DateType(), tds_types.DateTime2Type(3), tds_types.VarBinaryType(40), tds_types.NVarCharMaxType()]
        columns = [tds_base.Column(name, type=type) for name, type in zip(BULK_COLUMNS, types)]
        cursor = self.connection.cursor()
        cursor.copy_to(data=rows, table_or_view="copied", schema="dbo", columns=columns)
        cursor.close()

    def tvp_rows(self):
        self.do("DROP PROCEDURE IF EXISTS dbo.take; DROP TYPE IF EXISTS dbo.pairs")
        self.do("CREATE TYPE dbo.pairs AS TABLE (id int NOT NULL, name nvarchar(40) NULL)")
        self.do("CREATE PROCEDURE dbo.take @rows dbo.pairs READONLY, @factor int AS "
                "SELECT SUM(id) * @factor, COUNT(name), COUNT(*) FROM @rows")
        columns = (tds_base.Column(type=tds_types.IntType()), tds_base.Column(type=tds_types.NVarCharType(40)))
        rows = [(1, "one"), (2, None), (3, "\u03b1")]
        cursor = self.connection.cursor()
        cursor.callproc("dbo.take", (pytds.tds_types.TableValuedParam("dbo.pairs", columns, rows), 10))
        check("rows", cursor.fetchall(), [(60, 2, 3)])
        cursor.close()


if __name__ == "__main__":
    PythonTds().main()

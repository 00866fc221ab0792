"""The cases of cases.md over Python's DB-API 2.0. What a driver does in its own way it overrides."""
import datetime
import decimal
import threading
import time

from harness import Arguments, Report, Skip, check, check_value, type_values


def bulk_row(i):
    """A row of bulk.rows."""
    if i % 10 == 0:
        return (i,) + (None,) * 11
    return (
        i, i % 100 - 50, i * 10**12, i % 2 == 1, decimal.Decimal(i) + decimal.Decimal("0.25"), i / 4, "name %d" % i,
        "\u03b1%d" % i, datetime.date(2000, 1, 1) + datetime.timedelta(days=i),
        datetime.datetime(2020, 1, 2, 3, 4, 5, 678000) + datetime.timedelta(minutes=i), i.to_bytes(4, "big"),
        "\u0436" * (i * 10))


#: A million rows that stream: longer than a client wants to read.
MANY_ROWS = "WITH d AS (SELECT v FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS t (v)) SELECT " \
    "REPLICATE('x', 100 + f.v) FROM d AS a CROSS JOIN d AS b CROSS JOIN d AS c CROSS JOIN d AS d CROSS JOIN d AS e " \
    "CROSS JOIN d AS f"
BULK_COLUMNS = "id small wide truth amount ratio name note born seen bytes story".split()


class Driver:
    #: How a parameter is written in a text.
    mark = "%s"
    #: The driver's base class of errors.
    Error = Exception

    def __init__(self):
        self.arguments = Arguments()
        self.connection = None

    # What every driver must say.

    def connect(self, mode="tls", password=None, database=None, autocommit=True, timeout=30):
        """A connection; `mode` is clear, login-only, tls or strict. Raises Skip for what the driver has not."""
        raise NotImplementedError

    def fields(self, error):
        """What the driver tells of a server error: a dictionary of number, severity, state, line, procedure, message."""
        raise NotImplementedError

    def parameter(self, value, wanted):
        """How a value that was read is sent back."""
        return value

    def bytes_parameter(self, value):
        """How bytes are sent."""
        return value

    # Help.

    def rows(self, text, parameters=None, connection=None):
        """All rows of the first result set, as tuples."""
        cursor = (connection or self.connection).cursor()
        self.execute(cursor, text, parameters)
        rows = [tuple(row) for row in cursor.fetchall()]
        cursor.close()
        return rows

    def execute(self, cursor, text, parameters=None):
        if parameters is None:
            cursor.execute(text)
        else:
            cursor.execute(text.replace("?", self.mark), tuple(parameters))

    def do(self, text, parameters=None, connection=None):
        """A statement without rows; how many it changed."""
        cursor = (connection or self.connection).cursor()
        self.execute(cursor, text, parameters)
        count = cursor.rowcount
        cursor.close()
        return count

    def refused(self, text, connection=None):
        """The fields of the error of a text."""
        cursor = (connection or self.connection).cursor()
        try:
            cursor.execute(text)
            while True:
                if cursor.description:
                    cursor.fetchall()
                if not cursor.nextset():
                    break
        except self.Error as error:
            return self.fields(error)
        finally:
            cursor.close()
        raise AssertionError("no error from " + text)

    # Connecting.

    def over(self, mode):
        connection = self.connect(mode)
        check("SELECT 1", self.rows("SELECT 1", connection=connection), [(1,)])
        encrypted = self.rows("SELECT encrypt_option FROM sys.dm_exec_connections WHERE session_id = @@SPID",
                              connection=connection)
        check("encrypt_option", encrypted, [("TRUE" if mode in ("tls", "strict") else "FALSE",)])
        check("database", self.rows("SELECT DB_NAME()", connection=connection), [(self.arguments.database,)])
        connection.close()

    def connect_clear(self):
        self.over("clear")

    def connect_login_only(self):
        self.over("login-only")

    def connect_tls(self):
        self.over("tls")

    def connect_strict(self):
        self.over("strict")

    def connect_versions(self):
        raise Skip("the driver asks for one version")

    def login_error(self, **wrong):
        try:
            self.connect(**wrong)
        except self.Error as error:
            return self.fields(error)
        raise AssertionError("the login was accepted")

    def connect_refused(self):
        check("number", self.login_error(password="certainly not the password")["number"], 18456)
        self.connect().close()

    def connect_no_database(self):
        # The server says 4060 and then 18456; drivers tell of the first or the last.
        check("number", self.login_error(database="no_such_database")["number"] in (4060, 18456), True)
        self.connect().close()

    # Types.

    def types_case(self, values):
        for wanted in values:
            ((value,),) = self.rows("SELECT CAST(%s AS %s) AS v" % (wanted.expression, wanted.type))
            check_value("read", value, wanted)
            if wanted.type.startswith("sql_variant") and value is None:
                continue
            self.do("DROP TABLE IF EXISTS dbo.there_and_back")
            self.do("CREATE TABLE dbo.there_and_back (v %s NULL)" % wanted.type)
            self.do("INSERT INTO dbo.there_and_back (v) VALUES (?)", [self.parameter(value, wanted)])
            ((value,),) = self.rows("SELECT v FROM dbo.there_and_back")
            check_value("sent back", value, wanted)

    def types_rowversion(self):
        self.do("DROP TABLE IF EXISTS dbo.stamped")
        self.do("CREATE TABLE dbo.stamped (id int NOT NULL PRIMARY KEY, stamp rowversion NOT NULL)")
        self.do("INSERT INTO dbo.stamped (id) VALUES (1), (2)")
        (first,), (second,) = self.rows("SELECT stamp FROM dbo.stamped ORDER BY id")
        check("bytes", (len(first), len(second)), (8, 8))
        check("grows", bytes(first) < bytes(second), True)
        check("by parameter", self.rows("SELECT id FROM dbo.stamped WHERE stamp = ?", [self.bytes_parameter(bytes(second))]), [(2,)])

    # Queries.

    def query_parameters(self):
        self.do("DELETE FROM dbo.pair")
        for number, name in ((1, "one"), (2, None), (3, "gr\u00fc\u00df \u03b1 \U0001f600"), (4, "it's")):
            check("inserted", self.do("INSERT INTO dbo.pair (id, name) VALUES (?, ?)", [number, name]), 1)
        found = self.rows("SELECT id FROM dbo.pair WHERE name = ?", ["gr\u00fc\u00df \u03b1 \U0001f600"])
        check("by text", found, [(3,)])
        check("null", self.rows("SELECT name FROM dbo.pair WHERE id = ?", [2]), [(None,)])
        check("quote", self.rows("SELECT name FROM dbo.pair WHERE id = ?", [4]), [("it's",)])
        check("long", self.rows("SELECT LEN(?), ?", ["x" * 10000, "y" * 10000]), [(10000, "y" * 10000)])
        many = list(range(100))
        check("hundred", self.rows("SELECT " + ", ".join("?" for _ in many), many), [tuple(many)])

    def query_prepared(self):
        raise Skip("the driver prepares nothing")

    def query_results(self):
        cursor = self.connection.cursor()
        cursor.execute("SELECT 1 AS a; SELECT N'x' AS b, 2 AS b; SELECT id FROM dbo.pair WHERE 1 = 0; SELECT 3")
        sets = []
        while True:
            sets.append(([c[0] for c in cursor.description], [tuple(r) for r in cursor.fetchall()]))
            if not cursor.nextset():
                break
        cursor.close()
        check("sets", sets, [(["a"], [(1,)]), (["b", "b"], [("x", 2)]), (["id"], []), ([""], [(3,)])])

    def query_counts(self):
        self.do("DELETE FROM dbo.pair")
        check("inserted", self.do("INSERT INTO dbo.pair (id) VALUES (1), (2), (3)"), 3)
        check("updated", self.do("UPDATE dbo.pair SET name = N'n' WHERE id > 1"), 2)
        check("updated none", self.do("UPDATE dbo.pair SET name = N'n' WHERE id > 10"), 0)
        check("deleted", self.do("DELETE FROM dbo.pair"), 3)

    def query_large(self):
        text = ("WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                "SELECT i, REPLICATE(N'w', i % 100) FROM n OPTION (MAXRECURSION 0)")
        rows = self.rows(text)
        check("rows", rows, [(i, "w" * (i % 100)) for i in range(1, 20001)])

    def query_unicode(self):
        cursor = self.connection.cursor()
        cursor.execute("SELECT N'\u65e5\u672c' AS [\u03b1\u03b2 \u0436], 1 AS [gr\u00fc\u00df]")
        check("names", [c[0] for c in cursor.description], ["\u03b1\u03b2 \u0436", "gr\u00fc\u00df"])
        check("rows", [tuple(r) for r in cursor.fetchall()], [("\u65e5\u672c", 1)])
        cursor.close()

    # Transactions.

    def transaction_commit(self):
        self.do("DELETE FROM dbo.pair")
        other = self.connect(autocommit=False)
        self.do("INSERT INTO dbo.pair (id) VALUES (7)", connection=other)
        seen = "SELECT COUNT(*) FROM dbo.pair WITH (READPAST)"
        check("before", self.rows(seen), [(0,)])
        other.commit()
        check("after", self.rows(seen), [(1,)])
        other.close()

    def transaction_rollback(self):
        self.do("DELETE FROM dbo.pair")
        other = self.connect(autocommit=False)
        self.do("INSERT INTO dbo.pair (id) VALUES (8)", connection=other)
        other.rollback()
        check("in the session", self.rows("SELECT COUNT(*) FROM dbo.pair", connection=other), [(0,)])
        other.rollback()
        self.do("INSERT INTO dbo.pair (id) VALUES (9)", connection=other)
        other.commit()
        check("after", self.rows("SELECT id FROM dbo.pair"), [(9,)])
        other.close()

    def set_isolation(self, connection, level):
        self.do("SET TRANSACTION ISOLATION LEVEL " + level, connection=connection)

    def transaction_isolation(self):
        asked = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
        connection = self.connect()
        for level, number in (("SERIALIZABLE", 4), ("SNAPSHOT", 5), ("READ UNCOMMITTED", 1), ("READ COMMITTED", 2)):
            self.set_isolation(connection, level)
            check(level, self.rows(asked, connection=connection), [(number,)])
        connection.close()

    def transaction_savepoint(self):
        self.do("DELETE FROM dbo.pair")
        other = self.connect(autocommit=False)
        self.do("INSERT INTO dbo.pair (id) VALUES (1)", connection=other)
        self.do("SAVE TRANSACTION half", connection=other)
        self.do("INSERT INTO dbo.pair (id) VALUES (2)", connection=other)
        self.do("ROLLBACK TRANSACTION half", connection=other)
        self.do("INSERT INTO dbo.pair (id) VALUES (3)", connection=other)
        other.commit()
        other.close()
        check("rows", self.rows("SELECT id FROM dbo.pair ORDER BY id"), [(1,), (3,)])

    # Errors and calls.

    def error_fields(self):
        got = self.refused("\n\nEXEC dbo.fails 42")
        if got.get("procedure"):
            got["procedure"] = got["procedure"].split(".")[-1]
        wanted = {"number": 50000, "severity": 12, "state": 7, "line": 4, "procedure": "fails", "message": "wrong thing 42"}
        check("fields", {k: v for k, v in got.items() if v is not None},
              {k: v for k, v in wanted.items() if got.get(k) is not None})
        check("known", "number" in got and "message" in got, True)

    def error_goes_on(self):
        self.do("DELETE FROM dbo.pair")
        self.do("INSERT INTO dbo.pair (id) VALUES (1)")
        for number, text in ((8134, "SELECT 1 / 0"), (2627, "INSERT INTO dbo.pair (id) VALUES (1)"),
                             (208, "SELECT * FROM dbo.no_such_table"), (102, "SELECT 1 FROM dbo.pair +"),
                             (50123, "THROW 50123, N'thrown', 5"), (245, "SELECT CAST('x' AS int)")):
            check(text, self.refused(text)["number"], number)
            check("after " + text, self.rows("SELECT id FROM dbo.pair"), [(1,)])

    def error_inside(self):
        cursor = self.connection.cursor()
        seen = []
        try:
            cursor.execute("SELECT 1; RAISERROR('inside', 16, 1); SELECT 2")
            while True:
                if cursor.description:
                    seen.append(tuple(cursor.fetchall()[0])[0])
                if not cursor.nextset():
                    break
        except self.Error as error:
            check("message", self.fields(error)["message"], "inside")
            seen.append("inside")
        cursor.close()
        check("rows before the error", seen[0], 1)
        check("an error", "inside" in seen, True)
        check("lives on", self.rows("SELECT 5"), [(5,)])

    def messages(self, text):
        """What a text printed."""
        raise Skip("the driver keeps no messages")

    def error_messages(self):
        found = self.messages("PRINT N'printed \u03b1'; RAISERROR('low %d', 10, 1, 5); SELECT 1")
        check("messages", found, ["printed \u03b1", "low 5"])

    def procedure_output(self):
        raise Skip("the driver has no output parameters")

    def procedure_status(self):
        raise Skip("the driver gives no return status")

    def cancel_timeout(self):
        connection = self.connect(timeout=1)
        started = time.monotonic()
        try:
            self.rows("WAITFOR DELAY '00:00:20'; SELECT 1", connection=connection)
        except TimeoutError:
            pass
        except self.Error:
            pass
        else:
            raise AssertionError("no timeout")
        check("soon", time.monotonic() - started < 8, True)
        try:
            connection.close()
        except self.Error:
            pass
        check("the next", self.rows("SELECT 6"), [(6,)])

    def cancel(self, connection, cursor):
        raise Skip("the driver cannot cancel a running request")

    def cancel_request(self):
        connection = self.connect()
        cursor = connection.cursor()
        started = time.monotonic()
        failed = []

        def later():
            time.sleep(0.5)
            try:
                self.cancel(connection, cursor)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=later)
        thread.start()
        try:
            cursor.execute("WAITFOR DELAY '00:00:06'")
        except self.Error:
            pass
        thread.join()
        if failed:
            raise failed[0]
        check("soon", time.monotonic() - started < 4, True)
        check("usable", self.rows("SELECT 7", connection=connection), [(7,)])
        connection.close()

    # Copying and describing.

    def copy(self, rows):
        """Bulk copy into dbo.copied."""
        raise Skip("the driver has no bulk copy")

    def bulk_rows(self):
        self.do("DELETE FROM dbo.copied")
        self.copy([bulk_row(i) for i in range(1, 1001)])
        check("dbo.check_copied", self.rows("EXEC dbo.check_copied"), [(1000, 0)])

    def bulk_error(self):
        self.do("DELETE FROM dbo.copied")
        try:
            self.copy([bulk_row(i) for i in range(1, 20)] + [bulk_row(3)])
        except self.Error as error:
            check("number", self.fields(error)["number"], 2627)
        else:
            raise AssertionError("a duplicate key was accepted")
        check("nothing stays", self.rows("SELECT COUNT(*) FROM dbo.copied"), [(0,)])

    def tvp_rows(self):
        raise Skip("the driver has no table-valued parameters")

    def describe_columns(self):
        raise Skip("the driver describes nothing")

    def reset_session(self):
        raise Skip("the driver has no pool")

    # Everything.

    def main(self):
        report = Report()
        cases = ["clear", "login-only", "tls", "strict", "versions", "refused", "no-database"]
        for case in cases:
            report.run("connect." + case, getattr(self, "connect_" + case.replace("-", "_")))
        self.connection = self.connect()
        values = type_values(self.arguments.cases)
        for name in dict.fromkeys(v.case for v in values):
            mine = [v for v in values if v.case == name]
            own = getattr(self, name.replace(".", "_"), None)
            report.run(name, own or (lambda mine=mine: self.types_case(mine)))
        report.run("types.rowversion", self.types_rowversion)
        for group in (
            "query.parameters query.prepared query.results query.counts query.large query.unicode",
            "transaction.commit transaction.rollback transaction.isolation transaction.savepoint",
            "error.fields error.goes-on error.inside error.messages procedure.output procedure.status",
            "cancel.timeout cancel.request bulk.rows bulk.error tvp.rows describe.columns reset.session",
        ):
            for name in group.split():
                report.run(name, getattr(self, name.replace(".", "_").replace("-", "_")))
        self.connection.close()
        report.end()

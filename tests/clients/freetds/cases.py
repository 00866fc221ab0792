"""FreeTDS' `tsql` against a running server; the cases are those of cases.md.

tsql is a line client: what it prints is all there is. Each case is a script, sent to it as a person would type it.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))

from dbapi import bulk_row  # noqa: E402
from harness import Arguments, Report, Skip, check, type_values  # noqa: E402

NOISE = ("locale is ", "locale charset is ", "using default charset ", "Setting ", "Default database being set to ")


class Tsql:
    def __init__(self):
        self.arguments = Arguments()

    def environment(self, encryption, extra, version="7.4"):
        """The variables of a FreeTDS program, and the configuration file that they name."""
        configuration = os.path.join(tempfile.gettempdir(), "tsql-%d.conf" % os.getpid())
        with open(configuration, "w", encoding="utf-8") as file:
            file.write("[global]\ntext size = 2147483647\n%s[server]\nhost = %s\nport = %s\ntds version = %s\n"
                       "encryption = %s\nclient charset = UTF-8\n" % (
                           extra, self.arguments.host, self.arguments.port, version, encryption))
        return dict(os.environ, FREETDSCONF=configuration, LC_ALL="C.UTF-8"), configuration

    def run(self, text, encryption="require", password=None, database=None, options="", quiet=True, extra="",
            version="7.4"):
        """What tsql prints of a script, its greeting removed, and what it says of errors."""
        a = self.arguments
        environment, configuration = self.environment(encryption, extra, version)
        command = ["tsql", "-S", "server", "-U", "sa", "-P", password or a.password, "-D", database or a.database]
        if quiet:
            command += ["-o", "q" + options]
        try:
            done = subprocess.run(command, input=text + "\nGO\nexit\n", capture_output=True, encoding="utf-8", timeout=30,
                                  env=environment)
        finally:
            os.unlink(configuration)
        out, errors = ([line for line in text.split("\n") if not line.startswith(NOISE)]
                       for text in (done.stdout, done.stderr))
        return "\n".join(out).strip("\n"), "\n".join(errors).strip("\n")

    def rows(self, text, **more):
        """The rows of the only result set, each a list of texts."""
        out, errors = self.run(text, options="fh", **more)
        check("errors", errors, "")
        return [line.split("\t") for line in out.split("\n") if line]

    # Connecting.

    def over(self, encryption, encrypted):
        found = self.rows("SELECT encrypt_option, DB_NAME() FROM sys.dm_exec_connections WHERE session_id = @@SPID",
                          encryption=encryption)
        check("encrypt_option, database", found, [[encrypted, self.arguments.database]])

    def connect_clear(self):
        self.over("off", "FALSE")

    def connect_login_only(self):
        self.over("request", "FALSE")

    def connect_tls(self):
        self.over("require", "TRUE")

    def connect_strict(self):
        raise Skip("FreeTDS 1.3 has no TDS 8.0")

    def connect_versions(self):
        for version in ("7.1", "7.2", "7.3", "7.4"):
            out, errors = self.run("SELECT 1 AS a, N'\u03b1' AS b, CAST(1.5 AS decimal(10,2)) AS c, CAST(9223372036854775807 AS bigint) AS d, "
                                   "DATALENGTH(REPLICATE(CAST('x' AS varchar(max)), 9000)) AS e, REPLICATE(CAST('x' AS varchar(max)), 9000) AS f, "
                                   "NULL AS g\nGO\nEXEC dbo.fails 42\nGO\nEXEC dbo.rows_and_status 5", version=version, options="fh")
            check(version, out.split("\n"), ["1\t\u03b1\t1.50\t9223372036854775807\t9000\t" + "x" * 9000 + "\tNULL", "5\tfirst", "6"])
            check(version + " error", "Msg 50000 (severity 12, state 7)" in errors, True)
            # What 7.1 and 7.2 do not know comes as text.
            out, errors = self.run("SELECT CAST('2020-01-02' AS date) AS a, CAST('03:04:05' AS time(0)) AS b", version=version, options="fh")
            old = version in ("7.1", "7.2")
            check(version + " dates", out, "2020-01-02\t03:04:05" if old else "Jan  2 2020 12:00AM\tJan  1 1900 03:04AM")

    def connect_refused(self):
        _, errors = self.run("SELECT 1", password="certainly not the password")
        check("number", "Msg 18456 (severity 14" in errors, True)
        check("the next", self.rows("SELECT 1"), [["1"]])

    def connect_no_database(self):
        _, errors = self.run("SELECT 1", database="no_such_database")
        check("number", "Msg 4060 (severity 11" in errors, True)

    # Types: tsql has no parameters, so the value goes into a column as its T-SQL expression.

    def types_case(self, values):
        for wanted in values:
            table = "DROP TABLE IF EXISTS dbo.there_and_back; CREATE TABLE dbo.there_and_back (v %s NULL)\nGO\n" % wanted.type
            out, errors = self.run(table + "SELECT 'read', CAST(%s AS %s)\nGO\nINSERT INTO dbo.there_and_back (v) VALUES (%s)\n"
                                   "GO\nSELECT 'kept', v FROM dbo.there_and_back" % (
                                       wanted.expression, wanted.type, wanted.expression), options="fh")
            check(wanted.name + " errors", errors, "")
            found = [line.split("\t", 1) for line in out.split("\n") if line]
            check(wanted.name, [(how, plain(text, wanted)) for how, text in found],
                  [("read", known(wanted)), ("kept", known(wanted))])

    def types_surrogate(self):
        raise Skip("tsql prints whole characters")

    def types_rowversion(self):
        found = self.rows("DROP TABLE IF EXISTS dbo.stamped\nGO\n"
                          "CREATE TABLE dbo.stamped (id int NOT NULL PRIMARY KEY, stamp rowversion NOT NULL)\nGO\n"
                          "INSERT INTO dbo.stamped (id) VALUES (1), (2)\nGO\nSELECT stamp FROM dbo.stamped ORDER BY id")
        check("bytes", [len(stamp) for (stamp,) in found], [16, 16])
        check("grows", found[0] < found[1], True)

    # Queries.

    def query_parameters(self):
        raise Skip("tsql has no parameters")

    def query_prepared(self):
        raise Skip("tsql prepares nothing")

    def query_results(self):
        out, errors = self.run("SELECT 1 AS a; SELECT N'x' AS b, 2 AS b; SELECT id FROM dbo.pair WHERE 1 = 0; SELECT 3 AS c")
        check("sets", (out, errors), ("a\n1\nb\tb\nx\t2\nid\nc\n3", ""))

    def query_counts(self):
        # tsql counts what it prints; what a statement changed has to be asked for.
        found = self.rows("DELETE FROM dbo.pair\nGO\nINSERT INTO dbo.pair (id) VALUES (1), (2), (3) SELECT @@ROWCOUNT\nGO\n"
                          "UPDATE dbo.pair SET name = N'n' WHERE id > 1 SELECT @@ROWCOUNT\nGO\n"
                          "DELETE FROM dbo.pair SELECT @@ROWCOUNT")
        check("counts", found, [["3"], ["2"], ["3"]])

    def query_large(self):
        found = self.rows("WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                          "SELECT i, REPLICATE(N'w', i % 100) FROM n OPTION (MAXRECURSION 0)")
        check("rows", found, [[str(i), "w" * (i % 100)] for i in range(1, 20001)])

    def query_unicode(self):
        out, errors = self.run("SELECT N'\u65e5\u672c' AS [\u03b1\u03b2 \u0436], 1 AS [gr\u00fc\u00df]")
        check("set", (out, errors), ("\u03b1\u03b2 \u0436\tgr\u00fc\u00df\n\u65e5\u672c\t1", ""))

    # Transactions: as statements, in one session.

    def transaction_commit(self):
        self.rows("DELETE FROM dbo.pair\nGO\nBEGIN TRANSACTION\nGO\nINSERT INTO dbo.pair (id) VALUES (7)\nGO\nCOMMIT")
        check("after", self.rows("SELECT id FROM dbo.pair"), [["7"]])

    def transaction_rollback(self):
        self.rows("DELETE FROM dbo.pair\nGO\nBEGIN TRANSACTION\nGO\nINSERT INTO dbo.pair (id) VALUES (8)\nGO\nROLLBACK")
        check("rolled back", self.rows("SELECT id FROM dbo.pair"), [])
        self.rows("BEGIN TRANSACTION\nGO\nINSERT INTO dbo.pair (id) VALUES (8)")
        check("left open", self.rows("SELECT id FROM dbo.pair"), [])

    def transaction_isolation(self):
        found = self.rows("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE\nGO\nSELECT transaction_isolation_level "
                          "FROM sys.dm_exec_sessions WHERE session_id = @@SPID\nGO\n"
                          "SET TRANSACTION ISOLATION LEVEL SNAPSHOT\nGO\nSELECT transaction_isolation_level "
                          "FROM sys.dm_exec_sessions WHERE session_id = @@SPID")
        check("levels", found, [["4"], ["5"]])

    def transaction_savepoint(self):
        found = self.rows("DELETE FROM dbo.pair\nGO\nBEGIN TRANSACTION\nINSERT INTO dbo.pair (id) VALUES (1)\nGO\n"
                          "SAVE TRANSACTION half\nGO\nINSERT INTO dbo.pair (id) VALUES (2)\nGO\nROLLBACK TRANSACTION half\nGO\n"
                          "INSERT INTO dbo.pair (id) VALUES (3)\nCOMMIT\nGO\nSELECT id FROM dbo.pair ORDER BY id")
        check("rows", found, [["1"], ["3"]])

    # Errors and calls.

    def error_fields(self):
        _, errors = self.run("SELECT 1\nGO\nEXEC dbo.fails 42")
        wanted = r'Msg 50000 \(severity 12, state 7\) from \S*, Procedure (dbo\.)?fails Line 4:\s+"wrong thing 42"'
        check("error", bool(re.search(wanted, errors)), True)

    def error_goes_on(self):
        for number, text in ((8134, "SELECT 1 / 0"), (2627, "INSERT INTO dbo.pair (id) VALUES (1)"),
                             (208, "SELECT * FROM dbo.no_such_table"), (102, "SELECT 1 FROM dbo.pair +"),
                             (50123, "THROW 50123, N'thrown', 5"), (245, "SELECT CAST('x' AS int)")):
            out, errors = self.run("DELETE FROM dbo.pair INSERT INTO dbo.pair (id) VALUES (1)\nGO\n%s\nGO\n"
                                   "SELECT id FROM dbo.pair" % text, options="fh")
            check(text, re.findall(r"Msg (\d+) ", errors)[:1], [str(number)])
            check("after " + text, out.split(), ["1"])

    def error_inside(self):
        out, errors = self.run("SELECT 1; RAISERROR('inside', 16, 1); SELECT 2", options="fh")
        check("rows", out.split(), ["1", "2"])
        check("error", '"inside"' in errors, True)

    def error_messages(self):
        _, errors = self.run("PRINT N'printed \u03b1'; RAISERROR('low %d', 10, 1, 5); SELECT 1")
        check("messages", ("printed \u03b1" in errors, '"low 5"' in errors), (True, True))

    def procedure_output(self):
        raise Skip("tsql has no output parameters")

    def procedure_status(self):
        out, errors = self.run("EXEC dbo.rows_and_status 5", quiet=False)
        check("errors", errors, "")
        check("rows", [line for line in out.split("\n") if re.fullmatch(r"5\tfirst|6", line)], ["5\tfirst", "6"])
        check("status", "(return status = 7)" in out, True)

    def cancel_timeout(self):
        started = time.monotonic()
        out, errors = self.run("WAITFOR DELAY '00:00:20'\nGO\nSELECT 5", extra="timeout = 1\n")
        check("soon", time.monotonic() - started < 8, True)
        check("the next", self.rows("SELECT 6"), [["6"]])

    def cancel_request(self):
        raise Skip("tsql cancels nothing")

    # Copying and describing: freebcp comes with tsql.

    def copy(self, lines):
        a = self.arguments
        with tempfile.TemporaryDirectory() as directory:
            name = os.path.join(directory, "rows.txt")
            with open(name, "w", encoding="utf-8") as file:
                file.writelines(lines)
            environment, configuration = self.environment("require", "")
            try:
                return subprocess.run(
                    ["freebcp", a.database + ".dbo.copied", "in", name, "-c", "-t", "|", "-S", "server", "-U", "sa",
                     "-P", a.password], capture_output=True, encoding="utf-8", timeout=30, env=environment)
            finally:
                os.unlink(configuration)

    def bulk_rows(self):
        self.rows("DELETE FROM dbo.copied")
        lines = []
        for i in range(1, 1001):
            row = bulk_row(i)
            lines.append("|".join("" if v is None else v.hex() if isinstance(v, bytes) else str(int(v))
                                  if isinstance(v, bool) else str(v) for v in row) + "\n")
        done = self.copy(lines)
        check("freebcp", (done.returncode, done.stderr), (0, ""))
        check("dbo.check_copied", self.rows("EXEC dbo.check_copied"), [["1000", "0"]])

    def bulk_error(self):
        self.rows("DELETE FROM dbo.copied")
        done = self.copy(["%d|||||||||||\n" % i for i in list(range(1, 20)) + [3]])
        check("number", "2627" in done.stderr + done.stdout, True)
        check("nothing stays", self.rows("SELECT COUNT(*) FROM dbo.copied"), [["0"]])

    def tvp_rows(self):
        raise Skip("tsql has no parameters")

    def describe_columns(self):
        raise Skip("tsql describes nothing")

    def reset_session(self):
        raise Skip("tsql has no pool")

    def main(self):
        report = Report()
        for name in "clear login-only tls strict versions refused no-database".split():
            report.run("connect." + name, getattr(self, "connect_" + name.replace("-", "_")))
        values = type_values(self.arguments.cases)
        for name in dict.fromkeys(v.case for v in values):
            mine = [v for v in values if v.case == name]
            own = getattr(self, name.replace(".", "_"), None)
            report.run(name, own or (lambda mine=mine: self.types_case(mine)))
        report.run("types.rowversion", self.types_rowversion)
        for name in (
            "query.parameters query.prepared query.results query.counts query.large query.unicode transaction.commit "
            "transaction.rollback transaction.isolation transaction.savepoint error.fields error.goes-on error.inside "
            "error.messages procedure.output procedure.status cancel.timeout cancel.request bulk.rows bulk.error tvp.rows "
            "describe.columns reset.session"
        ).split():
            report.run(name, getattr(self, name.replace(".", "_").replace("-", "_")))
        report.end()


def plain(text, wanted):
    if text == "NULL":
        return text
    if wanted.kind in ("real", "float"):
        return "%.6e" % float(text)
    return "0x" + text.upper() if wanted.kind == "binary" else text


def known(wanted):
    if wanted.text == "NULL":
        return wanted.text
    if wanted.kind in ("real", "float"):
        return "%.6e" % float(wanted.text)
    if wanted.kind in ("date", "time", "datetime", "datetimeoffset"):
        # As tsql prints all of them: Jan  2 2020 03:04AM.
        day, _, clock = wanted.text.partition(" ")
        if wanted.kind == "time":
            day, clock = "1900-01-01", wanted.text
        year, month, day = day.split("-")
        hours, minutes = (clock or "00:00").split(":")[:2]
        half = "PM" if int(hours) >= 12 else "AM"
        name = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()[int(month) - 1]
        return "%s %2d %d %02d:%s%s" % (name, int(day), int(year), int(hours) % 12 or 12, minutes, half)
    return wanted.text


if __name__ == "__main__":
    Tsql().main()

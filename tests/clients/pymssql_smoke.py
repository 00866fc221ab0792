"""pymssql against a running server: `pymssql_smoke.py HOST PORT PASSWORD`. Exits 0 when everything held."""
import datetime
import decimal
import sys
import uuid

import pymssql


def check(what, got, wanted):
    if got != wanted:
        raise SystemExit("pymssql: %s: got %r, wanted %r" % (what, got, wanted))


def connect(host, port, password, **more):
    return pymssql.connect(server=host, port=port, user="sa", password=password, login_timeout=10, timeout=30, **more)


def number(error):
    # A refused login has its number one level deeper.
    first = error.args[0]
    return first[0] if isinstance(first, tuple) else first


def wrong_password(host, port):
    try:
        connect(host, port, "certainly not the password")
    except pymssql.Error as error:
        check("login error", number(error), 18456)
        return
    raise SystemExit("pymssql: a wrong password was accepted")


def expect_error(cursor, wanted, sql):
    try:
        cursor.execute(sql)
        cursor.fetchall()
    except pymssql.Error as error:
        check("error of " + sql, number(error), wanted)
        return
    raise SystemExit("pymssql: no error %d from %s" % (wanted, sql))


def rows(cursor):
    cursor.execute("DROP TABLE IF EXISTS dbo.smoke_py")
    cursor.execute("CREATE TABLE dbo.smoke_py (id int NOT NULL PRIMARY KEY, name varchar(20), note nvarchar(20) NULL)")
    for number in range(200):
        cursor.execute("INSERT INTO dbo.smoke_py (id, name, note) VALUES (%d, %s, %s)", (number, "n%d" % number, None))
        check("rows inserted", cursor.rowcount, 1)
    cursor.execute("SELECT id, name, note FROM dbo.smoke_py ORDER BY id")
    check("rows", cursor.fetchall(), [(n, "n%d" % n, None) for n in range(200)])
    cursor.execute("UPDATE dbo.smoke_py SET note = N'gr\u00fc\u00df' WHERE id < 10")
    check("rows updated", cursor.rowcount, 10)
    cursor.execute("DELETE FROM dbo.smoke_py WHERE id >= 100")
    check("rows deleted", cursor.rowcount, 100)
    cursor.execute("SELECT COUNT(*), MAX(note) FROM dbo.smoke_py")
    check("count and text", cursor.fetchall(), [(100, "gr\u00fc\u00df")])
    expect_error(cursor, 2627, "INSERT INTO dbo.smoke_py (id) VALUES (1)")
    expect_error(cursor, 208, "SELECT * FROM dbo.no_such_table")
    expect_error(cursor, 8134, "SELECT 1 / 0")
    cursor.execute("SELECT 1")
    check("after errors", cursor.fetchall(), [(1,)])


def types(cursor):
    cursor.execute(
        "SELECT CAST(1 AS bit), CAST(255 AS tinyint), CAST(-5 AS smallint), CAST(9000000000 AS bigint), "
        "CAST(1.5 AS float), CAST(12.34 AS decimal(10,2)), CAST(2.5 AS money), CAST('2020-01-02' AS date), "
        "CAST('2020-01-02T03:04:05' AS datetime), CAST('2020-01-02T03:04:05.123' AS datetime2(3)), "
        "CAST('6F9619FF-8B86-D011-B42D-00C04FC964FF' AS uniqueidentifier), CAST(0x0102 AS varbinary(4)), "
        "CAST('ab' AS char(4)), CAST(NULL AS int), CAST('long' AS varchar(max))"
    )
    (row,) = cursor.fetchall()
    check("numbers", row[:7], (True, 255, -5, 9000000000, 1.5, decimal.Decimal("12.34"), decimal.Decimal("2.5")))
    check("date", row[7], datetime.date(2020, 1, 2))
    check("datetime", row[8], datetime.datetime(2020, 1, 2, 3, 4, 5))
    check("datetime2", row[9], datetime.datetime(2020, 1, 2, 3, 4, 5, 123000))
    check("uniqueidentifier", row[10], uuid.UUID("6F9619FF-8B86-D011-B42D-00C04FC964FF"))
    check("the rest", row[11:], (b"\x01\x02", "ab  ", None, "long"))


def transactions(host, port, password):
    connection = connect(host, port, password, autocommit=False)
    cursor = connection.cursor()
    cursor.execute("INSERT INTO dbo.smoke_py (id) VALUES (1000)")
    connection.rollback()
    cursor.execute("SELECT COUNT(*) FROM dbo.smoke_py WHERE id >= 1000")
    check("after rollback", cursor.fetchall(), [(0,)])
    cursor.execute("INSERT INTO dbo.smoke_py (id) VALUES (1001)")
    connection.commit()
    connection.close()
    other = connect(host, port, password, autocommit=True)
    cursor = other.cursor()
    cursor.execute("SELECT id FROM dbo.smoke_py WHERE id >= 1000")
    check("after commit", cursor.fetchall(), [(1001,)])
    other.close()


def main(host, port, password):
    wrong_password(host, port)
    # "off" is no TLS, "request" encrypts the login only, "require" everything.
    for encryption in ("off", "request", "require"):
        connection = connect(host, port, password, autocommit=True, encryption=encryption)
        cursor = connection.cursor()
        cursor.execute("SELECT @@VERSION")
        ((version,),) = cursor.fetchall()
        check("@@VERSION under encryption=" + encryption, version.startswith("Microsoft SQL Server"), True)
        connection.close()
    connection = connect(host, port, password, autocommit=True)
    rows(connection.cursor())
    types(connection.cursor())
    connection.close()
    transactions(host, port, password)
    print("pymssql: ok")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: pymssql_smoke.py HOST PORT PASSWORD")
    main(*sys.argv[1:])

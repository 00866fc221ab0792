"""A ledger of acknowledged commits: `ledger.py write|verify HOST PORT PASSWORD LEDGER`.

write   inserts pairs of rows, one transaction a pair, and appends a number to LEDGER only after COMMIT was
        acknowledged; goes on until the connection breaks (the server is killed under it).
verify  every number of LEDGER has both its rows, and no number has only one.
"""
import os
import sys

import pymssql


def connect(host, port, password):
    return pymssql.connect(server=host, port=port, user="sa", password=password, autocommit=True, login_timeout=10)


def read_ledger(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [int(line) for line in f.read().split()]


def write(cursor, path):
    done = read_ledger(path)
    number = max(done, default=0) + 1000
    with open(path, "a") as f:
        while True:
            number += 1
            cursor.execute(
                "BEGIN TRAN; INSERT INTO ledger (n, half) VALUES (%d, 1); "
                "INSERT INTO ledger (n, half) VALUES (%d, 2); COMMIT" % (number, number)
            )
            f.write("%d\n" % number)
            f.flush()


def verify(cursor, path):
    cursor.execute("SELECT n, half FROM ledger")
    halves = {}
    for n, half in cursor.fetchall():
        halves.setdefault(n, []).append(half)
    torn = [n for n, h in halves.items() if sorted(h) != [1, 2]]
    lost = [n for n in read_ledger(path) if n not in halves]
    print("ledger: %d acknowledged, %d found, %d lost, %d half applied" % (
        len(read_ledger(path)), len(halves), len(lost), len(torn)))
    return not torn and not lost


def main():
    what, host, port, password, path = sys.argv[1:6]
    cursor = connect(host, port, password).cursor()
    cursor.execute("SELECT COUNT(*) FROM sys.tables WHERE name = 'ledger'")
    if cursor.fetchone()[0] == 0:
        cursor.execute("CREATE TABLE ledger (n int NOT NULL, half int NOT NULL, PRIMARY KEY (n, half))")
    if what == "verify":
        sys.exit(0 if verify(cursor, path) else 1)
    try:
        write(cursor, path)
    except pymssql.Error:
        pass


main()

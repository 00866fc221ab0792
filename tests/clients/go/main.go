// go-mssqldb against a running server; the cases are those of cases.md.
package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/golang-sql/sqlexp"
	mssql "github.com/microsoft/go-mssqldb"
)

var (
	ctx                                                      = context.Background()
	host, port, password, database, certificate, casesFolder string
	db                                                       *sql.DB
	passed, failed, skipped                                  int
)

// skip is why the driver cannot.
type skip string

func (s skip) Error() string { return string(s) }

func run(name string, body func() error) {
	err := func() (err error) {
		defer func() {
			if trouble := recover(); trouble != nil {
				err = fmt.Errorf("panic: %v", trouble)
			}
		}()
		return body()
	}()
	var why skip
	switch {
	case err == nil:
		passed++
		fmt.Println("ok", name)
	case errors.As(err, &why):
		skipped++
		fmt.Printf("skip %s: %s\n", name, why)
	default:
		failed++
		text := strings.Join(strings.Fields(err.Error()), " ")
		fmt.Printf("not ok %s: %.600s\n", name, text)
	}
}

func check(what string, got, wanted any) error {
	if reflect.DeepEqual(got, wanted) {
		return nil
	}
	return fmt.Errorf("%s: got %.200s, wanted %.200s", what, fmt.Sprint(got), fmt.Sprint(wanted))
}

// all runs the steps until one fails.
func all(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func open(encrypt, password, database string) (*sql.DB, error) {
	query := url.Values{}
	query.Set("encrypt", encrypt)
	query.Set("database", database)
	query.Set("dial timeout", "10")
	if encrypt == "strict" {
		query.Set("certificate", certificate)
		query.Set("hostnameincertificate", "localhost")
	} else {
		query.Set("TrustServerCertificate", "true")
	}
	address := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", password),
		Host:     host + ":" + port,
		RawQuery: query.Encode(),
	}
	return sql.Open("sqlserver", address.String())
}

type asker interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

func collect(rows *sql.Rows) ([][]any, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	found := [][]any{}
	for rows.Next() {
		row := make([]any, len(columns))
		places := make([]any, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			return nil, err
		}
		found = append(found, row)
	}
	return found, rows.Err()
}

func rows(on asker, text string, parameters ...any) ([][]any, error) {
	result, err := on.QueryContext(ctx, text, parameters...)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	return collect(result)
}

// expectRows is rows and check in one.
func expectRows(on asker, text string, wanted [][]any, parameters ...any) error {
	found, err := rows(on, text, parameters...)
	if err != nil {
		return err
	}
	return check(text, found, wanted)
}

func do(on asker, text string, parameters ...any) error {
	_, err := on.ExecContext(ctx, text, parameters...)
	return err
}

func affected(text string, wanted int64) error {
	result, err := db.ExecContext(ctx, text)
	if err != nil {
		return err
	}
	count, err := result.RowsAffected()
	if err != nil {
		return err
	}
	return check(text, count, wanted)
}

// number is the server's number of an error.
func number(err error) int32 {
	var failure mssql.Error
	if errors.As(err, &failure) {
		return failure.Number
	}
	return 0
}

func over(encrypt, encrypted string) func() error {
	return func() error {
		d, err := open(encrypt, password, database)
		if err != nil {
			return err
		}
		defer d.Close()
		text := "SELECT encrypt_option, DB_NAME() FROM sys.dm_exec_connections WHERE session_id = @@SPID"
		return expectRows(d, text, [][]any{{encrypted, database}})
	}
}

func loginError(password, database string, wanted ...int32) error {
	d, err := open("true", password, database)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.PingContext(ctx)
	for _, n := range wanted {
		if number(err) == n {
			return nil
		}
	}
	return fmt.Errorf("wanted %v, got %v", wanted, err)
}

func connecting() {
	run("connect.clear", over("disable", "FALSE"))
	run("connect.login-only", over("false", "FALSE"))
	run("connect.tls", over("true", "TRUE"))
	run("connect.strict", over("strict", "TRUE"))
	run("connect.versions", func() error { return skip("the driver asks for one version") })
	run("connect.refused", func() error {
		if err := loginError("certainly not the password", database, 18456); err != nil {
			return err
		}
		return over("true", "TRUE")()
	})
	run("connect.no-database", func() error { return loginError(password, "no_such_database", 4060, 18456) })
}

func types() {
	values, err := readValues(casesFolder)
	if err != nil {
		run("types", func() error { return err })
		return
	}
	seen := map[string]bool{}
	for _, first := range values {
		if seen[first.name] {
			continue
		}
		seen[first.name] = true
		run(first.name, func() error {
			if first.name == "types.surrogate" {
				return skip("the driver decodes whole characters")
			}
			for _, w := range values {
				if w.name == first.name {
					if err := thereAndBack(w); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	run("types.rowversion", func() error {
		err := all(
			func() error { return do(db, "DROP TABLE IF EXISTS dbo.stamped") },
			func() error {
				return do(db, "CREATE TABLE dbo.stamped (id int NOT NULL PRIMARY KEY, stamp rowversion NOT NULL)")
			},
			func() error { return do(db, "INSERT INTO dbo.stamped (id) VALUES (1), (2)") },
		)
		if err != nil {
			return err
		}
		found, err := rows(db, "SELECT stamp FROM dbo.stamped ORDER BY id")
		if err != nil {
			return err
		}
		first, second := found[0][0].([]byte), found[1][0].([]byte)
		if err := check("bytes", []int{len(first), len(second)}, []int{8, 8}); err != nil {
			return err
		}
		return check("grows", binary.BigEndian.Uint64(first) < binary.BigEndian.Uint64(second), true)
	})
}

func thereAndBack(w listed) error {
	name := w.typ + " " + w.label
	found, err := rows(db, "SELECT CAST("+w.expression+" AS "+w.typ+") AS v")
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := check(name+" read", spelled(found[0][0], w), known(w)); err != nil {
		return err
	}
	if w.typ == "sql_variant" && w.text == "NULL" {
		return nil
	}
	if err := do(db, "DROP TABLE IF EXISTS dbo.there_and_back; CREATE TABLE dbo.there_and_back (v "+w.typ+" NULL)"); err != nil {
		return err
	}
	if err := do(db, "INSERT INTO dbo.there_and_back (v) VALUES (@p1)", parameter(found[0][0], w)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	found, err = rows(db, "SELECT v FROM dbo.there_and_back")
	if err != nil {
		return err
	}
	return check(name+" sent back", spelled(found[0][0], w), known(w))
}

func queries() {
	run("query.parameters", parameters)
	run("query.prepared", prepared)
	run("query.results", func() error {
		text := "SELECT 1 AS a; SELECT N'x' AS b, 2 AS b; SELECT id FROM dbo.pair WHERE 1 = 0; SELECT 3"
		result, err := db.QueryContext(ctx, text)
		if err != nil {
			return err
		}
		defer result.Close()
		var names [][]string
		var sets [][][]any
		for more := true; more; more = result.NextResultSet() {
			columns, err := result.Columns()
			if err != nil {
				return err
			}
			found, err := collect(result)
			if err != nil {
				return err
			}
			names, sets = append(names, columns), append(sets, found)
		}
		if err := check("names", names, [][]string{{"a"}, {"b", "b"}, {"id"}, {""}}); err != nil {
			return err
		}
		return check("sets", sets, [][][]any{{{int64(1)}}, {{"x", int64(2)}}, {}, {{int64(3)}}})
	})
	run("query.counts", func() error {
		return all(
			func() error { return do(db, "DELETE FROM dbo.pair") },
			func() error { return affected("INSERT INTO dbo.pair (id) VALUES (1), (2), (3)", 3) },
			func() error { return affected("UPDATE dbo.pair SET name = N'n' WHERE id > 1", 2) },
			func() error { return affected("UPDATE dbo.pair SET name = N'n' WHERE id > 10", 0) },
			func() error { return affected("DELETE FROM dbo.pair", 3) },
		)
	})
	run("query.large", func() error {
		found, err := rows(db, "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "+
			"SELECT i, REPLICATE(N'w', i % 100) FROM n OPTION (MAXRECURSION 0)")
		if err != nil {
			return err
		}
		for i, row := range found {
			if err := check("row", row, []any{int64(i + 1), strings.Repeat("w", (i+1)%100)}); err != nil {
				return err
			}
		}
		return check("rows", len(found), 20000)
	})
	run("query.unicode", func() error {
		result, err := db.QueryContext(ctx, "SELECT N'\u65e5\u672c' AS [\u03b1\u03b2 \u0436], 1 AS [gr\u00fc\u00df]")
		if err != nil {
			return err
		}
		defer result.Close()
		columns, err := result.Columns()
		if err != nil {
			return err
		}
		if err := check("names", columns, []string{"\u03b1\u03b2 \u0436", "gr\u00fc\u00df"}); err != nil {
			return err
		}
		found, err := collect(result)
		if err != nil {
			return err
		}
		return check("rows", found, [][]any{{"\u65e5\u672c", int64(1)}})
	})
}

func parameters() error {
	if err := do(db, "DELETE FROM dbo.pair"); err != nil {
		return err
	}
	letters := "gr\u00fc\u00df \u03b1 \U0001f600"
	for i, name := range []any{"one", nil, letters, "it's"} {
		if err := do(db, "INSERT INTO dbo.pair (id, name) VALUES (@p1, @p2)", i+1, name); err != nil {
			return err
		}
	}
	tall := strings.Repeat("x", 10000)
	var marks []string
	var many, wanted []any
	for i := 0; i < 100; i++ {
		marks = append(marks, fmt.Sprintf("@p%d", i+1))
		many, wanted = append(many, i), append(wanted, int64(i))
	}
	return all(
		func() error {
			return expectRows(db, "SELECT id FROM dbo.pair WHERE name = @name", [][]any{{int64(3)}}, sql.Named("name", letters))
		},
		func() error { return expectRows(db, "SELECT name FROM dbo.pair WHERE id = @p1", [][]any{{nil}}, 2) },
		func() error { return expectRows(db, "SELECT name FROM dbo.pair WHERE id = @p1", [][]any{{"it's"}}, 4) },
		func() error { return expectRows(db, "SELECT LEN(@p1), @p1", [][]any{{int64(10000), tall}}, tall) },
		func() error { return expectRows(db, "SELECT "+strings.Join(marks, ", "), [][]any{wanted}, many...) },
	)
}

func prepared() error {
	if err := do(db, "DELETE FROM dbo.pair"); err != nil {
		return err
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO dbo.pair (id, name) VALUES (@p1, @p2)")
	if err != nil {
		return err
	}
	defer insert.Close()
	selected, err := db.PrepareContext(ctx, "SELECT name FROM dbo.pair WHERE id = @p1")
	if err != nil {
		return err
	}
	defer selected.Close()
	for i := 0; i < 20; i++ {
		name := sql.NullString{String: fmt.Sprintf("n%d", i), Valid: i%5 != 0}
		if _, err := insert.ExecContext(ctx, i, name); err != nil {
			return err
		}
	}
	for i := 0; i < 20; i++ {
		var name sql.NullString
		if err := selected.QueryRowContext(ctx, i).Scan(&name); err != nil {
			return err
		}
		wanted := sql.NullString{String: fmt.Sprintf("n%d", i), Valid: true}
		if i%5 == 0 {
			wanted = sql.NullString{}
		}
		if err := check("name", name, wanted); err != nil {
			return err
		}
	}
	return nil
}

func transactions() {
	run("transaction.commit", func() error {
		seen := "SELECT COUNT(*) FROM dbo.pair WITH (READPAST)"
		var tx *sql.Tx
		return all(
			func() error { return do(db, "DELETE FROM dbo.pair") },
			func() (err error) { tx, err = db.BeginTx(ctx, nil); return },
			func() error { return do(tx, "INSERT INTO dbo.pair (id) VALUES (7)") },
			func() error { return expectRows(db, seen, [][]any{{int64(0)}}) },
			func() error { return tx.Commit() },
			func() error { return expectRows(db, seen, [][]any{{int64(1)}}) },
		)
	})
	run("transaction.rollback", func() error {
		var tx *sql.Tx
		return all(
			func() error { return do(db, "DELETE FROM dbo.pair") },
			func() (err error) { tx, err = db.BeginTx(ctx, nil); return },
			func() error { return do(tx, "INSERT INTO dbo.pair (id) VALUES (8)") },
			func() error { return tx.Rollback() },
			func() error { return expectRows(db, "SELECT COUNT(*) FROM dbo.pair", [][]any{{int64(0)}}) },
		)
	})
	run("transaction.isolation", func() error {
		asked := "SELECT CAST(transaction_isolation_level AS int) FROM sys.dm_exec_sessions WHERE session_id = @@SPID"
		levels := map[sql.IsolationLevel]int64{sql.LevelSerializable: 4, sql.LevelSnapshot: 5, sql.LevelReadUncommitted: 1,
			sql.LevelReadCommitted: 2}
		for level, wanted := range levels {
			tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
			if err != nil {
				return err
			}
			if err := expectRows(tx, asked, [][]any{{wanted}}); err != nil {
				return err
			}
			if err := tx.Commit(); err != nil {
				return err
			}
		}
		return nil
	})
	run("transaction.savepoint", func() error {
		if err := do(db, "DELETE FROM dbo.pair"); err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		for _, text := range []string{"INSERT INTO dbo.pair (id) VALUES (1)", "SAVE TRANSACTION half",
			"INSERT INTO dbo.pair (id) VALUES (2)", "ROLLBACK TRANSACTION half", "INSERT INTO dbo.pair (id) VALUES (3)"} {
			if err := do(tx, text); err != nil {
				return err
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		return expectRows(db, "SELECT id FROM dbo.pair ORDER BY id", [][]any{{int64(1)}, {int64(3)}})
	})
}

func errorCases() {
	run("error.fields", func() error {
		err := do(db, "\n\nEXEC dbo.fails 42")
		var e mssql.Error
		if !errors.As(err, &e) {
			return fmt.Errorf("no server error but %v", err)
		}
		got := []any{e.Number, e.Class, e.State, e.LineNo, e.Message}
		if err := check("fields", got, []any{int32(50000), uint8(12), uint8(7), int32(4), "wrong thing 42"}); err != nil {
			return err
		}
		return check("procedure", e.ProcName[strings.LastIndex(e.ProcName, ".")+1:], "fails")
	})
	run("error.goes-on", func() error {
		if err := do(db, "DELETE FROM dbo.pair; INSERT INTO dbo.pair (id) VALUES (1)"); err != nil {
			return err
		}
		connection, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer connection.Close()
		texts := map[string]int32{"SELECT 1 / 0": 8134, "INSERT INTO dbo.pair (id) VALUES (1)": 2627,
			"SELECT * FROM dbo.no_such_table": 208, "SELECT 1 FROM dbo.pair +": 102, "THROW 50123, N'thrown', 5": 50123,
			"SELECT CAST('x' AS int)": 245}
		for text, wanted := range texts {
			_, err := rows(connection, text)
			if err := check(text, number(err), wanted); err != nil {
				return err
			}
			if err := expectRows(connection, "SELECT id FROM dbo.pair", [][]any{{int64(1)}}); err != nil {
				return err
			}
		}
		return nil
	})
	run("error.inside", func() error {
		result, err := db.QueryContext(ctx, "SELECT 1; RAISERROR('inside', 16, 1); SELECT 2")
		if err != nil {
			return err
		}
		defer result.Close()
		seen := []any{}
		for more := true; more; more = result.NextResultSet() {
			found, err := collect(result)
			for _, row := range found {
				seen = append(seen, row[0])
			}
			if err != nil {
				seen = append(seen, number(err))
				break
			}
		}
		if err := result.Err(); err != nil && len(seen) == 1 {
			seen = append(seen, number(err))
		}
		return check("seen", seen, []any{int64(1), int32(50000)})
	})
	run("error.messages", func() error {
		messages := &sqlexp.ReturnMessage{}
		result, err := db.QueryContext(ctx, "PRINT N'printed \u03b1'; RAISERROR('low %d', 10, 1, 5); SELECT 1", messages)
		if err != nil {
			return err
		}
		defer result.Close()
		var found []string
		for going := true; going; {
			switch m := messages.Message(ctx).(type) {
			case sqlexp.MsgNotice:
				found = append(found, m.Message.String())
			case sqlexp.MsgNext:
				if _, err := collect(result); err != nil {
					return err
				}
			case sqlexp.MsgNextResultSet:
				going = result.NextResultSet()
			case sqlexp.MsgError:
				return m.Error
			}
		}
		return check("messages", found, []string{"printed \u03b1", "low 5"})
	})
	run("procedure.output", func() error {
		text, amount, moment := "in", 0.0, time.Time{}
		var status mssql.ReturnStatus
		err := do(db, "dbo.outputs", &status, sql.Named("a", 3), sql.Named("b", sql.Out{Dest: &text, In: true}),
			sql.Named("c", sql.Out{Dest: &amount}), sql.Named("d", sql.Out{Dest: &moment}))
		if err != nil {
			return err
		}
		got := []any{text, amount, moment.Format("2006-01-02T15:04:05.000"), int32(status)}
		return check("values", got, []any{"in-3", 4.5, "2020-01-02T03:04:05.678", int32(4)})
	})
	run("procedure.status", func() error {
		var status mssql.ReturnStatus
		result, err := db.QueryContext(ctx, "dbo.rows_and_status", &status, sql.Named("n", 5))
		if err != nil {
			return err
		}
		defer result.Close()
		first, err := collect(result)
		if err != nil {
			return err
		}
		result.NextResultSet()
		second, err := collect(result)
		if err != nil {
			return err
		}
		result.NextResultSet()
		if err := check("rows", [][][]any{first, second}, [][][]any{{{int64(5), "first"}}, {{int64(6)}}}); err != nil {
			return err
		}
		return check("status", int32(status), int32(7))
	})
	run("cancel.timeout", func() error {
		return ended(func(c context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(c, time.Second)
		}, 8*time.Second)
	})
	run("cancel.request", func() error {
		return ended(func(c context.Context) (context.Context, context.CancelFunc) {
			c, cancel := context.WithCancel(c)
			time.AfterFunc(300*time.Millisecond, cancel)
			return c, cancel
		}, 4*time.Second)
	})
}

// ended runs a request that its context ends; the pool goes on.
func ended(limited func(context.Context) (context.Context, context.CancelFunc), soon time.Duration) error {
	limit, cancel := limited(ctx)
	defer cancel()
	started := time.Now()
	_, err := db.ExecContext(limit, "WAITFOR DELAY '00:00:20'")
	if err == nil {
		return errors.New("the request was not ended")
	}
	if err := check("soon", time.Since(started) < soon, true); err != nil {
		return err
	}
	return expectRows(db, "SELECT 6", [][]any{{int64(6)}})
}

func bulkRow(i int) []any {
	if i%10 == 0 {
		return []any{i, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil}
	}
	bytes := make([]byte, 4)
	binary.BigEndian.PutUint32(bytes, uint32(i))
	seen := time.Date(2020, 1, 2, 3, 4, 5, 678_000_000, time.UTC).Add(time.Duration(i) * time.Minute)
	return []any{i, i%100 - 50, int64(i) * 1_000_000_000_000, i%2 == 1, fmt.Sprintf("%d.2500", i), float64(i) / 4,
		fmt.Sprintf("name %d", i), fmt.Sprintf("\u03b1%d", i), time.Date(2000, 1, 1+i, 0, 0, 0, 0, time.UTC), seen, bytes,
		strings.Repeat("\u0436", i*10)}
}

func bulk(ids []int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	columns := strings.Fields("id small wide truth amount ratio name note born seen bytes story")
	statement, err := tx.PrepareContext(ctx, mssql.CopyIn("dbo.copied", mssql.BulkOptions{}, columns...))
	if err == nil {
		for _, i := range ids {
			if _, err = statement.ExecContext(ctx, bulkRow(i)...); err != nil {
				break
			}
		}
		if err == nil {
			_, err = statement.ExecContext(ctx)
		}
		statement.Close()
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func copying() {
	run("bulk.rows", func() error {
		var ids []int
		for i := 1; i <= 1000; i++ {
			ids = append(ids, i)
		}
		return all(
			func() error { return do(db, "DELETE FROM dbo.copied") },
			func() error { return bulk(ids) },
			func() error { return expectRows(db, "EXEC dbo.check_copied", [][]any{{int64(1000), int64(0)}}) },
		)
	})
	run("bulk.error", func() error {
		var ids []int
		for i := 1; i < 20; i++ {
			ids = append(ids, i)
		}
		return all(
			func() error { return do(db, "DELETE FROM dbo.copied") },
			func() error { return check("number", number(bulk(append(ids, 3))), int32(2627)) },
			func() error { return expectRows(db, "SELECT COUNT(*) FROM dbo.copied", [][]any{{int64(0)}}) },
		)
	})
	run("tvp.rows", func() error {
		type pair struct {
			ID   int32
			Name *string
		}
		one, greek := "one", "\u03b1"
		table := mssql.TVP{TypeName: "dbo.pairs", Value: []pair{{1, &one}, {2, nil}, {3, &greek}}}
		return all(
			func() error { return do(db, "DROP PROCEDURE IF EXISTS dbo.take; DROP TYPE IF EXISTS dbo.pairs") },
			func() error {
				return do(db, "CREATE TYPE dbo.pairs AS TABLE (id int NOT NULL, name nvarchar(40) NULL)")
			},
			func() error {
				return do(db, "CREATE PROCEDURE dbo.take @rows dbo.pairs READONLY, @factor int AS "+
					"SELECT SUM(id) * @factor, COUNT(name), COUNT(*) FROM @rows")
			},
			func() error {
				return expectRows(db, "EXEC dbo.take @rows, @factor", [][]any{{int64(60), int64(2), int64(3)}},
					sql.Named("rows", table), sql.Named("factor", 10))
			},
		)
	})
	run("describe.columns", func() error {
		result, err := db.QueryContext(ctx, "SELECT id, code, amount, note FROM dbo.parent")
		if err != nil {
			return err
		}
		defer result.Close()
		columns, err := result.ColumnTypes()
		if err != nil {
			return err
		}
		var found []string
		for _, c := range columns {
			nullable, _ := c.Nullable()
			length, _ := c.Length()
			found = append(found, fmt.Sprint(c.Name(), " ", c.DatabaseTypeName(), " ", length, " ", nullable))
		}
		return check("columns", found,
			[]string{"id INT 0 false", "code VARCHAR 10 false", "amount DECIMAL 0 false", "note NVARCHAR 50 true"})
	})
	run("reset.session", func() error {
		d, err := open("true", password, database)
		if err != nil {
			return err
		}
		defer d.Close()
		d.SetMaxOpenConns(1)
		if err := do(d, "CREATE TABLE #mine (a int); SET LOCK_TIMEOUT 77; USE master"); err != nil {
			return err
		}
		return expectRows(d, "SELECT OBJECT_ID('tempdb..#mine'), @@LOCK_TIMEOUT, DB_NAME()", [][]any{{nil, int64(-1), database}})
	})
}

func main() {
	if len(os.Args) != 7 {
		fmt.Fprintln(os.Stderr, "usage: cases HOST PORT PASSWORD DATABASE CERTIFICATE CASES")
		os.Exit(2)
	}
	host, port, password, database, certificate, casesFolder =
		os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5], os.Args[6]
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	connecting()
	var err error
	if db, err = open("true", password, database); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	defer db.Close()
	types()
	queries()
	transactions()
	errorCases()
	copying()
	fmt.Printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	if failed > 0 {
		os.Exit(1)
	}
}

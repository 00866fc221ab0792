// go-mssqldb against a running server: smoke HOST PORT PASSWORD. Exits 0 when everything held.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
)

func fail(what string, err error) {
	fmt.Fprintf(os.Stderr, "go-mssqldb: %s: %v\n", what, err)
	os.Exit(1)
}

func must(what string, err error) {
	if err != nil {
		fail(what, err)
	}
}

func expect(what string, got, wanted any) {
	if got != wanted {
		fail(what, fmt.Errorf("got %v, wanted %v", got, wanted))
	}
}

func open(host, port, password, encrypt string) *sql.DB {
	query := url.Values{}
	query.Set("encrypt", encrypt)
	query.Set("TrustServerCertificate", "true")
	query.Set("dial timeout", "10")
	address := url.URL{
		Scheme:   "sqlserver",
		User:     url.UserPassword("sa", password),
		Host:     host + ":" + port,
		RawQuery: query.Encode(),
	}
	db, err := sql.Open("sqlserver", address.String())
	must("open", err)
	return db
}

func expectError(ctx context.Context, db *sql.DB, number int32, text string) {
	_, err := db.ExecContext(ctx, text)
	var failure mssql.Error
	if !errors.As(err, &failure) {
		fail(text, fmt.Errorf("no server error but %v", err))
	}
	expect("error of "+text, failure.Number, number)
}

func main() {
	if len(os.Args) != 4 {
		fail("usage", errors.New("smoke HOST PORT PASSWORD"))
	}
	host, port, password := os.Args[1], os.Args[2], os.Args[3]
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	wrong := open(host, port, "certainly not the password", "true")
	var failure mssql.Error
	if err := wrong.PingContext(ctx); !errors.As(err, &failure) || failure.Number != 18456 {
		fail("a wrong password", err)
	}
	wrong.Close()

	// "disable" is no TLS, "false" encrypts the login only, "true" everything.
	for _, encrypt := range []string{"disable", "false", "true"} {
		db := open(host, port, password, encrypt)
		var one int
		must("SELECT 1 under encrypt="+encrypt, db.QueryRowContext(ctx, "SELECT 1").Scan(&one))
		expect("SELECT 1", one, 1)
		db.Close()
	}

	db := open(host, port, password, "true")
	defer db.Close()
	_, err := db.ExecContext(ctx, "DROP TABLE IF EXISTS dbo.smoke_go")
	must("drop", err)
	_, err = db.ExecContext(ctx, "CREATE TABLE dbo.smoke_go (id int NOT NULL PRIMARY KEY, name nvarchar(40) NULL)")
	must("create", err)
	for id := 0; id < 200; id++ {
		result, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO dbo.smoke_go (id, name) VALUES (%d, N'n%d')", id, id))
		must("insert", err)
		affected, err := result.RowsAffected()
		must("rows affected", err)
		expect("rows affected", affected, int64(1))
	}
	rows, err := db.QueryContext(ctx, "SELECT id, name FROM dbo.smoke_go ORDER BY id")
	must("select", err)
	count := 0
	for rows.Next() {
		var id int
		var name sql.NullString
		must("scan", rows.Scan(&id, &name))
		expect("id", id, count)
		expect("name", name.String, fmt.Sprintf("n%d", count))
		count++
	}
	must("rows", rows.Err())
	expect("number of rows", count, 200)

	// Parameters: sp_executesql.
	var name string
	err = db.QueryRowContext(ctx, "SELECT name FROM dbo.smoke_go WHERE id = @p1", 7).Scan(&name)
	must("parameter", err)
	expect("parameter", name, "n7")

	// Transactions: transaction manager requests.
	tx, err := db.BeginTx(ctx, nil)
	must("begin", err)
	_, err = tx.ExecContext(ctx, "DELETE FROM dbo.smoke_go")
	must("delete", err)
	must("rollback", tx.Rollback())
	tx, err = db.BeginTx(ctx, nil)
	must("begin", err)
	_, err = tx.ExecContext(ctx, "DELETE FROM dbo.smoke_go WHERE id >= 100")
	must("delete", err)
	must("commit", tx.Commit())
	must("count", db.QueryRowContext(ctx, "SELECT COUNT(*) FROM dbo.smoke_go").Scan(&count))
	expect("count", count, 100)

	expectError(ctx, db, 2627, "INSERT INTO dbo.smoke_go (id) VALUES (1)")
	expectError(ctx, db, 208, "SELECT * FROM dbo.no_such_table")
	expectError(ctx, db, 156, "SELECT 1 FROM WHERE")
	fmt.Println("go-mssqldb: ok")
}

import com.microsoft.sqlserver.jdbc.SQLServerBulkCopy;
import com.microsoft.sqlserver.jdbc.SQLServerConnectionPoolDataSource;
import com.microsoft.sqlserver.jdbc.SQLServerDataTable;
import com.microsoft.sqlserver.jdbc.SQLServerError;
import com.microsoft.sqlserver.jdbc.SQLServerException;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.math.BigDecimal;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.stream.Collectors;
import javax.sql.PooledConnection;

/** mssql-jdbc against a running server; the cases are those of cases.md. */
public final class Cases {
    /** What a case does; any exception fails it. */
    private interface Case {
        void run() throws Exception;
    }

    /** The driver cannot. */
    private static final class Skip extends RuntimeException {
        Skip(String why) {
            super(why);
        }
    }

    private final String[] arguments;
    private Connection connection;
    private int passed;
    private int failed;
    private int skipped;

    private Cases(String[] arguments) {
        this.arguments = arguments;
    }

    private void run(String name, Case body) {
        try {
            body.run();
            passed++;
            System.out.println("ok " + name);
        } catch (Skip why) {
            skipped++;
            System.out.println("skip " + name + ": " + why.getMessage());
        } catch (Exception error) {
            failed++;
            String text = error.toString().replaceAll("\\s+", " ");
            System.out.println("not ok " + name + ": " + text.substring(0, Math.min(600, text.length())));
        }
    }

    private static void check(String what, Object got, Object wanted) {
        if (!Objects.equals(got, wanted)) {
            String text = what + ": got " + cut(got) + ", wanted " + cut(wanted);
            throw new IllegalStateException(text);
        }
    }

    private static String cut(Object value) {
        String text = String.valueOf(value);
        return text.substring(0, Math.min(200, text.length()));
    }

    private Connection connect(String encrypt, String password, String database) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "sa");
        properties.setProperty("password", password);
        properties.setProperty("databaseName", database);
        properties.setProperty("encrypt", encrypt);
        if (encrypt.equals("strict")) {
            properties.setProperty("serverCertificate", arguments[4]);
        } else {
            properties.setProperty("trustServerCertificate", "true");
        }
        properties.setProperty("loginTimeout", "10");
        // Else a time is sent as a datetime, with its 300ths of a second.
        properties.setProperty("sendTimeAsDatetime", "false");
        return DriverManager.getConnection("jdbc:sqlserver://" + arguments[0] + ":" + arguments[1], properties);
    }

    private Connection connect() throws SQLException {
        return connect("true", arguments[2], arguments[3]);
    }

    /** All rows of a query, each a list of objects. */
    private static List<List<Object>> rows(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(text)) {
            return rows(result);
        }
    }

    private static List<List<Object>> rows(ResultSet result) throws SQLException {
        List<List<Object>> rows = new ArrayList<>();
        int columns = result.getMetaData().getColumnCount();
        while (result.next()) {
            List<Object> row = new ArrayList<>();
            for (int i = 1; i <= columns; i++) {
                row.add(result.getObject(i));
            }
            rows.add(row);
        }
        return rows;
    }

    private static Object one(Connection connection, String text) throws SQLException {
        return rows(connection, text).get(0).get(0);
    }

    private static int update(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate(text);
        }
    }

    private static void execute(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    private static SQLServerError refused(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            boolean more = statement.execute(text);
            while (more || statement.getUpdateCount() >= 0) {
                if (more) {
                    rows(statement.getResultSet());
                }
                more = statement.getMoreResults();
            }
        } catch (SQLServerException error) {
            return error.getSQLServerError();
        }
        throw new IllegalStateException("no error from " + text);
    }

    // Connecting.

    private void over(String encrypt, String encrypted) throws SQLException {
        try (Connection c = connect(encrypt, arguments[2], arguments[3])) {
            check("SELECT 1", one(c, "SELECT 1"), 1);
            check("encrypt_option, database",
                rows(c, "SELECT encrypt_option, DB_NAME() FROM sys.dm_exec_connections WHERE session_id = @@SPID"),
                List.of(List.of(encrypted, arguments[3])));
        }
    }

    private int loginError(String password, String database) {
        try (Connection c = connect("true", password, database)) {
            throw new IllegalStateException("the login was accepted by " + c);
        } catch (SQLException error) {
            return error.getErrorCode();
        }
    }

    private void connecting() {
        run("connect.clear", () -> {
            throw new Skip("the driver encrypts at least the login");
        });
        run("connect.login-only", () -> over("false", "FALSE"));
        run("connect.tls", () -> over("true", "TRUE"));
        run("connect.strict", () -> over("strict", "TRUE"));
        run("connect.versions", () -> {
            throw new Skip("the driver asks for one version");
        });
        run("connect.refused", () -> {
            check("number", loginError("certainly not the password", arguments[3]), 18456);
            connect().close();
        });
        run("connect.no-database", () -> check("number", loginError(arguments[2], "no_such_database"), 4060));
    }

    // Types.

    private void types() throws Exception {
        Map<String, List<Values.Listed>> groups = Values.read(arguments[5]).stream()
            .collect(Collectors.groupingBy(Values.Listed::name, LinkedHashMap::new, Collectors.toList()));
        for (Map.Entry<String, List<Values.Listed>> group : groups.entrySet()) {
            run(group.getKey(), () -> {
                if (group.getKey().equals("types.surrogate")) {
                    throw new Skip("the driver decodes whole characters");
                }
                for (Values.Listed wanted : group.getValue()) {
                    thereAndBack(wanted);
                }
            });
        }
        run("types.rowversion", () -> {
            execute(connection, "DROP TABLE IF EXISTS dbo.stamped");
            execute(connection, "CREATE TABLE dbo.stamped (id int NOT NULL PRIMARY KEY, stamp rowversion NOT NULL)");
            execute(connection, "INSERT INTO dbo.stamped (id) VALUES (1), (2)");
            List<List<Object>> found = rows(connection, "SELECT stamp FROM dbo.stamped ORDER BY id");
            byte[] first = (byte[]) found.get(0).get(0);
            byte[] second = (byte[]) found.get(1).get(0);
            check("bytes", List.of(first.length, second.length), List.of(8, 8));
            check("grows", Arrays.compareUnsigned(first, second) < 0, true);
        });
    }

    private void thereAndBack(Values.Listed wanted) throws SQLException {
        String name = wanted.type() + " " + wanted.label();
        String read = "SELECT CAST(" + wanted.expression() + " AS " + wanted.type() + ") AS v";
        try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(read)) {
            result.next();
            check(name + " read", Values.spelled(result, wanted), Values.known(wanted));
        }
        if (wanted.type().equals("sql_variant") && wanted.text().equals("NULL")) {
            return;
        }
        execute(connection, "DROP TABLE IF EXISTS dbo.there_and_back");
        execute(connection, "CREATE TABLE dbo.there_and_back (v " + wanted.type() + " NULL)");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO dbo.there_and_back (v) VALUES (?)")) {
            Values.send(insert, wanted);
            check(name + " inserted", insert.executeUpdate(), 1);
        }
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("SELECT v FROM dbo.there_and_back")) {
            result.next();
            check(name + " sent back", Values.spelled(result, wanted), Values.known(wanted));
        }
    }

    // Queries.

    private void queries() {
        run("query.parameters", this::parameters);
        run("query.prepared", this::prepared);
        run("query.results", () -> {
            String text = "SELECT 1 AS a; SELECT N'x' AS b, 2 AS b; SELECT id FROM dbo.pair WHERE 1 = 0; SELECT 3";
            List<Object> seen = new ArrayList<>();
            try (Statement statement = connection.createStatement()) {
                boolean more = statement.execute(text);
                while (more) {
                    ResultSet result = statement.getResultSet();
                    seen.add(result.getMetaData().getColumnName(1));
                    seen.addAll(rows(result));
                    more = statement.getMoreResults();
                }
            }
            check("sets", seen, List.of("a", List.of(1), "b", List.of("x", 2), "id", "", List.of(3)));
            execute(connection, "DELETE FROM dbo.pair");
            List<Integer> counts = new ArrayList<>();
            try (Statement statement = connection.createStatement()) {
                boolean more = statement.execute(
                    "INSERT INTO dbo.pair (id) VALUES (1), (2); SELECT 1 AS a; DELETE FROM dbo.pair");
                while (more || statement.getUpdateCount() >= 0) {
                    counts.add(more ? -rows(statement.getResultSet()).size() : statement.getUpdateCount());
                    more = statement.getMoreResults();
                }
            }
            check("counts", counts, List.of(2, -1, 2));
        });
        run("query.counts", () -> {
            execute(connection, "DELETE FROM dbo.pair");
            check("inserted", update(connection, "INSERT INTO dbo.pair (id) VALUES (1), (2), (3)"), 3);
            check("updated", update(connection, "UPDATE dbo.pair SET name = N'n' WHERE id > 1"), 2);
            check("updated none", update(connection, "UPDATE dbo.pair SET name = N'n' WHERE id > 10"), 0);
            check("deleted", update(connection, "DELETE FROM dbo.pair"), 3);
            try (Statement statement = connection.createStatement()) {
                execute(connection, "DELETE FROM dbo.parent");
                statement.executeUpdate("INSERT INTO dbo.parent (code) VALUES ('k')", Statement.RETURN_GENERATED_KEYS);
                try (ResultSet keys = statement.getGeneratedKeys()) {
                    check("a generated key", keys.next() && keys.getInt(1) > 0, true);
                }
            }
        });
        run("query.large", () -> {
            List<List<Object>> found = rows(connection,
                "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
                + "SELECT i, REPLICATE(N'w', i % 100) FROM n OPTION (MAXRECURSION 0)");
            check("rows", found.size(), 20000);
            for (int i = 1; i <= 20000; i++) {
                check("row", found.get(i - 1), List.of(i, "w".repeat(i % 100)));
            }
        });
        run("query.unicode", () -> {
            try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(
                    "SELECT N'\u65e5\u672c' AS [\u03b1\u03b2 \u0436], 1 AS [gr\u00fc\u00df]")) {
                ResultSetMetaData about = result.getMetaData();
                check("names", List.of(about.getColumnName(1), about.getColumnName(2)),
                    List.of("\u03b1\u03b2 \u0436", "gr\u00fc\u00df"));
                check("rows", rows(result), List.of(List.of("\u65e5\u672c", 1)));
            }
        });
    }

    private void parameters() throws SQLException {
        execute(connection, "DELETE FROM dbo.pair");
        String letters = "gr\u00fc\u00df \u03b1 \ud83d\ude00";
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO dbo.pair (id, name) VALUES (?, ?)")) {
            String[] names = {"one", null, letters, "it's"};
            for (int i = 0; i < names.length; i++) {
                insert.setInt(1, i + 1);
                insert.setString(2, names[i]);
                check("inserted", insert.executeUpdate(), 1);
            }
        }
        check("by text", asked("SELECT id FROM dbo.pair WHERE name = ?", letters), List.of(3));
        check("null", asked("SELECT name FROM dbo.pair WHERE id = ?", 2), Arrays.asList((Object) null));
        check("quote", asked("SELECT name FROM dbo.pair WHERE id = ?", 4), List.of("it's"));
        String tall = "x".repeat(10000);
        check("long", asked("SELECT CAST(LEN(?) AS int), ?", tall, tall), List.of(10000, tall));
        Object[] many = new Object[100];
        Arrays.setAll(many, i -> i);
        String marks = "?, ".repeat(99) + "?";
        check("hundred", asked("SELECT " + marks, many), Arrays.asList(many));
    }

    /** The first row of a query with parameters. */
    private List<Object> asked(String text, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(text)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            try (ResultSet result = statement.executeQuery()) {
                return rows(result).get(0);
            }
        }
    }

    private void prepared() throws SQLException {
        // The first run is sp_executesql, the second sp_prepexec, later ones sp_execute.
        execute(connection, "DELETE FROM dbo.pair");
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO dbo.pair (id, name) VALUES (?, ?)");
                PreparedStatement select = connection.prepareStatement("SELECT name FROM dbo.pair WHERE id = ?")) {
            for (int i = 0; i < 20; i++) {
                insert.setInt(1, i);
                insert.setString(2, i % 5 == 0 ? null : "n" + i);
                check("inserted", insert.executeUpdate(), 1);
            }
            for (int i = 0; i < 20; i++) {
                select.setInt(1, i);
                try (ResultSet result = select.executeQuery()) {
                    check("a row", result.next(), true);
                    check("name", result.getString(1), i % 5 == 0 ? null : "n" + i);
                }
            }
            for (int i = 0; i < 50; i++) {
                insert.setInt(1, 100 + i);
                insert.setString(2, "m" + i);
                insert.addBatch();
            }
            check("batch", Arrays.stream(insert.executeBatch()).sum(), 50);
        }
    }

    // Transactions.

    private void transactions() {
        run("transaction.commit", () -> {
            execute(connection, "DELETE FROM dbo.pair");
            try (Connection other = connect()) {
                other.setAutoCommit(false);
                update(other, "INSERT INTO dbo.pair (id) VALUES (7)");
                String seen = "SELECT COUNT(*) FROM dbo.pair WITH (READPAST)";
                check("before", one(connection, seen), 0);
                other.commit();
                check("after", one(connection, seen), 1);
            }
        });
        run("transaction.rollback", () -> {
            execute(connection, "DELETE FROM dbo.pair");
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO dbo.pair (id) VALUES (8)");
            connection.rollback();
            check("rolled back", one(connection, "SELECT COUNT(*) FROM dbo.pair"), 0);
            update(connection, "INSERT INTO dbo.pair (id) VALUES (9)");
            connection.commit();
            connection.setAutoCommit(true);
            check("after", one(connection, "SELECT id FROM dbo.pair"), 9);
        });
        run("transaction.isolation", () -> {
            String asked = "SELECT CAST(transaction_isolation_level AS int) FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
            int[][] levels = {{Connection.TRANSACTION_SERIALIZABLE, 4}, {4096, 5}, {Connection.TRANSACTION_READ_UNCOMMITTED, 1},
                {Connection.TRANSACTION_READ_COMMITTED, 2}};
            for (int[] level : levels) {
                connection.setTransactionIsolation(level[0]);
                check("level", one(connection, asked), level[1]);
            }
        });
        run("transaction.savepoint", () -> {
            execute(connection, "DELETE FROM dbo.pair");
            connection.setAutoCommit(false);
            update(connection, "INSERT INTO dbo.pair (id) VALUES (1)");
            Savepoint half = connection.setSavepoint("half");
            update(connection, "INSERT INTO dbo.pair (id) VALUES (2)");
            connection.rollback(half);
            update(connection, "INSERT INTO dbo.pair (id) VALUES (3)");
            connection.commit();
            connection.setAutoCommit(true);
            check("rows", rows(connection, "SELECT id FROM dbo.pair ORDER BY id"), List.of(List.of(1), List.of(3)));
        });
    }

    // Errors and calls.

    private void errors() {
        run("error.fields", () -> {
            SQLServerError e = refused(connection, "\n\nEXEC dbo.fails 42");
            check("fields", List.of(e.getErrorNumber(), e.getErrorSeverity(), e.getErrorState(), (int) e.getLineNumber()),
                List.of(50000, 12, 7, 4));
            check("text", e.getErrorMessage(), "wrong thing 42");
            check("procedure", e.getProcedureName().replaceAll(".*\\.", ""), "fails");
        });
        run("error.goes-on", () -> {
            execute(connection, "DELETE FROM dbo.pair INSERT INTO dbo.pair (id) VALUES (1)");
            Map<String, Integer> texts = new LinkedHashMap<>();
            texts.put("SELECT 1 / 0", 8134);
            texts.put("INSERT INTO dbo.pair (id) VALUES (1)", 2627);
            texts.put("SELECT * FROM dbo.no_such_table", 208);
            texts.put("SELECT 1 FROM dbo.pair +", 102);
            texts.put("THROW 50123, N'thrown', 5", 50123);
            texts.put("SELECT CAST('x' AS int)", 245);
            for (Map.Entry<String, Integer> entry : texts.entrySet()) {
                check(entry.getKey(), refused(connection, entry.getKey()).getErrorNumber(), entry.getValue());
                check("after " + entry.getKey(), one(connection, "SELECT id FROM dbo.pair"), 1);
            }
        });
        run("error.inside", () -> {
            List<Object> seen = new ArrayList<>();
            try (Statement statement = connection.createStatement()) {
                boolean more = statement.execute("SELECT 1; RAISERROR('inside', 16, 1); SELECT 2");
                while (true) {
                    if (more) {
                        seen.addAll(rows(statement.getResultSet()));
                    } else if (statement.getUpdateCount() < 0) {
                        break;
                    }
                    try {
                        more = statement.getMoreResults();
                    } catch (SQLException error) {
                        seen.add(error.getMessage());
                        more = false;
                        if (!statement.getMoreResults()) {
                            break;
                        }
                        more = true;
                    }
                }
            }
            check("seen", seen, List.of(List.of(1), "inside", List.of(2)));
        });
        run("error.messages", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("PRINT N'printed \u03b1'; RAISERROR('low %d', 10, 1, 5)");
                List<String> found = new ArrayList<>();
                for (SQLWarning w = statement.getWarnings(); w != null; w = w.getNextWarning()) {
                    found.add(w.getMessage());
                }
                check("messages", found, List.of("printed \u03b1", "low 5"));
            }
        });
        run("procedure.output", () -> {
            try (CallableStatement call = connection.prepareCall("{? = call dbo.outputs(?, ?, ?, ?)}")) {
                call.registerOutParameter(1, Types.INTEGER);
                call.setInt(2, 3);
                call.setString(3, "in");
                call.registerOutParameter(3, Types.NVARCHAR);
                call.registerOutParameter(4, Types.DECIMAL, 4);
                call.registerOutParameter(5, Types.TIMESTAMP);
                call.execute();
                check("status", call.getInt(1), 4);
                check("text", call.getString(3), "in-3");
                check("decimal", call.getBigDecimal(4), new BigDecimal("4.5000"));
                check("time", call.getTimestamp(5), Timestamp.valueOf("2020-01-02 03:04:05.678"));
            }
        });
        run("procedure.status", () -> {
            try (CallableStatement call = connection.prepareCall("{? = call dbo.rows_and_status(?)}")) {
                call.registerOutParameter(1, Types.INTEGER);
                call.setInt(2, 5);
                check("a result", call.execute(), true);
                check("first", rows(call.getResultSet()), List.of(List.of(5, "first")));
                check("another", call.getMoreResults(), true);
                check("second", rows(call.getResultSet()), List.of(List.of(6)));
                check("no more", call.getMoreResults(), false);
                check("status", call.getInt(1), 7);
            }
        });
        run("cancel.timeout", () -> {
            long started = System.nanoTime();
            try (Statement statement = connection.createStatement()) {
                statement.setQueryTimeout(1);
                statement.execute("WAITFOR DELAY '00:00:20'; SELECT 1");
                throw new IllegalStateException("no timeout");
            } catch (SQLException error) {
                check("timeout", error.getMessage().contains("timed out"), true);
            }
            check("soon", System.nanoTime() - started < 8_000_000_000L, true);
            check("usable", one(connection, "SELECT 6"), 6);
        });
        run("cancel.request", () -> {
            long started = System.nanoTime();
            try (Statement statement = connection.createStatement()) {
                Thread later = new Thread(() -> {
                    try {
                        Thread.sleep(300);
                        statement.cancel();
                    } catch (InterruptedException | SQLException ignored) {
                        Thread.currentThread().interrupt();
                    }
                });
                later.start();
                try {
                    statement.execute("WAITFOR DELAY '00:00:06'");
                    throw new IllegalStateException("not cancelled");
                } catch (SQLException error) {
                    check("canceled", error.getMessage().contains("cancel"), true);
                }
                later.join();
            }
            check("soon", System.nanoTime() - started < 4_000_000_000L, true);
            check("usable", one(connection, "SELECT 7"), 7);
        });
    }

    // Copying and describing.

    private void copy(List<Integer> ids) throws SQLException {
        try (SQLServerBulkCopy copy = new SQLServerBulkCopy(connection)) {
            copy.setDestinationTableName("dbo.copied");
            copy.writeToServer(new BulkRows(ids));
        }
    }

    private void copying() {
        run("bulk.rows", () -> {
            execute(connection, "DELETE FROM dbo.copied");
            List<Integer> ids = new ArrayList<>();
            for (int i = 1; i <= 1000; i++) {
                ids.add(i);
            }
            copy(ids);
            check("dbo.check_copied", rows(connection, "EXEC dbo.check_copied"), List.of(List.of(1000, 0)));
        });
        run("bulk.error", () -> {
            execute(connection, "DELETE FROM dbo.copied");
            List<Integer> ids = new ArrayList<>();
            for (int i = 1; i < 20; i++) {
                ids.add(i);
            }
            ids.add(3);
            try {
                copy(ids);
                throw new IllegalStateException("a duplicate key was accepted");
            } catch (SQLServerException error) {
                check("number", error.getErrorCode(), 2627);
            }
            check("nothing stays", one(connection, "SELECT COUNT(*) FROM dbo.copied"), 0);
        });
        run("tvp.rows", () -> {
            execute(connection, "DROP PROCEDURE IF EXISTS dbo.take; DROP TYPE IF EXISTS dbo.pairs");
            execute(connection, "CREATE TYPE dbo.pairs AS TABLE (id int NOT NULL, name nvarchar(40) NULL)");
            execute(connection, "CREATE PROCEDURE dbo.take @rows dbo.pairs READONLY, @factor int AS "
                + "SELECT SUM(id) * @factor, COUNT(name), COUNT(*) FROM @rows");
            SQLServerDataTable table = new SQLServerDataTable();
            table.addColumnMetadata("id", Types.INTEGER);
            table.addColumnMetadata("name", Types.NVARCHAR);
            table.addRow(1, "one");
            table.addRow(2, null);
            table.addRow(3, "\u03b1");
            try (PreparedStatement call = connection.prepareStatement("EXEC dbo.take ?, ?")) {
                ((SQLServerPreparedStatement) call).setStructured(1, "dbo.pairs", table);
                call.setInt(2, 10);
                try (ResultSet result = call.executeQuery()) {
                    check("rows", rows(result), List.of(List.of(60, 2, 3)));
                }
            }
        });
        run("describe.columns", this::describe);
        run("reset.session", this::reset);
    }

    /** Some columns of the rows of a result, by name. */
    private static List<List<Object>> some(ResultSet result, String... names) throws SQLException {
        List<List<Object>> found = new ArrayList<>();
        while (result.next()) {
            List<Object> row = new ArrayList<>();
            for (String name : names) {
                row.add(result.getObject(name));
            }
            found.add(row);
        }
        result.close();
        return found;
    }

    private void describe() throws SQLException {
        DatabaseMetaData about = connection.getMetaData();
        String database = arguments[3];
        check("product", about.getDatabaseProductName(), "Microsoft SQL Server");
        check("version", about.getDatabaseMajorVersion(), 16);
        check("tables", some(about.getTables(database, "dbo", "p%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE"),
            List.of(List.of("pair", "TABLE"), List.of("parent", "TABLE")));
        check("columns", some(about.getColumns(database, "dbo", "parent", "%"), "COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE",
            "IS_NULLABLE"), List.of(List.of("id", "int identity", 10, "NO"), List.of("code", "varchar", 10, "NO"),
            List.of("amount", "decimal", 10, "NO"), List.of("note", "nvarchar", 50, "YES")));
        check("keys", some(about.getPrimaryKeys(database, "dbo", "parent"), "COLUMN_NAME", "PK_NAME"),
            List.of(List.of("id", "pk_parent")));
        List<List<Object>> indexes = some(about.getIndexInfo(database, "dbo", "parent", true, false), "INDEX_NAME", "COLUMN_NAME");
        indexes.removeIf(i -> i.get(0) == null);
        check("indexes", indexes, List.of(List.of("pk_parent", "id"), List.of("uq_parent", "code")));
        check("procedures", some(about.getProcedures(database, "dbo", "outputs"), "PROCEDURE_NAME"),
            List.of(List.of("outputs;1")));
        check("procedure's columns", some(about.getProcedureColumns(database, "dbo", "outputs", "%"), "COLUMN_NAME").size(), 5);
        check("schemas", some(about.getSchemas(), "TABLE_SCHEM").contains(List.of("dbo")), true);
        check("catalogs", some(about.getCatalogs(), "TABLE_CAT").contains(List.of(database)), true);
        check("types", some(about.getTypeInfo(), "TYPE_NAME").contains(List.of("datetimeoffset")), true);
        try (PreparedStatement statement = connection.prepareStatement("SELECT name, amount = 1 FROM dbo.pair WHERE id = ?")) {
            ResultSetMetaData columns = statement.getMetaData();
            check("heading before running", columns.getColumnTypeName(1), "nvarchar");
            ParameterMetaData parameter = statement.getParameterMetaData();
            check("parameter", parameter.getParameterTypeName(1), "int");
        }
    }

    private void reset() throws SQLException {
        SQLServerConnectionPoolDataSource source = new SQLServerConnectionPoolDataSource();
        source.setServerName(arguments[0]);
        source.setPortNumber(Integer.parseInt(arguments[1]));
        source.setUser("sa");
        source.setPassword(arguments[2]);
        source.setDatabaseName(arguments[3]);
        source.setTrustServerCertificate(true);
        PooledConnection pooled = source.getPooledConnection();
        Object session;
        try (Connection first = pooled.getConnection()) {
            execute(first, "CREATE TABLE #mine (a int); SET LOCK_TIMEOUT 77; USE master");
            session = one(first, "SELECT @@SPID");
        }
        try (Connection again = pooled.getConnection()) {
            check("state", rows(again, "SELECT @@SPID, OBJECT_ID('tempdb..#mine'), @@LOCK_TIMEOUT, DB_NAME()"),
                List.of(Arrays.asList(session, null, -1, arguments[3])));
        }
        pooled.close();
    }

    public static void main(String[] words) throws Exception {
        if (words.length != 6) {
            throw new IllegalArgumentException("usage: Cases HOST PORT PASSWORD DATABASE CERTIFICATE CASES");
        }
        Cases cases = new Cases(words);
        cases.connecting();
        cases.connection = cases.connect();
        cases.types();
        cases.queries();
        cases.transactions();
        cases.errors();
        cases.copying();
        cases.connection.close();
        System.out.println(cases.passed + " passed, " + cases.failed + " failed, " + cases.skipped + " skipped");
        System.exit(cases.failed > 0 ? 1 : 0);
    }
}

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** mssql-jdbc against a running server: {@code Smoke HOST PORT PASSWORD}. Exits 0 when everything held. */
public final class Smoke {
    private static void check(String what, Object got, Object wanted) {
        if (!wanted.equals(got)) {
            throw new IllegalStateException(what + ": got " + got + ", wanted " + wanted);
        }
    }

    private static Connection connect(String[] args, String password, String encrypt) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", "sa");
        properties.setProperty("password", password);
        properties.setProperty("encrypt", encrypt);
        properties.setProperty("trustServerCertificate", "true");
        properties.setProperty("loginTimeout", "10");
        return DriverManager.getConnection("jdbc:sqlserver://" + args[0] + ":" + args[1], properties);
    }

    private static void expectError(Statement statement, int number, String sql) {
        try {
            statement.execute(sql);
        } catch (SQLException error) {
            check("error of " + sql, error.getErrorCode(), number);
            return;
        }
        throw new IllegalStateException("no error " + number + " from " + sql);
    }

    private static void rows(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS dbo.smoke_java");
            statement.execute("CREATE TABLE dbo.smoke_java"
                + " (id int NOT NULL PRIMARY KEY, name nvarchar(40) NULL, amount decimal(10,2) NULL)");
            for (int id = 0; id < 200; id++) {
                int count = statement.executeUpdate(
                    "INSERT INTO dbo.smoke_java (id, name, amount) VALUES (" + id + ", N'n" + id + "', 12.34)");
                check("rows inserted", count, 1);
            }
            try (ResultSet result = statement.executeQuery("SELECT id, name, amount FROM dbo.smoke_java ORDER BY id")) {
                int id = 0;
                while (result.next()) {
                    check("id", result.getInt(1), id);
                    check("name", result.getString(2), "n" + id);
                    check("amount", result.getBigDecimal(3), new BigDecimal("12.34"));
                    id++;
                }
                check("number of rows", id, 200);
            }
            check("rows updated", statement.executeUpdate("UPDATE dbo.smoke_java SET name = NULL WHERE id < 10"), 10);
            expectError(statement, 2627, "INSERT INTO dbo.smoke_java (id) VALUES (1)");
            expectError(statement, 208, "SELECT * FROM dbo.no_such_table");
        }
    }

    private static void parameters(Connection connection) throws SQLException {
        // The first run is sp_executesql, the second sp_prepexec, later ones sp_execute.
        try (PreparedStatement select =
                connection.prepareStatement("SELECT name FROM dbo.smoke_java WHERE id = ?")) {
            for (int id = 20; id < 26; id++) {
                select.setInt(1, id);
                try (ResultSet result = select.executeQuery()) {
                    check("a row", result.next(), true);
                    check("name by parameter", result.getString(1), "n" + id);
                }
            }
        }
    }

    private static void transactions(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            check("rows deleted", statement.executeUpdate("DELETE FROM dbo.smoke_java"), 200);
            connection.rollback();
            statement.executeUpdate("DELETE FROM dbo.smoke_java WHERE id >= 100");
            connection.commit();
            try (ResultSet result = statement.executeQuery("SELECT COUNT(*) FROM dbo.smoke_java")) {
                result.next();
                check("count", result.getInt(1), 100);
            }
        }
        connection.setAutoCommit(true);
    }

    public static void main(String[] args) throws SQLException {
        if (args.length != 3) {
            throw new IllegalArgumentException("usage: Smoke HOST PORT PASSWORD");
        }
        try (Connection connection = connect(args, "certainly not the password", "true")) {
            throw new IllegalStateException("a wrong password was accepted");
        } catch (SQLException error) {
            check("login error", error.getErrorCode(), 18456);
        }
        // "false" encrypts the login only, "true" everything.
        for (String encrypt : new String[] {"false", "true"}) {
            try (Connection connection = connect(args, args[2], encrypt);
                    Statement statement = connection.createStatement();
                    ResultSet result = statement.executeQuery("SELECT 1")) {
                check("a row", result.next(), true);
                check("SELECT 1", result.getInt(1), 1);
            }
        }
        try (Connection connection = connect(args, args[2], "true")) {
            rows(connection);
            parameters(connection);
            transactions(connection);
        }
        System.out.println("mssql-jdbc: ok");
    }
}

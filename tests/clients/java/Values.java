import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The values of types.tsv, read through the driver and sent back. */
final class Values {
    /** A line of the list. */
    record Listed(String name, String type, String label, String kind, String expression, String text) {
        String base() {
            return type.replaceAll("\\(.*", "");
        }

        int scale() {
            Matcher found = Pattern.compile("\\.(\\d+)").matcher(text);
            return found.find() ? found.group(1).length() : 0;
        }
    }

    private static final Pattern REPEAT = Pattern.compile("@REP\\((.*?),(\\d+)\\)");
    private static final Pattern UNIT = Pattern.compile("\\\\u([0-9a-f]{4})");

    private Values() {
    }

    static List<Listed> read(String cases) throws IOException {
        List<Listed> listed = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(cases, "types.tsv"), StandardCharsets.UTF_8)) {
            if (!line.startsWith("#")) {
                String[] cells = line.split("\t", -1);
                listed.add(new Listed(cells[0], cells[1], cells[2], cells[3], cells[4], expand(cells[5])));
            }
        }
        return listed;
    }

    private static String expand(String text) {
        String whole = REPEAT.matcher(text).replaceAll(
            m -> Matcher.quoteReplacement(m.group(1).repeat(Integer.parseInt(m.group(2)))));
        return UNIT.matcher(whole).replaceAll(
            m -> Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(m.group(1), 16))));
    }

    /** A column's value as the list spells it. */
    static String spelled(ResultSet row, Listed wanted) throws SQLException {
        if (row.getObject(1) == null) {
            return "NULL";
        }
        boolean variant = wanted.type.equals("sql_variant");
        return switch (wanted.kind) {
            case "int" -> wanted.type.equals("bit") ? (row.getBoolean(1) ? "1" : "0") : String.valueOf(row.getLong(1));
            case "decimal" -> row.getBigDecimal(1).toPlainString();
            case "real" -> String.valueOf(row.getFloat(1));
            case "float" -> String.valueOf(row.getDouble(1));
            case "date" -> variant ? row.getObject(1).toString() : row.getObject(1, LocalDate.class).toString();
            case "time" -> clock(row.getObject(1, LocalTime.class), wanted.scale());
            case "datetime" -> moment(variant
                ? ((Timestamp) row.getObject(1)).toLocalDateTime() : row.getObject(1, LocalDateTime.class), wanted.scale());
            case "datetimeoffset" -> {
                OffsetDateTime value = row.getObject(1, OffsetDateTime.class);
                String zone = value.getOffset().getId().equals("Z") ? "+00:00" : value.getOffset().getId();
                yield moment(value.toLocalDateTime(), wanted.scale()) + " " + zone;
            }
            case "binary" -> {
                StringBuilder text = new StringBuilder("0x");
                for (byte b : row.getBytes(1)) {
                    text.append(String.format("%02X", b));
                }
                yield text.toString();
            }
            case "guid" -> row.getString(1).toUpperCase(Locale.ROOT);
            default -> row.getString(1);
        };
    }

    private static String clock(LocalTime time, int digits) {
        String whole = time.format(DateTimeFormatter.ofPattern("HH:mm:ss"));
        return digits == 0 ? whole : whole + "." + String.format("%09d", time.getNano()).substring(0, digits);
    }

    private static String moment(LocalDateTime value, int digits) {
        return value.toLocalDate() + " " + clock(value.toLocalTime(), digits);
    }

    /** The listed value as this driver spells it: floats by their own digits. */
    static String known(Listed wanted) {
        if (wanted.text.equals("NULL")) {
            return wanted.text;
        }
        return switch (wanted.kind) {
            case "real" -> String.valueOf(Float.parseFloat(wanted.text));
            case "float" -> String.valueOf(Double.parseDouble(wanted.text));
            default -> wanted.text;
        };
    }

    /** Sends the listed value as the first parameter, as the Java type that belongs to it. */
    static void send(PreparedStatement statement, Listed wanted) throws SQLException {
        String text = wanted.text;
        boolean nothing = text.equals("NULL");
        int type = switch (wanted.type.equals("sql_variant") ? wanted.label : wanted.base()) {
            case "bit" -> Types.BIT;
            case "tinyint" -> Types.TINYINT;
            case "smallint" -> Types.SMALLINT;
            case "int" -> Types.INTEGER;
            case "bigint" -> Types.BIGINT;
            case "decimal", "numeric" -> Types.DECIMAL;
            case "money" -> microsoft.sql.Types.MONEY;
            case "smallmoney" -> microsoft.sql.Types.SMALLMONEY;
            case "real" -> Types.REAL;
            case "float" -> Types.DOUBLE;
            case "date" -> Types.DATE;
            case "time" -> Types.TIME;
            case "datetime" -> microsoft.sql.Types.DATETIME;
            case "smalldatetime" -> microsoft.sql.Types.SMALLDATETIME;
            case "datetime2" -> Types.TIMESTAMP;
            case "datetimeoffset" -> microsoft.sql.Types.DATETIMEOFFSET;
            case "char", "varchar", "text" -> Types.VARCHAR;
            case "nchar", "nvarchar", "ntext", "xml" -> Types.NVARCHAR;
            case "binary", "varbinary", "image" -> Types.VARBINARY;
            case "uniqueidentifier" -> microsoft.sql.Types.GUID;
            default -> throw new IllegalStateException(wanted.type);
        };
        if (nothing) {
            statement.setNull(1, type);
            return;
        }
        switch (wanted.kind) {
            case "int" -> statement.setObject(1, wanted.type.equals("bit") ? text.equals("1") : Long.valueOf(text), type);
            case "decimal" -> statement.setObject(1, new BigDecimal(text), type, wanted.scale());
            case "real" -> statement.setFloat(1, Float.parseFloat(text));
            case "float" -> statement.setDouble(1, Double.parseDouble(text));
            case "date" -> statement.setObject(1, LocalDate.parse(text));
            case "time" -> statement.setObject(1, LocalTime.parse(text));
            case "datetime" -> {
                LocalDateTime value = LocalDateTime.parse(text.replace(' ', 'T'));
                statement.setObject(1, type == Types.TIMESTAMP ? value : Timestamp.valueOf(value), type);
            }
            case "datetimeoffset" -> {
                int zone = text.lastIndexOf(' ');
                String iso = text.substring(0, zone).replace(' ', 'T') + text.substring(zone + 1);
                // The driver counts days before 1582 by the Julian calendar here: as text.
                if (text.startsWith("0001")) {
                    statement.setString(1, text);
                } else {
                    statement.setObject(1, OffsetDateTime.parse(iso));
                }
            }
            case "binary" -> {
                byte[] bytes = new byte[text.length() / 2 - 1];
                for (int i = 0; i < bytes.length; i++) {
                    bytes[i] = (byte) Integer.parseInt(text.substring(2 * i + 2, 2 * i + 4), 16);
                }
                statement.setBytes(1, bytes);
            }
            case "guid" -> statement.setObject(1, text, type);
            default -> statement.setString(1, text);
        }
    }
}

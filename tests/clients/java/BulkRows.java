import com.microsoft.sqlserver.jdbc.ISQLServerBulkData;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/** The rows of bulk.rows with these ids. */
final class BulkRows implements ISQLServerBulkData {
    private static final String[] NAMES =
        {"id", "small", "wide", "truth", "amount", "ratio", "name", "note", "born", "seen", "bytes", "story"};
    private static final int[] TYPES = {Types.INTEGER, Types.SMALLINT, Types.BIGINT, Types.BIT, Types.DECIMAL, Types.DOUBLE,
        Types.VARCHAR, Types.NVARCHAR, Types.DATE, Types.TIMESTAMP, Types.VARBINARY, Types.LONGNVARCHAR};
    private static final int[] PRECISIONS = {0, 0, 0, 0, 18, 0, 40, 40, 0, 0, 40, 0};
    private static final int[] SCALES = {0, 0, 0, 0, 4, 0, 0, 0, 0, 3, 0, 0};

    private final List<Integer> ids;
    private int at = -1;

    BulkRows(List<Integer> ids) {
        this.ids = ids;
    }

    @Override
    public Set<Integer> getColumnOrdinals() {
        Set<Integer> ordinals = new TreeSet<>();
        for (int i = 1; i <= NAMES.length; i++) {
            ordinals.add(i);
        }
        return ordinals;
    }

    @Override
    public String getColumnName(int column) {
        return NAMES[column - 1];
    }

    @Override
    public int getColumnType(int column) {
        return TYPES[column - 1];
    }

    @Override
    public int getPrecision(int column) {
        return PRECISIONS[column - 1];
    }

    @Override
    public int getScale(int column) {
        return SCALES[column - 1];
    }

    @Override
    public boolean next() {
        return ++at < ids.size();
    }

    @Override
    public Object[] getRowData() {
        int i = ids.get(at);
        if (i % 10 == 0) {
            return new Object[] {i, null, null, null, null, null, null, null, null, null, null, null};
        }
        byte[] bytes = {(byte) (i >> 24), (byte) (i >> 16), (byte) (i >> 8), (byte) i};
        LocalDateTime seen = LocalDateTime.of(2020, 1, 2, 3, 4, 5, 678_000_000).plusMinutes(i);
        return new Object[] {i, (short) (i % 100 - 50), i * 1_000_000_000_000L, i % 2 == 1,
            new BigDecimal(i).add(new BigDecimal("0.2500")), i / 4.0, "name " + i, "\u03b1" + i,
            Date.valueOf(LocalDate.of(2000, 1, 1).plusDays(i)), Timestamp.valueOf(seen), bytes, "\u0436".repeat(i * 10)};
    }
}

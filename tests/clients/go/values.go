package main

import (
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/golang-sql/civil"
	mssql "github.com/microsoft/go-mssqldb"
)

// listed is a line of types.tsv.
type listed struct {
	name, typ, label, kind, expression, text string
}

var (
	repeated = regexp.MustCompile(`@REP\((.*?),(\d+)\)`)
	units    = regexp.MustCompile(`(\\u[0-9a-f]{4})+`)
	fraction = regexp.MustCompile(`\.(\d+)`)
)

func readValues(cases string) ([]listed, error) {
	file, err := os.ReadFile(cases + "/types.tsv")
	if err != nil {
		return nil, err
	}
	var all []listed
	for _, line := range strings.Split(strings.TrimRight(string(file), "\n"), "\n") {
		if !strings.HasPrefix(line, "#") {
			c := strings.Split(line, "\t")
			all = append(all, listed{c[0], c[1], c[2], c[3], c[4], expand(c[5])})
		}
	}
	return all, nil
}

func expand(text string) string {
	text = repeated.ReplaceAllStringFunc(text, func(found string) string {
		parts := repeated.FindStringSubmatch(found)
		times, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], times)
	})
	return units.ReplaceAllStringFunc(text, func(found string) string {
		var all []uint16
		for _, unit := range strings.Split(found, `\u`)[1:] {
			n, _ := strconv.ParseUint(unit, 16, 16)
			all = append(all, uint16(n))
		}
		return string(utf16.Decode(all))
	})
}

func (w listed) digits() int {
	if found := fraction.FindStringSubmatch(w.text); found != nil {
		return len(found[1])
	}
	return 0
}

// spelled gives a value as types.tsv spells it.
func spelled(value any, w listed) string {
	if value == nil {
		return "NULL"
	}
	clock := "15:04:05"
	if n := w.digits(); n > 0 {
		clock += "." + strings.Repeat("0", n)
	}
	switch v := value.(type) {
	case bool:
		if v {
			return "1"
		}
		return "0"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		bits := 64
		if w.kind == "real" {
			bits = 32
		}
		return strconv.FormatFloat(v, 'g', -1, bits)
	case string:
		return v
	case time.Time:
		switch w.kind {
		case "date":
			return v.Format("2006-01-02")
		case "time":
			return v.Format(clock)
		case "datetimeoffset":
			return v.Format("2006-01-02 " + clock + " -07:00")
		}
		return v.Format("2006-01-02 " + clock)
	case []byte:
		switch w.kind {
		case "decimal":
			return string(v)
		case "guid":
			var id mssql.UniqueIdentifier
			if err := id.Scan(v); err != nil {
				return err.Error()
			}
			return id.String()
		case "binary":
			return "0x" + strings.ToUpper(hex.EncodeToString(v))
		}
		return string(v)
	}
	return fmt.Sprintf("%T", value)
}

// known is the listed value in Go's own digits.
func known(w listed) string {
	if w.text == "NULL" {
		return w.text
	}
	switch w.kind {
	case "real":
		f, _ := strconv.ParseFloat(w.text, 32)
		return strconv.FormatFloat(f, 'g', -1, 32)
	case "float":
		f, _ := strconv.ParseFloat(w.text, 64)
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return w.text
}

// parameter is what is sent for the listed value; read is what was read.
func parameter(read any, w listed) any {
	if w.kind == "binary" {
		if read == nil {
			return []byte(nil)
		}
		return read
	}
	if read == nil {
		return nil
	}
	switch w.kind {
	case "decimal":
		return w.text
	case "guid":
		var id mssql.UniqueIdentifier
		_ = id.Scan(read)
		return id
	}
	if moment, ok := read.(time.Time); ok {
		switch {
		case w.kind == "date":
			return civil.DateOf(moment)
		case w.kind == "time":
			return civil.TimeOf(moment)
		case w.kind == "datetimeoffset":
			return mssql.DateTimeOffset(moment)
		case strings.HasPrefix(w.typ, "datetime2"):
			return civil.DateTimeOf(moment)
		}
		return mssql.DateTime1(moment)
	}
	if w.typ == "varchar(max)" || w.typ == "text" {
		return mssql.VarCharMax(read.(string))
	}
	if text, ok := read.(string); ok && strings.Contains(w.typ, "char(8000)") {
		return mssql.VarChar(text)
	}
	return read
}

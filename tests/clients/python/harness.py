"""The cases of cases.md for a Python driver: the lines that are printed, and the values of types.tsv."""
import datetime
import decimal
import re
import struct
import sys


class Skip(Exception):
    """The driver cannot do what the case asks; the text says why."""


class Arguments:
    def __init__(self):
        if len(sys.argv) != 7:
            raise SystemExit("usage: %s HOST PORT PASSWORD DATABASE CERTIFICATE CASES" % sys.argv[0])
        self.host, self.port, self.password, self.database, self.certificate, self.cases = sys.argv[1:]


class Report:
    """Runs cases, prints a line for each and the counts at the end."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def run(self, name, case):
        try:
            case()
        except Skip as why:
            self.skipped += 1
            print("skip %s: %s" % (name, why), flush=True)
        except Exception as error:  # whatever the driver raises is the case's result
            self.failed += 1
            text = " ".join(("%s: %s" % (type(error).__name__, error)).split())
            print("not ok %s: %s" % (name, text[:600]), flush=True)
        else:
            self.passed += 1
            print("ok %s" % name, flush=True)

    def end(self):
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        sys.exit(1 if self.failed else 0)


def check(what, got, wanted):
    if got != wanted:
        raise AssertionError("%s: got %.200r, wanted %.200r" % (what, got, wanted))


class TypeValue:
    """A line of types.tsv."""

    def __init__(self, line):
        self.case, self.type, self.label, self.kind, self.expression, text = line.rstrip("\n").split("\t")
        self.text = expand(text)
        self.name = "%s %s" % (self.type, self.label)

    def scale(self):
        found = re.search(r"\.(\d+)", self.text)
        return len(found.group(1)) if found else 0


def expand(text):
    text = re.sub(r"@REP\((.*?),(\d+)\)", lambda m: m.group(1) * int(m.group(2)), text)
    units = re.sub(r"\\u([0-9a-f]{4})", lambda m: chr(int(m.group(1), 16)), text)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def type_values(cases):
    with open(cases + "/types.tsv", encoding="utf-8") as file:
        return [TypeValue(line) for line in file if not line.startswith("#")]


def fraction(value, digits):
    """The first digits of the microseconds, as text with its point."""
    text = "%06d" % value
    return "." + text[:digits].ljust(digits, "0") if digits else ""


def spelled(value, wanted):
    """A Python value as types.tsv spells it. Python knows no more than microseconds."""
    kind, digits = wanted.kind, wanted.scale()
    if value is None:
        return "NULL"
    if kind == "int":
        return str(int(value))
    if kind == "decimal":
        number = decimal.Decimal(value)
        return format(number.quantize(decimal.Decimal(1).scaleb(-digits), context=decimal.Context(prec=60)), "f")
    if kind in ("real", "float"):
        return repr(float(value))
    if kind == "date":
        return value.strftime("%Y").rjust(4, "0") + value.strftime("-%m-%d")
    if kind == "time":
        return value.strftime("%H:%M:%S") + fraction(value.microsecond, digits)
    if kind in ("datetime", "datetimeoffset"):
        text = value.replace(tzinfo=None, microsecond=0).isoformat(" ") + fraction(value.microsecond, digits)
        if kind == "datetimeoffset":
            minutes = int(value.utcoffset().total_seconds() // 60)
            text += " %s%02d:%02d" % ("-" if minutes < 0 else "+", abs(minutes) // 60, abs(minutes) % 60)
        return text
    if kind == "binary":
        return "0x" + bytes(value).hex().upper()
    if kind == "guid":
        return str(value).upper()
    return value


def known(wanted):
    """What Python can hold of the listed value: no seventh digit of a second."""
    if wanted.text == "NULL":
        return wanted.text
    if wanted.kind == "real":
        return repr(struct.unpack("<f", struct.pack("<f", float(wanted.text)))[0])
    if wanted.kind == "float":
        return repr(float(wanted.text))
    if wanted.kind in ("time", "datetime", "datetimeoffset"):
        return re.sub(r"(\.\d{6})\d", r"\g<1>0", wanted.text)
    return wanted.text


def check_value(what, value, wanted):
    check("%s %s" % (wanted.name, what), spelled(value, wanted), known(wanted))

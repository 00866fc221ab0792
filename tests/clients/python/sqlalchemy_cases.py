"""SQLAlchemy over pymssql and mssql-python: a schema is made, read back and worked with through the ORM.

Called as the drivers' programs are, with the driver before their arguments; the cases are those of sqlalchemy.md.
"""
import datetime
import decimal
import sys
import uuid

import sqlalchemy as sa
from sqlalchemy import orm

from harness import Arguments, Report, check

sys.dont_write_bytecode = True
#: Before the other arguments: pymssql or mssqlpython.
DRIVER = sys.argv.pop(1)


def engine(arguments, **more):
    a = arguments
    if DRIVER == "pymssql":
        url = sa.URL.create("mssql+pymssql", "sa", a.password, a.host, int(a.port), a.database)
        return sa.create_engine(url, **more)
    url = sa.URL.create("mssql+mssqlpython", "sa", a.password, a.host, int(a.port), a.database,
                        query={"Encrypt": "yes", "TrustServerCertificate": "yes"})
    return sa.create_engine(url, **more)


class Base(orm.DeclarativeBase):
    pass


membership = sa.Table(
    "membership", Base.metadata,
    sa.Column("person_id", sa.ForeignKey("person.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("club_id", sa.ForeignKey("club.id"), primary_key=True))


class Person(Base):
    __tablename__ = "person"
    __table_args__ = (
        sa.UniqueConstraint("email", name="uq_person_email"),
        sa.CheckConstraint("age >= 0", name="ck_person_age"),
        sa.Index("ix_person_name", "name", "born"),
    )
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.Unicode(40))
    email: orm.Mapped[str | None] = orm.mapped_column(sa.String(80))
    age: orm.Mapped[int] = orm.mapped_column(server_default=sa.text("0"))
    born: orm.Mapped[datetime.date | None]
    seen: orm.Mapped[datetime.datetime | None] = orm.mapped_column(sa.DateTime())
    worth: orm.Mapped[decimal.Decimal | None] = orm.mapped_column(sa.Numeric(12, 2))
    ratio: orm.Mapped[float | None] = orm.mapped_column(sa.Float())
    active: orm.Mapped[bool] = orm.mapped_column(default=True)
    token: orm.Mapped[uuid.UUID | None]
    picture: orm.Mapped[bytes | None] = orm.mapped_column(sa.LargeBinary())
    story: orm.Mapped[str | None] = orm.mapped_column(sa.UnicodeText())
    addresses: orm.Mapped[list["Address"]] = orm.relationship(back_populates="person", cascade="all, delete-orphan")
    clubs: orm.Mapped[list["Club"]] = orm.relationship(secondary=membership, back_populates="members")


class Address(Base):
    __tablename__ = "address"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    person_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("person.id", name="fk_address_person"))
    street: orm.Mapped[str] = orm.mapped_column(sa.Unicode(100))
    person: orm.Mapped[Person] = orm.relationship(back_populates="addresses")


class Club(Base):
    __tablename__ = "club"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    title: orm.Mapped[str] = orm.mapped_column(sa.Unicode(40))
    members: orm.Mapped[list[Person]] = orm.relationship(secondary=membership, back_populates="clubs")


class Cases:
    def __init__(self, arguments):
        self.engine = engine(arguments)

    def connect(self):
        with self.engine.connect() as connection:
            check("SELECT 1", connection.scalar(sa.text("SELECT 1")), 1)
            check("version", connection.dialect.server_version_info[0], 16)
            check("schema", connection.dialect.default_schema_name, "dbo")

    def create(self):
        Base.metadata.drop_all(self.engine)
        Base.metadata.create_all(self.engine)
        Base.metadata.create_all(self.engine)  # what is there is seen
        names = sa.inspect(self.engine).get_table_names()
        check("tables", [n for n in names if n in Base.metadata.tables], ["address", "club", "membership", "person"])

    def reflect(self):
        inspector = sa.inspect(self.engine)
        columns = {c["name"]: c for c in inspector.get_columns("person")}
        check("columns", list(columns), [c.name for c in Person.__table__.columns])
        types = {name: str(c["type"]) for name, c in columns.items()}
        check("types", [types[n].split(" COLLATE")[0] for n in ("id", "name", "email", "born", "worth", "active", "token", "story")],
              ["INTEGER", "NVARCHAR(40)", "VARCHAR(80)", "DATE", "NUMERIC(12, 2)", "BIT", "UNIQUEIDENTIFIER", "NVARCHAR"])
        check("nullable", [columns[n]["nullable"] for n in ("id", "name", "email")], [False, False, True])
        check("default", columns["age"]["default"] is not None, True)
        check("identity", columns["id"]["autoincrement"], True)
        check("key", inspector.get_pk_constraint("person")["constrained_columns"], ["id"])
        indexes = {i["name"]: (i["column_names"], i["unique"]) for i in inspector.get_indexes("person")}
        check("index", indexes["ix_person_name"], (["name", "born"], False))
        check("unique", indexes["uq_person_email"], (["email"], True))
        (key,) = inspector.get_foreign_keys("address")
        check("foreign key", (key["name"], key["constrained_columns"], key["referred_table"], key["referred_columns"]),
              ("fk_address_person", ["person_id"], "person", ["id"]))
        rules = {k["constrained_columns"][0]: k["options"] for k in inspector.get_foreign_keys("membership")}
        check("rules", rules["person_id"].get("ondelete"), "CASCADE")
        found = sa.MetaData()
        found.reflect(self.engine)
        check("reflected", set(Base.metadata.tables) <= set(found.tables), True)
        check("joined", str(found.tables["address"].c.person_id.foreign_keys), "{ForeignKey('person.id')}")
        with self.engine.begin() as connection:
            connection.execute(sa.text("DROP VIEW IF EXISTS dbo.grown"))
            connection.execute(sa.text("CREATE VIEW dbo.grown AS SELECT id, name FROM dbo.person WHERE age > 17"))
        inspector = sa.inspect(self.engine)
        check("views", "grown" in inspector.get_view_names(), True)
        check("view's text", "age > 17" in inspector.get_view_definition("grown"), True)
        check("schemas", "dbo" in inspector.get_schema_names(), True)
        check("has_table", (inspector.has_table("person"), inspector.has_table("nobody")), (True, False))

    def insert(self):
        with orm.Session(self.engine) as session:
            people = [self.person(i) for i in range(1, 4)]
            session.add_all(people)
            session.flush()
            ids = [p.id for p in people]
            check("identities", ids, list(range(ids[0], ids[0] + 3)))
            check("default", people[0].age, 0)
            session.commit()
            back = session.get(Person, ids[0])
            session.refresh(back)
            check("values", (back.name, back.email, back.born, back.seen, back.worth, back.ratio, back.active, back.token,
                             back.picture, back.story),
                  ("n1 \u03b1", "n1@x", datetime.date(2001, 2, 3), datetime.datetime(2020, 1, 2, 3, 4, 5), decimal.Decimal("1.25"),
                   0.5, True, uuid.UUID(int=1), b"\x00\x01", "\u0436" * 5000))
        with self.engine.begin() as connection:
            rows = [{"name": "m%d" % i, "email": "m%d@x" % i, "age": i, "active": True} for i in range(200)]
            connection.execute(sa.insert(Person), rows)
            many = connection.execute(sa.insert(Club).returning(Club.id, Club.title, sort_by_parameter_order=True),
                                      [{"title": "c%d" % i} for i in range(20)]).all()
            check("returned", [title for _, title in many], ["c%d" % i for i in range(20)])
            one = connection.execute(sa.insert(Club), {"title": "single"})
            check("key", one.inserted_primary_key[0] > many[-1][0], True)

    def person(self, i):
        return Person(
            name="n%d \u03b1" % i, email="n%d@x" % i, born=datetime.date(2000 + i, 2, 3),
            seen=datetime.datetime(2020, 1, 2, 3, 4, 5), worth=decimal.Decimal("1.25"), ratio=0.5, token=uuid.UUID(int=i),
            picture=b"\x00\x01", story="\u0436" * 5000)

    def relate(self):
        with orm.Session(self.engine) as session:
            first = session.scalars(sa.select(Person).where(Person.email == "n1@x")).one()
            first.addresses = [Address(street="A"), Address(street="B")]
            first.clubs = session.scalars(sa.select(Club).order_by(Club.id).limit(2)).all()
            session.commit()
            session.expire_all()
            check("addresses", sorted(a.street for a in first.addresses), ["A", "B"])
            check("clubs", [c.title for c in first.clubs], ["c0", "c1"])
            joined = session.scalars(
                sa.select(Person).options(orm.joinedload(Person.addresses), orm.selectinload(Person.clubs))
                .where(Person.email == "n1@x")).unique().one()
            check("joined", (len(joined.addresses), len(joined.clubs)), (2, 2))
            first.addresses.pop()
            session.commit()
            check("orphan", session.scalar(sa.select(sa.func.count()).select_from(Address)), 1)

    def query(self):
        with orm.Session(self.engine) as session:
            page = session.scalars(sa.select(Person.name).where(Person.name.like("m%")).order_by(Person.id).offset(10).limit(5)).all()
            check("page", page, ["m10", "m11", "m12", "m13", "m14"])
            check("top", session.scalars(sa.select(Person.name).order_by(Person.id.desc()).limit(1)).all(), ["m199"])
            # Not Person.age % 2: its twos would be parameters, and two parameters are not one expression.
            parity = sa.literal_column("person.age % 2")
            grouped = session.execute(
                sa.select(parity, sa.func.count(), sa.func.max(Person.age)).where(Person.name.like("m%"))
                .group_by(parity).having(sa.func.count() > 10).order_by(parity)).all()
            check("grouped", [tuple(g) for g in grouped], [(0, 100, 198), (1, 100, 199)])
            with_address = sa.select(sa.func.count()).where(sa.exists().where(Address.person_id == Person.id))
            check("exists", session.scalar(with_address), 1)
            check("in", len(session.scalars(sa.select(Person.id).where(Person.age.in_([1, 2, 3]))).all()), 3)
            part = sa.select(Person.age, sa.func.row_number().over(order_by=Person.age.desc()).label("r")).subquery()
            check("window", session.execute(sa.select(part.c.age).where(part.c.r <= 2).order_by(part.c.r)).scalars().all(), [199, 198])
            tree = sa.select(sa.literal(1).label("n")).cte("tree", recursive=True)
            tree = tree.union_all(sa.select(tree.c.n + 1).where(tree.c.n < 5))
            check("recursive", session.scalars(sa.select(tree.c.n)).all(), [1, 2, 3, 4, 5])
            check("case", session.scalar(sa.select(sa.case((Person.age > 100, "old"), else_="young")).where(Person.name == "m150")), "old")
            check("dates", session.scalar(sa.select(sa.extract("year", Person.born)).where(Person.email == "n1@x")), 2001)

    def update(self):
        with orm.Session(self.engine) as session:
            session.scalars(sa.select(Person).where(Person.email == "n2@x")).one().age = 50
            session.commit()
            check("one", session.scalar(sa.select(Person.age).where(Person.email == "n2@x")), 50)
            count = session.execute(sa.update(Person).where(Person.name.like("m1%")).values(age=Person.age + 1000)).rowcount
            check("many", count, 111)
            changed = session.execute(sa.update(Club).where(Club.title == "single").values(title="double").returning(Club.title)).all()
            check("returning", [tuple(c) for c in changed], [("double",)])
            session.rollback()
            check("rolled back", session.scalar(sa.select(sa.func.max(Person.age))), 199)

    def delete(self):
        with orm.Session(self.engine) as session:
            first = session.scalars(sa.select(Person).where(Person.email == "n1@x")).one()
            session.delete(first)
            session.commit()
            check("address", session.scalar(sa.select(sa.func.count()).select_from(Address)), 0)
            check("membership", session.scalar(sa.select(sa.func.count()).select_from(membership)), 0)
            check("many", session.execute(sa.delete(Person).where(Person.age > 150)).rowcount, 49)
            session.commit()

    def refuse(self):
        with orm.Session(self.engine) as session:
            for wrong in (Person(name="x", email="n2@x"), Person(name="x", age=-1), Address(person_id=-1, street="x")):
                session.add(wrong)
                try:
                    session.flush()
                except sa.exc.IntegrityError:
                    session.rollback()
                else:
                    raise AssertionError("%r was accepted" % wrong)
            try:
                session.execute(sa.text("SELECT * FROM no_such_table"))
            except sa.exc.DBAPIError:
                session.rollback()
            check("goes on", session.scalar(sa.text("SELECT 1")), 1)

    def transact(self):
        serializable = self.engine.execution_options(isolation_level="SERIALIZABLE")
        asked = sa.text("SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID")
        with serializable.connect() as connection:
            check("level", connection.scalar(asked), 4)
            check("name", connection.get_isolation_level(), "SERIALIZABLE")
        with self.engine.connect() as connection:
            check("level again", connection.scalar(asked), 2)
        with orm.Session(self.engine) as session:
            session.add(Club(title="kept"))
            session.flush()
            try:
                with session.begin_nested():
                    session.add(Club(title="lost"))
                    session.flush()
                    raise KeyError
            except KeyError:
                pass
            session.commit()
            titles = session.scalars(sa.select(Club.title).where(Club.title.in_(["kept", "lost"]))).all()
            check("savepoint", titles, ["kept"])


if __name__ == "__main__":
    cases = Cases(Arguments())
    report = Report()
    for name in "connect create reflect insert relate query update delete refuse transact".split():
        report.run("sqlalchemy." + name, getattr(cases, name))
    report.end()

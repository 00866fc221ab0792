//! Statements from text to rows, over tables in memory.

mod change;
mod columns;
mod errors;
mod functions;
mod long;
mod merge;
mod ordered;
mod passing;
mod select;
mod toy;

use duramen_query::host::TableColumn;
use duramen_query::spill::Workspace;
use duramen_types::{SqlType, Value};
use toy::{Toy, ToyTable, column};

/// dept(id key, name); emp(id key, name, dept, pay, grade char) with a row of no department; log(id identity, ...).
fn world() -> Toy {
    let dept = ToyTable::new(
        "dept",
        vec![
            column("id", SqlType::INT, false),
            column("name", SqlType::varchar(10), false),
        ],
        &[0],
    );
    let emp = ToyTable::new(
        "emp",
        vec![
            column("id", SqlType::INT, false),
            column("name", SqlType::nvarchar(10), false),
            column("dept", SqlType::INT, true),
            column("pay", SqlType::decimal(9, 2), true),
            column("grade", SqlType::char(3), true),
        ],
        &[0],
    );
    let log = ToyTable::new(
        "log",
        vec![
            TableColumn {
                identity: true,
                ..column("id", SqlType::INT, false)
            },
            TableColumn {
                default: Some("('none')".to_owned()),
                ..column("word", SqlType::varchar(5), false)
            },
            column("n", SqlType::SMALLINT, true),
        ],
        &[0],
    );
    let toy = Toy {
        tables: vec![dept, emp, log],
        variables: vec![("@n", SqlType::INT, Value::Int(2))],
        workspace: Workspace::new(1 << 20),
        asked: Default::default(),
        given_up_at: Default::default(),
    };
    toy.text(
        "insert dept values (1, 'build'), (2, 'sell'), (3, 'idle');
         insert emp values (1, N'ann', 1, 10.50, 'a'), (2, N'bob', 1, 20, 'b'), (3, N'cid', 2, 30.25, 'a'),
            (4, N'dan', NULL, NULL, NULL)",
    );
    toy
}

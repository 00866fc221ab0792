//! A sink that writes results as text: for tests and for people reading them.

use duramen_base::SqlError;
use duramen_types::{SqlType, Value, to_display};

use crate::sink::{ColumnMeta, Done, EnvChange, ResultSink};

/// Results as lines: `(a, b)` headings, values joined by ` | `, messages, `Msg` lines, row counts.
#[derive(Default)]
pub struct TextSink {
    pub lines: Vec<String>,
    types: Vec<SqlType>,
}

impl ResultSink for TextSink {
    fn columns(&mut self, columns: &[ColumnMeta]) {
        self.types = columns.iter().map(|c| c.ty).collect();
        let names: Vec<String> = columns
            .iter()
            .map(|c| format!("{} {}", c.name, c.ty))
            .collect();
        self.lines.push(format!("({})", names.join(", ")));
    }

    fn row(&mut self, values: &[Value]) {
        let cell = |(v, t): (&Value, &SqlType)| {
            if v.is_null() {
                "NULL".to_owned()
            } else {
                to_display(v, t)
            }
        };
        let cells: Vec<String> = values.iter().zip(&self.types).map(cell).collect();
        self.lines.push(cells.join(" | "));
    }

    fn done(&mut self, done: &Done) {
        if let Some(n) = done.rows {
            self.lines.push(format!("rows {n}"));
        }
    }

    fn error(&mut self, error: &SqlError) {
        self.lines.push(error.to_string());
    }

    fn info(&mut self, message: &SqlError) {
        self.lines.push(message.message.clone());
    }

    fn env_change(&mut self, _change: &EnvChange) {}
}

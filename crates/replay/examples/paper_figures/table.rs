//! Markdown tables.

/// A table; the first row is the head.
pub struct Table(Vec<Vec<String>>);

impl Table {
    pub fn new(head: Vec<String>) -> Self {
        let rule = vec!["---".to_owned(); head.len()];
        Self(vec![head, rule])
    }

    pub fn row(&mut self, row: Vec<String>) {
        assert_eq!(row.len(), self.0[0].len(), "a cell for each column");
        self.0.push(row);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for row in &self.0 {
            writeln!(
                f,
                "|{}|",
                row.iter().map(|cell| format!(" {cell} ")).collect::<Vec<_>>().join("|")
            )?;
        }
        Ok(())
    }
}

//! A small row-major table: one row a case, one column a class.

/// One value for each case and class.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<T> {
    cases: usize,
    classes: usize,
    values: Vec<T>,
}

impl<T> Table<T> {
    /// A table of `values`, row by row.
    ///
    /// # Panics
    /// If `values` is not `cases * classes` long.
    pub fn new(cases: usize, classes: usize, values: Vec<T>) -> Self {
        assert_eq!(values.len(), cases * classes, "one value for each case and class");
        Self { cases, classes, values }
    }

    /// Number of rows.
    pub fn cases(&self) -> usize {
        self.cases
    }

    /// Number of columns.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The value of a case and a column.
    ///
    /// # Panics
    /// If either lies outside the table.
    pub fn get(&self, case: usize, class: usize) -> &T {
        assert!(class < self.classes, "column {class} of {}", self.classes);
        &self.values[case * self.classes + class]
    }

    /// All values, row by row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// All values, row by row, by value.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }
}

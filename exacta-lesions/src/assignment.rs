//! The one-to-one assignment of the largest total worth, on the pairs that there are.
//!
//! Shortest augmenting paths with potentials (Jonker and Volgenant 1987), each row with the choice to stay alone. Only given
//! pairs are edges, and a search ends at the nearest free column, so that a path never leaves the connected group of its row: the cost
//! follows the groups and not rows times columns, and no matrix is made.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A pair that may be assigned; worth is above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Edge {
    pub(crate) row: u32,
    pub(crate) column: u32,
    pub(crate) worth: f64,
}

/// No row, or no column.
const NONE: u32 = u32::MAX;

/// A column on the way, and how far it is. Nearer ones come first, then smaller ones.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reached {
    distance: f64,
    column: u32,
}

impl Eq for Reached {}

impl PartialOrd for Reached {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Reached {
    fn cmp(&self, other: &Self) -> Ordering {
        other.distance.total_cmp(&self.distance).then(other.column.cmp(&self.column))
    }
}

/// The assigned pairs `(row, column)`, in order of rows: one-to-one, their sum of worths the largest possible.
///
/// Equal to `scipy.optimize.linear_sum_assignment` on the whole matrix in the sum. Rows are added in ascending order, and of equally
/// near columns the smallest is taken: which of several best assignments comes out depends on the edges alone.
pub(crate) fn best_assignment(rows: usize, columns: usize, edges: Vec<Edge>) -> Vec<(u32, u32)> {
    Search::new(rows, columns, edges).run()
}

struct Search {
    /// Edges by row; costs are negative worths.
    starts: Vec<usize>,
    edges: Vec<Edge>,
    /// Potential of each column. That of a row follows from its column's.
    columns: Vec<f64>,
    rows: Vec<f64>,
    row_of: Vec<u32>,
    column_of: Vec<u32>,
    distance: Vec<f64>,
    from: Vec<u32>,
    settled: Vec<bool>,
}

impl Search {
    fn new(rows: usize, columns: usize, mut edges: Vec<Edge>) -> Self {
        edges.sort_by_key(|edge| (edge.row, edge.column));
        let mut starts = vec![0; rows + 1];
        for edge in &edges {
            starts[edge.row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        Self {
            starts,
            edges,
            columns: vec![0.0; columns],
            rows: vec![0.0; rows],
            row_of: vec![NONE; columns],
            column_of: vec![NONE; rows],
            distance: vec![f64::INFINITY; columns],
            from: vec![NONE; columns],
            settled: vec![false; columns],
        }
    }

    fn run(mut self) -> Vec<(u32, u32)> {
        for row in 0..self.column_of.len() {
            self.add(row);
        }
        let pairs = (0..).zip(&self.column_of);
        pairs.filter(|&(_, &column)| column != NONE).map(|(row, &column)| (row, column)).collect()
    }

    /// Finds the cheapest way to take in `start`: a path to a free column, or to a row that had better stay alone (cost 0).
    fn add(&mut self, start: usize) {
        let range = |search: &Self, row: usize| search.starts[row]..search.starts[row + 1];
        // The potential that leaves no edge of the row, nor staying alone, below 0.
        let cheapest =
            self.edges[range(self, start)].iter().map(|edge| -edge.worth - self.columns[edge.column as usize]);
        self.rows[start] = cheapest.fold(0.0, f64::min);
        let mut heap = BinaryHeap::new();
        let mut touched: Vec<u32> = Vec::new();
        let mut order: Vec<u32> = Vec::new();
        // Where the path ends: at a column, or alone at a row.
        let (mut best, mut alone) = (f64::INFINITY, NONE);
        let mut end = NONE;
        let (mut row, mut base) = (start, 0.0);
        loop {
            let stay = base - self.rows[row];
            if stay < best {
                (best, alone) = (stay, u32::try_from(row).expect("numbered in 32 bits"));
            }
            for edge in &self.edges[range(self, row)] {
                let column = edge.column as usize;
                if self.settled[column] {
                    continue;
                }
                let distance = base + (-edge.worth - self.rows[row] - self.columns[column]).max(0.0);
                if distance < self.distance[column] {
                    if self.distance[column] == f64::INFINITY {
                        touched.push(edge.column);
                    }
                    self.distance[column] = distance;
                    self.from[column] = edge.row;
                    heap.push(Reached { distance, column: edge.column });
                }
            }
            let next = loop {
                match heap.pop() {
                    Some(reached) if self.settled[reached.column as usize] => {}
                    other => break other,
                }
            };
            let Some(next) = next.filter(|next| next.distance <= best) else { break };
            let column = next.column as usize;
            self.settled[column] = true;
            base = next.distance;
            if self.row_of[column] == NONE {
                (end, best) = (next.column, base);
                break;
            }
            order.push(next.column);
            row = self.row_of[column] as usize;
        }
        // Potentials keep every reduced cost at 0 or more, and 0 along the path.
        self.rows[start] += best;
        for &column in &order {
            let gain = best - self.distance[column as usize];
            if gain > 0.0 {
                self.columns[column as usize] -= gain;
                self.rows[self.row_of[column as usize] as usize] += gain;
            }
        }
        let mut column = if end == NONE {
            let column = self.column_of[alone as usize];
            self.column_of[alone as usize] = NONE;
            column
        } else {
            end
        };
        while column != NONE {
            let row = self.from[column as usize];
            self.row_of[column as usize] = row;
            std::mem::swap(&mut column, &mut self.column_of[row as usize]);
        }
        for column in touched {
            let column = column as usize;
            (self.distance[column], self.from[column], self.settled[column]) = (f64::INFINITY, NONE, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest sum over all assignments, by trying them.
    fn largest(rows: u32, edges: &[Edge], row: u32, taken: &mut Vec<u32>) -> f64 {
        if row == rows {
            return 0.0;
        }
        let mut best = largest(rows, edges, row + 1, taken);
        for edge in edges.iter().filter(|edge| edge.row == row) {
            if !taken.contains(&edge.column) {
                taken.push(edge.column);
                best = best.max(edge.worth + largest(rows, edges, row + 1, taken));
                taken.pop();
            }
        }
        best
    }

    fn random(seed: u64, steps: u64) -> (usize, usize, Vec<Edge>) {
        let mut state = seed;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (rows, columns) = (1 + next(6), 1 + next(6));
        let mut edges = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                if next(3) > 0 {
                    #[expect(clippy::cast_precision_loss, reason = "small")]
                    let worth = (1 + next(steps)) as f64 / steps as f64;
                    let small = |n: u64| u32::try_from(n).expect("small");
                    edges.push(Edge { row: small(row), column: small(column), worth });
                }
            }
        }
        (usize::try_from(rows).expect("small"), usize::try_from(columns).expect("small"), edges)
    }

    #[test]
    fn the_sum_is_the_largest_of_all() {
        for seed in 0..3000 {
            // Few steps make ties, many none.
            let (rows, columns, edges) = random(seed, [2, 7, 1 << 30][seed as usize % 3]);
            let wanted = largest(u32::try_from(rows).expect("small"), &edges, 0, &mut Vec::new());
            let pairs = best_assignment(rows, columns, edges.clone());
            let worth = |&(row, column): &(u32, u32)| {
                edges.iter().find(|edge| (edge.row, edge.column) == (row, column)).expect("an edge").worth
            };
            let found: f64 = pairs.iter().map(worth).sum();
            let mut used: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used.len(), pairs.len(), "a column twice");
            assert!((found - wanted).abs() < 1e-12, "seed {seed}: {found} instead of {wanted}");
        }
    }

    #[test]
    fn ties_go_to_the_smaller_column_and_row() {
        let edge = |row, column| Edge { row, column, worth: 0.5 };
        assert_eq!(best_assignment(1, 2, vec![edge(0, 1), edge(0, 0)]), [(0, 0)]);
        assert_eq!(best_assignment(2, 1, vec![edge(1, 0), edge(0, 0)]), [(0, 0)]);
        assert_eq!(best_assignment(2, 2, vec![edge(0, 0), edge(1, 1), edge(0, 1)]), [(0, 0), (1, 1)]);
        assert_eq!(best_assignment(3, 0, vec![]), []);
    }
}

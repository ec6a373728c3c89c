//! Sets that are united; the smallest member is the root, so the result does not depend on the order.

/// A forest over `0..len`: each member's parent is itself or smaller.
#[derive(Debug, Default)]
pub(crate) struct Forest {
    parent: Vec<u32>,
}

impl Forest {
    /// A forest of single members.
    pub(crate) fn singles(members: u32) -> Self {
        Self { parent: (0..members).collect() }
    }

    /// Adds single members until there are `members`.
    pub(crate) fn grow(&mut self, members: u32) {
        let old = u32::try_from(self.parent.len()).expect("fewer than the new members");
        self.parent.extend(old..members);
    }

    /// The root of a member; paths are halved on the way.
    #[inline]
    pub(crate) fn find(&mut self, mut member: u32) -> u32 {
        loop {
            let parent = self.parent[member as usize];
            if parent == member {
                return member;
            }
            let above = self.parent[parent as usize];
            self.parent[member as usize] = above;
            member = above;
        }
    }

    /// Makes one set of two.
    #[inline]
    pub(crate) fn unite(&mut self, a: u32, b: u32) {
        // In noise nearly every pair is one already, both a step below their root.
        if self.parent[a as usize] == self.parent[b as usize] {
            return;
        }
        let (a, b) = (self.find(a), self.find(b));
        match a.cmp(&b) {
            std::cmp::Ordering::Less => self.parent[b as usize] = a,
            std::cmp::Ordering::Greater => self.parent[a as usize] = b,
            std::cmp::Ordering::Equal => {}
        }
    }

    /// For each member the number of its set, and how many sets there are. Sets are numbered from 0 in order of their roots.
    pub(crate) fn into_sets(self) -> (Vec<u32>, u32) {
        let (mut sets, mut count) = (self.parent, 0);
        for member in 0..sets.len() {
            let parent = sets[member] as usize;
            // A smaller member's entry is a set's number already.
            sets[member] = if parent == member {
                count += 1;
                count - 1
            } else {
                sets[parent]
            };
        }
        (sets, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_numbered_by_their_smallest_member() {
        let pairs = [(4, 2), (5, 3), (3, 4), (7, 6)];
        for reversed in [false, true] {
            let mut forest = Forest::default();
            forest.grow(5);
            forest.grow(8);
            let mut pairs = pairs;
            if reversed {
                pairs.reverse();
            }
            pairs.iter().for_each(|&(a, b)| forest.unite(a, b));
            assert_eq!(forest.find(5), 2);
            assert_eq!(forest.into_sets(), (vec![0, 1, 2, 2, 2, 2, 3, 3], 4));
        }
    }
}

//! The definition: flood fill from each voxel that has no number yet, in C order.

use exacta_core::ndarray::{ArrayD, Dimension, IxDyn};

/// The number of each voxel's component, 0 outside the mask, and how many there are.
pub fn naive_label(mask: &ArrayD<bool>, connectivity: usize) -> (ArrayD<i32>, i32) {
    let shape = mask.shape().to_vec();
    let mut labels = ArrayD::zeros(IxDyn(&shape));
    let mut count = 0;
    for (start, &inside) in mask.indexed_iter() {
        if !inside || labels[&start] != 0 {
            continue;
        }
        count += 1;
        labels[&start] = count;
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for near in neighbours(at.as_array_view().to_vec(), &shape, connectivity) {
                let near = IxDyn(&near);
                if mask[&near] && labels[&near] == 0 {
                    labels[&near] = count;
                    open.push(near);
                }
            }
        }
    }
    (labels, count)
}

/// Indices that differ by at most 1 along each axis, along one to `connectivity` axes, inside the image.
pub fn neighbours(at: Vec<usize>, shape: &[usize], connectivity: usize) -> Vec<Vec<usize>> {
    let mut found = vec![(Vec::new(), 0)];
    for (axis, &here) in at.iter().enumerate() {
        let mut longer = Vec::new();
        for (index, moved) in found {
            for near in here.saturating_sub(1)..(here + 2).min(shape[axis]) {
                let mut index: Vec<usize> = index.clone();
                index.push(near);
                longer.push((index, moved + usize::from(near != here)));
            }
        }
        found = longer;
    }
    let near = found.into_iter().filter(|&(_, moved)| (1..=connectivity).contains(&moved));
    near.map(|(index, _)| index).collect()
}

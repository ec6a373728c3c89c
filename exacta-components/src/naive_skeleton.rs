//! The definition of thinning, voxel by voxel: Lee, Kashyap and Chu (1994) with the order of scikit-image.

use exacta_core::Thinning;
use exacta_core::ndarray::{Array3, ArrayD, IxDyn};

/// Where the background must be for a voxel to be a candidate, in the order of the six passes of a sweep.
const DIRECTIONS: [[isize; 3]; 6] = [[0, -1, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [1, 0, 0], [-1, 0, 0]];

/// The skeleton of a mask of one to three axes.
pub fn naive_skeleton(mask: &ArrayD<bool>, rule: Thinning) -> ArrayD<bool> {
    let mut shape = [1; 3];
    shape[3 - mask.ndim()..].copy_from_slice(mask.shape());
    let inside = mask.to_shape(shape).expect("as many voxels");
    let within = |at: usize, axis: usize| (1..=shape[axis]).contains(&at);
    let mut volume = Array3::from_shape_fn(shape.map(|n| n + 2), |(slice, row, column)| {
        within(slice, 0) && within(row, 1) && within(column, 2) && inside[[slice - 1, row - 1, column - 1]]
    });
    let directions = if shape[0] == 1 { &DIRECTIONS[..4] } else { &DIRECTIONS };
    loop {
        let before = volume.clone();
        for &direction in directions {
            pass(&mut volume, direction, rule);
        }
        if volume == before {
            break;
        }
    }
    let inside = Array3::from_shape_fn(shape, |(slice, row, column)| volume[[slice + 1, row + 1, column + 1]]);
    inside.into_shape_with_order(IxDyn(mask.shape())).expect("as many voxels")
}

fn pass(volume: &mut Array3<bool>, direction: [isize; 3], rule: Thinning) {
    let beside = |at: [usize; 3]| [0, 1, 2].map(|k| at[k].checked_add_signed(direction[k]).expect("padded"));
    let mut candidates = Vec::new();
    for ((slice, row, column), &inside) in volume.indexed_iter() {
        let at = [slice, row, column];
        if !inside || volume[beside(at)] {
            continue;
        }
        let around = around(volume, at);
        let neighbours = around.iter().filter(|&&inside| inside).count() - 1;
        let voxel = |at: [usize; 3]| around[at];
        if neighbours != 1 && octants_sum(voxel) == 0 && components_around(voxel) <= 1 {
            candidates.push(at);
        }
    }
    for at in candidates {
        let around = around(volume, at);
        let components = components_around(|at| around[at]);
        let deletable = match rule {
            Thinning::Lee => components <= 1,
            Thinning::KeepComponents => components == 1,
        };
        if deletable {
            volume[at] = false;
        }
    }
}

fn around(volume: &Array3<bool>, [z, y, x]: [usize; 3]) -> Array3<bool> {
    Array3::from_shape_fn([3; 3], |(slice, row, column)| volume[[z + slice - 1, y + row - 1, x + column - 1]])
}

/// The change of the Euler characteristic, times eight: the sum over the octants of a neighbourhood, whose voxels `voxel` gives, of
/// the value with the centre less that without it.
pub(crate) fn octants_sum(voxel: impl Fn([usize; 3]) -> bool) -> i32 {
    let mut sum = 0;
    for octant in 0..8usize {
        // The voxels of the block seen from the centre: index 0 is the centre's own half along each axis.
        let mut block = [false; 8];
        for (i, inside) in block.iter_mut().enumerate() {
            let at = [0, 1, 2].map(|k| match (i >> k & 1, octant >> k & 1) {
                (0, _) => 1,
                (_, 0) => 0,
                _ => 2,
            });
            *inside = voxel(at);
        }
        block[0] = true;
        let with = octant_value(&block);
        block[0] = false;
        sum += with - octant_value(&block);
    }
    sum
}

/// `8 V - 4 E + 2 F - C` of a block of 2x2x2 voxels around its shared corner: whether any voxel is set, the half-edges and the
/// quarter-faces that meet there and touch one, and the number set.
fn octant_value(block: &[bool; 8]) -> i32 {
    let any = |fixed: &dyn Fn(usize) -> bool| i32::from((0..8).any(|i| fixed(i) && block[i]));
    let corner = any(&|_| true);
    let (mut edges, mut faces) = (0, 0);
    for axis in 0..3 {
        for half in 0..2 {
            edges += any(&|i| i >> axis & 1 == half);
        }
        let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
        for quarter in 0..4 {
            faces += any(&|i| i >> a & 1 == quarter & 1 && i >> b & 1 == quarter >> 1);
        }
    }
    let cubes = i32::try_from(block.iter().filter(|&&inside| inside).count()).expect("at most 8");
    8 * corner - 4 * edges + 2 * faces - cubes
}

/// The number of 26-connected components among the neighbours, by flood fill.
pub(crate) fn components_around(voxel: impl Fn([usize; 3]) -> bool) -> usize {
    let at = |i: usize| [i / 9, i / 3 % 3, i % 3];
    let mut left: Vec<usize> = (0..27).filter(|&i| i != 13 && voxel(at(i))).collect();
    let mut count = 0;
    while let Some(start) = left.pop() {
        count += 1;
        let mut open = vec![start];
        while let Some(here) = open.pop() {
            let touches = |&i: &usize| (0..3).all(|k| at(i)[k].abs_diff(at(here)[k]) <= 1);
            open.extend(left.iter().copied().filter(touches));
            left.retain(|i| !touches(i));
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_classical_table_of_octants() {
        let mut histogram = std::collections::BTreeMap::new();
        let mut sum = 0;
        for others in 0..128u8 {
            let mut block: [bool; 8] = std::array::from_fn(|i| i > 0 && others >> (i - 1) & 1 == 1);
            let without = octant_value(&block);
            block[0] = true;
            let value = octant_value(&block) - without;
            *histogram.entry(value).or_insert(0) += 1;
            sum += value;
        }
        assert_eq!(sum, 72);
        assert_eq!(histogram.into_iter().collect::<Vec<_>>(), [(-7, 1), (-3, 6), (-1, 40), (1, 55), (3, 24), (5, 2)]);
    }
}

//! What each neighbour code holds: the elements of the discrete contour, or the faces between voxels.
//!
//! Everything is whole: vertices in half voxels from the first voxel of the block, centres in *units* of a sixth of a voxel (of
//! triangles) or a quarter (of segments), in which the mean of the vertices is their sum.

use super::table::{SEGMENTS, TRIANGLES};

/// What makes a surface of the codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// The discrete contour: vertices at the midpoints between voxels that differ.
    Contour,
    /// The faces between voxels that differ, each cut in two triangles along its falling diagonal.
    Faces,
}

/// An element: two or three vertices, and which of [`Shape::centres`] its centre is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) vertices: Vec<[i32; 3]>,
    pub(crate) centre: u8,
}

/// The elements of every code. A 2-D image has axis 0 of length 1, and codes below 16.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Units in half a voxel: the number of vertices of an element.
    pub(crate) half: i32,
    /// The box that holds the elements of a cell, in units from the first voxel of its block, along each axis.
    pub(crate) span: [[i32; 2]; 3],
    /// Distinct centres, in units.
    pub(crate) centres: Vec<[i32; 3]>,
    elements: Vec<Element>,
    starts: Vec<usize>,
}

/// The most elements of a code.
pub(crate) const MOST: usize = 6;

impl Shape {
    /// Elements in an image of `axes` axes.
    pub(crate) fn new(maker: Maker, axes: usize) -> Self {
        let codes = 1 << (1 << axes);
        let half = if axes == 3 { 3 } else { 2 };
        let span = if maker == Maker::Contour { [0, 2 * half] } else { [-half, half] };
        let mut shape = Self { half, span: [span; 3], centres: Vec::new(), elements: Vec::new(), starts: vec![0] };
        if axes == 2 {
            shape.span[0] = [0, 0];
        }
        for code in 0..codes {
            let found = match maker {
                Maker::Contour if axes == 3 => contour(TRIANGLES[code], axes),
                Maker::Contour => contour(SEGMENTS[code], axes),
                Maker::Faces => faces(code, axes),
            };
            for vertices in found {
                let centre = vertices.iter().fold([0; 3], |sum: [i32; 3], v| std::array::from_fn(|k| sum[k] + v[k]));
                let known = shape.centres.iter().position(|known| *known == centre);
                let index = known.unwrap_or_else(|| {
                    shape.centres.push(centre);
                    shape.centres.len() - 1
                });
                let centre = u8::try_from(index).expect("a code has few centres");
                shape.elements.push(Element { vertices, centre });
            }
            shape.starts.push(shape.elements.len());
        }
        shape
    }

    /// Number of codes.
    pub(crate) fn codes(&self) -> usize {
        self.starts.len() - 1
    }

    /// The elements of a code.
    pub(crate) fn of(&self, code: u8) -> &[Element] {
        &self.elements[self.range(code)]
    }

    /// Where the elements of a code lie among [`Self::all`].
    #[inline]
    pub(crate) fn range(&self, code: u8) -> std::ops::Range<usize> {
        self.starts[usize::from(code)]..self.starts[usize::from(code) + 1]
    }

    /// The elements of all codes.
    pub(crate) fn all(&self) -> &[Element] {
        &self.elements
    }

    /// Units in a voxel.
    pub(crate) fn per_voxel(&self) -> i32 {
        2 * self.half
    }
}

/// A row of the table: `,` between elements, one digit a coordinate. In two axes the first coordinate is 0.
fn contour(row: &str, axes: usize) -> Vec<Vec<[i32; 3]>> {
    let vertex = |digits: &[u8]| {
        let mut at = [0; 3];
        for (k, digit) in digits.iter().enumerate() {
            at[3 - axes + k] = i32::from(digit - b'0');
        }
        at
    };
    let element = |text: &str| text.as_bytes().chunks_exact(axes).map(vertex).collect();
    row.split(',').filter(|text| !text.is_empty()).map(element).collect()
}

/// The faces of the first voxel of a block that are shared with a later voxel: every face of an image is in one block so.
fn faces(code: usize, axes: usize) -> Vec<Vec<[i32; 3]>> {
    let inside = |voxel: usize| code >> ((1 << axes) - 1 - voxel) & 1;
    let mut out = Vec::new();
    for axis in 3 - axes..3 {
        if inside(0) == inside(1 << (2 - axis)) {
            continue;
        }
        let across: Vec<usize> = (3 - axes..3).filter(|&k| k != axis).collect();
        let vertex = |ends: &[i32]| {
            let mut at = [0; 3];
            at[axis] = 1;
            across.iter().zip(ends).for_each(|(&k, &end)| at[k] = end);
            at
        };
        if axes == 2 {
            out.push(vec![vertex(&[-1]), vertex(&[1])]);
        } else {
            for corner in [-1, 1] {
                out.push(vec![vertex(&[corner, corner]), vertex(&[-1, 1]), vertex(&[1, -1])]);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::patch::Metric;
    use super::*;

    /// CRC-32 as of zlib.
    fn crc32(text: &str) -> u32 {
        !text.bytes().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 })
        })
    }

    /// Vertices sorted within each element, and elements within each code.
    fn without_order(rows: &[&str], axes: usize) -> String {
        let element = |text: &str| {
            let mut vertices: Vec<&str> = (0..text.len() / axes).map(|i| &text[i * axes..(i + 1) * axes]).collect();
            vertices.sort_unstable();
            vertices.concat()
        };
        let row = |row: &&str| {
            let mut elements: Vec<String> = row.split(',').map(element).collect();
            elements.sort_unstable();
            elements.join(",")
        };
        rows.iter().map(row).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn tables_are_those_of_vtk() {
        assert_eq!(crc32(&TRIANGLES.join("|")), 1_748_418_959);
        assert_eq!(crc32(&without_order(&TRIANGLES, 3)), 2_083_668_501);
        assert_eq!(crc32(&SEGMENTS.join("|")), 2_433_806_528);
        assert_eq!(crc32(&without_order(&SEGMENTS, 2)), 1_756_281_356);
    }

    fn codes(shape: &Shape) -> impl Iterator<Item = (u8, &[Element])> {
        (0..shape.codes()).map(|code| (code as u8, shape.of(code as u8)))
    }

    #[test]
    fn numbers_and_areas_of_triangles() {
        let shape = Shape::new(Maker::Contour, 3);
        let (unit, apart) = (Metric::new([1.0; 3], 2), Metric::new([1.5, 0.8, 0.8], 2));
        let area = |metric: &Metric, elements: &[Element]| -> f64 {
            elements.iter().map(|element| metric.size(&element.vertices)).sum()
        };
        let wanted = [
            (8, 1.732_050_807_569, 1.813_725_447_801),
            (56, 15.413_484_604_514, 16.089_014_340_898),
            (168, 54.951_324_862_01, 57.034_106_816_402),
            (268, 97.149_419_157_351, 100.967_826_530_909),
            (232, 86.887_807_867_579, 90.007_853_254_853),
            (80, 25.805_789_449_927, 26.971_367_027_703),
            (8, 1.732_050_807_569, 1.813_725_447_801),
        ];
        for (ones, (count, at_unit, at_apart)) in (1..).zip(wanted) {
            let of: Vec<_> = codes(&shape).filter(|(code, _)| code.count_ones() == ones).collect();
            assert_eq!(of.iter().map(|(_, elements)| elements.len()).sum::<usize>(), count);
            for (metric, wanted) in [(&unit, at_unit), (&apart, at_apart)] {
                let found: f64 = of.iter().map(|(_, elements)| area(metric, elements)).sum();
                assert!((found - wanted).abs() < 1e-11, "{ones}: {found}");
            }
        }
        assert!((area(&unit, shape.all()) - 283.671_927_556_519_34).abs() < 1e-12);
        assert!((area(&apart, shape.all()) - 294.697_618_866_366_5).abs() < 1e-12);
        assert_eq!((shape.all().len(), shape.centres.len()), (820, 63));
        let by_count: Vec<usize> =
            (0..=5).map(|n| codes(&shape).filter(|(_, elements)| elements.len() == n).count()).collect();
        assert_eq!(by_count, [2, 16, 50, 80, 76, 32]);
        let sums = shape.all().iter().flat_map(|element| &element.vertices);
        assert_eq!(sums.fold([0; 3], |s: [i32; 3], v| [s[0] + v[0], s[1] + v[1], s[2] + v[2]]), [2464, 2456, 2456]);
    }

    #[test]
    fn elements_lie_within_the_span_of_their_cell() {
        for (maker, axes) in [(Maker::Contour, 3), (Maker::Contour, 2), (Maker::Faces, 3), (Maker::Faces, 2)] {
            let shape = Shape::new(maker, axes);
            for element in shape.all() {
                for k in 0..3 {
                    let along = element.vertices.iter().map(|v| v[k] * shape.half);
                    assert!(along.clone().all(|at| (shape.span[k][0]..=shape.span[k][1]).contains(&at)));
                    let sum: i32 = element.vertices.iter().map(|v| v[k]).sum();
                    assert_eq!(shape.centres[usize::from(element.centre)][k], sum);
                }
            }
            assert!(codes(&shape).all(|(_, elements)| elements.len() <= MOST));
        }
    }

    #[test]
    fn every_face_once() {
        // The first voxel of a block alone: three faces, of two triangles of half a face each.
        let shape = Shape::new(Maker::Faces, 3);
        let metric = Metric::new([2.0, 3.0, 5.0], 2);
        let areas = shape.of(128).iter().map(|element| metric.size(&element.vertices));
        assert_eq!(areas.collect::<Vec<_>>(), [7.5, 7.5, 5.0, 5.0, 3.0, 3.0]);
        // Inside and outside the first voxel, with neighbours alike: no face.
        assert!(shape.of(128 | 32 | 64 | 8).is_empty() && shape.of(0b0001_0111).is_empty());
        assert_eq!(Shape::new(Maker::Faces, 2).of(8).len(), 2);
    }
}

//! Why a batch was refused: the slow second look, taken only then.

use crate::image::Image;
use crate::labels::sealed::Value;
use crate::{Batch, Error, InputFormat};

/// The error of a batch whose count found a value that is no label.
pub(crate) fn diagnose(batch: &Batch<'_>) -> Error {
    match batch.spec().format {
        InputFormat::Index => diagnose_index(batch),
        InputFormat::OneHot => diagnose_one_hot(batch),
    }
}

/// Which voxels of a map count.
fn kept(batch: &Batch<'_>, map: usize) -> Vec<u8> {
    let mut keep = vec![1; batch.grid().voxels()];
    batch.map(map).keep(crate::Level::baseline(), 0, &mut keep);
    keep
}

fn diagnose_index(batch: &Batch<'_>) -> Error {
    let (mut min, mut max) = (i128::MAX, i128::MIN);
    // Whether every label is 0 or 255, as in a mask taken from an image file.
    let mut two_hundred_fifty_five = true;
    let mut fractional = None;
    let mut look = |argument: &'static str, image: &dyn Image, keep: &[u8]| {
        image.for_each(&mut |i, value| match value {
            _ if keep[i] == 0 => {
                (min, max) = (min.min(0), max.max(0));
            }
            Value::Whole(value) => {
                (min, max) = (min.min(value), max.max(value));
                two_hundred_fifty_five &= value == 0 || value == 255;
            }
            Value::Fractional(value) => fractional = fractional.or(Some((argument, value))),
        });
    };
    for map in 0..batch.maps() {
        let keep = kept(batch, map);
        look("pred", &*batch.map(map).pred, &keep);
    }
    for map in 0..batch.maps() {
        let keep = kept(batch, map);
        look("target", &*batch.map(map).target, &keep);
    }
    if let Some((argument, value)) = fractional {
        return Error::FractionalLabel { argument, value };
    }
    let classes = i128::try_from(batch.spec().num_classes).expect("fits");
    let hint = if two_hundred_fifty_five && max == 255 {
        ": a 0/255 mask? pass `array > 0`"
    } else if max == 255 && min >= 0 {
        ": pass ignore_index=255 if target marks voxels to leave out so"
    } else if min < 0 {
        ": pass ignore_index for a negative label that marks voxels to leave out"
    } else if max == classes {
        ": num_classes counts the background too, so it is the largest label plus one"
    } else {
        ""
    };
    Error::LabelOutOfRange { num_classes: batch.spec().num_classes, min, max, hint }
}

fn diagnose_one_hot(batch: &Batch<'_>) -> Error {
    for argument in ["pred", "target"] {
        for map in 0..batch.maps() {
            let keep = kept(batch, map);
            let images = batch.map(map);
            let image = if argument == "pred" { &images.pred } else { &images.target };
            let mut found = None;
            image.for_each(&mut |i, value| {
                if keep[i] != 0 && found.is_none() && !matches!(value, Value::Whole(0 | 1)) {
                    found = Some(match value {
                        #[expect(clippy::cast_precision_loss, reason = "a number in a message")]
                        Value::Whole(value) => value as f64,
                        Value::Fractional(value) => value,
                    });
                }
            });
            if let Some(value) = found {
                let hint = if value == 255.0 {
                    ": a 0/255 mask? pass `array > 0`"
                } else if value.fract() != 0.0 {
                    ": threshold probabilities first, for example `pred > 0.5`"
                } else {
                    ": a label map? pass it with input_format=\"index\" and without the channel axis"
                };
                return Error::NotBinary { argument, value, hint };
            }
        }
    }
    unreachable!("the count found a value that is neither 0 nor 1")
}

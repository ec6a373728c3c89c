//! The settings of BraTS 2023.

use std::str::FromStr;

use exacta_core::{Error, MatchRule, Matching, Result, SurfaceKind};

use crate::options::LesionOptions;

/// Labels of the regions that BraTS scores: whole tumour, tumour core, enhancing tumour.
///
/// Label 1 is the necrotic core, 2 the oedema, 3 the enhancing tumour; label 4 of older data belongs to none.
pub const BRATS_REGIONS: [&[u8]; 3] = [&[1, 2, 3], &[1, 3], &[3]];

/// A task of BraTS 2023.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Challenge {
    /// Adult glioma.
    Gli,
    /// Sub-Saharan Africa.
    Ssa,
    /// Meningioma.
    Men,
    /// Paediatric tumours.
    Ped,
    /// Metastases.
    Met,
}

impl Challenge {
    /// The spellings, in order of the variants.
    pub const NAMES: &'static [&'static str] = &["GLI", "SSA", "MEN", "PED", "MET"];
}

impl FromStr for Challenge {
    type Err = Error;

    fn from_str(value: &str) -> Result<Self> {
        match value {
            "GLI" => Ok(Self::Gli),
            "SSA" => Ok(Self::Ssa),
            "MEN" => Ok(Self::Men),
            "PED" => Ok(Self::Ped),
            "MET" => Ok(Self::Met),
            _ => Err(Error::UnknownName { argument: "challenge", value: value.to_owned(), names: Self::NAMES }),
        }
    }
}

/// How BraTS 2023 scores lesions of a task. Images are 3-D, spacing in mm.
///
/// | | GLI, SSA, PED | MEN | MET |
/// |---|---|---|---|
/// | dilation of the reference, steps of 18 neighbours | 3 | 1 | 1 |
/// | smallest volume, mm³ | 50 | 50 | 2 |
///
/// For all: 26 neighbours, every overlap matches, HD95 between surfels, 374 mm for a miss, Dice 1 and distance 0 where there is nothing.
///
/// # Reference
/// Saluja et al., <https://github.com/rachitsaluja/BraTS-2023-Metrics>.
pub const fn brats_2023(challenge: Challenge) -> LesionOptions {
    let (dilation, min_target_volume) = match challenge {
        Challenge::Gli | Challenge::Ssa | Challenge::Ped => (3, 50.0),
        Challenge::Men => (1, 50.0),
        Challenge::Met => (1, 2.0),
    };
    LesionOptions {
        dilation,
        dilation_connectivity: 2,
        min_target_volume,
        surface: SurfaceKind::Surfels,
        missed_distance: 374.0,
        both_empty: 1.0,
        both_empty_distance: 0.0,
        ..LesionOptions::new(MatchRule::new(Matching::Overlap), 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_by_name() {
        for (name, dilation, volume) in
            [("GLI", 3, 50.0), ("SSA", 3, 50.0), ("MEN", 1, 50.0), ("PED", 3, 50.0), ("MET", 1, 2.0)]
        {
            let options = brats_2023(name.parse().expect("a task"));
            assert_eq!((options.dilation, options.min_target_volume), (dilation, volume), "{name}");
        }
        assert_eq!(Challenge::NAMES.len(), 5);
        assert!("gli".parse::<Challenge>().is_err());
    }
}

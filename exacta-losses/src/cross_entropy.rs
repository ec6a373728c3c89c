//! Cross-entropy, of classes or of independent channels.

/// Cross-entropy, averaged over the voxels that count.
///
/// | activation | target | numerator, a sum over counted voxels | denominator |
/// |---|---|---|---|
/// | softmax | index | `-w_y log p_y` | voxels; with weights `sum w_y` |
/// | softmax | one-hot, soft | `-sum_c w_c g_c log p_c` | voxels, whatever the weights |
/// | sigmoid | any | `-sum_c w_c (g_c log p_c + (1 - g_c) log (1 - p_c))` | voxels times `C` |
///
/// All channels take part, also where an overlap term leaves out the background. A class that is not asked for adds
/// nothing even where its logit is minus infinity. A denominator of 0 gives 0 where voxels can be excluded.
///
/// Gradient, `n` the denominator: `dL/dz_c = (p_c sum_k w_k g_k - w_c g_c) / n`, for sigmoid `w_c (p_c - g_c) / n`.
///
/// # Agreement
/// `torch.nn.functional.cross_entropy`, `binary_cross_entropy_with_logits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CrossEntropy;

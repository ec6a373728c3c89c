//! One line by its lower envelope of parabolas, in a time that grows with the line's length alone.
//!
//! Felzenszwalb and Huttenlocher 2012, made exact: breakpoints are rounded, so a parabola is left out only where it loses
//! by more than all roundings together, and at each sample all parabolas that may be the least are evaluated by the
//! distance's own expression. Allocates six numbers a sample, once for many lines.

/// Scratch of lines along one axis.
#[derive(Debug)]
pub struct Envelope {
    along: Vec<f64>,
    inverse: Vec<f64>,
    scale: f64,
    sites: Vec<Site>,
}

/// A parabola.
#[derive(Debug, Clone, Copy)]
struct Site {
    /// Its sample.
    at: usize,
    /// Its lowest value, in squared spacings.
    height: f64,
    /// Where it falls below the one before.
    from: f64,
    /// The largest `from` up to here.
    start: f64,
}

impl Envelope {
    /// For lines whose samples lie `spacing` apart, `along[d]` being the square of the way of `d` steps.
    #[expect(clippy::cast_precision_loss, reason = "lengths of axes are far below 2^53")]
    pub fn new(spacing: f64, along: Vec<f64>) -> Self {
        let n = along.len();
        Self {
            inverse: (0..n).map(|d| 0.5 / d as f64).collect(),
            along,
            scale: 1.0 / (spacing * spacing),
            sites: vec![Site { at: 0, height: 0.0, from: 0.0, start: 0.0 }; n],
        }
    }

    /// For each sample `q` of the line: the least of `line[p] + along[|q - p|]`, and the first `p` that has it.
    ///
    /// `out` gets `(q, least, p)`; nothing where the whole line is infinite, and then the result is false.
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "lengths of axes are far below 2^53")]
    pub fn line(&mut self, line: &[f64], mut out: impl FnMut(usize, f64, usize)) -> bool {
        let n = line.len();
        let bound = line.iter().fold(-1.0, |bound: f64, &v| if v > bound && v < f64::INFINITY { v } else { bound });
        if bound < 0.0 {
            return false;
        }
        // In units of the spacing. Values round by a few 2^-53 of their size.
        let tolerance = 64.0 * f64::EPSILON * (bound * self.scale + (n * n) as f64);
        // NaN too: spacings so unlike each other that no position can be computed.
        if tolerance.is_nan() || tolerance >= n as f64 {
            self.every_pair(line, out);
            return true;
        }
        let count = self.build(line, tolerance);
        let (sites, along) = (&self.sites[..count], &self.along[..n]);
        let mut current = 0;
        for q in 0..n {
            let at = q as f64;
            while current + 1 < count && sites[current + 1].start <= at {
                current += 1;
            }
            let (mut best, mut site) = (f64::INFINITY, usize::MAX);
            let mut see = |p: usize| {
                let value = line[p] + along[q.abs_diff(p)];
                if value < best || (value == best && p < site) {
                    (best, site) = (value, p);
                }
            };
            see(sites[current].at);
            let mut before = current;
            while before > 0 && sites[before].start >= at - 4.0 * tolerance {
                before -= 1;
                see(sites[before].at);
            }
            let mut after = current + 1;
            while after < count && sites[after].start <= at + 4.0 * tolerance {
                see(sites[after].at);
                after += 1;
            }
            out(q, best, site);
        }
        true
    }

    /// The parabolas that may be the least somewhere, and from where on; their number.
    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "lengths of axes are far below 2^53")]
    fn build(&mut self, line: &[f64], tolerance: f64) -> usize {
        let last = (line.len() - 1) as f64 + 4.0 * tolerance;
        let (sites, inverse) = (&mut self.sites[..line.len()], &self.inverse[..line.len()]);
        let mut count = 0;
        for (at, &value) in line.iter().enumerate() {
            if value == f64::INFINITY {
                continue;
            }
            let height = value * self.scale;
            let (mut from, mut start) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            while count > 0 {
                let top = sites[count - 1];
                from = 0.5 * (at + top.at) as f64 + (height - top.height) * inverse[at - top.at];
                if from >= top.from - tolerance {
                    start = if top.start > from { top.start } else { from };
                    break;
                }
                count -= 1;
            }
            // The first is there from the beginning.
            if count == 0 {
                (from, start) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            }
            if from <= last {
                sites[count] = Site { at, height, from, start };
                count += 1;
            }
        }
        count
    }

    /// The same by all pairs.
    fn every_pair(&self, line: &[f64], mut out: impl FnMut(usize, f64, usize)) {
        for q in 0..line.len() {
            let (mut best, mut site) = (f64::INFINITY, usize::MAX);
            for (p, &value) in line.iter().enumerate() {
                let value = value + self.along[q.abs_diff(p)];
                if value < best {
                    (best, site) = (value, p);
                }
            }
            out(q, best, site);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(spacing: f64, line: &[f64]) {
        let along: Vec<f64> = (0..line.len()).map(|d| (spacing * d as f64) * (spacing * d as f64)).collect();
        let mut found = Vec::new();
        let mut envelope = Envelope::new(spacing, along);
        let any = envelope.line(line, |q, value, site| found.push((q, value, site)));
        let mut wanted = Vec::new();
        envelope.every_pair(line, |q, value, site| wanted.push((q, value, site)));
        assert_eq!(any, line.iter().any(|v| v.is_finite()));
        if any {
            assert_eq!(found, wanted, "{spacing} {line:?}");
        }
    }

    #[test]
    fn equals_all_pairs() {
        let mut state = 88_172_645_463_325_252u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 11
        };
        for round in 0..2000 {
            let n = 1 + (next() % 70) as usize;
            let spacing = [1.0, 0.8, 0.3, 1e-3, 1e3, 1e-100, 1e100, 7.0][(next() % 8) as usize];
            let other = [1.0, 0.7, 1e3, 1e100, 1e-100][(next() % 5) as usize];
            let line: Vec<f64> = (0..n)
                .map(|_| match next() % 4 {
                    0 if round % 2 == 0 => f64::INFINITY,
                    _ => (other * (next() % 40) as f64).powi(2),
                })
                .collect();
            check(spacing, &line);
        }
    }

    #[test]
    fn parabolas_through_one_point_are_all_tied() {
        // A sphere about sample 20: every sample of the line is as near to it.
        for spacing in [1.0, 0.3, 0.7] {
            let radius = (spacing * 20.0) * (spacing * 20.0);
            let line: Vec<f64> =
                (0..41).map(|p| radius - (spacing * f64::from(20 - p)) * (spacing * f64::from(20 - p))).collect();
            check(spacing, &line);
        }
    }

    #[test]
    fn infinite_lines_have_no_answer() {
        check(1.0, &[f64::INFINITY; 5]);
        check(1.0, &[0.0]);
    }
}

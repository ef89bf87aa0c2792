//! The normal distribution, fast and the same on every machine: two tables made by `libm`.

use std::sync::OnceLock;

const FAR: f64 = 9.0;
const PER_UNIT: f64 = 128.0;
const CELLS: usize = (2.0 * FAR * PER_UNIT) as usize;

/// Tabulated, interpolated linearly; relative errors stay below 2·10⁻⁴ to z = −6.
#[derive(Debug)]
pub(super) struct Normal {
    /// P(Z < z) and its antiderivative E max(0, z − Z) at z = −9, −9 + 1/128, …
    rows: Vec<(f64, f64)>,
}

impl Normal {
    /// The tables, made once.
    pub(super) fn tables() -> &'static Self {
        static TABLES: OnceLock<Normal> = OnceLock::new();
        TABLES.get_or_init(|| {
            let row = |index: usize| {
                let z = index as f64 / PER_UNIT - FAR;
                let (below, density) = (below(z), density(z));
                (below, z * below + density)
            };
            Self { rows: (0..=CELLS).map(row).collect() }
        })
    }

    /// P(Z < z).
    pub(super) fn below(&self, z: f64) -> f64 {
        if z <= -FAR {
            return 0.0;
        }
        if z >= FAR {
            return 1.0;
        }
        let (index, share) = place(z);
        let (low, high) = (self.rows[index].0, self.rows[index + 1].0);
        low + share * (high - low)
    }

    /// E max(0, z − Z): the antiderivative of [`below`](Self::below).
    pub(super) fn integral(&self, z: f64) -> f64 {
        if z <= -FAR {
            return 0.0;
        }
        if z >= FAR {
            return z;
        }
        let (index, share) = place(z);
        let (low, high) = (self.rows[index].1, self.rows[index + 1].1);
        low + share * (high - low)
    }

    /// The z with P(Z < z) = `share`; ±9 beyond.
    pub(super) fn quantile(&self, share: f64) -> f64 {
        let index = self.rows.partition_point(|row| row.0 < share);
        match index {
            0 => -FAR,
            index if index > CELLS => FAR,
            index => {
                let (low, high) = (self.rows[index - 1].0, self.rows[index].0);
                ((index - 1) as f64 + (share - low) / (high - low)) / PER_UNIT - FAR
            }
        }
    }
}

fn place(z: f64) -> (usize, f64) {
    let position = (z + FAR) * PER_UNIT;
    let index = (position as usize).min(CELLS - 1);
    (index, position - index as f64)
}

fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

fn density(z: f64) -> f64 {
    libm::exp(-0.5 * z * z) / libm::sqrt(2.0 * std::f64::consts::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_the_normal_distribution() {
        let normal = Normal::tables();
        for step in -700..=700 {
            let z = f64::from(step) * 0.0123;
            let error = (normal.below(z) - below(z)).abs();
            assert!(error < 4e-6, "{z}: {error}");
            assert!((normal.integral(z) - (z * below(z) + density(z))).abs() < 4e-6);
            if z.abs() < 5.0 {
                assert!((normal.quantile(normal.below(z)) - z).abs() < 1e-6, "{z}");
            }
        }
        assert_eq!((normal.below(-50.0), normal.below(50.0), normal.integral(50.0)), (0.0, 1.0, 50.0));
        assert!(normal.quantile(0.0) == -FAR && normal.quantile(1.0) > 8.0);
    }

    #[test]
    fn far_tails_keep_their_size() {
        let normal = Normal::tables();
        for z in [-6.003, -5.997, -4.501] {
            assert!((normal.below(z) / below(z) - 1.0).abs() < 4e-4, "{z}");
        }
    }
}

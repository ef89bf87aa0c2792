//! Queues whose loss is known exactly: what a load would lose if chance were all there is to it.

/// Share of arrivals that an M/M/1/K queue loses: Poisson arrivals, exponential service, room for
/// `room` packets, the one in service included.
///
/// `load` is the mean service time over the mean time between arrivals (ρ); above 1 is allowed. `None` for
/// a load that is not a number above 0 or room for none.
///
/// The closed form (1 − ρ)ρᴷ ÷ (1 − ρᴷ⁺¹) is summed as p₀ = 1, pₖ = ρpₖ₋₁ ÷ (1 + ρpₖ₋₁), which holds at
/// ρ = 1 too and neither cancels nor overflows.
pub fn mm1k_loss(load: f64, room: u32) -> Option<f64> {
    if !is_load(load) || room == 0 {
        return None;
    }
    Some((0..room).fold(1.0, |loss, _| load * loss / (1.0 + load * loss)))
}

/// Share of arrivals that an M/D/1/K queue loses: Poisson arrivals, one service time for all, room for
/// `room` packets, the one in service included.
///
/// `load` as in [`mm1k_loss`]. `None` for a load that is not a number above 0, room for none, or a room or
/// load too large to be worth computing (over 100 000 packets, over 500).
///
/// Exact, by the chain of what each departure leaves behind (Kendall 1953). Its weights follow from cuts:
/// what crosses from at most j packets to more comes back down one at a time, so
/// xⱼ₊₁ P(A = 0) = x₀ P(A > j) + Σᵢ₌₁..ⱼ xᵢ P(A > j − i + 1), A being the arrivals during a service.
/// The loss is what overflows a service, over that and the one packet that was served. All terms are
/// positive: nothing cancels, and losses of 10⁻³⁰⁰ come out right.
pub fn md1k_loss(load: f64, room: u32) -> Option<f64> {
    const LARGEST_ROOM: u32 = 100_000;
    const LARGEST_LOAD: f64 = 500.0;
    if !is_load(load) || room == 0 || room > LARGEST_ROOM || load > LARGEST_LOAD {
        return None;
    }
    let room = room as usize;
    let arrivals = Arrivals::during_a_service(load);
    // Weights of 0 … K − 1 packets left behind, scaled down whenever they grow large.
    let mut weights = vec![1.0f64];
    while weights.len() < room {
        let j = weights.len() - 1;
        // The tail of A is 0 beyond its last term, and so is what jumps that far.
        let reach = arrivals.beyond.len();
        let nearest = (j + 1).saturating_sub(reach).max(1);
        let jumps: f64 = (nearest..=j).map(|i| weights[i] * arrivals.beyond(j - i + 1)).sum();
        let next = (weights[0] * arrivals.beyond(j) + jumps) / arrivals.none;
        weights.push(next);
        if next > 1e200 {
            weights.iter_mut().for_each(|weight| *weight *= 1e-200);
        }
    }
    let total: f64 = weights.iter().sum();
    let from_empty = weights[0] * arrivals.excess(room - 1);
    let overflow: f64 = from_empty + (1..room).map(|i| weights[i] * arrivals.excess(room - i)).sum::<f64>();
    let lost = overflow / total;
    Some(lost / (1.0 + lost))
}

fn is_load(load: f64) -> bool {
    load.is_finite() && load > 0.0
}

/// Arrivals during one service of fixed length: a Poisson number.
struct Arrivals {
    /// P(A = 0).
    none: f64,
    /// P(A > m) by m; nothing beyond its end.
    beyond: Vec<f64>,
    /// E(A − m)⁺ by m.
    excess: Vec<f64>,
}

impl Arrivals {
    fn during_a_service(load: f64) -> Self {
        let mut chances = vec![(-load).exp()];
        // Up to where the terms are below the least positive number.
        while chances.len() as f64 <= load || chances.last().is_some_and(|&chance| chance > 0.0) {
            let n = chances.len() as f64;
            chances.push(chances[chances.len() - 1] * load / n);
        }
        // From the far end, so that small tails keep all their digits.
        let summed = |terms: &[f64]| {
            let mut sums: Vec<f64> = terms
                .iter()
                .rev()
                .scan(0.0, |sum, term| {
                    let before = *sum;
                    *sum += term;
                    Some(before)
                })
                .collect();
            sums.reverse();
            sums
        };
        let beyond = summed(&chances);
        // E(A − m)⁺ = Σ P(A > n) over n ≥ m.
        let excess = summed(&beyond).iter().zip(&beyond).map(|(after, here)| after + here).collect();
        Self { none: chances[0], beyond, excess }
    }

    fn beyond(&self, m: usize) -> f64 {
        self.beyond.get(m).copied().unwrap_or(0.0)
    }

    fn excess(&self, m: usize) -> f64 {
        self.excess.get(m).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-12 * expected.abs()
    }

    #[test]
    fn the_exponential_queue_loses_what_its_closed_form_says() {
        for load in [0.1, 0.5, 0.95, 1.5, 7.0f64] {
            for room in [1, 2, 5, 64] {
                let k = f64::from(room);
                let closed = (1.0 - load) * load.powf(k) / (1.0 - load.powf(k + 1.0));
                let found = mm1k_loss(load, room).unwrap();
                assert!((found / closed - 1.0).abs() < 1e-10, "{load} {room}: {found} {closed}");
            }
        }
        assert!(near(mm1k_loss(1.0, 99).unwrap(), 0.01));
    }

    #[test]
    fn a_fixed_service_with_room_for_one_loses_as_erlang_says() {
        for load in [0.2, 1.0, 3.0] {
            assert!(near(md1k_loss(load, 1).unwrap(), load / (1.0 + load)), "{load}");
        }
    }

    #[test]
    fn a_fixed_service_with_room_for_two_has_a_closed_form() {
        // Of what a departure leaves, 0 has weight e^-ρ and 1 the rest; busy ÷ arrivals gives the loss.
        for load in [0.3f64, 0.9, 1.0, 2.5] {
            let loss = 1.0 - 1.0 / ((-load).exp() + load);
            assert!(near(md1k_loss(load, 2).unwrap(), loss), "{load}");
        }
    }

    #[test]
    fn a_fixed_service_agrees_with_the_chain_solved_step_by_step() {
        for (load, room) in [(0.5f64, 3usize), (0.9, 5), (1.0, 8), (1.3, 6), (0.905, 17)] {
            let chance = |n: usize| (1..=n).fold((-load).exp(), |chance, k| chance * load / k as f64);
            // What a departure leaves, from what the one before left, stepped until nothing changes.
            let mut left = vec![1.0 / room as f64; room];
            for _ in 0..20_000 {
                let mut next = vec![0.0; room];
                for (i, weight) in left.iter().enumerate() {
                    let stay = i.saturating_sub(1);
                    let mut others = 1.0;
                    for (to, place) in next.iter_mut().enumerate().take(room - 1).skip(stay) {
                        *place += weight * chance(to - stay);
                        others -= chance(to - stay);
                    }
                    next[room - 1] += weight * others;
                }
                left = next;
            }
            let stepped = 1.0 - 1.0 / (left[0] + load);
            let found = md1k_loss(load, room as u32).unwrap();
            assert!((found - stepped).abs() < 1e-12, "{load} {room}: {found} {stepped}");
        }
    }

    #[test]
    fn far_above_its_capacity_a_queue_loses_what_it_cannot_serve() {
        for loss in [mm1k_loss(4.0, 200), md1k_loss(4.0, 200)] {
            assert!((loss.unwrap() - 0.75).abs() < 1e-12);
        }
    }

    #[test]
    fn tiny_losses_are_not_rounded_away() {
        let loss = md1k_loss(0.26, 64).unwrap();
        assert!((1e-130..1e-40).contains(&loss), "{loss:e}");
        // Each further place divides the loss by the same factor, the root of z = e^(ρ(z − 1)).
        let step = md1k_loss(0.26, 63).unwrap() / loss;
        let mut root = 8.0f64;
        for _ in 0..200 {
            root = 1.0 + root.ln() / 0.26;
        }
        assert!((step / root - 1.0).abs() < 1e-9, "{step} {root}");
    }

    #[test]
    fn more_room_never_loses_more_and_a_fixed_service_less_than_a_random_one() {
        for load in [0.4, 0.8, 1.0, 1.7] {
            let losses: Vec<f64> = (1..300).map(|room| md1k_loss(load, room).unwrap()).collect();
            assert!(losses.is_sorted_by(|more, less| *less <= more * (1.0 + 1e-12)), "{load}");
            assert!(md1k_loss(load, 20).unwrap() < mm1k_loss(load, 20).unwrap());
        }
    }

    #[test]
    fn what_is_no_queue_has_no_loss() {
        for load in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!((mm1k_loss(load, 5), md1k_loss(load, 5)), (None, None));
        }
        assert_eq!((mm1k_loss(0.5, 0), md1k_loss(0.5, 0)), (None, None));
    }
}

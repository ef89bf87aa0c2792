use super::*;

fn shape(softness: f64, scatter: f64) -> Shape {
    Shape {
        theta: libm::log(9e6),
        softness,
        variance: scatter * scatter,
        dips: 0.0,
        clump: 1.0,
        tau_squared: 0.0,
        steepness: 1.0,
        log_floor: f64::NEG_INFINITY,
        rise: 0.0,
    }
}

#[test]
fn a_level_is_where_the_loss_curve_says() {
    for softness in [2e-5, 5e-4, 5e-3, 0.03] {
        let system = shape(softness, 1e-3);
        for share in [1e-7, 1e-5, 1e-3, 0.005, 0.05, 0.3] {
            let level = system.level(share);
            let loss = system.mean_loss(system.theta + level.at, 0.0);
            let tolerance = if softness > 0.01 { 0.25 } else { 0.005 };
            assert!((loss / share - 1.0).abs() < tolerance, "{softness} {share}: {loss}");
            let step = 1e-3;
            let near = system.level(share * (1.0 + step));
            let slope = (near.at - level.at) / libm::log1p(step);
            assert!((level.per_log / slope - 1.0).abs() < 2.0 * tolerance, "{softness} {share}");
        }
    }
}

#[test]
fn a_loss_far_beyond_the_knee_is_a_bound_whatever_came_through() {
    let (normal, system) = (Normal::tables(), shape(1e-3, 0.01));
    let of = |pps: f64, share: f64| {
        let seen =
            Evidence { log_load: libm::log(pps), packets: 1e6, lost: share * 1e6, doubted: 0.0, number: 1 };
        (system.likelihood(&seen, normal), system.pointed_at(&seen))
    };
    let (far_above, pointed) = of(20e6, 0.99);
    assert!(far_above > 0.99 && pointed.is_none(), "{far_above}");
    assert_eq!(of(20e6, 0.5), of(20e6, 0.99), "how much is lost says nothing");
    assert!((of(5e6, 0.99).0 - ANYWHERE).abs() < 1e-6, "one of fifty breaks down by itself");
    assert!(of(10e6, 0.1).1.is_some());
}

#[test]
fn of_a_loss_that_may_be_ours_only_what_is_certain_is_believed() {
    let (normal, system) = (Normal::tables(), shape(1e-3, 0.01));
    let likely = |pps: f64, lost: f64, doubted: f64| {
        let seen = Evidence { log_load: libm::log(pps), packets: 1e6, lost, doubted, number: 1 };
        (system.likelihood(&seen, normal), seen.is_vague(), system.pointed_at(&seen).is_some())
    };
    let (clean, is_vague, points) = likely(5e6, 200_000.0, 200_000.0);
    assert!(clean > 0.99 && is_vague && !points, "far below the knee all of it was ours: {clean}");
    let (certain, is_vague, _) = likely(5e6, 200_000.0, 190_000.0);
    assert!(certain < 1e-3 && is_vague, "the target lost 1 % there for certain: {certain}");
    let (between, ..) = likely(9e6 / 0.9, 200_000.0, 190_000.0);
    assert!(between > 0.9, "10 % is between 1 and 20 %: {between}");
    assert!(!likely(5e6, 200_000.0, 6_000.0).1, "3 % of a count is doubted anyway");
    let (far, is_vague, _) = likely(5e6, 900_000.0, 500_000.0);
    assert!(far < 0.1 && !is_vague, "40 % were lost for certain: {far}");
}

#[test]
fn a_goal_load_is_where_the_chance_of_a_good_trial_is_what_was_asked() {
    let normal = Normal::tables();
    for system in
        [shape(5e-4, 2e-4), shape(5e-3, 2e-4), shape(1e-4, 0.01), Shape { dips: 0.1, ..shape(1e-3, 0.003) }]
    {
        for (ratio, exceed) in [(0.0, 0.5), (0.0, 0.2), (0.005, 0.5), (0.005, 0.2), (0.02, 0.7)] {
            let log_load = system.goal_load(ratio, exceed, 1.0, normal);
            let packets = libm::exp(log_load);
            let good = system.at_most(libm::floor(ratio * packets), packets, log_load, normal);
            assert!((good + exceed - 1.0).abs() < 0.01, "{ratio} {exceed}: {good}");
        }
    }
}

#[test]
fn chances_of_all_counts_sum_to_about_one() {
    let (system, normal) = (shape(5e-3, 1e-3), Normal::tables());
    let log_load = libm::log(9e6 * 0.95);
    let mut sum = 0.0;
    for lost in 0..30 {
        sum += system.likelihood(
            &Evidence { log_load, packets: 9e6, lost: f64::from(lost), doubted: 0.0, number: 1 },
            normal,
        );
    }
    assert!((sum - 1.0).abs() < 0.1, "{sum}");
}

/// As many packets a second at any load: however low it is, as many trials are bad.
#[test]
fn of_a_loss_in_time_no_load_but_the_lowest_meets_a_goal() {
    let normal = Normal::tables();
    let unknowns = |packets: f64, rise: f64| {
        let floor = libm::log(packets / 9e6);
        [libm::log(9e6), -7.0, -7.0, -12.0, 0.0, -3.0, 0.0, floor, rise]
    };
    let load = |packets: f64, rise: f64| {
        Shape::new(&unknowns(packets, rise)).goal_load(0.0, 0.5, 1.0, normal) - libm::log(9e6)
    };
    assert!(load(1.5, -0.9) < -10.0, "{}", load(1.5, -0.9));
    assert!(load(0.2, -0.9) > -0.01, "{}", load(0.2, -0.9));
    let flat = load(1.5, -0.1);
    assert!((-1.0..-0.5).contains(&flat), "half as many packets lose half as many: {flat}");
    let share = |log_load: f64| Shape::new(&unknowns(1.5, -0.9)).mean_loss(libm::log(9e6) + log_load, 0.0);
    assert!((share(-3.0) / share(-2.0) - std::f64::consts::E).abs() < 0.01);
}

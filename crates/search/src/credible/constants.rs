//! Every number of the credible search that somebody chose: what it means, its unit, and what set it.
//!
//! *coverage of* systems: set where `dropline experiment search-coverage` held most, or was fastest, on these simulated
//! systems, as far as the history of the code tells; *cost*: bounds the time of a decision; *argued*: follows from the
//! reason beside it; *judged*: chosen once by what is known of targets, and not varied since. Numbers that follow from
//! mathematics stand where they are used.

use std::ops::Range;

/// The search as a whole.
pub(super) mod credible {
    /// Trials after which a search ends whatever its budget: beyond, another trial teaches next to nothing.
    ///
    /// Unit: trials. Set by: cost.
    pub(in super::super) const MOST_TRIALS: usize = 1000;
    /// Probes are made where so many trials are left: trials far below do not show whether the target became faster since.
    ///
    /// Unit: trials. Set by: coverage of targets that become faster late.
    pub(in super::super) const PROBED_BEFORE: usize = 4;
    /// At most this share of the budget is kept for probes.
    ///
    /// Unit: share of the budget. Set by: judged.
    pub(in super::super) const PROBES: f64 = 0.1;
}

/// What trials show without a model.
pub(super) mod ends {
    /// Probabilities at which one that nobody knows is tried.
    ///
    /// Unit: places. Set by: judged.
    pub(in super::super) const PLACES: usize = 64;
    /// Trials at or above this share of an end bear it.
    ///
    /// Unit: share of the load. Set by: judged.
    pub(in super::super) const NEAR: f64 = 0.8;
    /// So many that met the goal bear an end.
    ///
    /// Unit: trials. Set by: argued: were half of such trials bad, 6 % of searches would see as many good ones, and half of
    /// these a loss in a probe below.
    pub(in super::super) const ENOUGH: u32 = 4;
    /// And so many more met it for each that failed it there or below.
    ///
    /// Unit: trials. Set by: argued: a third of bad ones is not half.
    pub(in super::super) const EACH_BAD: u32 = 2;
    /// An end that is not within its goal's width stands where so many trials in a row that met the goal would make it stand,
    /// or as many more of them as it takes where some failed.
    ///
    /// Unit: trials. Set by: coverage of `gradual`; with four, `soft` and `red` end three times as wide in 36 s.
    pub(in super::super) const PLAIN: i32 = 3;
    /// Where more than this share of the trials below the highest good one failed, good ones in a row may be luck.
    ///
    /// Unit: share. Set by: ends stated of targets that fail 60 and 40 % of trials at any load; of those that fail 30 % none was wrong.
    pub(in super::super) const OFTEN: f64 = 0.3;
    /// More than so many further ones are not waited for.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const MOST_LACKED: usize = 6;
    /// An end stands where, were it the truth, trials that tell of it would speak for it less with this probability at most.
    ///
    /// Unit: probability. Set by: coverage of targets whose trials have one of a few capacities, and widths of others:
    /// a quarter made them a third wider.
    pub(in super::super) const AGREES: f64 = 0.5;
    /// Of a loss in this range it is known from which load on there would have been one.
    ///
    /// Unit: loss ratio. Set by: argued: less may be chance, and much more another way to fail.
    pub(in super::super) const TELLS: super::Range<f64> = 0.002..0.15;
    /// Loads that differ by no more are one.
    ///
    /// Unit: ln load. Set by: argued: a millipacket a second.
    pub(in super::super) const ROUNDING: f64 = 1e-9;
    /// What comes through of a trial that failed is less than what others bore by more than any dip of the model: that says nothing
    /// of its load, for it would have failed at any.
    ///
    /// Unit: trials. Set by: argued: one is a moment.
    pub(in super::super) const BLIND: usize = 2;
    /// And no fewer of all trials than one in so many.
    ///
    /// Unit: trials. Set by: argued: rarer ones make no four in a row by chance.
    pub(in super::super) const BLIND_ONE_IN: usize = 10;
}

/// Looking around.
pub(super) mod locate {
    /// Loss up to this share is as good as none while looking.
    ///
    /// Unit: loss ratio. Set by: judged.
    pub(in super::super) const LITTLE: f64 = 1e-4;
    /// Loss above this share is deep: its load is far above the knee.
    ///
    /// Unit: loss ratio. Set by: judged.
    pub(in super::super) const DEEP: f64 = 0.05;
    /// Loss above this share may be a system that is broken, and not slow.
    ///
    /// Unit: loss ratio. Set by: judged.
    pub(in super::super) const HEAVY: f64 = 0.2;
    /// Trials at an end of the range that settle it.
    ///
    /// Unit: trials. Set by: argued: five alike are 97 % one-sided.
    pub(in super::super) const AT_AN_END: usize = 5;
    /// Failures after which the lowest load is tried.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const HEAVY_FAILURES: usize = 3;
    /// Failures after which loads are halved, where most came through of each.
    ///
    /// Unit: trials. Set by: argued: what came through is a load that is borne where packets are lost by overload; where it
    /// is none three times, they are lost otherwise.
    pub(in super::super) const CREEPS: usize = 3;
    /// The same of any failures.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const FAILURES: usize = 8;
    /// upper ÷ lower at which the bracket is narrow enough.
    ///
    /// Unit: ratio of loads. Set by: judged.
    pub(in super::super) const NEAR: f64 = 1.03;
    /// The same where the loss is heavy all at once.
    ///
    /// Unit: ratio of loads. Set by: coverage of `breakdown`.
    pub(in super::super) const NEAR_A_STEP: f64 = 1.1;
    /// First step up.
    ///
    /// Unit: share of the load. Set by: coverage of `drift` and `hard`.
    pub(in super::super) const STEP: f64 = 0.01;
    /// What came through in overload leads up from a clean load so far below it, as a ratio.
    ///
    /// Unit: ratio of loads. Set by: coverage of `breakdown`.
    pub(in super::super) const LEADS: f64 = 1.25;
    /// No search needs as many to look around.
    ///
    /// Unit: trials. Set by: cost.
    pub(in super::super) const MOST: usize = 40;
}

/// The first load, tried again.
pub(super) mod first_load {
    /// Loss below this share is no overload.
    ///
    /// Unit: loss ratio. Set by: judged.
    pub(in super::super) const OVERLOAD: f64 = 0.1;
    /// A first trial that forwarded less than the lowest end by this, on a logarithmic scale, or as much more than the
    /// highest, is made again.
    ///
    /// Unit: ln load. Set by: coverage of `cold-start`.
    pub(in super::super) const OFF: f64 = 0.03;
    /// More than the highest only after so many trials: before, those around the knee may have been slow by chance.
    ///
    /// Unit: trials. Set by: coverage of `drift`.
    pub(in super::super) const SETTLED: usize = 12;
    /// Or where no more than so many trials are left: nothing later would show that the target became slower.
    ///
    /// Unit: trials. Set by: argued: the last ones are as slow as the one that is compared.
    pub(in super::super) const LATE: usize = 3;
    /// And by so many standard deviations of the trials' capacities.
    ///
    /// Unit: σ. Set by: coverage of `cold-start`.
    pub(in super::super) const OFF_SCATTERS: f64 = 8.0;
    /// Share of the way to that end that it must have come then for the target to have changed.
    ///
    /// Unit: share. Set by: coverage of `cold-start`.
    pub(in super::super) const COMES: f64 = 0.6;
    /// And so many standard deviations of the trials' capacities.
    ///
    /// Unit: σ. Set by: coverage of `cold-start`.
    pub(in super::super) const COMES_SCATTERS: f64 = 6.0;
}

/// What one trial does.
pub(super) mod model {
    /// A dip lowers the logarithm of the capacity by up to this.
    ///
    /// Unit: ln load. Set by: judged: a dip costs at most a third.
    pub(in super::super) const DEEPEST: f64 = 0.35;
    /// A count is believed to this share of it.
    ///
    /// Unit: share of a count. Set by: judged: counters, clocks and starts of trials are no better known.
    pub(in super::super) const BELIEF: f64 = 0.03;
    /// Beyond this share it says nothing how much is lost: forwarding may droop in overload, or break down.
    ///
    /// Unit: loss ratio. Set by: argued: forwarding in deep overload is another matter.
    pub(in super::super) const FAR: f64 = 0.3;
    /// Probability that a trial loses as much wherever its load is.
    ///
    /// Unit: probability. Set by: judged.
    pub(in super::super) const ANYWHERE: f64 = 0.02;
    /// A floor that loses so few packets of a trial in the mean does not matter there.
    ///
    /// Unit: packets. Set by: cost.
    pub(in super::super) const NO_FLOOR: f64 = 1e-4;
    /// A floor grows with no higher power of the load.
    ///
    /// Unit: power of the load. Set by: judged.
    pub(in super::super) const STEEPEST_RISE: f64 = 30.0;
    /// Below this the unknown of its growth means so many lost packets a second, whatever the load.
    ///
    /// Unit: root of the share of the steepest. Set by: argued: a quarter of all floors.
    pub(in super::super) const IN_TIME: f64 = -0.5;
    /// A floor is no higher share.
    ///
    /// Unit: loss ratio. Set by: argued: some packets come through.
    pub(in super::super) const MOST_FLOOR: f64 = 0.9;
    /// A trial that lost more than the floor in the mean by so many of its deviations points to a capacity.
    ///
    /// Unit: σ. Set by: judged.
    pub(in super::super) const SHOWS: f64 = 3.0;
    /// A step so far down, on a logarithmic scale, and what is asked for is nowhere.
    ///
    /// Unit: ln load. Set by: argued: beyond any range of loads.
    pub(in super::super) const DEEPEST_FLOOR: f64 = 12.0;
    /// Probability of anything, whatever the model says.
    ///
    /// Unit: probability. Set by: judged.
    pub(in super::super) const UNFORESEEN: f64 = 1e-7;
}

/// What is believed before the first trial; ranges are of the unknowns.
pub(super) mod prior {
    /// How gently loss sets in.
    ///
    /// Unit: ln share of the capacity: 2e-5 to 0.05. Set by: judged.
    pub(in super::super) const LOG_SOFTNESS: (f64, f64) = (-10.819_778, -2.995_732);
    /// How much capacities scatter.
    ///
    /// Unit: ln σ of ln capacity: 2e-4 to 0.12. Set by: judged.
    pub(in super::super) const LOG_SCATTER: (f64, f64) = (-8.517_193, -2.120_264);
    /// How often a trial dips.
    ///
    /// Unit: logit of a probability. Set by: judged.
    pub(in super::super) const LOGIT_DIPS: (f64, f64) = (-16.2, 3.0);
    /// Share of the systems of which any share of the trials may dip; of the others few do.
    ///
    /// Unit: probability. Set by: coverage of `modes`; width of `noisy`.
    pub(in super::super) const OFTEN: f64 = 0.05;
    /// The largest clumps of losses.
    ///
    /// Unit: ln packets. Set by: judged.
    pub(in super::super) const LOG_CLUMP_MOST: f64 = 12.0;
    /// How much the mean loss scatters from trial to trial.
    ///
    /// Unit: ln share: 0.01 to 2. Set by: judged.
    pub(in super::super) const LOG_TAU: (f64, f64) = (-4.605_170, std::f64::consts::LN_2);
    /// How forwarding droops in overload.
    ///
    /// Unit: ln factor of the excess. Set by: coverage of `drooping`, `breakdown` and `slow-start`.
    pub(in super::super) const LOG_STEEPNESS: (f64, f64) = (-3.0, 6.0);
    /// ln 1e-12, where no trial would show it, to ln 0.1.
    ///
    /// Unit: ln loss ratio. Set by: coverage of `random-loss` and `slope`.
    pub(in super::super) const LOG_FLOOR: (f64, f64) = (-27.631_021, -std::f64::consts::LN_10);
    /// ln 1e-8: above this a floor matters, with a probability.
    ///
    /// Unit: ln loss ratio. Set by: judged.
    pub(in super::super) const LOG_FLOOR_MATTERS: f64 = -18.420_681;
    /// That it matters.
    ///
    /// Unit: probability. Set by: coverage of targets that lose some packets a second; 0.1 held too few.
    pub(in super::super) const FLOORS: f64 = 0.3;
    /// How it grows with the load; a quarter of all are flat, a quarter are so many packets a second.
    ///
    /// Unit: root of the share of the steepest. Set by: judged.
    pub(in super::super) const RISE: (f64, f64) = (-1.0, 1.0);
    /// Share of the floors that are drawn where a trial seems to show one, within so many deviations of its loss.
    ///
    /// Unit: share of draws. Set by: cost.
    pub(in super::super) const SHOWN_FLOORS: f64 = 0.25;
    /// By how much it droops in most systems.
    ///
    /// Unit: ln factor. Set by: coverage of `drift`, see DESIGN.md.
    pub(in super::super) const STEEPNESS_SCALE: f64 = 0.15;
    /// Probability that forwarding breaks down above the capacity, by any steepness.
    ///
    /// Unit: probability. Set by: coverage of `breakdown`.
    pub(in super::super) const BREAKS: f64 = 0.02;
    /// Probability that only a part of what is above the capacity is lost, by any share down to e^−3: a start that is slow,
    /// one core of several, a queue that drops early.
    ///
    /// Unit: probability. Set by: coverage of `slow-start` and `red`.
    pub(in super::super) const PARTIAL: f64 = 0.02;
    /// The share of such systems that are drawn where it seems so.
    ///
    /// Unit: share of draws. Set by: cost.
    pub(in super::super) const SUSPECTED: f64 = 0.4;
}

/// The particles.
pub(super) mod particles {
    /// How many particles.
    ///
    /// Unit: particles. Set by: cost.
    pub(in super::super) const PARTICLES: usize = 2000;
    /// Moves are resumed where they stopped; a trial pays for so many likelihoods.
    ///
    /// Unit: likelihoods a trial. Set by: cost.
    pub(in super::super) const LIKELIHOODS: usize = 70_000;
    /// Of these, at most so many go into one resampling.
    ///
    /// Unit: likelihoods. Set by: cost.
    pub(in super::super) const AT_ONCE: usize = 50_000;
    /// Sweeps through all particles after a resampling, if they can be paid.
    ///
    /// Unit: sweeps. Set by: cost.
    pub(in super::super) const SWEEPS: usize = 4;
    /// Sweeps through all particles that a trial buys in all.
    ///
    /// Unit: sweeps. Set by: cost.
    pub(in super::super) const MOST_SWEEPS: usize = 12;
    /// Likelihoods are never below 1e-7, so that many can be multiplied before a logarithm is taken.
    ///
    /// Unit: trials. Set by: argued: 1e-7 to the fortieth is a number still.
    pub(in super::super) const CHUNK: usize = 40;
    /// Systems that are drawn to begin with.
    ///
    /// Unit: systems. Set by: cost.
    pub(in super::super) const DRAWS: usize = 20_000;
    /// Steps are this share of the cloud's spread, in turn; or θ moves alone, by the system's own scatter.
    ///
    /// Unit: share of the spread. Set by: judged.
    pub(in super::super) const STEPS: [f64; 4] = [0.9, 0.45, ALONE, 0.2];
    /// The step of θ alone.
    ///
    /// Unit: share of the spread. Set by: argued: no other unknown moves then.
    pub(in super::super) const ALONE: f64 = 0.0;
    /// The least part of a likelihood that is let in at once.
    ///
    /// Unit: share of a likelihood. Set by: cost.
    pub(in super::super) const LEAST_STEP: f64 = 1e-3;
    /// So many of the first θ are drawn about what trials point to.
    ///
    /// Unit: share of draws. Set by: judged.
    pub(in super::super) const POINTED: f64 = 0.6;
    /// So many above that, by as much as a dip is deep.
    ///
    /// Unit: share of draws. Set by: judged.
    pub(in super::super) const DIPPED: f64 = 0.2;
    /// So many between the loads where it seems to break down, if there are both.
    ///
    /// Unit: share of draws. Set by: coverage of `breakdown`.
    pub(in super::super) const STEPPED: f64 = 0.5;
}

/// The next load.
pub(super) mod choice {
    /// Particles that stand for the belief.
    ///
    /// Unit: particles. Set by: cost.
    pub(in super::super) const DRAWS: usize = 80;
    /// Outcomes of a trial that are told apart.
    ///
    /// Unit: outcomes. Set by: cost.
    pub(in super::super) const BINS: usize = 48;
    /// Deviation, in widths, below which nothing more is wanted.
    ///
    /// Unit: widths of the goal. Set by: judged.
    pub(in super::super) const KNOWN: f64 = 0.15;
    /// Steps above the highest candidate, to see where loss is a matter of counts.
    ///
    /// Unit: ln load. Set by: judged.
    pub(in super::super) const ABOVE: [f64; 4] = [0.002, 0.006, 0.015, 0.03];
    /// No candidate is farther above the middle: far above the knee, much is lost and little learned.
    ///
    /// Unit: ln load. Set by: judged.
    pub(in super::super) const FARTHEST: f64 = 0.03;
}

/// When to stop, and what to say.
pub(super) mod goal_search {
    /// Trials before an answer is believed to be narrow.
    ///
    /// Unit: trials. Set by: coverage of `hard`.
    pub(in super::super) const LEAST_TRIALS: usize = 6;
    /// The same where trials scatter by more than this: they may be alike for a while, and only time shows it.
    ///
    /// Unit: trials. Set by: coverage of `two-state`.
    pub(in super::super) const LEAST_WHERE_THEY_SCATTER: usize = 20;
    /// That much.
    ///
    /// Unit: σ of ln capacity. Set by: coverage of `two-state`.
    pub(in super::super) const SCATTER: f64 = 6.5e-4;
    /// Trials scatter more than that with all but this probability: short ones are no use then.
    ///
    /// Unit: probability. Set by: judged.
    pub(in super::super) const SURELY: f64 = 0.1;
    /// The same of capacities that trials showed.
    ///
    /// Unit: ln load. Set by: coverage of `two-state`.
    pub(in super::super) const SHOWN_SCATTER: f64 = 2e-4;
    /// A loss so large shows a capacity to within that, whatever the chance of single packets; one so small shows no droop.
    ///
    /// Unit: loss ratio. Set by: judged.
    pub(in super::super) const MODERATE: super::Range<f64> = 0.002..0.05;
    /// There an interval is never stated narrower than this share of the width asked for: slow states may hide.
    ///
    /// Unit: share of the width. Set by: coverage of `two-state`.
    pub(in super::super) const NARROWEST: f64 = 0.9;
    /// Loss above this share while looking around is left out; one that is far is an upper bound again.
    ///
    /// Unit: loss ratio. Set by: judged.
    pub(in super::super) const FAR_WHILE_LOCATING: f64 = 0.1;
    /// A load that our side does not bear without losses of its own: the next is this share of it.
    ///
    /// Unit: share of the load. Set by: judged.
    pub(in super::super) const STEP_DOWN: f64 = 0.5;
    /// A load whose trials were disturbed is this much above one that was borne, where loads between are worth trials.
    ///
    /// Unit: ratio of loads. Set by: judged.
    pub(in super::super) const WORTH_A_STEP: f64 = 1.25;
    /// θ is looked for within this distance of where the first trials lead, on a logarithmic scale.
    ///
    /// Unit: ln load. Set by: judged.
    pub(in super::super) const REACH: f64 = 0.5;
    /// While intervals are wide, one trial in so many shows an end; and where more is possible than is believed, one in so many is left
    /// to the belief.
    ///
    /// Unit: trials. Set by: widths of `noisy` and `dips`.
    pub(in super::super) const ONE_IN: usize = 3;
    /// The model is let alone for so many trials: then its belief is held against what they show by themselves.
    ///
    /// Unit: trials. Set by: time on `hard`.
    pub(in super::super) const SETTLING: usize = 9;
    /// A search of fewer trials has not had the time to make an end plain.
    ///
    /// Unit: trials. Set by: comparisons of searches of 15 s.
    pub(in super::super) const PLAIN_FROM: usize = 18;
    /// Trials that make an end plain begin when so many more are left than it takes: one of them may fail.
    ///
    /// Unit: trials. Set by: widths of `noisy` and `soft`.
    pub(in super::super) const SPARE: usize = 2;
    /// And none of the last ones.
    ///
    /// Unit: trials. Set by: widths of `soft`.
    pub(in super::super) const LAST: usize = 4;
    /// A trial that lost this share of what the loosest goal allows shows that the target did not become faster.
    ///
    /// Unit: share of a loss ratio. Set by: time on `consistent`.
    pub(in super::super) const SHOWS_KNEE: f64 = 0.2;
    /// A trial that tells whether the target became faster is above the upper end by this share, or where its trials scatter by three
    /// times what they do, and by twice as much each time that it meets the goal too.
    ///
    /// Unit: share of the load. Set by: argued: beyond the scatter, and below what matters.
    pub(in super::super) const CHECK: f64 = 0.03;
    /// A narrow answer is more often a lucky one: what is left out of an interval is so much less than what its
    /// level says, and falls with this power.
    ///
    /// Unit: factor. Set by: coverage of all systems at five levels.
    pub(in super::super) const PRUDENCE: f64 = 3.1;
    /// That power.
    ///
    /// Unit: power. Set by: coverage of all systems at five levels.
    pub(in super::super) const PRUDENCE_POWER: f64 = 1.7;
    /// Our own side bore a load where no more than this failed of it.
    ///
    /// Unit: share of the packets. Set by: judged.
    pub(in super::super) const TOLERATED: f64 = 1e-3;
    /// Where it failed by more, this share of what it bore is the highest load from then on.
    ///
    /// Unit: share of the load. Set by: judged.
    pub(in super::super) const BORNE: f64 = 0.99;
}

/// Whether the target is the same still.
pub(super) mod freshness {
    /// A bettor against the belief who owns so many times what he had shows that the target is another one.
    ///
    /// Unit: factor. Set by: argued: of searches of a steady target one in fifty may have an end too far away for it.
    pub(in super::super) const ENOUGH: f64 = 50.0;
    /// He stakes as much as this power of a probability has it: the less, the more on the least probable.
    ///
    /// Unit: power. Set by: judged.
    pub(in super::super) const POWER: f64 = 0.3;
    /// And so many times as much asks for a trial beyond the end.
    ///
    /// Unit: factor. Set by: widths of `slope` and `soft`: a half made them wider.
    pub(in super::super) const ASKS: f64 = 12.0;
}

/// What trials make certain.
pub(super) mod monotone_bounds {
    /// Share of his wealth that he stakes.
    ///
    /// Unit: share. Set by: argued: eight successes in nine refute at 99 %.
    pub(in super::super) const STAKE: f64 = 0.9;
    /// Where as many trials speak for success as for failure, the nearest within this decides, on a logarithmic scale.
    ///
    /// Unit: ln load. Set by: judged.
    pub(in super::super) const NEAR: f64 = 0.2;
}

/// What is possible without a model.
pub(super) mod monotone {
    /// A place of the truth is possible unless it is less likely than the likeliest one by this, times the logarithm of the
    /// number of trials.
    ///
    /// Unit: ln likelihood. Set by: coverage of `pauses`, `gradual`, `modes` and `outages` in 36 s and in 120 s: a half let
    /// `pauses` fall to two thirds in 120 s.
    pub(in super::super) const LESS_LIKELY: f64 = 0.6;
}

/// One goal.
pub(super) mod view {
    /// A belief that is narrower than this, or than what trials scatter by, is trusted as far inside of what trials leave possible as it
    /// is wide.
    ///
    /// Unit: ln load. Set by: widths of `noisy` and `inconsistent`, coverage of `outages`.
    pub(in super::super) const TRUSTED: f64 = 0.03;
    /// One that is wider than this, of an answer that is not precise, has to have a lower end that trials make plain.
    ///
    /// Unit: ln load. Set by: coverage of `gradual`, widths of `noisy` in 15 s.
    pub(in super::super) const DOUBTED: f64 = 0.1;
    /// A trial that shall close the gap between what is believed and what is possible is so far into it: where it is wide,
    /// more surely good, or bad.
    ///
    /// Unit: share of the gap. Set by: widths of `soft` and `dips`.
    pub(in super::super) const INTO_GAP: f64 = 0.1;
    /// And no farther than to where another outcome is believed to have this share of the probability that it has at the
    /// truth: a trial there denies all places beyond it as well.
    ///
    /// Unit: share. Set by: widths of `soft`.
    pub(in super::super) const SURELY: f64 = 0.06;
    /// What is stated is much wider than what is believed when it is so many times as wide.
    ///
    /// Unit: factor. Set by: judged.
    pub(in super::super) const MUCH_WIDER: f64 = 2.0;
    /// An end of the belief is in a tail when it is so many times as far from the middle as most of the belief; of a normal
    /// one it would be 1.8.
    ///
    /// Unit: factor. Set by: judged.
    pub(in super::super) const FAR_TAIL: f64 = 5.0;
}

/// Shorter trials.
pub(super) mod short_trials {
    /// A short trial is so long, as a share of a whole one.
    ///
    /// Unit: share of a trial. Set by: time on quiet targets.
    pub(in super::super) const SHORT: f64 = 0.2;
    /// So many packets at least: fewer show no loss ratio.
    ///
    /// Unit: packets. Set by: judged.
    pub(in super::super) const FEWEST: f64 = 1000.0;
    /// Waits cost at most this share of a whole trial.
    ///
    /// Unit: share of a trial. Set by: judged.
    pub(in super::super) const WAITS: f64 = 0.2;
    /// After so many, whole ones are asked though the answer is not narrow: short ones do not show what keeps it wide.
    ///
    /// Unit: trials. Set by: argued: steady targets take fewer.
    pub(in super::super) const MOST: usize = 40;
    /// Whole ones are asked while there is time for so many: of a target with a buffer they have the limit to find yet.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const LEFT: usize = 8;
    /// Whole trials that must agree.
    ///
    /// Unit: trials. Set by: coverage of quiet targets.
    pub(in super::super) const AGREEING: usize = 2;
    /// A surprise as large as this, in standard deviations of all that were met, is a disagreement. One of fifteen steady
    /// targets loses some seconds by it; a dip is not so surprising that it could be larger.
    ///
    /// Unit: σ. Set by: coverage of quiet targets.
    pub(in super::super) const SURPRISE: f64 = 1.5;
}

/// What is strange about the trials.
pub(super) mod diagnostics {
    /// Systems that are asked what they expect.
    ///
    /// Unit: systems. Set by: cost.
    pub(in super::super) const DRAWS: usize = 60;
    /// Random orders.
    ///
    /// Unit: orders. Set by: cost.
    pub(in super::super) const ORDERS: usize = 999;
    /// An order that is rarer than this among them is a doubt: of the tests together, less than 3 % by chance.
    ///
    /// Unit: probability. Set by: false alarms of all systems.
    pub(in super::super) const RARE_CHAIN: f64 = 0.015;
    /// The same of a trend.
    ///
    /// Unit: probability. Set by: false alarms of all systems.
    pub(in super::super) const RARE_TREND: f64 = 0.006;
    /// The same of a warm-up that the first load, tried again, bears out.
    ///
    /// Unit: probability. Set by: coverage of `cold-start`.
    pub(in super::super) const RARE_AFTER_ALL: f64 = 0.2;
    /// States last longer than a trial: neighbours count, and others by e less in so many trials.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const MEMORY: f64 = 1.5;
    /// Trials farther apart than this are strangers.
    ///
    /// Unit: trials. Set by: cost.
    pub(in super::super) const STRANGERS: usize = 6;
    /// A trial that was to lose nothing with this probability can tell nothing.
    ///
    /// Unit: probability. Set by: judged.
    pub(in super::super) const CERTAIN: f64 = 0.93;
    /// Trials below which no order is strange.
    ///
    /// Unit: trials. Set by: argued: fewer have too few orders.
    pub(in super::super) const LEAST: usize = 6;
    /// The first trials count for less and less, by e in so many.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const WARMING: f64 = 3.0;
}

/// Two states.
pub(super) mod two_states {
    /// Trials that make a group.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const GROUP: usize = 3;
    /// The groups are so many times farther apart than either is wide.
    ///
    /// Unit: factor. Set by: judged.
    pub(in super::super) const APART: f64 = 3.0;
    /// And at least this, on a logarithmic scale.
    ///
    /// Unit: ln load. Set by: judged.
    pub(in super::super) const FAR: f64 = 0.005;
    /// A smaller share of slow trials does not move the load that half of them bear.
    ///
    /// Unit: share. Set by: argued: below it the median is of the fast state.
    pub(in super::super) const SHARE: f64 = 0.3;
    /// Random orders with as few changes of state are rarer than this.
    ///
    /// Unit: probability. Set by: coverage of `two-state`.
    pub(in super::super) const RARE: f64 = 0.1;
}

/// The first trials, forgotten.
pub(super) mod discarded {
    /// So many trials have been made when it asks, in turn, whether the first half is to be forgotten, for the
    /// target had to warm up.
    ///
    /// Unit: trials. Set by: coverage of `cold-start`.
    pub(in super::super) const LOOKS_BACK: [usize; 2] = [12, 18];
    /// The first load was tried again, and found a faster target: so many trials later it forgets all before, and some
    /// after it.
    ///
    /// Unit: trials. Set by: coverage of `cold-start`.
    pub(in super::super) const LONGER: usize = 9;
    /// After the trial that found it faster, so many more are left out.
    ///
    /// Unit: trials. Set by: coverage of `cold-start`.
    pub(in super::super) const STILL_COLD: usize = 2;
    /// What must be left then.
    ///
    /// Unit: trials. Set by: judged.
    pub(in super::super) const LEAST_TO_GO_ON: usize = 3;
}

/// Far below.
pub(super) mod low_load_probe {
    /// Shares of the lower end that are tried, in this order.
    ///
    /// Unit: share of the lower end. Set by: judged.
    pub(in super::super) const SHARES: [f64; 3] = [0.9, 0.7, 0.5];
    /// A probe is as long as this share of a full trial.
    ///
    /// Unit: share of a trial. Set by: judged.
    pub(in super::super) const LENGTH: f64 = 0.4;
    /// Losses at one load before it is believed to lose, and failures about a load far below an end before they are no bad moments: once
    /// is not enough where one trial in six is a slow one.
    ///
    /// Unit: trials. Set by: coverage of `dips`.
    pub(in super::super) const LOSSES: usize = 3;
    /// The same where a loss was to be expected of more than this share of such trials.
    ///
    /// Unit: trials. Set by: coverage of `dips`.
    pub(in super::super) const LOSSES_WHERE_EXPECTED: usize = 4;
    /// That share.
    ///
    /// Unit: probability. Set by: coverage of `dips`.
    pub(in super::super) const EXPECTED: f64 = 0.05;
    /// Losses at two loads are believed too.
    ///
    /// Unit: loads. Set by: judged.
    pub(in super::super) const LOADS: usize = 2;
}

/// The loss curve that is shown.
pub(super) mod curve {
    /// Points of it: about as many as a plot can show.
    ///
    /// Unit: points. Set by: judged.
    pub(in super::super) const POINTS: usize = 49;
    /// Particles that it is made of.
    ///
    /// Unit: particles. Set by: cost.
    pub(in super::super) const DRAWS: usize = 400;
}

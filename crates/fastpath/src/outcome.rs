//! From the slots of a trial's frames to its counts, delays and slices, in each direction and in all.

use crate::field::Field;
use crate::maps::Maps;
use crate::trial_watch::Ended;
use dropline_stats::{Cut, Histogram, Slices, Spacing};
use dropline_trial::{
    Arrival, ArrivalFidelity, Caveat, Delay, DelayKind, Departed, Direction, Disturbance, Extra, Observed,
    PacketTimes, Slice, Stamp, Trial, TrialInput,
};
use std::time::Duration;

/// What was done in one direction.
pub(crate) struct Done<'a> {
    pub(crate) maps: &'a Maps,
    /// When each frame was due, after the start.
    pub(crate) due_ns: &'a [u64],
    /// The start, on the kernel's clock.
    pub(crate) epoch_ns: u64,
    /// Its end, where that was before its time.
    pub(crate) ended: Option<&'a Ended>,
    pub(crate) slices: Option<u32>,
    pub(crate) arrival: &'a Arrival,
}

/// One direction of a trial as it is told.
pub(crate) struct Told {
    pub(crate) name: String,
    /// The interface where its frames leave.
    pub(crate) leaves_by: String,
    pub(crate) trial: Trial,
    slices: Sliced,
}

/// The delays of each slice, and how many frames were offered and forwarded in it.
struct Sliced {
    delays: Slices,
    counted: Vec<(u64, u64)>,
}

/// A trial of all its directions; of several, each is kept beside their sum. The first one's caveats of frames are those of all.
pub(crate) fn whole(input: TrialInput, mut told: Vec<Told>) -> Trial {
    let directions: Vec<Direction> = match told.len() {
        1 => Vec::new(),
        _ => told.iter().map(|one| Direction::of(&one.name, &one.trial)).collect(),
    };
    let mut rest = told.drain(1..).collect::<Vec<_>>().into_iter();
    let Some(Told { mut trial, mut slices, mut leaves_by, .. }) = told.pop() else {
        return Trial::new(0, input, 0);
    };
    trial.input = input;
    if let Some(Told { trial: other, slices: others, leaves_by: by, .. }) = rest.next() {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        trial.intended = sum(trial.intended, other.intended);
        trial.offered += other.offered;
        trial.forwarded += other.forwarded;
        trial.generator_lost += other.generator_lost;
        for (mine, theirs) in [
            (&mut trial.duplicated, other.duplicated),
            (&mut trial.reordered, other.reordered),
            (&mut trial.late, other.late),
            (&mut trial.reply_truncated, other.reply_truncated),
            (&mut trial.reply_extended, other.reply_extended),
            (&mut trial.reply_changed, other.reply_changed),
        ] {
            *mine = sum(*mine, theirs);
        }
        for (mine, theirs) in [
            (&mut trial.delay, &other.delay),
            (&mut trial.service_delay, &other.service_delay),
            (&mut trial.lateness, &other.lateness),
        ] {
            mine.merge(theirs);
        }
        for (error, frames) in other.refused {
            *trial.refused.entry(error).or_default() += frames;
        }
        for (place, frames) in other.lost_at.unwrap_or_default() {
            *trial.lost_at.get_or_insert_default().entry(place).or_default() += frames;
        }
        if let (Some(mine), Some(theirs)) = (&mut trial.disturbance, other.disturbance) {
            mine.displaced += theirs.displaced;
        }
        // Of two processes nobody asked for their sum.
        trial.kept = None;
        let is_new = |caveat: &Caveat| !trial.caveats.contains(caveat);
        let more: Vec<Caveat> = other.caveats.into_iter().filter(is_new).collect();
        trial.caveats.extend(more);
        slices.delays.merge(&others.delays);
        for (mine, theirs) in slices.counted.iter_mut().zip(others.counted) {
            *mine = (mine.0 + theirs.0, mine.1 + theirs.1);
        }
        leaves_by = format!("{leaves_by} and {by}");
        trial.extra = Some(Extra::Directions(directions));
    }
    trial.slices = slices.slices();
    let (intended, offered) = (trial.intended.unwrap_or(0), trial.offered);
    if offered < intended {
        let most = trial.refused.iter().max_by_key(|(_, frames)| **frames);
        let error =
            most.filter(|(_, frames)| 2 * **frames >= intended - offered).map(|(error, _)| error.clone());
        let interface = error.is_some().then_some(leaves_by);
        trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error, interface });
    }
    if trial.generator_lost > 0 {
        trial.caveats.push(Caveat::GeneratorLost { dropped: trial.generator_lost });
    }
    trial
}

impl Sliced {
    fn slices(&self) -> Vec<Slice> {
        let cut = self.delays.cut();
        let recorders = self.delays.iter().zip(&self.counted).enumerate();
        recorders
            .map(|(slice, (recorder, &(offered, forwarded)))| Slice {
                duration: Duration::from_nanos(cut.length_ns(slice)),
                offered,
                forwarded,
                delay: Some(recorder.recorded()),
            })
            .collect()
    }
}

/// A delay that may be below zero, as where two CPUs' clocks differ by a few ns.
#[derive(Default)]
struct Delays {
    histogram: Histogram,
    negative: u64,
    negative_min_ns: Option<i64>,
}

impl Delays {
    fn record(&mut self, delay_ns: i64) {
        match u64::try_from(delay_ns) {
            Ok(delay_ns) => self.histogram.record(delay_ns),
            Err(_) => {
                self.negative += 1;
                self.negative_min_ns = self.negative_min_ns.into_iter().chain([delay_ns]).min();
            }
        }
    }

    fn delay(self) -> Delay {
        Delay { negative: self.negative, negative_min_ns: self.negative_min_ns, ..Delay::of(self.histogram) }
    }
}

impl Done<'_> {
    /// Says it in a trial, which has its duration; `packets` has room for the times of single frames.
    pub(crate) fn tell(
        &self,
        (name, leaves_by): (&str, &str),
        mut trial: Trial,
        mut packets: Option<&mut PacketTimes>,
    ) -> Told {
        let input = trial.input;
        if let Some(ended) = self.ended {
            trial.caveats.push(match &ended.astray {
                None => Caveat::Interrupted,
                Some(rule) => Caveat::RuleAppeared { rule: rule.clone() },
            });
        }
        let length_ns = trial.duration.as_nanos() as u64;
        let intended = self.intended(length_ns);
        let mut slices = Slices::new(Cut::of(length_ns, self.slices));
        let cut = slices.cut();
        let mut counted = vec![(0, 0); cut.slices()];
        let (mut delay, mut service, mut lateness) =
            (Delays::default(), Delays::default(), Delays::default());
        let (mut departed, mut displaced) = (Departed::new(), 0);
        let forgiven_ns = Disturbance::forgiven(input).as_nanos() as i64;
        // Arrivals in the order of their stamps are not kept: those of frames that kept their order are.
        let (mut arrived, mut latest_ns) = (Spacing::new(), 0);
        for (index, &due_ns) in self.due_ns[..intended].iter().enumerate() {
            let left = self.maps.departed(index);
            let came = self.maps.arrived(index).filter(|_| left.is_some());
            if let Some(packets) = &mut packets {
                packets.departures.push(due_ns, left.map(|at| at.saturating_sub(self.epoch_ns)), 0);
                if let (Some(returns), Some(at)) = (&mut packets.returns, came) {
                    returns.note(index as u64, at.saturating_sub(self.epoch_ns));
                }
            }
            let Some(left) = left else { continue };
            trial.offered += 1;
            let slice = cut.slice_of(due_ns);
            counted[slice].0 += 1;
            let late_ns = since(left, self.epoch_ns + due_ns);
            lateness.record(late_ns);
            displaced += u64::from(late_ns > forgiven_ns);
            departed.packet(due_ns, left.saturating_sub(self.epoch_ns));
            let Some(came) = came else { continue };
            trial.forwarded += 1;
            counted[slice].1 += 1;
            let delay_ns = since(came, self.epoch_ns + due_ns);
            delay.record(delay_ns);
            slices.record(due_ns, delay_ns);
            service.record(since(came, left));
            if came >= latest_ns {
                latest_ns = came;
                arrived.event(came.saturating_sub(self.epoch_ns));
            }
        }
        trial.intended = Some(intended as u64);
        trial.duplicated = Some(self.maps.get(Field::Duplicated));
        trial.reordered = Some(self.reordered(intended));
        trial.late = Some(self.maps.get(Field::Late));
        let otherwise = [Field::Truncated, Field::Extended, Field::Changed].map(|field| self.maps.get(field));
        let [truncated, extended, changed] = otherwise;
        (trial.reply_truncated, trial.reply_extended, trial.reply_changed) =
            (Some(truncated), Some(extended), Some(changed));
        if otherwise != [0; 3] {
            trial.caveats.push(Caveat::FramesDiffer { truncated, extended, changed });
        }
        let padded = self.maps.get(Field::Padded);
        trial.caveats.extend((padded > 0).then_some(Caveat::FramesPadded { frames: padded }));
        trial.stamp = Some(Stamp::Kernel);
        trial.delay_kind = Some(DelayKind::OneWay);
        (trial.delay, trial.service_delay, trial.lateness) =
            (delay.delay(), service.delay(), lateness.delay());
        trial.disturbance = Some(Disturbance { displaced, waited: Duration::ZERO });
        trial.caveats.extend(cut.fewer().map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
        let observed = Observed {
            intended: trial.intended,
            offered: trial.offered,
            left: Some((&departed, Stamp::Kernel)),
            arrived: Some((&arrived, Stamp::Kernel)),
            ..Observed::default()
        };
        let asked = TrialInput { duration: trial.duration, ..input };
        trial.kept = Some(ArrivalFidelity::of(self.arrival, asked, trial.seed, &observed));
        let slices = Sliced { delays: slices, counted };
        Told { name: name.into(), leaves_by: leaves_by.into(), trial, slices }
    }

    /// Frames that were due in so long; of a trial that was ended, those whose turn had come.
    fn intended(&self, length_ns: u64) -> usize {
        let due = self.due_ns.partition_point(|&due| due < length_ns);
        let Some(ended) = self.ended else { return due };
        let last_ns = self.epoch_ns + ended.at_ns;
        let mut intended = due.min(self.maps.get(Field::Next) as usize);
        while intended > 0 && self.maps.departed(intended - 1).is_some_and(|left| left > last_ns) {
            intended -= 1;
        }
        intended
    }

    /// Frames that came behind one that was sent later (RFC 4737).
    fn reordered(&self, intended: usize) -> u64 {
        let mut earliest_ns = u64::MAX;
        let mut reordered = 0;
        for index in (0..intended).rev() {
            let Some(came) = self.maps.arrived(index) else { continue };
            reordered += u64::from(came > earliest_ns);
            earliest_ns = earliest_ns.min(came);
        }
        reordered
    }
}

/// From one time to another, in ns.
fn since(later: u64, earlier: u64) -> i64 {
    later as i64 - earlier as i64
}

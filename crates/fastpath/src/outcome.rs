//! From the slots of a trial's frames to its counts, delays and slices.

use crate::field::Field;
use crate::lookout::Ended;
use crate::maps::Maps;
use dropline_stats::{Cut, Histogram, Slices, Spacing};
use dropline_trial::{
    Arrival, ArrivalFidelity, Caveat, Delay, DelayKind, Departed, Disturbance, Observed, PacketTimes, Slice,
    Stamp, Trial, TrialInput,
};
use std::time::Duration;

/// What was done.
pub(crate) struct Done<'a> {
    pub(crate) maps: &'a Maps,
    /// When each frame was due, after the start.
    pub(crate) due_ns: &'a [u64],
    /// The start, on the kernel's clock.
    pub(crate) epoch_ns: u64,
    /// Its end, where that was before its time.
    pub(crate) ended: Option<&'a Ended>,
    pub(crate) slices: Option<u32>,
    /// The interface where frames leave.
    pub(crate) leaves_by: &'a str,
    pub(crate) arrival: &'a Arrival,
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
    /// Says it in the trial; `packets` has room for the times of single frames.
    pub(crate) fn tell(&self, trial: &mut Trial, mut packets: Option<&mut PacketTimes>) {
        let input = trial.input;
        if let Some(ended) = self.ended {
            trial.duration = Duration::from_nanos(ended.at_ns.max(1)).min(input.duration);
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
        trial.say_differences(otherwise, otherwise);
        trial.stamp = Some(Stamp::Kernel);
        trial.delay_kind = Some(DelayKind::OneWay);
        (trial.delay, trial.service_delay, trial.lateness) =
            (delay.delay(), service.delay(), lateness.delay());
        trial.disturbance = Some(Disturbance { displaced, waited: Duration::ZERO });
        trial.slices = (0..cut.slices())
            .zip(slices.iter())
            .map(|(slice, recorder)| Slice {
                duration: Duration::from_nanos(cut.length_ns(slice)),
                offered: counted[slice].0,
                forwarded: counted[slice].1,
                delay: Some(recorder.recorded()),
            })
            .collect();
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
        let intended = intended as u64;
        if trial.offered < intended {
            let offered = trial.offered;
            let most = trial.refused.iter().max_by_key(|(_, frames)| **frames);
            let error =
                most.filter(|(_, frames)| 2 * **frames >= intended - offered).map(|(error, _)| error.clone());
            let interface = error.is_some().then(|| self.leaves_by.to_owned());
            trial.caveats.push(Caveat::GeneratorLimited { intended, offered, error, interface });
        }
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

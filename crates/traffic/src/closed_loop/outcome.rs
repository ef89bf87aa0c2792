//! What all clients of a closed loop did, and the trial that it makes.

use super::plan::ClientReply;
use super::report::{ClientPacket, ClientReport};
use dropline_stats::{Cut, Histogram, Slices, Spacing};
use dropline_trial::{
    Arrival, ArrivalFidelity, Caveat, ClosedLoop, Delay, DelayKind, Departed, GapLaw, Observed, Pace,
    PacketTimes, Rate, SampledLateness, Slice, Stamp, Think, Trial,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// What all clients did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosedLoopOutcome {
    /// When they began, by the machine's monotonic clock, as all times here.
    from_ns: u64,
    /// How long after that the user stopped them.
    stopped_ns: Option<u64>,
    /// Each packet with the number of its client.
    packets: Vec<(u16, ClientPacket)>,
    duplicated: u64,
    foreign: u64,
    otherwise: [u64; 3],
    different: [u64; 3],
    dropped: u64,
    stamped: u64,
    late_ns: u64,
    clock_steps: [u64; 2],
    gone_ns: Option<u64>,
    gone: BTreeMap<String, u64>,
    refused: BTreeMap<String, u64>,
    sampled: Histogram,
}

/// What is wanted of a closed loop's trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedOutcome<'a> {
    pub(crate) arrival: &'a Arrival,
    pub(crate) reply: ClientReply,
    /// Whether replies were held against what was sent.
    pub(crate) same: bool,
    /// Parts in which packets are also counted.
    pub(crate) slices: Option<u32>,
    /// Packets whose times are kept one by one.
    pub(crate) keep_packets: Option<usize>,
}

impl ClosedLoopOutcome {
    /// Nothing, of clients that begin then and were stopped so long after.
    pub(crate) fn from(from_ns: u64, stopped_ns: Option<u64>) -> Self {
        Self { from_ns, stopped_ns, ..Self::default() }
    }

    pub(crate) fn add(&mut self, client: usize, report: ClientReport) {
        let client = u16::try_from(client).unwrap_or(u16::MAX);
        self.packets.extend(report.packets.into_iter().map(|packet| (client, packet)));
        self.duplicated += report.duplicated;
        self.foreign += report.foreign;
        self.otherwise = std::array::from_fn(|kind| self.otherwise[kind] + report.otherwise[kind]);
        self.different = std::array::from_fn(|kind| self.different[kind] + report.different[kind]);
        self.dropped += report.dropped;
        self.stamped += report.stamped;
        self.late_ns = self.late_ns.max(report.late_ns);
        // All of them saw the same clock.
        for (all, one) in self.clock_steps.iter_mut().zip(report.clock_steps) {
            *all = (*all).max(one);
        }
        self.gone_ns = self.gone_ns.into_iter().chain(report.gone_ns).min();
        for (all, one) in [(&mut self.gone, report.gone), (&mut self.refused, report.refused)] {
            one.into_iter().for_each(|(name, count)| *all.entry(name).or_default() += count);
        }
        self.sampled.merge(&report.sampled);
    }

    /// Packets in the order in which they left.
    pub(crate) fn in_order(mut self) -> Self {
        self.packets.sort_by_key(|(_, packet)| packet.left_ns);
        self
    }

    /// Whether the user stopped them.
    pub fn is_stopped(&self) -> bool {
        self.stopped_ns.is_some()
    }

    /// Packets that left.
    pub fn offered(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Packets that came back.
    pub fn forwarded(&self) -> u64 {
        self.packets.iter().filter(|(_, packet)| packet.back_ns.is_some()).count() as u64
    }

    /// When packets left, ascending, by the machine's monotonic clock.
    pub fn left_ns(&self) -> Vec<u64> {
        self.packets.iter().map(|(_, packet)| packet.left_ns).collect()
    }

    /// Fills in a trial that intended nothing: its load is what it came to. Replies are counted where they
    /// were asked for. Returns the times of its packets, where they are to be kept.
    pub(crate) fn fill(self, trial: &mut Trial, wanted: WantedOutcome<'_>) -> Option<PacketTimes> {
        trial.intended = None;
        trial.offered = self.offered();
        let asked = trial.input.duration;
        trial.duration = self.stopped_ns.map_or(asked, |after| Duration::from_nanos(after.max(1)).min(asked));
        if self.stopped_ns.is_some() {
            trial.caveats.push(Caveat::Interrupted);
        }
        let millipps = u128::from(trial.offered) * 1_000_000_000_000 / trial.duration.as_nanos().max(1);
        trial.input.load = Rate::from_millipps(u64::try_from(millipps).unwrap_or(u64::MAX));
        trial.lateness = Delay::of(self.times(|packet| Some(packet.left_ns.saturating_sub(packet.due_ns?))));
        trial.stamp = Some(Stamp::App);
        if wanted.reply != ClientReply::None {
            self.count_replies(trial, wanted);
        }
        trial.kept = Some(self.kept(trial, wanted.arrival));
        self.doubt(trial);
        let packets = wanted.keep_packets.map(|room| self.packet_times(room, wanted.reply));
        trial.refused = self.refused;
        packets
    }

    fn count_replies(&self, trial: &mut Trial, wanted: WantedOutcome<'_>) {
        let slices = wanted.slices;
        trial.forwarded = self.forwarded();
        trial.duplicated = Some(self.duplicated);
        trial.generator_lost = self.dropped;
        if wanted.same {
            trial.say_differences(self.otherwise, self.different);
        }
        trial.stamp = Some(self.stamp());
        trial.delay_kind = Some(DelayKind::RoundTrip);
        trial.delay = Delay::of(self.times(|packet| Some(packet.back_ns?.saturating_sub(packet.due_ns?))));
        trial.service_delay =
            Delay::of(self.times(|packet| Some(packet.back_ns?.saturating_sub(packet.left_ns))));
        let cut = Cut::of(trial.duration.as_nanos() as u64, slices);
        trial.slices = self.slices(cut);
        trial.caveats.extend(cut.fewer().map(|(slices, wanted)| Caveat::FewSlices { slices, wanted }));
    }

    /// Where the times of replies were taken.
    fn stamp(&self) -> Stamp {
        if self.stamped > 0 { Stamp::Kernel } else { Stamp::App }
    }

    fn times(&self, of: impl Fn(&ClientPacket) -> Option<u64>) -> Histogram {
        let mut times = Histogram::new();
        self.packets.iter().filter_map(|(_, packet)| of(packet)).for_each(|time| times.record(time));
        times
    }

    /// A packet belongs where it was due, or where nobody said, where it left.
    fn slices(&self, cut: Cut) -> Vec<Slice> {
        let mut delays = Slices::new(cut);
        let mut counts = vec![[0; 2]; cut.slices()];
        for (_, packet) in &self.packets {
            let due_ns = self.since(packet.due_ns.unwrap_or(packet.left_ns));
            let [offered, forwarded] = &mut counts[cut.slice_of(due_ns)];
            *offered += 1;
            if let Some(back_ns) = packet.back_ns {
                *forwarded += 1;
                delays.record(due_ns, self.since(back_ns).cast_signed() - due_ns.cast_signed());
            }
        }
        let slice =
            |(at, ([offered, forwarded], delay)): (usize, ([u64; 2], &dropline_stats::Recorder))| Slice {
                duration: Duration::from_nanos(cut.length_ns(at)),
                offered,
                forwarded,
                delay: Some(delay.recorded()),
            };
        counts.into_iter().zip(delays.iter()).enumerate().map(slice).collect()
    }

    fn kept(&self, trial: &Trial, arrival: &Arrival) -> ArrivalFidelity {
        let mut departed = Departed::new();
        for left_ns in self.packets.iter().map(|(_, packet)| self.since(packet.left_ns)) {
            departed.packet(left_ns, left_ns);
        }
        let mut back: Vec<u64> = self.packets.iter().filter_map(|(_, packet)| packet.back_ns).collect();
        back.sort_unstable();
        let mut arrived = Spacing::new();
        back.iter().for_each(|&back_ns| arrived.event(self.since(back_ns)));
        let mut slept = Spacing::new();
        for (_, packet) in &self.packets {
            if let Some((asked_ns, due_ns)) = packet.asked_ns.zip(packet.due_ns) {
                slept.gap((packet.left_ns + asked_ns).saturating_sub(due_ns));
            }
        }
        let (p50_ns, p99_ns) = (self.sampled.quantile(0.5), self.sampled.quantile(0.99));
        let sampled = SampledLateness { packets: self.sampled.count(), p50_ns, p99_ns };
        let no_gaps = Spacing::new();
        let observed = Observed {
            offered: trial.offered,
            left: Some((&departed, Stamp::App)),
            // Neighbours in the order of leaving are of different clients: a sample of pairs has no gaps.
            sampled: Some((&no_gaps, sampled)),
            arrived: Some((&arrived, self.stamp())),
            thought: asked_of(arrival).map(|law| (law, &slept)),
            ..Observed::default()
        };
        ArrivalFidelity::of(arrival, trial.input, trial.seed, &observed)
    }

    /// What was ours, what the network reported, what the clocks did.
    fn doubt(&self, trial: &mut Trial) {
        let forwarded = self.forwarded();
        if u128::from(self.late_ns) > trial.input.duration.as_nanos() / 50 {
            trial.caveats.push(Caveat::GeneratorStarved { waited_ns: self.late_ns });
        }
        if self.dropped > 0 {
            trial.caveats.push(Caveat::GeneratorLost { dropped: self.dropped });
        }
        if forwarded + self.duplicated > trial.offered {
            let returned = forwarded + self.duplicated;
            trial.caveats.push(Caveat::MoreThanOffered { offered: trial.offered, forwarded: returned });
        }
        if self.stamped > 0 && forwarded > self.stamped {
            trial.caveats.push(Caveat::StampsMissing { packets: forwarded - self.stamped });
        }
        if self.foreign > 0 {
            trial.caveats.push(Caveat::ForeignPackets { packets: self.foreign });
        }
        if let Some((at_ns, error)) = self.gone_ns.zip(self.gone.keys().next()) {
            trial.caveats.push(Caveat::TargetUnreachable {
                error: error.clone(),
                at_ns: self.since(at_ns),
                refused: self.gone.keys().filter_map(|name| self.refused.get(name)).sum(),
                reports: self.gone.values().sum(),
            });
        }
        let [steps, largest_ns] = self.clock_steps;
        if steps > 0 {
            trial.caveats.push(Caveat::ClockStepped { steps, largest_ns });
        }
    }

    /// Packets in the order in which they left; a client is a stream.
    fn packet_times(&self, room: usize, reply: ClientReply) -> PacketTimes {
        let room = room.min(self.packets.len());
        let mut times = PacketTimes::with_room(room, reply != ClientReply::None);
        for ((client, packet), index) in self.packets.iter().zip(0..) {
            let left_ns = self.since(packet.left_ns);
            let due_ns = packet.due_ns.map_or(left_ns, |due_ns| self.since(due_ns));
            times.departures.push(due_ns, Some(left_ns), *client);
            if let (Some(returns), Some(back_ns)) = (&mut times.returns, packet.back_ns) {
                returns.note(index, self.since(back_ns));
            }
        }
        if let Some(returns) = &mut times.returns {
            returns.stamp = self.stamp();
        }
        times
    }

    fn since(&self, at_ns: u64) -> u64 {
        at_ns.saturating_sub(self.from_ns)
    }
}

/// The distribution that clients' sleeps were asked to have.
fn asked_of(arrival: &Arrival) -> Option<GapLaw> {
    let Pace::Closed(ClosedLoop { think, .. }) = arrival.pace() else { return None };
    match think {
        Think::Exponential(mean) => Some(GapLaw::Exponential { mean_ns: mean.as_nanos() as f64 }),
        Think::Fixed(length) => Some(GapLaw::Equal { gap_ns: length.as_nanos() as f64 }),
        Think::Tick(_) | Think::Yield => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dropline_trial::{Delay, TrialInput};

    const FROM: u64 = 1_000_000_000_000;

    /// Two clients that were to sleep 1 ms and slept 1.5 ms, a packet in turn; every tenth packet is lost.
    fn two_clients(replies: bool) -> ClosedLoopOutcome {
        let mut gathered = ClosedLoopOutcome::from(FROM, None);
        for client in 0..2u64 {
            let packets = (0..100u64)
                .map(|n| {
                    let left_ns = FROM + n * 3_000_000 + client * 1_500_000;
                    let back_ns = (replies && n % 10 != 9).then_some(left_ns + 40_000);
                    let (asked_ns, due_ns) = (Some(1_000_000), Some(left_ns.saturating_sub(500_000)));
                    ClientPacket { asked_ns, due_ns, left_ns, back_ns }
                })
                .collect();
            let stamped = if replies { 90 } else { 0 };
            gathered.add(client as usize, ClientReport { packets, stamped, ..ClientReport::default() });
        }
        gathered.in_order()
    }

    fn filled(gathered: ClosedLoopOutcome, reply: ClientReply) -> (Trial, Option<PacketTimes>) {
        let input = TrialInput { load: Rate::from_millipps(1), duration: Duration::from_millis(300) };
        let mut trial = Trial::new(1, input, 7);
        let arrival = "clients:n=2,think=1ms".parse().unwrap();
        let wanted =
            WantedOutcome { arrival: &arrival, reply, same: true, slices: None, keep_packets: Some(150) };
        let packets = gathered.fill(&mut trial, wanted);
        (trial, packets)
    }

    #[test]
    fn a_closed_loop_is_told_as_fully_as_a_schedule() {
        let (trial, packets) = filled(two_clients(true), ClientReply::Awaited);
        assert_eq!((trial.intended, trial.offered, trial.forwarded, trial.lost()), (None, 200, 180, 20));
        assert_eq!((trial.stamp, trial.duplicated), (Some(Stamp::Kernel), Some(0)));
        let of = |delay: &Delay| {
            delay.histogram.as_ref().map(|all| (all.count(), all.quantile(0.5).unwrap() / 1_000))
        };
        assert_eq!(of(&trial.lateness), Some((200, 500)));
        assert_eq!((of(&trial.delay), of(&trial.service_delay)), (Some((180, 540)), Some((180, 40))));
        let kept = trial.kept.unwrap();
        let (left, arrived) = (kept.left.unwrap(), kept.arrived.unwrap());
        assert_eq!((left.packets, left.mean_gap_ns, left.ks), (200, Some(1_500_000.0), None));
        assert_eq!((arrived.packets, arrived.stamp), (180, Stamp::Kernel));
        let thought = kept.thought.unwrap();
        assert_eq!((thought.asked_ns, thought.slept.mean_gap_ns), (1_000_000.0, Some(1_500_000.0)));
        assert_eq!(thought.slept.within_tenth, Some(0.0), "nobody slept as asked");
        let (offered, forwarded) =
            trial.slices.iter().fold((0, 0), |all, part| (all.0 + part.offered, all.1 + part.forwarded));
        assert_eq!((offered, forwarded), (200, 180));
        let packets = packets.unwrap();
        assert_eq!((packets.len(), packets.left_out()), (150, 50));
        let second = packets.get(1).unwrap();
        assert_eq!((second.stream, second.left_ns, second.back_ns), (1, Some(1_500_000), Some(1_540_000)));
        assert_eq!(packets.get(18).unwrap().back_ns, None);
    }

    #[test]
    fn where_nothing_comes_back_nothing_is_said_of_it() {
        let (trial, packets) = filled(two_clients(false), ClientReply::None);
        assert_eq!((trial.offered, trial.duplicated, trial.delay_kind), (200, None, None));
        assert_eq!((trial.delay, trial.service_delay), (Delay::default(), Delay::default()));
        assert!(trial.slices.is_empty() && trial.kept.unwrap().arrived.is_none());
        assert_eq!(packets.unwrap().returns, None);
    }

    #[test]
    fn what_clients_did_until_they_were_stopped_is_told_as_far() {
        let mut gathered = two_clients(true);
        (gathered.stopped_ns, gathered.otherwise) = (Some(150_000_000), [0, 5, 7]);
        let (trial, _) = filled(gathered, ClientReply::Awaited);
        assert!(trial.is_interrupted());
        assert_eq!((trial.duration, trial.offered), (Duration::from_millis(150), 200));
        assert_eq!(trial.input.load, Rate::pps(200.0 / 0.15).unwrap());
        assert_eq!((trial.reply_truncated, trial.reply_changed), (Some(0), Some(7)));
        assert_eq!(trial.reply_extended, Some(5));
    }

    #[test]
    fn clients_that_were_ready_when_much_of_the_trial_was_over_are_the_generators_fault() {
        let starved = |late_ns: u64| {
            let mut gathered = two_clients(true);
            gathered.add(2, ClientReport { late_ns, ..ClientReport::default() });
            let (trial, _) = filled(gathered, ClientReply::Awaited);
            trial.caveats.contains(&Caveat::GeneratorStarved { waited_ns: late_ns })
        };
        // Of a trial of 300 ms.
        assert_eq!((starved(1_000_000), starved(30_000_000), starved(400_000_000)), (false, true, true));
    }

    #[test]
    fn what_was_ours_is_said_and_not_the_targets() {
        let mut gathered = two_clients(true);
        (gathered.dropped, gathered.foreign, gathered.clock_steps) = (20, 3, [1, 9]);
        gathered.gone_ns = Some(FROM + 7);
        gathered.gone.insert("ECONNREFUSED".into(), 2);
        gathered.refused.insert("ECONNREFUSED".into(), 5);
        gathered.refused.insert("EAGAIN".into(), 1);
        let (trial, _) = filled(gathered, ClientReply::Counted);
        assert_eq!((trial.lost(), trial.generator_lost), (0, 20));
        let codes: Vec<&str> = trial.caveats.iter().map(Caveat::code).collect();
        for code in ["generator_lost", "foreign_packets", "target_unreachable", "clock_stepped"] {
            assert!(codes.contains(&code), "{code}: {codes:?}");
        }
        let gone = |caveat: &Caveat| {
            matches!(caveat, Caveat::TargetUnreachable { at_ns: 7, refused: 5, reports: 2, .. })
        };
        assert!(trial.caveats.iter().any(gone), "{:?}", trial.caveats);
    }
}

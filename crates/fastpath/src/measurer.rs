//! Trials on what is between two interfaces of this machine.

use crate::engine::{Engine, Sender};
use crate::error::LinkError;
use crate::field::Field;
use crate::frame::LONGEST;
use crate::link_end::LinkEnd;
use crate::next_hop::Answering;
use crate::one_way::{OneWay, Prepared, Turn};
use crate::options::{Counting, KnownUse, LinkOptions};
use crate::outcome::{Done, Told, whole};
use crate::performing::{LOOK, Performed, Task, perform};
use crate::sys::now_ns;
use crate::trial_watch::Ended;
use dropline_account::{Frames, Snapshot, Way, account_frames};
use dropline_payload::Tags;
use dropline_trial::{
    Caveat, Measurer, PacketTimes, Rate, TrafficProfile, Trial, TrialInput, number_of, seed,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What tells how the two interfaces are used.
pub type Usages = Box<dyn FnMut() -> [KnownUse; 2]>;

/// Performs trials: frames leave by one interface, and what comes out at the other is judged there by a program in the kernel; in one
/// direction, or in both at once.
pub struct LinkMeasurer {
    ways: Vec<OneWay>,
    /// Answers whoever asks for our addresses, where a router is between.
    _answering: Option<Answering>,
    /// How the interfaces are used, and what that was before the first trial.
    usages: Usages,
    known: [KnownUse; 2],
    /// The maps of the last trial, where frames of it may still come out.
    unsettled: Vec<Prepared>,
    /// `None` where none can be read.
    counting: Option<Box<dyn Counting>>,
    profile: TrafficProfile,
    options: LinkOptions,
    tags: Tags,
    number: u64,
    packets: Option<PacketTimes>,
}

/// Frames of a trial that have room: 32 bytes each.
const MOST: u64 = 1 << 24;
/// The judge stays so long at most after the last frame of ours that came out, where more may: the system would take them for packets
/// to it.
const STAYS: Duration = Duration::from_secs(10);
/// Frames that are tried before anything else of a trial is sent, and how long they may take at least.
const TRIED: u32 = 3;
const TRY_PPS: f64 = 1_000.0;
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// What came of the first frames.
#[derive(Clone, Copy, Default)]
struct Tried {
    came: u64,
    /// Frames of earlier trials that came out before them.
    late: u64,
}

impl LinkMeasurer {
    /// Looks at both interfaces, puts the judge in its place, and tries a few frames with what is to send.
    ///
    /// # Errors
    /// If an interface is not fit or not to be used, the privilege lacks, or nothing comes out.
    pub fn open(
        [from, to]: [&LinkEnd; 2],
        mut usages: Usages,
        profile: TrafficProfile,
        options: LinkOptions,
        counting: Option<Box<dyn Counting>>,
    ) -> Result<Self, LinkError> {
        if from == to {
            return Err(LinkError::Same(from.to_string()));
        }
        let longest = LONGEST;
        let is_routed = options.next_hops[0].is_some();
        match () {
            () if profile.packet.frame_bytes() > longest => {
                let bytes = profile.packet.frame_bytes();
                return Err(LinkError::Profile(format!(
                    "frames of {bytes} B are longer than {longest} B, the longest here"
                )));
            }
            () if profile.arrival.paces_itself() => {
                return Err(LinkError::Profile(format!(
                    "{}: frames here leave by a schedule",
                    profile.arrival
                )));
            }
            () if profile.streams.len() > 1 => {
                return Err(LinkError::Profile(
                    "frames here are one stream; flows= in the target makes more".into(),
                ));
            }
            () if profile.directions.len() > 2 => {
                return Err(LinkError::Profile(
                    "two interfaces have two directions: the first named is from the first interface to the second".into(),
                ));
            }
            () if profile.directions.len() == 2 && is_routed != options.next_hops[1].is_some() => {
                return Err(LinkError::Profile(
                    "a router between has an address on either side: in both directions write via=ITS_FIRST,ITS_SECOND, or mac= likewise"
                        .into(),
                ));
            }
            () => {}
        }
        let known = usages();
        let ends = [Arc::new(from.open()?), Arc::new(to.open()?)];
        for (port, known) in ends.iter().zip(&known) {
            refuse_used(port.port.to_string(), known, &options)?;
        }
        let room = u64::from(ends[0].seen.mtu.min(ends[1].seen.mtu));
        let ip_bytes = u64::from(profile.packet.payload_bytes()) + 8 + options.aim.ip_bytes() as u64;
        if ip_bytes > room {
            return Err(LinkError::Profile(format!(
                "packets of {ip_bytes} B do not fit these interfaces, whose MTU is {room} B"
            )));
        }
        let tags = Tags::new(profile.seed, now_ns() ^ u64::from(std::process::id()) << 32);
        let of_none = tags.of_trial(options.first_trial.wrapping_sub(1));
        let [first, second] = ends.each_ref();
        let ways = [
            ([first, second], Way::Out, options.aim.clone()),
            ([second, first], Way::Back, options.aim.back()),
        ];
        let answering = is_routed
            .then(|| Answering::of([first, second], &options.aim, profile.directions.len() == 2))
            .transpose()?;
        let ways = ways.iter().zip(&options.next_hops).zip(&profile.directions);
        let ways = ways.map(|(((ends, way, aim), next_hop), direction)| {
            let packet = (profile.packet, of_none);
            OneWay::open((&direction.name, *way), *ends, aim, *next_hop, packet, &options.stop)
        });
        let ways = ways.collect::<Result<Vec<_>, _>>()?;
        let number = options.first_trial;
        let mut measurer = Self {
            ways,
            _answering: answering,
            usages,
            known,
            unsettled: Vec::new(),
            packets: None,
            counting,
            profile,
            options,
            tags,
            number,
        };
        (0..measurer.ways.len()).try_for_each(|way| measurer.choose(way))?;
        Ok(measurer)
    }

    /// In words: what sends and what judges, and why nothing better.
    pub fn means(&self) -> String {
        let mut means: Vec<String> = self.ways.iter().map(OneWay::means).collect();
        means.dedup();
        match means.as_slice() {
            [one] => one.clone(),
            each => {
                let each = self.ways.iter().zip(each).map(|(one, means)| format!("{}: {means}", one.name));
                each.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Takes the best engine of which a few frames come out.
    fn choose(&mut self, way: usize) -> Result<(), LinkError> {
        if self.options.engine != Engine::Packet {
            let why = match self.try_live(way) {
                Ok(None) => return Ok(()),
                Ok(Some(why)) => why,
                Err(LinkError::System { why, .. }) => why.to_string(),
                Err(why) => return Err(why),
            };
            if self.options.engine == Engine::Xdp {
                return Err(self.ways[way].without(Engine::Xdp, why));
            }
            let one = &mut self.ways[way];
            one.instead = Some(why);
            one.sender = Sender::packets(&one.from)?;
        }
        match self.try_frames(way)?.came {
            0 => Err(self.nothing_came(way)),
            _ => Ok(()),
        }
    }

    /// Lets the kernel make a few frames; why it cannot be what sends.
    fn try_live(&mut self, way: usize) -> Result<Option<String>, LinkError> {
        if let Some(what) = &self.known[way].in_front {
            return Ok(Some(format!(
                "frames made there would pass by {what}, which is in front of the interface where they leave"
            )));
        }
        self.ways[way].make_live()?;
        Ok(match self.try_frames(way)?.came {
            0 => Some(
                "none of a few live frames came out. The driver of the interface where they leave may not take them; one of a veth pair \
                 does so where its other end has GRO on (ethtool -K OTHER_END gro on)"
                    .into(),
            ),
            _ => None,
        })
    }

    /// How many of a few frames come out, and how long the slowest took. They are sent before anything else is: what is behind the
    /// interface where they leave, and not before the other, gets no more than these. They are waited for as long as frames of earlier
    /// trials still come out before them.
    fn try_frames(&mut self, way: usize) -> Result<Tried, LinkError> {
        let load = Rate::pps(TRY_PPS).map_err(|why| LinkError::Profile(why.to_string()))?;
        let gap_ns = (1e9 / TRY_PPS) as u64;
        let due_ns: Vec<u64> = (0..u64::from(TRIED)).map(|index| index * gap_ns).collect();
        let input = TrialInput { load, duration: Duration::from_nanos(gap_ns * u64::from(TRIED)) };
        // Of trial 0, which there is not.
        let turn = Turn { tag: self.tags.of_trial(self.options.first_trial.wrapping_sub(1)), ..self.turn() };
        let prepared = self.ways[way].prepare(turn, due_ns)?;
        let task = Task { one: &self.ways[way], prepared: &prepared, input };
        let performed = perform(&[task], &self.options.stop, None)?.pop();
        if let Some(why) = performed.and_then(|done| done.ended).and_then(|ended| ended.astray) {
            return Err(LinkError::Astray(why));
        }
        let (mut seen, mut last) = (prepared.seen(), Instant::now());
        let mut tried = Tried::default();
        while tried.came == 0 && !self.is_stopped() {
            if last.elapsed() > self.patience() && !(last.elapsed() < STAYS && self.waits()) {
                break;
            }
            std::thread::sleep(LOOK);
            tried.came = prepared.maps.get(Field::Unique);
            if prepared.seen() != seen {
                (seen, last) = (prepared.seen(), Instant::now());
            }
        }
        if self.is_stopped() {
            return Err(LinkError::Interrupted);
        }
        tried.late = prepared.maps.get(Field::Late);
        let took = |index| Some(prepared.maps.arrived(index)?.saturating_sub(prepared.maps.departed(index)?));
        let slowest = (0..prepared.due_ns.len()).filter_map(took).max().unwrap_or(0);
        // Behind those of an earlier trial it is their wait.
        if tried.late == 0 {
            self.ways[way].slowest = Duration::from_nanos(slowest);
        }
        Ok(tried)
    }

    /// How long nothing may come out before the first frames are given up.
    fn patience(&self) -> Duration {
        self.profile.drain.longest.max(LEAST_WAIT)
    }

    fn nothing_came(&self, way: usize) -> LinkError {
        LinkError::NothingCame {
            sent: number_of(TRIED, "frame"),
            from: self.ways[way].from.port.to_string(),
            to: self.ways[way].to.port.to_string(),
            waited: self.patience(),
        }
    }

    /// The tag of the next trial.
    fn turn(&self) -> Turn {
        Turn {
            tag: self.tags.of_trial(self.number),
            earlier: self.number.wrapping_add(1).saturating_sub(self.options.first_trial),
        }
    }

    fn read(&mut self) -> Snapshot {
        self.counting.as_mut().map(|counting| counting.read()).unwrap_or_default()
    }

    /// What sends frames elsewhere than before the first trial, in words.
    fn frame_path(&mut self) -> Option<String> {
        self.counting.as_mut().and_then(|counting| counting.frame_path().astray)
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    fn waits(&mut self) -> bool {
        self.counting.as_mut().is_some_and(|counting| counting.waiting() > 0)
    }

    /// Waits for frames that are on their way: until all came, or none did for longer than the slowest of the first frames took and
    /// none waits in a queue. Says whether more may still come.
    fn drain(&mut self, prepared: &[Prepared], offered: u64) -> bool {
        let drain = self.profile.drain;
        let slowest = self.ways.iter().map(|one| one.slowest).max().unwrap_or_default();
        let unique = || prepared.iter().map(|one| one.maps.get(Field::Unique)).sum::<u64>();
        let begun = Instant::now();
        let (mut seen, mut last) = (0, begun);
        while begun.elapsed() < drain.longest && !self.is_stopped() {
            let unique = unique();
            if unique != seen {
                (seen, last) = (unique, Instant::now());
            }
            if let Some(quiet) = drain.quiet {
                let is_quiet = last.elapsed() >= quiet + slowest;
                if unique >= offered || is_quiet && !self.waits() {
                    return false;
                }
            }
            std::thread::sleep(LOOK);
        }
        let is_quiet = last.elapsed() >= drain.quiet.unwrap_or_default() + slowest;
        unique() < offered && (!is_quiet || self.waits())
    }

    /// Says in the trial of one direction where its frames were lost.
    fn account(&self, told: &mut Told, grown: &mut Snapshot, (way, lessons): (Way, u64)) {
        let trial = &mut told.trial;
        let frames = Frames {
            offered: trial.offered,
            forwarded: trial.forwarded,
            truncated: trial.reply_truncated.unwrap_or(0),
            extended: trial.reply_extended.unwrap_or(0),
            changed: trial.reply_changed.unwrap_or(0),
            refused: trial.refused.values().sum(),
            beside: lessons,
        };
        let last = self.counting.as_ref().and_then(|counting| counting.last(way));
        let (generator_lost, account) = account_frames(&frames, grown, last, way);
        trial.generator_lost = generator_lost;
        trial.caveats.extend(account.caveats);
        trial.lost_at = Some(account.lost_at);
    }

    /// The load of each direction: its share, the last one what is left.
    fn inputs(&self, input: TrialInput) -> Vec<TrialInput> {
        let parts = &self.profile.directions;
        let all: u128 = parts.iter().map(|part| u128::from(part.share)).sum();
        let mut left = input.load.as_millipps();
        let each = parts.iter().enumerate().map(|(at, part)| {
            let share = u128::from(input.load.as_millipps()) * u128::from(part.share) / all.max(1);
            let load = if at + 1 == parts.len() { left } else { (share as u64).min(left) };
            left -= load;
            TrialInput { load: Rate::from_millipps(load), ..input }
        });
        each.collect()
    }

    /// The departures of a trial in one direction.
    fn due(&self, input: TrialInput, seed: u64) -> Result<Vec<u64>, LinkError> {
        let most = MOST / self.ways.len() as u64;
        let expected = input.load.packets_in(input.duration);
        if expected > most + most / 4 {
            return Err(LinkError::Frames { frames: expected, most });
        }
        let departures = self.profile.arrival.departures(input, seed);
        let due_ns: Vec<u64> = departures.take(most as usize + 1).collect();
        match due_ns.len() as u64 {
            0 => Err(LinkError::Frames { frames: 0, most }),
            frames if frames > most => Err(LinkError::Frames { frames: expected.max(frames), most }),
            _ => Ok(due_ns),
        }
    }

    /// Before any trial but the first: the interfaces are used as they were, and frames come out. Of each direction, how many came of
    /// earlier trials.
    fn make_sure_of_the_way(&mut self) -> Result<Vec<u64>, LinkError> {
        if self.number == self.options.first_trial {
            return Ok(vec![0; self.ways.len()]);
        }
        for (end, known) in [&self.ways[0].from, &self.ways[0].to].into_iter().zip(&self.known) {
            refuse_used(end.port.to_string(), known, &self.options)?;
        }
        let mut late = Vec::new();
        for way in 0..self.ways.len() {
            let tried = self.try_frames(way)?;
            if tried.came == 0 {
                return Err(self.nothing_came(way));
            }
            late.push(tried.late);
        }
        Ok(late)
    }

    /// The maps of each direction, with its schedule.
    fn prepare(&mut self, inputs: &[TrialInput], trial_seed: u64) -> Result<Vec<Prepared>, LinkError> {
        let prepare = |(way, &input): (usize, &TrialInput)| {
            let seed = if way == 0 { trial_seed } else { seed::of_trial(trial_seed, way as u64) };
            let (turn, due_ns) = (self.turn(), self.due(input, seed)?);
            self.ways[way].prepare(turn, due_ns)
        };
        inputs.iter().enumerate().map(prepare).collect()
    }

    /// A trial whose interfaces changed, or whose frames come to be led elsewhere, ended no later than that was seen.
    fn look_at_ends(&mut self, performed: &mut [Performed], duration: Duration) {
        if performed.iter().any(|done| done.ended.is_some()) {
            return;
        }
        let gone = [&self.ways[0].from, &self.ways[0].to].into_iter().find_map(|end| end.changed());
        let gone = gone.or_else(|| self.frame_path());
        let at_ns = duration.as_nanos() as u64;
        let ended = gone.map(|how| Ended { at_ns, astray: Some(how) });
        performed.iter_mut().for_each(|done| done.ended.clone_from(&ended));
    }

    /// What each direction came to, before it is said where its frames were lost.
    fn tell(
        &self,
        of: &Directions<'_>,
        performed: Vec<Performed>,
        mut packets: Option<&mut PacketTimes>,
    ) -> Vec<Told> {
        let mut told = Vec::new();
        for (way, done) in performed.into_iter().enumerate() {
            let (one, prepared) = (&self.ways[way], &of.prepared[way]);
            let mut trial = Trial::new(of.number, of.inputs[way], of.trial_seed);
            (trial.refused, trial.duration) = (done.refused, of.lasted);
            let done = Done {
                maps: &prepared.maps,
                due_ns: &prepared.due_ns,
                epoch_ns: prepared.maps.epoch().unwrap_or(0),
                ended: of.ended[way].as_ref(),
                slices: self.options.slices,
                arrival: &self.profile.arrival,
            };
            let names = (one.name.as_str(), one.from.port.interface());
            told.push(done.tell(names, trial, packets.as_deref_mut()));
        }
        told
    }

    /// Frames that taught a bridge during the trial, on the way of this direction: lessons go the other way; where nobody tells which
    /// way things go, with the frames.
    fn lessons(&self, way: usize, taught: &[u64]) -> u64 {
        let is_alone = self.ways.len() == 1;
        let with_frames = self.ways.iter().zip(taught);
        let with_frames = with_frames.filter(|(other, _)| other.way != self.ways[way].way || is_alone);
        with_frames.map(|(other, before)| other.taught() - before).sum()
    }

    /// What became of how the interfaces are used, in words, where that is not what it was before the first trial.
    fn changed_use(&mut self) -> Option<String> {
        let now = (self.usages)();
        let ends = [&self.ways[0].from, &self.ways[0].to];
        let changes = now.iter().zip(&self.known).zip(ends).find_map(|((now, before), end)| {
            let port = &end.port;
            match (&now.used, &now.in_front) {
                (Some(how), _) if now.used != before.used => Some(format!("{port} {how}")),
                (None, _) if before.used.is_some() => {
                    Some(format!("{port} is not used any more as it was before the trial"))
                }
                (_, Some(what)) if now.in_front != before.in_front => {
                    Some(format!("{what} in front of {port}"))
                }
                _ => None,
            }
        });
        self.known = now;
        changes
    }
}

/// What is known of each direction of a trial that was performed.
struct Directions<'a> {
    number: u64,
    trial_seed: u64,
    inputs: &'a [TrialInput],
    prepared: &'a [Prepared],
    ended: &'a [Option<Ended>],
    lasted: Duration,
}

/// What ended each direction before its time, and how long the trial lasted: all directions are cut alike.
fn ends(
    performed: &mut [Performed],
    prepared: &[Prepared],
    duration: Duration,
) -> (Vec<Option<Ended>>, Duration) {
    let end = |(done, prepared): (&mut Performed, &Prepared)| {
        done.ended.take().map(|one| one.not_before_what_came(&prepared.maps))
    };
    let ended: Vec<_> = performed.iter_mut().zip(prepared).map(end).collect();
    let lasted = ended.iter().flatten().map(|one| one.at_ns.max(1)).max().map(Duration::from_nanos);
    (ended, lasted.map_or(duration, |lasted| lasted.min(duration)))
}

/// Refuses an interface that others use, where they mind.
fn refuse_used(port: String, known: &KnownUse, options: &LinkOptions) -> Result<(), LinkError> {
    match known.used.clone().filter(|_| !options.though_used) {
        Some(how) => Err(LinkError::InUse { port, how }),
        None => Ok(()),
    }
}

impl Drop for LinkMeasurer {
    /// What comes out late is taken by the judge, as long as any does: whatever is on the interface, or behind it, gets none.
    fn drop(&mut self) {
        let unsettled = std::mem::take(&mut self.unsettled);
        let seen = || unsettled.iter().map(Prepared::seen).sum::<u64>();
        let slowest = self.ways.iter().map(|one| one.slowest).max().unwrap_or_default();
        let quiet = self.profile.drain.quiet.unwrap_or_default().max(Duration::from_millis(100)) + slowest;
        let (mut counted, mut last) = (seen(), Instant::now());
        while !unsettled.is_empty() && last.elapsed() < STAYS.max(self.profile.drain.longest) {
            if self.is_stopped() && last.elapsed() > quiet || last.elapsed() > quiet && !self.waits() {
                return;
            }
            std::thread::sleep(5 * LOOK);
            if seen() != counted {
                (counted, last) = (seen(), Instant::now());
            }
        }
    }
}

impl Measurer for LinkMeasurer {
    type Error = LinkError;

    fn measure(&mut self, input: TrialInput) -> Result<Trial, LinkError> {
        let begun = Instant::now();
        if self.is_stopped() {
            return Err(LinkError::Interrupted);
        }
        let late = self.make_sure_of_the_way()?;
        // What was tried takes of a bucket too, and waits in a queue.
        std::thread::sleep(self.profile.drain.rest);
        self.unsettled.clear();
        let number = self.number;
        let trial_seed = self.profile.trial_seed(number);
        let inputs = self.inputs(input);
        let taught: Vec<u64> = self.ways.iter().map(OneWay::taught).collect();
        let prepared = self.prepare(&inputs, trial_seed)?;
        if let Some(astray) = self.frame_path() {
            return Err(LinkError::Astray(astray));
        }
        let before = self.read();
        let tasks = self.ways.iter().zip(&prepared).zip(&inputs);
        let tasks: Vec<Task<'_>> =
            tasks.map(|((one, prepared), &input)| Task { one, prepared, input }).collect();
        let mut performed = perform(&tasks, &self.options.stop, self.counting.as_deref_mut())?;
        self.number += 1;
        let refused: u64 = performed.iter().flat_map(|done| done.refused.values()).sum();
        let left: u64 = prepared.iter().map(|one| one.maps.get(Field::Next)).sum();
        let is_unsettled = self.drain(&prepared, left.saturating_sub(refused));
        self.look_at_ends(&mut performed, input.duration);
        let mut grown = self.read().since(&before);
        let (ended, lasted) = ends(&mut performed, &prepared, input.duration);
        // Which direction a frame is of has no room there.
        let mut packets = (self.options.keep_packets > 0 && prepared.len() == 1)
            .then(|| PacketTimes::with_room(self.options.keep_packets.min(prepared[0].due_ns.len()), true));
        let of =
            Directions { number, trial_seed, inputs: &inputs, prepared: &prepared, ended: &ended, lasted };
        let mut told = self.tell(&of, performed, packets.as_mut());
        for (way, one_told) in told.iter_mut().enumerate() {
            one_told.trial.late = one_told.trial.late.map(|more| more + late[way]);
            let lessons = self.lessons(way, &taught);
            self.account(one_told, &mut grown, (self.ways[way].way, lessons));
        }
        let mut trial = whole(input, told);
        if let Some(ended) = ended.into_iter().flatten().find(|_| trial.offered == 0) {
            return Err(ended.astray.map_or(LinkError::Interrupted, LinkError::Astray));
        }
        if let Some(rule) = self.changed_use() {
            trial.caveats.push(Caveat::RuleAppeared { rule });
        }
        self.packets = packets;
        if trial
            .lost_at
            .as_ref()
            .and_then(|places| places.get("unexplained"))
            .is_some_and(|&frames| frames > 0)
        {
            trial.caveats.extend(self.counting.iter().flat_map(|counting| counting.unseen()));
        }
        let doubts = [trial.doubted_loss(), trial.doubted_delays()];
        trial.caveats.extend(doubts.into_iter().flatten());
        if is_unsettled {
            self.unsettled = prepared;
        }
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.packets.take()
    }
}

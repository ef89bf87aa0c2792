//! Trials on what is between two interfaces of this machine.

use crate::engine::{Engine, Sender, Times};
use crate::error::LinkError;
use crate::field::Field;
use crate::frame::{Frame, LONGEST, learning};
use crate::judge::Judge;
use crate::link_end::{LinkEnd, Opened};
use crate::lookout::{Ended, Lookout, Over};
use crate::maps::Maps;
use crate::next_hop::{Answering, written};
use crate::options::{Counting, Known, LinkOptions};
use crate::outcome::Done;
use crate::sys::{FrameSocket, now_ns};
use dropline_account::{Frames, Snapshot, account_frames};
use dropline_payload::{Tag, Tags};
use dropline_trial::{
    Arrival, Caveat, Measurer, PacketTimes, Rate, TrafficProfile, Trial, TrialInput, number_of,
};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Performs trials: frames leave by one interface, and what comes out at the other is judged there by a program in the kernel.
pub struct LinkMeasurer {
    from: Opened,
    to: Opened,
    sender: Sender,
    /// The hardware address that frames are for.
    hop: [u8; 6],
    /// Answers whoever asks for ours, where a router is between.
    _answering: Option<Answering>,
    /// Why a better engine is not used.
    instead: Option<String>,
    /// What the slowest of the first frames took.
    slowest: Duration,
    /// Whether frames of the last trial still waited in a queue when it ended.
    is_queued: bool,
    judge: Judge,
    /// Where a bridge is told from that `to` is behind its port.
    teacher: FrameSocket,
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
/// The judge stays so long at most for what waits in a queue after the last trial: the system would take that for packets to it.
const STAYS: Duration = Duration::from_secs(10);
/// A look at how far the trial is.
const LOOK: Duration = Duration::from_millis(2);
/// Frames that are tried before anything else of a trial is sent, and how long they may take at least.
const TRIED: u32 = 3;
const TRY_PPS: f64 = 1_000.0;
const LEAST_WAIT: Duration = Duration::from_secs(1);

impl LinkMeasurer {
    /// Looks at both interfaces, puts the judge in its place, and tries a few frames with what is to send.
    ///
    /// # Errors
    /// If an interface is not fit or not to be used, the privilege lacks, or nothing comes out.
    pub fn open(
        [(from, of_first), (to, of_second)]: [(&LinkEnd, Known); 2],
        profile: TrafficProfile,
        options: LinkOptions,
        counting: Option<Box<dyn Counting>>,
    ) -> Result<Self, LinkError> {
        if from == to {
            return Err(LinkError::Same(from.to_string()));
        }
        let longest = LONGEST;
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
            () if profile.streams.len() > 1 || profile.directions.len() > 1 => {
                return Err(LinkError::Profile("frames here are one stream in one direction".into()));
            }
            () => {}
        }
        let (from, to) = (from.open()?, to.open()?);
        for (port, known) in [(&from, &of_first), (&to, &of_second)] {
            if let Some(how) = known.used.clone() {
                return Err(LinkError::InUse { port: port.port.to_string(), how });
            }
        }
        let room = u64::from(from.seen.mtu.min(to.seen.mtu));
        let ip_bytes = u64::from(profile.packet.payload_bytes()) + 28;
        if ip_bytes > room {
            return Err(LinkError::Profile(format!(
                "packets of {ip_bytes} B do not fit these interfaces, whose MTU is {room} B"
            )));
        }
        let tags = Tags::new(profile.seed, now_ns() ^ u64::from(std::process::id()) << 32);
        let maps = Maps::new(1).map_err(LinkError::of("making a BPF map", "CAP_BPF and CAP_NET_ADMIN"))?;
        // Until the first trial nothing has its tag.
        maps.set(Field::Tag, tags.of_trial(options.first_trial.wrapping_sub(1)).0.into());
        let judge = Judge::at(&to, &maps)?;
        let teacher = to.space.inside(|| FrameSocket::open(to.seen.index))?;
        let teacher = teacher.map_err(LinkError::of("opening a raw socket", "CAP_NET_RAW"))?;
        let (hop, answering) = match options.next_hop {
            None => (to.hardware, None),
            Some(next) => {
                let answering = Answering::of([&from, &to], &options.aim)?;
                (next.find(&from, &options.aim, &options.stop)?, Some(answering))
            }
        };
        let number = options.first_trial;
        let mut measurer = Self {
            sender: Sender::packets(&from)?,
            hop,
            _answering: answering,
            instead: None,
            slowest: Duration::ZERO,
            is_queued: false,
            packets: None,
            from,
            to,
            judge,
            teacher,
            counting,
            profile,
            options,
            tags,
            number,
        };
        measurer.choose(of_first.in_front)?;
        Ok(measurer)
    }

    /// In words: what sends and what judges, and why nothing better.
    pub fn means(&self) -> String {
        let sender = match self.sender {
            Sender::Live(_) => "frames made and paced in the kernel (BPF_PROG_RUN, live frames)",
            Sender::Packets(_) => "frames sent by a raw socket (packet(7), sendmmsg)",
        };
        let instead =
            self.instead.as_ref().map(|why| format!("; not made in the kernel: {why}")).unwrap_or_default();
        let hop =
            self.options.next_hop.map(|_| format!(", by way of {}", written(self.hop))).unwrap_or_default();
        format!("{sender}{hop}, {}{instead}", self.judge.words())
    }

    /// Takes the best engine of which a few frames come out.
    fn choose(&mut self, passed_by: Option<String>) -> Result<(), LinkError> {
        if self.options.engine != Engine::Packet {
            let why = match self.try_live(passed_by) {
                Ok(None) => return Ok(()),
                Ok(Some(why)) => why,
                Err(LinkError::System { why, .. }) => why.to_string(),
                Err(why) => return Err(why),
            };
            if self.options.engine == Engine::Xdp {
                let (from, to) = (self.from.port.to_string(), self.to.port.to_string());
                return Err(LinkError::Engine { engine: "xdp", from, to, why });
            }
            self.instead = Some(why);
            self.sender = Sender::packets(&self.from)?;
        }
        match self.try_frames()? {
            0 => Err(self.nothing_came()),
            _ => Ok(()),
        }
    }

    /// Lets the kernel make a few frames; why it cannot be what sends.
    fn try_live(&mut self, passed_by: Option<String>) -> Result<Option<String>, LinkError> {
        if let Some(what) = passed_by {
            return Ok(Some(format!(
                "frames made there would pass by {what}, which is in front of the first interface"
            )));
        }
        self.sender = Sender::live(&self.from)?;
        Ok(match self.try_frames()? {
            0 => Some(
                "none of a few live frames came out. The driver of the first interface may not take them; one of a veth pair does so \
                 where its other end has GRO on (ethtool -K OTHER_END gro on)"
                    .into(),
            ),
            _ => None,
        })
    }

    /// How many of a few frames come out, and how long the slowest took. They are sent before anything else is: what is behind the first
    /// interface, and not before the second, gets no more than these.
    fn try_frames(&mut self) -> Result<u64, LinkError> {
        let load = Rate::pps(TRY_PPS).map_err(|why| LinkError::Profile(why.to_string()))?;
        let gap_ns = (1e9 / TRY_PPS) as u64;
        let due_ns: Vec<u64> = (0..u64::from(TRIED)).map(|index| index * gap_ns).collect();
        let input = TrialInput { load, duration: Duration::from_nanos(gap_ns * u64::from(TRIED)) };
        // Of trial 0, which there is not.
        let tag = self.tags.of_trial(self.options.first_trial.wrapping_sub(1));
        let prepared = self.prepare(tag, &due_ns)?;
        if let Some(why) = self.perform(&prepared, input)?.ended.and_then(|ended| ended.astray) {
            return Err(LinkError::Astray(why));
        }
        let until = Instant::now() + self.profile.drain.longest.max(LEAST_WAIT);
        let came = || prepared.maps.get(Field::Unique);
        while came() == 0 && Instant::now() < until && !self.is_stopped() {
            std::thread::sleep(LOOK);
        }
        if self.is_stopped() {
            return Err(LinkError::Interrupted);
        }
        let took = |index| Some(prepared.maps.arrived(index)?.saturating_sub(prepared.maps.departed(index)?));
        self.slowest = Duration::from_nanos((0..due_ns.len()).filter_map(took).max().unwrap_or(0));
        Ok(came())
    }

    fn nothing_came(&self) -> LinkError {
        LinkError::NothingCame {
            sent: number_of(TRIED, "frame"),
            from: self.from.port.to_string(),
            to: self.to.port.to_string(),
            waited: self.profile.drain.longest.max(LEAST_WAIT),
        }
    }

    fn read(&mut self) -> Snapshot {
        self.counting.as_mut().map(|counting| counting.read()).unwrap_or_default()
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.load(Ordering::Relaxed)
    }

    /// Maps that hold all frames of a trial, and a judge that knows them.
    fn prepare(&self, tag: Tag, due_ns: &[u64]) -> Result<Prepared, LinkError> {
        let maps = Maps::new(due_ns.len() as u32)
            .map_err(LinkError::of("making a BPF map", "CAP_BPF and CAP_NET_ADMIN"))?;
        let frame = Frame::new(self.from.hardware, self.hop, &self.options.aim, self.profile.packet, tag);
        maps.expect(
            &frame,
            self.to.hardware,
            tag,
            self.number.wrapping_add(1).saturating_sub(self.options.first_trial),
        );
        (0..due_ns.len()).for_each(|index| maps.set_word(index, Frame::word(tag, index as u64)));
        self.judge.turn_to(&maps)?;
        self.teacher.send(&[self.lesson()]);
        due_ns.iter().enumerate().for_each(|(index, due_ns)| maps.set_due(index, *due_ns));
        maps.set(Field::Count, due_ns.len() as u64);
        Ok(Prepared { maps, frame })
    }

    /// What tells a bridge where the second interface is.
    fn lesson(&self) -> Vec<u8> {
        learning(self.to.hardware, self.from.hardware, self.options.aim.vlan)
    }

    /// Sends them; what the system refused, and the end of the trial where that is before its time.
    fn perform(&self, prepared: &Prepared, input: TrialInput) -> Result<Performed, LinkError> {
        let Prepared { maps, frame } = prepared;
        let end_ns = input.duration.as_nanos() as u64;
        let give_up = (input.duration / 100).max(Duration::from_millis(25));
        let times = Times { end_ns, give_up_ns: end_ns + give_up.as_nanos() as u64, load: input.load };
        let mut lookout = Lookout::new(Over {
            ends: [&self.from, &self.to],
            maps,
            teacher: &self.teacher,
            lesson: self.lesson(),
            stop: &self.options.stop,
            slowest: self.slowest,
        });
        std::thread::scope(|scope| {
            let (sender, from) = (&self.sender, &self.from);
            let send = move || sender.send(maps, frame, from, times);
            let sending = std::thread::Builder::new().name("sender".into()).spawn_scoped(scope, send);
            let sending = sending.map_err(LinkError::Thread)?;
            let mut ended = None;
            while !sending.is_finished() {
                if ended.is_none() {
                    ended = lookout.look();
                    maps.set(Field::Stop, maps.get(Field::Stop) | u64::from(ended.is_some()));
                }
                std::thread::sleep(LOOK);
            }
            let sent = sending.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match ended.or_else(|| lookout.look_at_ends()) {
                // What the system said of an interface that is not there any more is known by that.
                Some(ended) => Ok(Performed { refused: sent.unwrap_or_default(), ended: Some(ended) }),
                None => Ok(Performed { refused: sent?, ended: None }),
            }
        })
    }

    /// Waits for frames that are on their way: until all came, or none did for longer than the slowest of the first frames took and
    /// none waits in a queue.
    fn drain(&mut self, maps: &Maps, offered: u64) {
        let drain = self.profile.drain;
        let begun = Instant::now();
        let (mut seen, mut last) = (0, begun);
        while begun.elapsed() < drain.longest && !self.is_stopped() {
            let unique = maps.get(Field::Unique);
            if unique != seen {
                (seen, last) = (unique, Instant::now());
            }
            if let Some(quiet) = drain.quiet {
                let is_quiet = last.elapsed() >= quiet + self.slowest;
                if unique >= offered || is_quiet && self.counting.as_mut().is_none_or(|it| it.waiting() == 0)
                {
                    return;
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Says in the trial where its frames were lost.
    fn account(&mut self, trial: &mut Trial, grown: &Snapshot) {
        let frames = Frames {
            offered: trial.offered,
            forwarded: trial.forwarded,
            truncated: trial.reply_truncated.unwrap_or(0),
            extended: trial.reply_extended.unwrap_or(0),
            changed: trial.reply_changed.unwrap_or(0),
            refused: trial.refused.values().sum(),
        };
        let (generator_lost, account) =
            account_frames(&frames, grown, self.counting.as_ref().and_then(|counting| counting.last()));
        trial.generator_lost = generator_lost;
        if generator_lost > 0 {
            trial.caveats.push(Caveat::GeneratorLost { dropped: generator_lost });
        }
        self.is_queued = account.caveats.iter().any(|caveat| matches!(caveat, Caveat::StillQueued { .. }));
        trial.caveats.extend(account.caveats);
        if account.lost_at.get("unexplained").is_some_and(|&frames| frames > 0) {
            trial.caveats.extend(self.counting.iter().flat_map(|counting| counting.unseen()));
        }
        trial.lost_at = Some(account.lost_at);
        let doubts = [trial.doubted_loss(), trial.doubted_delays()];
        trial.caveats.extend(doubts.into_iter().flatten());
    }

    /// The departures of a trial.
    fn due(&self, arrival: &Arrival, input: TrialInput, seed: u64) -> Result<Vec<u64>, LinkError> {
        let most = MOST;
        let expected = input.load.packets_in(input.duration);
        if expected > most + most / 4 {
            return Err(LinkError::Frames { frames: expected, most });
        }
        let due_ns: Vec<u64> = arrival.departures(input, seed).take(most as usize + 1).collect();
        match due_ns.len() as u64 {
            0 => Err(LinkError::Frames { frames: 0, most }),
            frames if frames > most => Err(LinkError::Frames { frames: expected.max(frames), most }),
            _ => Ok(due_ns),
        }
    }
}

/// What was done while frames left.
struct Performed {
    refused: BTreeMap<String, u64>,
    ended: Option<Ended>,
}

/// A trial that can begin.
struct Prepared {
    maps: Maps,
    frame: Frame,
}

impl Drop for LinkMeasurer {
    fn drop(&mut self) {
        let until = Instant::now() + STAYS.max(self.profile.drain.longest);
        let is_queued = self.is_queued && !self.is_stopped();
        let mut waits = || self.counting.as_mut().is_some_and(|counting| counting.waiting() > 0);
        while is_queued && Instant::now() < until && waits() {
            std::thread::sleep(10 * LOOK);
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
        let number = self.number;
        if number != self.options.first_trial && self.try_frames()? == 0 {
            return Err(self.nothing_came());
        }
        let mut trial = Trial::new(number, input, self.profile.trial_seed(number));
        let due_ns = self.due(&self.profile.arrival, input, trial.seed)?;
        let prepared = self.prepare(self.tags.of_trial(number), &due_ns)?;
        let before = self.read();
        let Performed { refused, mut ended } = self.perform(&prepared, input)?;
        self.number += 1;
        let offered = prepared.maps.get(Field::Next).saturating_sub(refused.values().sum());
        self.drain(&prepared.maps, offered);
        if let Some(how) = self.to.changed().filter(|_| ended.is_none()) {
            ended = Some(Ended { at_ns: input.duration.as_nanos() as u64, astray: Some(how) });
        }
        let ended = ended.map(|ended| ended.not_before_what_came(&prepared.maps));
        let grown = self.read().since(&before);
        trial.refused = refused;
        let keep = self.options.keep_packets;
        let mut packets = (keep > 0).then(|| PacketTimes::with_room(keep.min(due_ns.len()), true));
        let done = Done {
            maps: &prepared.maps,
            due_ns: &due_ns,
            epoch_ns: prepared.maps.epoch().unwrap_or(0),
            ended: ended.as_ref(),
            slices: self.options.slices,
            leaves_by: self.from.port.interface(),
            arrival: &self.profile.arrival,
        };
        done.tell(&mut trial, packets.as_mut());
        if let Some(ended) = ended.filter(|_| trial.offered == 0) {
            return Err(ended.astray.map_or(LinkError::Interrupted, LinkError::Astray));
        }
        self.packets = packets;
        self.account(&mut trial, &grown);
        std::thread::sleep(self.profile.drain.rest);
        trial.elapsed = begun.elapsed();
        Ok(trial)
    }

    fn take_packets(&mut self) -> Option<PacketTimes> {
        self.packets.take()
    }
}

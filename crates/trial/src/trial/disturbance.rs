//! What our own side did to a trial, and which of its losses may come of that.
//!
//! A queue that serves in order loses at most one packet more for each packet that comes at another time than it was
//! due. So of the packets lost, as many may be our doing as left late in lumps; and a target that others kept from its
//! CPU loses no more for that than it was sent in as long. The others are the target's, whatever we did.

use crate::direction::host_and_place;
use crate::{Caveat, Delay, Ratio, Trial, TrialInput};
use std::time::Duration;

/// How a trial's departures were disturbed by our own side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disturbance {
    /// Packets that left behind a pause of the sender, later than [`Disturbance::forgiven`].
    pub displaced: u64,
    /// How long the sender waited for a CPU, where it fell behind by that: others had the CPUs, and may have kept them
    /// from the target too.
    pub waited: Duration,
}

impl Disturbance {
    /// Lateness that is no failing: ten packets in one lump is what a queue notices, and a shared machine pauses for
    /// a millisecond now and then.
    pub fn forgiven(input: TrialInput) -> Duration {
        Duration::from_millis(1).max(Self::gap(input) * 10)
    }

    /// After a longer pause the sender does not catch up: what fell due meanwhile is not offered.
    ///
    /// A busy real-time thread is stopped for 50 ms of each second where others want its CPU
    /// (`kernel.sched_rt_runtime_us`): that much is caught up.
    pub fn given_up(input: TrialInput) -> Duration {
        Duration::from_millis(75).max(Self::gap(input) * 10)
    }

    /// Mean time between two packets.
    fn gap(input: TrialInput) -> Duration {
        Duration::from_nanos(1_000_000_000_000 / input.load.as_millipps().max(1))
    }
}

/// Packets of so many that are sent in a part of the time.
fn sent_in(part: Duration, offered: u64, duration: Duration) -> u64 {
    let sent = u128::from(offered) * part.as_nanos() / duration.as_nanos().max(1);
    u64::try_from(sent).unwrap_or(u64::MAX)
}

/// Places of a loss that is neither the target's nor the load's doing.
const DOWN: &str = "link_down";
const WENT_WITH_IT: [&str; 2] = ["no_route", "neighbour"];
const LED_AWAY: &str = "led_away";
const UNEXPLAINED: &str = "unexplained";

/// What makes a place of loss lose more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposure {
    /// Nothing that we do: it looks at each packet by itself, whoever waits for a CPU, and however packets come.
    EachByItself,
    /// Packets that come in a lump: it is a place of the kernel on the way, and needs no CPU of the target.
    ToLumps,
}

/// Places of loss, by their names in a record. At all others packets may be lost because they came in a lump, or because the
/// target waited for a CPU: nobody is blamed for more than is known.
pub const EXPOSURES: [(&str, Exposure); 15] = {
    use Exposure::{EachByItself, ToLumps};
    [
        ("socket_filter", EachByItself),
        ("checksum", EachByItself),
        (LED_AWAY, EachByItself),
        ("qdisc", ToLumps),
        ("netfilter", ToLumps),
        ("ingress", ToLumps),
        ("martian", EachByItself),
        ("rp_filter", EachByItself),
        ("other_host", EachByItself),
        ("ttl", EachByItself),
        ("no_route", EachByItself),
        ("fragment", EachByItself),
        ("reply_truncated", EachByItself),
        ("reply_extended", EachByItself),
        ("reply_changed", EachByItself),
    ]
};

impl Trial {
    /// Whether our own side, or the way, disturbed it: what it says holds of no load as it was asked for.
    pub fn is_disturbed(&self) -> bool {
        self.caveats.iter().any(Caveat::disturbs)
    }

    /// Whether it is not valid as a trial of what the target loses: half of what it lost may not be the target's, say.
    ///
    /// What it says of a goal may stand all the same where numbers bear it out: see [`is_void_at`](Self::is_void_at).
    pub fn is_invalid(&self) -> bool {
        self.caveats.iter().any(Caveat::spoils_counts)
    }

    /// Whether the program that performed it says that it is spoilt, without the numbers by which that could be judged: then
    /// it says nothing of its load, whatever was counted.
    pub fn tells_nothing(&self) -> bool {
        self.caveats.iter().any(Caveat::tells_nothing)
    }

    /// Whether what speaks against its loss is mostly that others kept the target from its CPU: all was offered, the way was
    /// there, and few packets left in lumps.
    pub fn is_mostly_starved(&self) -> bool {
        let is_whole =
            self.intended.is_none_or(|intended| self.offered >= intended) && self.generator_lost == 0;
        let of_the_way =
            |caveat: &Caveat| ["link_down", "rule_appeared", "left_elsewhere"].contains(&caveat.code());
        let displaced = self.disturbance.unwrap_or_default().displaced;
        is_whole
            && self.starved_target().is_some()
            && 2 * displaced < self.lost_by_us()
            && !self.caveats.iter().any(of_the_way)
    }

    /// Of the lost packets, how many at most may be lost by what was not the target: they, or those they met, left late
    /// in a lump; others kept the CPUs busy, from us or from the target; a link on the way was down; a rule led some streams
    /// elsewhere; or the trial tells nothing, or not all was offered and nobody saw how the rest left.
    pub fn lost_by_us(&self) -> u64 {
        let is_of_a_rule =
            |caveat: &Caveat| matches!(caveat, Caveat::RuleAppeared { .. } | Caveat::LeftElsewhere { .. });
        let is_of_a_wait = |caveat: &Caveat| caveat.is_of_a_short_drain();
        let is_unseen = self.is_short() && self.disturbance.is_none();
        let is_elsewhere = |one| is_of_a_rule(one) || is_of_a_wait(one);
        if is_unseen || self.tells_nothing() || self.caveats.iter().any(is_elsewhere) {
            return self.lost();
        }
        let Disturbance { displaced, waited } = self.disturbance.unwrap_or_default();
        let kept = waited.max(self.target_kept_from_running().unwrap_or_default());
        let at = |is_of: &dyn Fn(&str) -> bool| -> u64 {
            let of = |place: &str| match place {
                // An answer from elsewhere is as one that is wrong.
                "return_no_listener" => is_of("reply_changed"),
                _ => is_of(place.strip_prefix("return_").unwrap_or(place)),
            };
            let all = self.lost_at.iter().flatten();
            all.filter(|(place, _)| of(host_and_place(place).1)).map(|(_, packets)| packets).sum()
        };
        let exposed = |exposure| at(&|place| EXPOSURES.contains(&(place, exposure)));
        let at = |name| at(&|place| place == name);
        let by_lumps = self.lost().saturating_sub(exposed(Exposure::EachByItself));
        let by_waiting = by_lumps.saturating_sub(exposed(Exposure::ToLumps));
        let cannot_wait = at(UNEXPLAINED).saturating_sub(self.lost_where_others_waited());
        let starved = sent_in(kept, self.offered, self.duration).min(by_waiting.saturating_sub(cannot_wait));
        let touched = displaced.saturating_add(starved).min(by_lumps);
        let has_fallen = self.caveats.iter().any(|caveat| matches!(caveat, Caveat::LinkDown { .. }));
        // Its routes and its neighbours went with it; what was under way just then is counted nowhere.
        let with_it = if has_fallen { WENT_WITH_IT.map(at).iter().sum() } else { 0 };
        let down = match at(DOWN).saturating_add(with_it) {
            0 if !has_fallen => 0,
            down => down.saturating_add(at(UNEXPLAINED)),
        };
        self.lost().min(touched.saturating_add(down).saturating_add(at(LED_AWAY)))
    }

    /// Of the packets that no counter places, how many at most may be lost because others waited for the target to run. Where
    /// its socket was looked at and dropped none, its program took them; what waits for a program comes back late, or was seen
    /// to wait at its socket.
    fn lost_where_others_waited(&self) -> u64 {
        /// What the kernel charges a packet of few bytes for: the least.
        const CHARGED: u64 = 832;
        let places = self.lost_at.iter().flatten();
        let at_socket: u64 = places
            .filter(|(place, _)| host_and_place(place).1 == "receive_buffer")
            .map(|(_, lost)| lost)
            .sum();
        let is_unseen = self.caveats.iter().any(|caveat| matches!(caveat, Caveat::PlacesUnseen { .. }));
        let held = self.watched.as_ref().and_then(|watched| watched.largest_queued_bytes);
        let taken = self.service_delay.histogram.as_ref().or(self.delay.histogram.as_ref());
        let (Some(held), Some(taken)) = (held, taken.filter(|_| at_socket == 0 && !is_unseen)) else {
            return u64::MAX;
        };
        let (Some(least), Some(most)) = (taken.min(), taken.max()) else { return u64::MAX };
        let gap_ns = (self.duration.as_nanos() as u64 / self.offered.max(1)).max(1);
        // Behind two others at least.
        let late: u64 =
            taken.ranges().filter(|(low, ..)| *low > least + 2 * gap_ns).map(|(_, _, replies)| replies).sum();
        let backlog = held.div_ceil(CHARGED).max((most - least) / gap_ns);
        match late {
            0 if backlog <= 2 => 0,
            0 => u64::MAX,
            late => late.saturating_mul(backlog),
        }
    }

    /// How long others may have kept the target from its CPU; `None` where nothing shows that they did.
    fn target_kept_from_running(&self) -> Option<Duration> {
        self.watched.as_ref()?.kept_from_running(self.duration)
    }

    /// The doubt about a target that was kept from its CPU by others, and lost packets where that may be why.
    pub fn starved_target(&self) -> Option<Caveat> {
        let kept = self.target_kept_from_running().filter(|_| self.lost_by_us() > 0)?;
        // It cannot be kept from running for longer than it was asked to run, nor lose more for that than it lost.
        let kept_ns = u64::try_from(kept.min(self.duration).as_nanos()).unwrap_or(u64::MAX);
        let lost = sent_in(kept, self.offered, self.duration).min(self.lost_by_us());
        Some(Caveat::TargetStarved { kept_ns, lost: Some(lost) })
    }

    /// Of the lost packets, how many at least the target lost.
    pub fn lost_by_target(&self) -> u64 {
        self.lost() - self.lost_by_us()
    }

    /// The doubt about a loss of which half or more may not be the target's.
    pub fn doubted_loss(&self) -> Option<Caveat> {
        let (lost, ours) = (self.lost(), self.lost_by_us());
        let half = Ratio::new(0.5).expect("a half is a ratio");
        let is_told = self.caveats.iter().any(Caveat::is_of_a_short_drain);
        (lost > 0 && !is_told && !half.is_exceeded_by(lost - ours, lost))
            .then_some(Caveat::LossDoubted { lost, ours })
    }

    /// The doubt about delays of which a tenth are made of our own lateness: one packet in ten left later than is
    /// [forgiven](Disturbance::forgiven), and half of the delay that one in ten exceeds, or more, is as long as that.
    pub fn doubted_delays(&self) -> Option<Caveat> {
        let p90 = |delay: &Delay| delay.histogram.as_ref()?.quantile(0.9);
        let (delay_p90_ns, lateness_p90_ns) = (p90(&self.delay)?, p90(&self.lateness)?);
        let is_late = u128::from(lateness_p90_ns) > Disturbance::forgiven(self.input).as_nanos();
        let is_ours = lateness_p90_ns.saturating_mul(2) >= delay_p90_ns;
        (is_late && is_ours).then_some(Caveat::DelaysDoubted { delay_p90_ns, lateness_p90_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rate;

    /// A second at 10 kpps.
    fn trial(lost: u64, displaced: u64, waited_ms: u64) -> Trial {
        let input = TrialInput { load: Rate::from_millipps(10_000_000), duration: Duration::from_secs(1) };
        let disturbance = Disturbance { displaced, waited: Duration::from_millis(waited_ms) };
        Trial {
            intended: Some(10_000),
            offered: 10_000,
            forwarded: 10_000 - lost,
            disturbance: Some(disturbance),
            ..Trial::new(1, input, 7)
        }
    }

    #[test]
    fn a_loss_no_larger_than_what_left_in_lumps_is_not_the_targets() {
        let half_a_percent = Ratio::new(0.005).unwrap();
        assert!(trial(100, 100, 0).is_void_at(Ratio::ZERO));
        assert!(!trial(101, 100, 0).is_void_at(Ratio::ZERO), "one packet is the target's own loss");
        assert!(trial(150, 100, 0).is_void_at(half_a_percent), "0.5 % of it at most");
        assert!(!trial(151, 100, 0).is_void_at(half_a_percent));
        assert!(!trial(50, 100, 0).is_void_at(half_a_percent), "it does not exceed the goal at all");
    }

    #[test]
    fn what_a_trial_lost_that_was_not_offered_whole_counts_only_where_departures_were_measured() {
        let of = |offered, disturbance| Trial { offered, disturbance, ..trial(600, 0, 0) };
        let measured = of(9_700, Some(Disturbance::default()));
        assert_eq!((measured.lost_by_target(), measured.fails(Ratio::ZERO)), (300, Some(true)));
        let said = of(9_700, None);
        assert_eq!((said.lost_by_target(), said.fails(Ratio::ZERO)), (0, None));
        assert_eq!(of(10_000, None).fails(Ratio::ZERO), Some(true), "all was offered");
    }

    #[test]
    fn a_lossless_trial_is_evidence_however_it_was_disturbed() {
        let lumps = trial(0, 5_000, 900);
        assert!(!lumps.is_void_at(Ratio::ZERO) && !lumps.exceeds(Ratio::ZERO));
        assert_eq!(lumps.doubted_loss(), None);
    }

    #[test]
    fn a_large_loss_on_a_busy_machine_is_not_trusted_and_a_larger_one_is() {
        assert!(trial(6_000, 2_000, 400).is_void_at(Ratio::ZERO), "the target may have waited as we did");
        let overload = trial(9_000, 2_000, 400);
        assert_eq!((overload.lost_by_us(), overload.lost_by_target()), (6_000, 3_000));
        assert!(!overload.is_void_at(Ratio::ZERO));
        assert_eq!(trial(5_000, u64::MAX, u64::MAX).lost_by_us(), 5_000);
    }

    /// As the trial before, of a target that waited for a CPU while others used theirs.
    fn starved(lost: u64, waited_ms: u64, others_ms: u64) -> Trial {
        let ns = |ms: u64| Some(ms * 1_000_000);
        let watched = crate::TargetActivity {
            waited_ns: ns(waited_ms),
            others_ns: ns(others_ms),
            ..crate::TargetActivity::default()
        };
        Trial { watched: Some(watched), ..trial(lost, 0, 0) }
    }

    #[test]
    fn what_a_target_lost_while_others_had_its_cpu_is_not_its_loss() {
        let hogs = starved(7_000, 860, 1_700);
        assert!(hogs.is_void_at(Ratio::ZERO) && !hogs.target_exceeds(Ratio::ZERO));
        assert_eq!(hogs.doubted_loss(), Some(Caveat::LossDoubted { lost: 7_000, ours: 7_000 }));
        assert_eq!(
            hogs.starved_target(),
            Some(Caveat::TargetStarved { kept_ns: 860_000_000, lost: Some(7_000) })
        );
        let overload = starved(9_000, 300, 1_700);
        assert_eq!((overload.lost_by_us(), overload.lost_by_target()), (3_000, 6_000));
        assert!(!overload.is_void_at(Ratio::ZERO), "it loses more than it was sent meanwhile");
        assert_eq!(starved(0, 860, 1_700).starved_target(), None, "a lossless trial is evidence");
        let both = Trial { disturbance: trial(0, 0, 860).disturbance, ..starved(9_000, 860, 1_700) };
        assert_eq!(both.lost_by_us(), 8_600, "the same time is counted once");
    }

    #[test]
    fn what_a_program_took_and_did_not_answer_while_nothing_waited_is_the_targets_loss() {
        // In a second at 10 kpps others had its CPU for 60 ms, as its counters say; 200 packets were not answered.
        let of = |held: Option<u64>, late: u64, late_us: u64, places: &[(&str, u64)]| {
            let mut delays = dropline_stats::Histogram::new();
            delays.record_n(20_000, 9_800 - late);
            delays.record_n(late_us * 1_000, late);
            let mut trial = starved(200, 60, 1_700);
            trial.service_delay = Delay { histogram: Some(delays), ..Delay::default() };
            trial.watched.as_mut().unwrap().largest_queued_bytes = held;
            trial.lost_at = Some(places.iter().map(|(place, lost)| ((*place).to_owned(), *lost)).collect());
            trial
        };
        let unanswered = [("unexplained", 200)];
        let quiet = of(Some(832), 0, 30, &unanswered);
        assert_eq!((quiet.lost_by_us(), quiet.starved_target(), quiet.doubted_loss()), (0, None, None));
        assert!(quiet.target_exceeds(Ratio::new(0.01).unwrap()));
        // Three replies were late, behind four packets at most.
        assert_eq!(of(Some(832), 3, 420, &unanswered).lost_by_us(), 12);
        // Waiting was seen, or nobody looked, or its socket was full too: all of them may be.
        assert_eq!(of(Some(200 * 832), 0, 30, &unanswered).lost_by_us(), 200);
        assert_eq!(of(Some(200 * 832), 100, 20_000, &unanswered).lost_by_us(), 200);
        assert_eq!(of(None, 0, 30, &unanswered).lost_by_us(), 200);
        assert_eq!(of(Some(832), 0, 30, &[("unexplained", 150), ("receive_buffer", 50)]).lost_by_us(), 200);
        let unseen = Caveat::PlacesUnseen { what: "the path".into(), need: "root".into() };
        let unseen = Trial { caveats: vec![unseen], ..quiet };
        assert_eq!(unseen.lost_by_us(), 200);
    }

    #[test]
    fn an_overload_of_a_single_core_on_a_quiet_machine_is_the_targets_though_it_waits_for_the_generator() {
        let overload = starved(100, 300, 20);
        assert_eq!((overload.lost_by_us(), overload.doubted_loss()), (0, None));
        assert!(overload.target_exceeds(Ratio::ZERO));
        assert_eq!(overload.starved_target(), None);
    }

    #[test]
    fn half_of_a_loss_may_be_ours_before_it_is_doubted() {
        assert_eq!(trial(100, 49, 0).doubted_loss(), None);
        assert_eq!(trial(100, 50, 0).doubted_loss(), Some(Caveat::LossDoubted { lost: 100, ours: 50 }));
    }

    #[test]
    fn delays_that_are_our_own_lateness_are_doubted_and_the_targets_are_not() {
        let of = |late_us: u64, service_us: u64, share: u64| {
            let delays = |us: u64, other: u64| {
                let mut histogram = dropline_stats::Histogram::new();
                histogram.record_n(us * 1000, share);
                histogram.record_n(other * 1000, 100 - share);
                Delay { histogram: Some(histogram), ..Delay::default() }
            };
            let delay = delays(late_us + service_us, service_us);
            Trial { delay, lateness: delays(late_us, 1), ..trial(0, 0, 0) }.doubted_delays()
        };
        assert!(matches!(of(9_000, 40, 50), Some(Caveat::DelaysDoubted { .. })));
        assert_eq!(of(9_000, 40, 5), None, "a pause now and then");
        assert_eq!(of(900, 40, 50), None, "within what is forgiven");
        assert_eq!(of(9_000, 20_000, 50), None, "the target is slower than we are late");
        assert_eq!(trial(0, 0, 0).doubted_delays(), None, "not measured");
    }

    #[test]
    fn a_link_that_was_down_is_nobodys_overload() {
        let at = |place: &str| Trial {
            lost_at: Some([(place.to_owned(), 90), ("receive_buffer".to_owned(), 10)].into()),
            ..trial(100, 0, 0)
        };
        assert_eq!(at("link_down").lost_by_target(), 10);
        assert_eq!(at("return_link_down").lost_by_target(), 10);
        assert_eq!(at("no_listener").lost_by_target(), 100, "a dead target is the target's doing");
        assert_eq!(at("unexplained").lost_by_target(), 100);
        let places = [("link_down".to_owned(), 80), ("unexplained".to_owned(), 4)].into();
        assert_eq!(Trial { lost_at: Some(places), ..trial(100, 0, 0) }.lost_by_target(), 16);
    }

    #[test]
    fn routes_and_neighbours_that_a_link_took_with_it_are_nobodys_overload() {
        let fallen = || vec![Caveat::LinkDown { interface: "lo".into() }];
        for place in ["no_route", "return_no_route", "neighbour", "return_neighbour"] {
            let places =
                [(place.to_owned(), 4), ("unexplained".to_owned(), 1), ("receive_buffer".to_owned(), 3)];
            let at = |caveats| Trial { lost_at: Some(places.clone().into()), caveats, ..trial(8, 0, 0) };
            assert_eq!(at(fallen()).lost_by_target(), 3, "{place}");
            assert_eq!(at(Vec::new()).lost_by_target(), 8, "{place}, and every link stayed");
        }
        let nowhere = Some([("unexplained".to_owned(), 7), ("receive_buffer".to_owned(), 3)].into());
        let under_way = Trial { lost_at: nowhere, caveats: fallen(), ..trial(10, 0, 0) };
        assert_eq!(under_way.lost_by_target(), 3, "what was under way when it fell is counted nowhere");
    }

    #[test]
    fn what_a_rule_led_elsewhere_is_not_the_targets_loss() {
        let at = |place: &str| Trial {
            lost_at: Some([(place.to_owned(), 625), ("receive_buffer".to_owned(), 10)].into()),
            ..trial(635, 0, 0)
        };
        let away = at("led_away");
        assert_eq!((away.lost_by_target(), at("no_listener").lost_by_target()), (10, 635));
        assert_eq!(away.doubted_loss(), Some(Caveat::LossDoubted { lost: 635, ours: 625 }));
        assert!(!away.target_exceeds(Ratio::new(0.01).unwrap()));
    }

    #[test]
    fn nothing_that_was_lost_is_the_targets_where_packets_left_elsewhere() {
        let left = Caveat::LeftElsewhere { packets: 1, interface: "away".into() };
        let trial = Trial { caveats: vec![left], ..trial(100, 0, 0) };
        assert!(trial.is_invalid() && trial.is_void_at(Ratio::ZERO));
        assert_eq!(trial.lost_by_us(), 100);
    }

    #[test]
    fn what_no_want_of_a_cpu_can_lose_is_not_excused_by_one() {
        let at = |places: &[(&str, u64)]| {
            let lost_at = places.iter().map(|(place, packets)| ((*place).to_owned(), *packets)).collect();
            Trial { lost_at: Some(lost_at), ..starved(100, 860, 1_700) }
        };
        let changed = at(&[("reply_truncated", 60), ("reply_changed", 30), ("return_netfilter", 10)]);
        assert_eq!((changed.lost_by_us(), changed.starved_target(), changed.doubted_loss()), (0, None, None));
        assert_eq!(at(&[("reply_truncated", 60), ("receive_buffer", 40)]).lost_by_us(), 40);
        let lump = |place: &str| Trial { lost_at: at(&[(place, 100)]).lost_at, ..trial(100, 70, 0) };
        assert_eq!(lump("qdisc").lost_by_us(), 70, "a queue on the path loses what comes in a lump");
        assert_eq!(lump("checksum").lost_by_us(), 0);
    }

    #[test]
    fn a_closed_loop_is_bad_by_all_it_lost_and_good_by_none() {
        let closed = Trial { intended: None, ..trial(100, 100, 0) };
        assert!(closed.exceeds(Ratio::ZERO) && closed.is_void_at(Ratio::ZERO));
    }

    #[test]
    fn lateness_is_forgiven_by_time_and_by_packets() {
        let at =
            |millipps| TrialInput { load: Rate::from_millipps(millipps), duration: Duration::from_secs(1) };
        let ms = Duration::from_millis;
        assert_eq!(Disturbance::forgiven(at(1_000_000)), ms(10), "ten packets");
        assert_eq!(Disturbance::forgiven(at(1_000_000_000)), ms(1));
        assert_eq!(Disturbance::given_up(at(100_000)), ms(100));
        assert_eq!(Disturbance::given_up(at(1_000_000_000)), ms(75));
    }
}

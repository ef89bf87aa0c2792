//! Caveats, as a person reads them.

use super::Caveat;
use crate::{Rate, number_of, time_of};
use std::fmt;

impl fmt::Display for Caveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GeneratorLimited { intended, offered, error: Some(error), interface } => {
                let (what, advice) = refused(error, interface.as_deref());
                write!(f, "{what}: {offered} of {} left, which is not the target's doing; {advice}", number_of(*intended, "intended packet"))
            }
            Self::GeneratorLimited { intended, offered, .. } => write!(
                f,
                "the generator offered {offered} of {}: lower the load, or free a CPU for it, before judging the target",
                number_of(*intended, "intended packet")
            ),
            Self::GeneratorLost { dropped } => write!(
                f,
                "our own end had no room for {} that came back or out: that is not counted as the target's loss. Have larger \
                 buffers granted ( sysctl -w net.core.rmem_max=8388608 , or run as root), or free a CPU for the receiver",
                number_of(*dropped, "packet")
            ),
            Self::MoreThanOffered { offered, forwarded } => write!(
                f,
                "{} came back of {offered} sent: something duplicates them, or foreign packets were counted",
                number_of(*forwarded, "packet")
            ),
            Self::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns }
                if lateness_p99_ns < intended_idt_ns =>
            {
                write!(
                    f,
                    "the arrivals were not as asked: gaps between packets are distributed otherwise, though 99 in 100 \
                     left within {} of when they were due, where packets are {} apart",
                    time_of(*lateness_p99_ns),
                    time_of(*intended_idt_ns)
                )
            }
            Self::ArrivalsNotKept { lateness_p99_ns, intended_idt_ns } => write!(
                f,
                "the arrivals were not as asked: one packet in 100 left {} late or more, where packets \
                 are {} apart",
                time_of(*lateness_p99_ns),
                time_of(*intended_idt_ns)
            ),
            Self::GeneratorStarved { waited_ns } => write!(
                f,
                "the generator waited {} for a CPU: its lateness is not the target's doing; free a CPU for it, raise its CPU quota if it has one, or give it real-time priority where it has none (CAP_SYS_NICE)",
                time_of(*waited_ns)
            ),
            Self::GeneratorThrottled { stopped_ns, times, runtime_us, period_us } => write!(
                f,
                "the generator was stopped {}, for {} in all, because its control group may use the CPU for {} \
                 of each {} ms: its lateness is not the target's doing; raise the CPU quota (cpu.max, cpu.cfs_quota_us, \
                 docker --cpus), or lower the load",
                number_of(*times, "time"),
                time_of(*stopped_ns),
                runtime_us / 1000,
                period_us / 1000
            ),
            Self::TargetStarved { kept_ns, lost } => write!(
                f,
                "other programs kept the target from running for up to {}, and what it lost in that time may be this machine's \
                 doing{}: stop them, or give the target a CPU of its own",
                time_of(*kept_ns),
                lost.map_or_else(String::new, |lost| format!(" (by this alone, at most {})", number_of(lost, "lost packet")))
            ),
            Self::LossDoubted { lost, ours } => {
                let ours = match (*lost, ours >= lost) {
                    (1, _) => "the packet that is lost".into(),
                    (lost, true) => format!("some or all of these {lost} packets"),
                    (lost, false) => format!("up to {ours} of these {lost} packets"),
                };
                write!(
                    f,
                    "not valid as a judgement of the target: this machine or the path may have lost {ours} \
                     (the other caveats say how); free a CPU each for generator and target, or lower the load: dropline doctor says what disturbs here"
                )
            }
            Self::DelaysDoubted { delay_p90_ns, lateness_p90_ns } => write!(
                f,
                "not valid as a delay of the target: the delays hold the generator's own lateness (one packet in ten left {} late \
                 or more, and one in ten took {} or more); read the delay from when packets were sent instead, which is the \
                 target's at a load that came in lumps; free a CPU for the generator, or lower the load",
                time_of(*lateness_p90_ns),
                time_of(*delay_p90_ns)
            ),
            Self::LinkDown { interface } => write!(
                f,
                "the interface {interface} was switched off, or lost or found its peer, during the trial: what was lost \
                 then is not the target's doing; see to the link and measure again"
            ),
            Self::RuleAppeared { rule } => write!(
                f,
                "what may lead packets elsewhere came during the trial ({rule}): packets, or copies of them, may have gone to \
                 another host, and what was lost too; take it away, or put back what is missing, and measure again"
            ),
            Self::LeftElsewhere { packets, interface } => write!(
                f,
                "not valid as a judgement of the target: at least {} of the trial, or copies, left by {interface}, which is not \
                 on the path to the target or back, so the trial was ended, and no other is made while packets leave there; a rule, a \
                 route or a filter that came during the trial leads them ( ip rule,  ip route,  nft list ruleset,  tc filter \
                 show  have it): take it away and measure again",
                number_of(*packets, "packet")
            ),
            Self::AgentsLost { agents, lost, of } => write!(
                f,
                "not valid as a judgement of the target: {lost} of {} did not send its whole share and tell what it counted: {agents}; a \
                 trial at less than its load says nothing of it, so a search repeats it; see to that host, its network and its agent \
                 ( dropline fleet list )",
                number_of(*of, "agent")
            ),
            Self::StartSkew { skew_ns, .. } if !self.is_forgiven() => write!(
                f,
                "not valid as a judgement of the target: the agents started {} apart, more than a hundredth of the trial, so its load \
                 was not offered at both ends; free CPUs for the agents, or make trials longer",
                time_of(*skew_ns)
            ),
            Self::StartSkew { skew_ns, duration_ns } => write!(
                f,
                "the agents started {} apart: for that part of the trial's {}, at both ends, not all of them sent; longer trials, and \
                 agents with a CPU of their own, make it less",
                time_of(*skew_ns),
                time_of(*duration_ns)
            ),
            Self::SuperposedConstant { agents, skew_ns, gap_ns } => write!(
                f,
                "the packets of {} were to be {} apart, and starts of the agents are known to {}: what the target got has the right \
                 rate, and not these gaps; with --arrival poisson many agents are exactly one, whenever they start",
                number_of(*agents, "agent"),
                time_of(*gap_ns),
                time_of(*skew_ns)
            ),
            Self::PacketTooLong { packet_bytes, mtu, interface } => write!(
                f,
                "packets of {packet_bytes} B, IP header included, are longer than the {mtu} B that {interface} carries in one \
                 piece: they go in fragments, each of which can be lost, or are dropped there; send shorter packets, or raise \
                 its mtu ( ip link set mtu )"
            ),
            Self::TargetUnreachable { error, at_ns, refused, reports } => write!(
                f,
                "{:.1} s after the start the target, or the path to it, was gone ({error}): {}; start it again, or see to the path, and measure again (a search goes on by --resume)",
                *at_ns as f64 / 1e9,
                listed(&[
                    (*refused, "packet", "refused for it and not offered"),
                    (*reports, "report", "about packets that had left")
                ])
            ),
            Self::Outage { at_ns, for_ns, missing, offered, outages } => {
                let seconds = |ns: &u64| *ns as f64 / 1e9;
                let more = match outages {
                    1 => String::new(),
                    all => format!(" (the longest of {all} such times)"),
                };
                write!(
                    f,
                    "an outage of {:.2} s began {:.2} s after the start{more}: {missing} of {} did not come \
                     back, and of the other time almost all did; the target, this machine or the path between stood still: \
                     look what happened then, and measure again",
                    seconds(for_ns),
                    seconds(at_ns),
                    number_of(*offered, "packet")
                )
            }
            Self::WaitingGrew { from_ns, to_ns, duration_ns } => {
                let seconds = duration_ns.saturating_mul(4).div_ceil(1_000_000_000).max(1);
                write!(
                    f,
                    "packets still waited ever longer when the trial ended, {} in the mean of its first quarter and {} in its \
                     last: more came than was served, and a buffer hid it for as long as the trial took, so longer trials take \
                     less; try --duration {seconds}s, in a search trial={seconds}s behind the goal (--goal 0.5%,trial={seconds}s)",
                    time_of(*from_ns),
                    time_of(*to_ns)
                )
            }
            Self::FellSilent { at_ns, offered } => write!(
                f,
                "the target fell silent {:.2} s after the start: of {} that left from then on none came back; look what happened \
                 to it then (its log, whether it still runs), and measure again",
                *at_ns as f64 / 1e9,
                number_of(*offered, "packet")
            ),
            Self::AnswersAfterDrain { lost, late, drain_ns, fastest_ns, slowest_ns } => {
                let means = if self.is_of_a_short_drain() {
                    format!(
                        "even the fastest answer took {}, so the loss and the rate are of this wait and not of the target",
                        time_of(*fastest_ns)
                    )
                } else {
                    "they came too late to count, and more may have been on their way".into()
                };
                write!(
                    f,
                    "answers still came when the trial closed: {late} of {} were answered after the drain of at most {}; {means}; --drain \
                     {} would wait for them",
                    number_of(*lost, "lost packet"),
                    time_of(*drain_ns),
                    drain_for(*drain_ns, *slowest_ns)
                )
            }
            Self::StillQueued { lost, queued } => write!(
                f,
                "{queued} of {} still waited in a queue on the path when the drain ended: nothing dropped them, and they came too late to \
                 count; a longer --drain waits for them",
                number_of(*lost, "lost packet")
            ),
            Self::ClockStepped { steps, largest_ns } => write!(
                f,
                "the clock was set during the trial ({}), by up to {} us: packets stamped just then have the \
                 program's stamps",
                number_of(*steps, "time"),
                largest_ns / 1000
            ),
            Self::StampsMissing { packets } => write!(
                f,
                "{} came without a kernel stamp that can be believed: the delay was taken at the moment of reading",
                number_of(*packets, "reply")
            ),
            Self::DelayUnknown { packets } => {
                write!(f, "{} came so late that the delay is not known", number_of(*packets, "reply"))
            }
            Self::DelaysOfPart { known, replies } => write!(
                f,
                "the program gave the delay of {known} of {}: percentiles are of these, and a goal of delay takes as \
                 large a share of the others to be late as of these",
                number_of(*replies, "reply")
            ),
            Self::FewSlices { slices, wanted } => write!(
                f,
                "the trial is short: it has {} and not {wanted}, so less is known of how it varied",
                number_of(*slices, "time slice")
            ),
            Self::PacketsLeftOut { kept, left_out } => write!(
                f,
                "times are kept of the first {}, and not of the other {left_out}: a shorter trial is explained in full",
                number_of(*kept, "packet")
            ),
            Self::ForeignPackets { packets } => {
                write!(f, "{} arrived that this trial did not send, and counted for nothing", number_of(*packets, "packet"))
            }
            Self::RepliesDiffer { truncated, extended, changed } => write!(
                f,
                "{}: that is loss; a target that may answer with other bytes behind the first 16 is \
                 udp://HOST:PORT?reply=any",
                listed(&[
                    (*truncated, "packet", "came back shorter than sent"),
                    (*extended, "packet", "came back longer than sent"),
                    (*changed, "packet", "came back with other bytes, or at another stream's socket")
                ])
            ),
            Self::FramesDiffer { truncated, extended, changed } => write!(
                f,
                "{}: that is loss; see what the device does to frames, or whether something on the path damages them",
                listed(&[
                    (*truncated, "frame", "came out shorter than it was sent"),
                    (*extended, "frame", "came out longer than it was sent"),
                    (*changed, "frame", "came out with other bytes, or for another station")
                ])
            ),
            Self::FramesPadded { frames } => write!(
                f,
                "{} came out with bytes behind the packet that were not sent: a station takes the packet and not these, so they count as \
                 forwarded; the device adds to frames, and each takes more of the line behind it",
                number_of(*frames, "frame")
            ),
            Self::RepliesUnlike { truncated, extended, changed, unasked } => write!(
                f,
                "{}: a request that no other reply answered counts as lost. The service did answer, and wrongly: mend it, or what \
                 changes replies on the path",
                listed(&[
                    (*truncated, "reply", "came cut"),
                    (*extended, "reply", "came longer than stated or allowed"),
                    (*changed, "reply", "spoke of something else than was asked"),
                    (*unasked, "reply", "carried an identifier of no request of that socket (of none at all, or of one that another socket sent)"),
                ])
            ),
            Self::RepliesElsewhere { packets, asked, from } => write!(
                f,
                "{} sent to {asked} had an answer from elsewhere ({from}): a client that asked {asked} does not take that, and they \
                 count as lost. Let the service answer from the socket that heard the request, or bind that to the address that \
                 is named",
                number_of(*packets, "packet")
            ),
            Self::CopiesElsewhere { copies, asked, from } => write!(
                f,
                "{} from {asked} came once more from elsewhere ({from}): a client that asked {asked} does not hear those, so they are \
                 counted neither as answers nor as duplicates, and what they cost the target and the path is in the result. Look for \
                 a second program that answers the same packets, or for what copies its replies",
                number_of(*copies, "reply")
            ),
            Self::RepliesRelayed { relayed, replies } => write!(
                f,
                "{relayed} of {} seem to come from others whom the service asked (they do not say that it has authority): others \
                 then got this load too, and the result is not of this server alone. Ask for names that it has itself, or cut it \
                 off from others",
                number_of(*replies, "reply")
            ),
            Self::RepliesInOrder { replies, lost, together } => write!(
                f,
                "nothing in {} says to which request it is: each was taken for that of the next request of its stream, so that one \
                 that came twice, or late from before, counts as an answer{}. Put a tag into the payload where the service sends \
                 it back from (--payload with {{tag:4}}, --reply tag@N)",
                number_of(*replies, "reply"),
                match (lost, together) {
                    (0, 0) => String::new(),
                    (0, together) => format!(
                        "; {together} came when further requests of their streams had left, and nobody knows to which of them each is, so there are no delays"
                    ),
                    (lost, _) => format!(
                        "; {lost} are missing and nobody knows which, so there are no delays, and not when they were lost"
                    ),
                }
            ),
            Self::RepliesAmbiguous { ambiguous, replies } => write!(
                f,
                "{ambiguous} of {} carried a tag that came round, and no reply that is surely its own came to the request that had it \
                 before: either may be meant. They count as answers and have no delay, and which are missing is not known. Take a longer tag ({{tag:4}}), or more --streams",
                number_of(*replies, "reply")
            ),
            Self::RepliesTwice { duplicated, lost } => write!(
                f,
                "{} came to requests that had one already, and {} had none: the service may answer with another request's tag or \
                 identifier, or something on the path copies replies. Look at which one it sends back",
                number_of(*duplicated, "reply"),
                number_of(*lost, "request")
            ),
            Self::RepliesRefuse { class, refused, replies } => write!(
                f,
                "{refused} of {} came of a rule of the service that refuses{}, above all {class}: they are not \
                 loss, but nobody got what was asked for. Let the service answer this address (its access list, its limit of \
                 answers per source){}",
                number_of(*replies, "reply"),
                if class == "truncated" { " or truncates" } else { "" },
                if class == "truncated" { ", ask for less, or take longer replies (edns=1232)" } else { "" }
            ),
            Self::AnswersLimited { refused, replies, silent, offered } => write!(
                f,
                "{refused} of {} refused or truncated, and {silent} of {} had no reply, which no counter saw lost. A limit of \
                 answers for each address looks like that (RRL of DNS servers): what was lost is its doing and not the server's \
                 speed. Switch it off for this address, and measure again",
                number_of(*replies, "reply"),
                number_of(*offered, "request")
            ),
            Self::RepliesFail { class, failed, replies } => write!(
                f,
                "{failed} of {} said that the service could not do what it was asked, above all as {class}: they came, and are \
                 not loss. Ask what the service can answer; its log says why it did not",
                number_of(*replies, "reply")
            ),
            Self::RepliesBeside { truncated, extended, changed } => write!(
                f,
                "beside right replies to the same packets came {}: nothing is lost by that, but the target, or the path back, \
                 sends what it should not",
                listed(&[
                    (*truncated, "reply", "cut short"),
                    (*extended, "reply", "longer than sent"),
                    (*changed, "reply", "with other bytes")
                ])
            ),
            Self::Drift { correlation, by_chance, since_trial, since_s, by_degrees } => {
                let became = if *correlation < 0.0 { "slower" } else { "faster" };
                let how = if *by_degrees { " by degrees" } else { "" };
                let when = match (since_trial, since_s) {
                    (Some(trial), Some(s)) if *by_degrees => format!(", clearly so from trial {trial} on, {s:.1} s after its start"),
                    (Some(trial), Some(s)) => format!(", from trial {trial} on, {s:.1} s after its start"),
                    _ => String::new(),
                };
                write!(
                    f,
                    "the target became {became}{how} while it was searched{when} (seen in {} of searches of a steady target): what it takes \
                     now is what trials since then show, and one search is too short to know it well; look for what changed \
                     (heat, a throttled clock, a neighbour; a queue or a bucket of tokens that one trial leaves to the next \
                     looks alike), and search again",
                    seldom(*by_chance)
                )
            }
            Self::WarmUp { by_chance, since_s, until_s, warmed_s, .. } => write!(
                f,
                "the first trials{} found a slower target than the later ones (seen in {} of searches of a \
                 steady target): warm it up before the search (--warm-up {}s), and search again",
                until_s.or(*since_s).map_or_else(String::new, |s| format!(", up to {s:.1} s after the start,")),
                seldom(*by_chance),
                warm_up_s(warmed_s + until_s.or(*since_s).unwrap_or(5.0))
            ),
            Self::CarriesOver { by_chance, slow, after_loss, after_loss_pps, rested_pps } => write!(
                f,
                "what is left of one trial comes into the next, as of a queue or a bucket of tokens (seen in {} of searches of a steady target): \
                 {slow} of {} right after one that lost packets found a slower target, which let {} through, and after a lower load \
                 up to {} came through. So the limit is between what it takes for long and what it takes after a rest, and \
                 depends on what came before; of longer trials (trial=10s behind the goal) what was left is a smaller part, and a \
                 wait between trials (a longer --drain, or the program that performs them) lets the target rest",
                seldom(*by_chance),
                number_of(*after_loss, "trial"),
                load(*after_loss_pps),
                load(*rested_pps)
            ),
            Self::Unsteady { by_chance, low_pps, high_pps, is_slow, from_s, to_s } => {
                let kind = if *is_slow { "slower" } else { "faster" };
                let what = match (from_s, to_s) {
                    (Some(from), Some(to)) => format!(
                        "it was {kind} for a while, from {from:.1} to {to:.1} s after the start, and before and after that it was not"
                    ),
                    _ => "what a trial found is like what those near it in time found, and unlike what others did".into(),
                };
                write!(
                    f,
                    "the target did not stay the same while it was searched (seen in {} of searches of a steady target): {what}; the \
                     limit was between {} and {} in that time, and which of these it is now, one search cannot tell; look for what comes \
                     and goes (heat, a throttled clock, another job), and search again",
                    seldom(*by_chance),
                    load(*low_pps),
                    load(*high_pps)
                )
            }
            Self::Slowed { before_pps, then_pps } => write!(
                f,
                "the target became slower while it was searched: {} came through at first, and later \
                 {}: the answer is that of the later one; look for heat, a throttled clock or a neighbour",
                load(*before_pps),
                load(*then_pps)
            ),
            Self::TwoStates { slow_pps, fast_pps, slow, by_chance } => write!(
                f,
                "trials find one of two targets in turns{}: {:.0} % of those that tell found a slow one, which let {} through, and \
                 the others one that let up to {} through; the interval may be of either; look for what comes and goes (a throttled \
                 clock, a flow that moves between cores, a job), and search with trials longer than that",
                by_chance.map_or_else(String::new, |chance| format!(" (seen in {} of searches of a steady target)", seldom(chance))),
                100.0 * slow,
                load(*slow_pps),
                load(*fast_pps)
            ),
            Self::Outages { trials, good, lowest_pps, borne_pps, least_lost } => write!(
                f,
                "nearly nothing came through of {} from {} on ({} % lost, or more), and {good} others at such loads or higher, up to \
                 {}, lost next to nothing: the target, or the path, stands still now and then for as long as a trial. The limit \
                 between such times is not that of one trial in all; look for what stops it (a job, a restart, a switch on the path), \
                 and search again",
                number_of(*trials, "trial"),
                load(*lowest_pps),
                (1000.0 * least_lost).floor() / 10.0,
                load(*borne_pps)
            ),
            Self::LossBelow { intended_load_pps, offered, lost } => write!(
                f,
                "{lost} of {offered} were lost at {}, far below the load that was found: loss does not begin there; search \
                 again with a lower highest load",
                load(*intended_load_pps)
            ),
            Self::GoalsContradict { strict_loss_ratio, loose_loss_ratio, achieved_pps, limit_pps, .. } => {
                write!(
                    f,
                    "{} was achieved at {}, but {} at no more than {}: a target that takes the one takes the other, so it \
                     was not the same in all trials, and neither number is a fact; search with longer trials, or with \
                     --algorithm credible where this was another",
                    goal(*strict_loss_ratio),
                    load(*achieved_pps),
                    goal(*loose_loss_ratio),
                    load(*limit_pps)
                )
            }
            Self::BadMoments { loss_ratio, trials, good, lowest_pps, borne_pps, last: true, .. } => write!(
                f,
                "the last {} at loads from {} on did not meet the goal of {}, and let far less through than {good} before them at \
                 such loads or higher, three of which let {} or more through: the target became slower, or something was worse at the end, and too few trials were made since to tell which; search again",
                number_of(*trials, "trial"),
                load(*lowest_pps),
                goal(*loss_ratio),
                load(*borne_pps)
            ),
            Self::BadMoments { loss_ratio, trials, good, lowest_pps, borne_pps, decide, scattered: true, .. } => write!(
                f,
                "{} did not meet the goal of {} (the lowest load {}), and {good} others at such loads or higher did, three of \
                 them at {} or more, in no order in time: trials at one load end differently at random, and no moment was worse than another; {}",
                number_of(*trials, "trial"),
                goal(*loss_ratio),
                load(*lowest_pps),
                load(*borne_pps),
                if *decide {
                    "the limit rests on those that failed, or one of these loads failed each time that it was tried, so that it is \
                     not known: try these loads with dropline trial, or search with longer trials"
                } else {
                    "what is stated is of trials as they come, good ones and bad ones: look what differs in those that failed"
                }
            ),
            Self::BadMoments { loss_ratio, trials, good, lowest_pps, borne_pps, decide, .. } => write!(
                f,
                "{} did not meet the goal of {} (the lowest load {}), though {good} others at such loads or higher did, three of \
                 them at {} or more: the target, this machine or the path was worse then, and nothing seen here says which; {}",
                number_of(*trials, "trial"),
                goal(*loss_ratio),
                load(*lowest_pps),
                load(*borne_pps),
                if *decide {
                    "the limit rests on these alone, or one of these loads failed each time that it was tried, so that it is not \
                     known: try these loads with dropline trial, and search again"
                } else {
                    "what is stated is the limit of the other trials: look what happened then"
                }
            ),
            Self::RandomLoss { loss_ratio, trials, of, lowest_pps, highest_pps, lost, offered } => write!(
                f,
                "{trials} of {} from {} to {} failed {}, at any time and load alike: {lost} of {} were lost there, as when every \
                 packet is lost with the same probability. That is random loss (a bad cable, a radio link) and not a matter of the \
                 load, so the limit depends on how long a trial is; mend the path, or allow as much (--goal 0.5%)",
                number_of(*of, "trial"),
                load(*lowest_pps),
                load(*highest_pps),
                goal(*loss_ratio),
                number_of(*offered, "packet")
            ),
            Self::FailsAnywhere { loss_ratio, trials, of, lowest_pps, borne_pps, has_lower, has_upper } => write!(
                f,
                "{trials} of {} did not meet the goal of {} where others met it or let far more through (the lowest at {}, where {} came through): trials \
                 fail at any load now and then, and that one failed bounds nothing. {}, because such failures alone would explain what trials at \
                 such loads did. Look what happened in those that failed, and mend it, or search longer (--budget)",
                number_of(*of, "trial"),
                goal(*loss_ratio),
                load(*lowest_pps),
                load(*borne_pps),
                match (has_lower, has_upper) {
                    (false, false) => "No end is stated",
                    (false, true) => "No lower end is stated",
                    _ => "No upper end is stated",
                }
            ),
            Self::NoUpperEnd { loss_ratio, failed, passed_pps: Some(passed) } => write!(
                f,
                "no upper end is stated for {}: the last trials met it at {}, {}, so the target may have become faster; search \
                 again, or longer (--budget)",
                goal(*loss_ratio),
                load(*passed),
                match failed {
                    0 => "above where those before put its limit".into(),
                    _ => format!("though {} before failed it at no higher load", number_of(*failed, "trial")),
                }
            ),
            Self::NoUpperEnd { loss_ratio, failed, passed_pps: None } => write!(
                f,
                "no upper end is stated for {}: {} failed it, too few among those that met it to bound the limit from above; search \
                 longer (--budget)",
                goal(*loss_ratio),
                number_of(*failed, "trial")
            ),
            Self::CountersShared { unplaced: unplaced @ 1.., .. } => write!(
                f,
                "the counters that say where packets were lost count other programs' packets too, and which of the trial's came \
                 so far is not known: up to {} may have been lost where one counts, and stand as unexplained; stop other \
                 programs that send or get packets here, or measure in a network namespace of its own",
                number_of(*unplaced, "lost packet")
            ),
            Self::CountersShared { beyond: 0, .. } => f.write_str(
                "the counters that say where packets were lost hold other programs' packets too: places \
                 other than the target's own socket may be theirs",
            ),
            Self::CountersShared { beyond, .. } => write!(
                f,
                "the counters that say where packets were lost count {beyond} more than were lost here: other \
                 programs lose packets on this machine during the trial, and a place may be theirs"
            ),
            Self::OthersCame { dropped: 0, came } => write!(
                f,
                "programs of the target's network namespace got {} that are not this trial's, at its socket or at others: where \
                 they came to its socket, this trial had a part of the target only; stop those programs, or measure in a network \
                 namespace of its own",
                number_of(*came, "packet")
            ),
            Self::OthersCame { dropped, .. } => write!(
                f,
                "the target's socket dropped {} that are not this trial's: other programs sent to it too, another trial \
                 perhaps, and this trial had a part of the target only; stop them and measure again",
                number_of(*dropped, "packet")
            ),
            Self::PlaceInferred { place, packets, because } => {
                write!(f, "{} put at {place} as what remained: {because}", number_of(*packets, "lost packet"))
            }
            Self::PlacesUnseen { what, need } => {
                write!(f, "{what} could not be looked at for lost packets: {need}")
            }
            Self::NotRealTime { why } => write!(
                f,
                "the threads have no real-time policy ({why}): run as root, or give the program CAP_SYS_NICE"
            ),
            Self::TimerSlack { ns } => write!(
                f,
                "timers may expire {} us late to save power, and that is in every delay: slack=1ns in the target \
                 takes it out",
                ns / 1000
            ),
            Self::RealTimeThrottled { runtime_us, period_us } => write!(
                f,
                "real-time threads may run for {} of each {} ms together: a busy one is stopped for the rest \
                 (kernel.sched_rt_runtime_us)",
                runtime_us / 1000,
                period_us / 1000
            ),
            Self::Virtualized { by } => write!(
                f,
                "this machine runs on {by}, which decides when it runs: what it took is steal time, and not all of \
                 it is seen"
            ),
            Self::MemoryNotLocked => f.write_str(
                "memory could not be kept in RAM: a page that has to be fetched is a late wake-up (RLIMIT_MEMLOCK)",
            ),
            Self::CpusMaySleep => f.write_str(
                "CPUs may sleep deeply between wake-ups: /dev/cpu_dma_latency could not be held (needs root)",
            ),
            Self::StoppedAtSpike { late_ns, number, cpu } => write!(
                f,
                "stopped at wake-up {number} on CPU {cpu}, which was {} us late: the trial is shorter than asked",
                late_ns / 1000
            ),
            Self::EventsMissing { recorded, missing } => write!(
                f,
                "{} missing beside {recorded} recorded: there was no room; give the recorder more (events=, rings= in the target), or a larger granularity",
                number_of(*missing, "event")
            ),
            Self::PassagesUnmatched { passages } => write!(
                f,
                "{} arrived and nobody saw that leave, though no recorder lost an event: does the source trace every \
                 boundary that a call crosses, and is the ratio that of the graph?",
                number_of(*passages, "granule")
            ),
            Self::StampsDisagree { passages, least_ns } => write!(
                f,
                "{} arrived before leaving, by up to {} ns: source and sink are stamped by clocks \
                 that differ, or the source is traced after it hands on",
                number_of(*passages, "granule"),
                -least_ns
            ),
            Self::StampsDrift { ppm } => write!(
                f,
                "the clock of the stamps ran {ppm:+.0} ppm against CLOCK_MONOTONIC between the trial's begin and end"
            ),
            Self::Stalled { pipe, silent_ns, in_flight } => write!(
                f,
                "pipe {pipe} stalled with {} in it: nothing came out for the last {} ms",
                number_of(*in_flight, "granule"),
                silent_ns / 1_000_000
            ),
            Self::BeginningCounted { passages } => write!(
                f,
                "the first passages, {passages} in all pipes, are unlike the rest and among the delays: \
                 warm-up=auto in the target cuts them"
            ),
            Self::ProgramFailed { status } => {
                write!(f, "the program ended with an error ({status}): what it had recorded until then is here")
            }
            Self::EventsLeftOut { kept, left_out } => write!(
                f,
                "of {}, which the numbers are of, the first {kept} are in an export",
                number_of(kept.saturating_add(*left_out), "event")
            ),
            Self::TraceDamaged { packets } => write!(
                f,
                "damaged, cut off or foreign: {} of the trace; what could be read is here",
                number_of(*packets, "part")
            ),
            Self::Interrupted => f.write_str("the trial was stopped before its time: it is shorter than asked"),
            Self::Reported { text, .. } => f.write_str(text),
        }
    }
}

/// A drain that is long enough for answers that took so long, or longer: `2s`, `400ms`.
fn drain_for(drain_ns: u64, slowest_ns: u64) -> String {
    let ms = drain_ns.max(slowest_ns).saturating_mul(3).div_ceil(100_000_000).max(1) * 100;
    if ms < 1000 { format!("{ms}ms") } else { format!("{}s", ms.div_ceil(1000)) }
}

/// A load as it is read: `8.445 Mpps`.
fn load(pps: f64) -> Rate {
    Rate::from_millipps((pps * 1000.0).round() as u64)
}

/// How long a warm-up is to be that was to last so many seconds: rounded up.
fn warm_up_s(seconds: f64) -> f64 {
    let step = if seconds > 60.0 {
        10.0
    } else if seconds > 10.0 {
        5.0
    } else {
        1.0
    };
    ((seconds / step).ceil() * step).max(1.0)
}

/// A small probability as a share of a hundred.
fn seldom(probability: f64) -> String {
    match probability < 0.001 {
        true => "less than 0.1 %".into(),
        false => format!("{:.1} %", 100.0 * probability),
    }
}

/// `no loss`, `0.5 % loss`.
fn goal(loss_ratio: f64) -> String {
    if loss_ratio == 0.0 { "no loss".into() } else { format!("{} % loss", (loss_ratio * 1e8).round() / 1e6) }
}

/// What refused packets that were to leave, and what to do about it.
fn refused(error: &str, interface: Option<&str>) -> (String, String) {
    if let Some(rule) = error.strip_prefix("ENOBUFS (").and_then(|rule| rule.strip_suffix(')')) {
        let of =
            interface.map_or_else(|| "an interface on the path".into(), |name| format!("interface {name}"));
        return (
            format!(
                "a rule of a firewall in front of {of} may drop such packets ({rule}), and this machine refused packets there \
                 (ENOBUFS)"
            ),
            "look for that rule (nft list ruleset) before judging the target".into(),
        );
    }
    match error {
        "ENOBUFS" => {
            let (of, device) = match interface {
                Some(name) => (format!("interface {name}"), format!(" dev {name}")),
                None => ("an interface on the path".into(), String::new()),
            };
            (
                format!("the queue of {of} was full and refused packets (ENOBUFS)"),
                format!(
                    "tc -s qdisc show{device} has its rate and its limit: raise them, take it away, or lower the load, before \
                     judging the target"
                ),
            )
        }
        "link_down" => {
            let of = interface.map_or("a link on the path".into(), |name| format!("the link of interface {name}"));
            (
                format!("{of} was down for a while, and what was to leave then was refused"),
                "see to the link and measure again".into(),
            )
        }
        "EPERM" => (
            "a firewall on this machine refused packets (EPERM)".into(),
            "look for its rule about packets that leave (nft list ruleset, iptables-save) before judging the target".into(),
        ),
        other => (
            format!("this machine refused to send packets ({other})"),
            "find out why before judging the target".into(),
        ),
    }
}

/// `1 packet refused, 3 reports about others`: what was counted, without what there is none of.
fn listed(kinds: &[(u64, &str, &str)]) -> String {
    let there = kinds.iter().filter(|(number, ..)| *number > 0);
    let words: Vec<String> =
        there.map(|(number, one, what)| format!("{} {what}", number_of(*number, one))).collect();
    words.join(" and ")
}

#[cfg(test)]
mod tests;

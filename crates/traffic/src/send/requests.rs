//! What a service is asked, packet by packet, and which packet a reply answers.
//!
//! Of each round of as many packets as there are streams, each stream has one: the number of a request on its stream is
//! that of its round. Numbers go on from trial to trial, from a place that chance chose. What leaves is a number's place in
//! an order of all of them, so that the tokens of requests under way are not alike but for a bit.
//!
//! What is asked follows from a request's turn: its place among those of all generators of a measurement. What never comes twice
//! begins at a place that chance chose, for each measurement anew and whatever its seed: a cache that an earlier one left behind
//! has none of its answers.

use super::spread::Spread;
use crate::packet::attribution::salt;
use dropline_payload::service::pattern::NEVER_TWICE;
use dropline_payload::service::permutation::Permutation;
use dropline_payload::service::{Request, Service, latest};
use dropline_trial::{Arrival, AskedTurns, MOST_STREAMS, OwnPlaces, Share};
use std::time::{SystemTime, UNIX_EPOCH};

/// What one measurer asks of a service, trial after trial.
pub(crate) struct Asking {
    service: &'static Service,
    /// In which order tokens are given away.
    order: Permutation,
    /// The number of the first request of all.
    origin: u64,
    /// Of the first packet of the trial that is under way, or comes next; its turn is that of the first packet of all.
    first: Request,
    /// Packets of the trial that had their turn.
    asked: u64,
    /// Its share of the schedule, where others have the rest.
    share: Option<Share>,
    /// Before the first trial: the turn of the first probe of all.
    probed_from: u64,
}

/// Rounds of requests before the first trial.
pub(crate) const ROUNDS_BEFORE: u64 = 64;
/// Requests that a probe makes at most: an application that counts them hears no number twice.
pub(crate) const PROBED: u64 = 16;
/// Requests of one generator before its first trial.
const BEFORE_TRIALS: u64 = PROBED + ROUNDS_BEFORE * MOST_STREAMS as u64;
/// Numbers begin above this, and below twice this: those of this program alone are late.
const BEGIN: u64 = 1 << 40;
/// Where what is never asked twice has its turns: what was asked before the first trial here, each time anew, …
const PROBES: u64 = NEVER_TWICE / 10;
/// … and trials from here on, up to where so many are left as one measurement makes.
const TRIALS: u64 = 2 * PROBES;
const LEFT: u64 = PROBES;

/// The turn of the first request of a measurement by so many generators. Turns below `asked_below` were had by trials of its record,
/// where it is resumed; 0 where there are none.
///
/// What never comes twice begins at a place that no other measurement had, but for one chance in millions: resumed ones too, for
/// what was asked by a trial that was cut off stands nowhere. What is listed, or counted in few digits, is as many as it is: it begins
/// at its first, and goes on behind what is known.
pub fn first_turn(service: &Service, generators: u64, asked_below: u64) -> u64 {
    match asked_below {
        _ if service.never_repeats() => TRIALS + salt() % (NEVER_TWICE - LEFT - TRIALS),
        // What an application counts goes on behind what it was asked before.
        0 if service.counts() => generators.saturating_mul(BEFORE_TRIALS),
        below => below % NEVER_TWICE,
    }
}

impl Asking {
    /// Of a service; `asked_below` as of [`first_turn`], and `chance` differs from measurer to measurer.
    pub(crate) fn new(service: &'static Service, chance: u64, arrival: &Arrival, asked_below: u64) -> Self {
        let origin = BEGIN | (chance % BEGIN);
        let turn = first_turn(service, 1, asked_below);
        let first = Request { number: origin + ROUNDS_BEFORE, turn };
        let order = Permutation::new(chance, service.token_bits());
        let probed_from =
            if service.never_repeats() { PROBES + salt() % (TRIALS - PROBES - LEFT / 2) } else { 0 };
        Self { service, order, origin, first, asked: 0, share: arrival.share().cloned(), probed_from }
    }

    /// Of a trial's packets, or of those after its drain.
    pub(crate) fn requests<'a>(&'a self, spread: &'a Spread) -> Requests<'a> {
        let places = self.share.as_ref().map_or(OwnPlaces::ALONE, Share::places);
        let streams = places.round.saturating_mul(spread.streams() as u64);
        let until_a_stream_asks_again = self
            .service
            .turns()
            .filter(|_| streams > 1 && !self.service.is_recorded())
            .map(|turns| turns / dropline_trial::divisor(turns, streams))
            .and_then(|rounds| rounds.checked_mul(streams));
        Requests {
            service: self.service,
            order: self.order,
            origin: self.origin,
            first: self.first,
            places,
            spread,
            shifts_after: until_a_stream_asks_again.unwrap_or(u64::MAX),
        }
    }

    /// By a probe: [`PROBED`] at most, of one stream.
    pub(crate) fn probing<'a>(&'a self, spread: &'a Spread) -> Requests<'a> {
        self.before_trials(self.first.number, 0, spread)
    }

    /// Before the first trial: [`ROUNDS_BEFORE`] at most.
    pub(crate) fn before<'a>(&'a self, spread: &'a Spread) -> Requests<'a> {
        self.before_trials(self.origin, PROBED, spread)
    }

    /// Behind so many others of the same generator. What is not listed has turns there that no trial has.
    fn before_trials<'a>(&'a self, number: u64, behind: u64, spread: &'a Spread) -> Requests<'a> {
        let places = self.share.as_ref().map_or(OwnPlaces::ALONE, Share::even_places);
        let counts = self.service.counts() || self.service.never_repeats();
        let behind = if counts { behind.saturating_mul(places.round) } else { 0 };
        let first = Request { number, turn: self.probed_from + behind };
        Requests { first, places, ..self.requests(spread) }
    }

    /// The next trial begins: no number of the one before is used again.
    pub(crate) fn next_trial(&mut self, streams: usize) {
        self.first.number += self.asked.div_ceil(streams as u64);
        self.first.turn = match &self.share {
            _ if self.service.is_recorded() => 0,
            Some(share) => share.first_turn(),
            None => self.first.turn.wrapping_add(self.asked),
        };
        self.asked = 0;
    }

    /// The turns that packets of the trial had, where what is asked follows from them.
    pub(crate) fn turns(&self) -> Option<AskedTurns> {
        let places = self.share.as_ref().map_or(OwnPlaces::ALONE, Share::places);
        let turn = |index| self.first.turn.wrapping_add(places.place(index));
        let last = self.asked.checked_sub(1).filter(|_| self.service.has_turns())?;
        Some(AskedTurns { first: turn(0), last: turn(last) })
    }

    /// The packets below this index had their turn.
    pub(crate) fn had_their_turn(&mut self, index: u64) {
        self.asked = self.asked.max(index);
    }

    /// How many packets had it.
    pub(crate) fn asked(&self) -> u64 {
        self.asked
    }
}

/// What is asked in one trial.
#[derive(Clone, Copy)]
pub(crate) struct Requests<'a> {
    pub(crate) service: &'static Service,
    order: Permutation,
    origin: u64,
    first: Request,
    /// Which turns are its own.
    places: OwnPlaces,
    spread: &'a Spread,
    /// After so many packets each stream would ask the same as before: then another one has the turn.
    shifts_after: u64,
}

/// What the clock of the system says.
fn since_1970_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// Which request a token is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A packet of this trial.
    Now {
        /// Its index.
        index: u64,
        /// What it asked.
        request: Request,
    },
    /// One of before.
    Before,
    /// None that was sent.
    Never,
}

impl Requests<'_> {
    fn streams(&self) -> u64 {
        self.spread.streams() as u64
    }

    fn of(&self, index: u64) -> Request {
        let turn = self.first.turn.wrapping_add(self.places.place(index));
        let order = self.order.of_stream(index % self.streams());
        let number = order.of(self.first.number + index / self.streams());
        Request { number, turn: turn.wrapping_add(turn / self.shifts_after) }
    }

    /// Appends what a packet asks.
    pub(crate) fn write(&self, index: u64, bytes: &mut Vec<u8>) {
        self.service.write(self.of(index), since_1970_ns, bytes);
    }

    /// Appends what a stream asks in a round.
    pub(crate) fn write_in_round(&self, stream: usize, round: u64, bytes: &mut Vec<u8>) {
        self.write(round * self.streams() + self.spread.place_in_round(stream), bytes);
    }

    /// Which request of a stream the next reply is taken to answer, where replies do not say it and so many came before.
    pub(crate) fn in_order(&self, heard: u64, stream: usize, sent_below: u64) -> Asked {
        let place = self.spread.place_in_round(stream);
        match heard.checked_mul(self.streams()).and_then(|index| index.checked_add(place)) {
            Some(index) if index < sent_below => Asked::Now { index, request: self.of(index) },
            // What comes before anything was sent is of before.
            _ if sent_below == 0 => Asked::Before,
            _ => Asked::Never,
        }
    }

    /// The packet of this trial that is the next of the same stream.
    pub(crate) fn next_of_stream(&self, index: u64) -> Option<u64> {
        index.checked_add(self.streams())
    }

    /// The packet of this trial that had the tag of this one in the turn before, where tags come round.
    pub(crate) fn turn_before(&self, index: u64) -> Option<u64> {
        let bits = self.service.token_bits();
        let tags = 1_u64.checked_shl(bits).filter(|_| bits < u64::BITS && !self.service.is_in_order())?;
        index.checked_sub(tags.checked_mul(self.streams())?)
    }

    /// Which request of a stream has this token, where the packets below `sent_below` were sent.
    pub(crate) fn find(&self, token: u64, stream: usize, sent_below: u64) -> Asked {
        let place = self.spread.place_in_round(stream);
        let rounds = sent_below.saturating_sub(place).div_ceil(self.streams());
        let next = self.first.number + rounds;
        match latest(self.order.of_stream(place).inverse(token), self.service.token_bits(), next) {
            Some(number) if number >= self.first.number => {
                let index = (number - self.first.number) * self.streams() + place;
                Asked::Now { index, request: self.of(index) }
            }
            Some(number) if number >= self.origin => Asked::Before,
            _ => Asked::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Reply;
    use dropline_payload::service::dns::{Options, Questions};
    use dropline_payload::service::template::Template;
    use dropline_trial::{Part, Rate};
    use proptest::prelude::*;

    fn asking() -> Asking {
        let questions = Questions::named("h{}.org", "A", Options::default()).unwrap();
        let Reply::Service(service) = Reply::of_service(Service::Dns(questions)) else { panic!("a service") };
        Asking::new(service, 0x00ff_ffff_ffff, &Arrival::constant(), 0)
    }

    fn of_one(service: &'static Service) -> Asking {
        Asking::new(service, 7, &Arrival::constant(), 0)
    }

    fn service(service: Service) -> &'static Service {
        let Reply::Service(service) = Reply::of_service(service) else { panic!("a service") };
        service
    }

    fn names(pattern: &str) -> &'static Service {
        service(Service::Dns(Questions::named(pattern, "A", Options::default()).unwrap()))
    }

    fn own(payload: &str) -> &'static Service {
        service(Service::Own(Template::read(payload, "any").unwrap()))
    }

    fn turns(requests: Requests<'_>, count: u64) -> Vec<u64> {
        (0..count).map(|index| requests.of(index).turn).collect()
    }

    fn token(requests: &Requests<'_>, index: u64) -> u64 {
        let mut bytes = Vec::new();
        requests.write(index, &mut bytes);
        bytes[2] |= 0x80;
        requests.service.token(&bytes).unwrap()
    }

    #[test]
    fn streams_that_ask_at_once_do_not_use_the_same_identifiers() {
        let (asking, spread) = (asking(), Spread::new(&Part::equal(4)).unwrap());
        let requests = asking.requests(&spread);
        let tokens: std::collections::BTreeSet<u64> = (0..400).map(|index| token(&requests, index)).collect();
        // Of 65 536 a pair of 400 is equal now and then.
        assert!(tokens.len() > 390, "{}", tokens.len());
    }

    #[test]
    fn every_stream_asks_every_question_as_often() {
        for (streams, names) in [(4, 4), (4, 2), (4, 5), (3, 9), (6, 4), (1, 3), (5, 1)] {
            let questions =
                Questions::named(&format!("h{{1..{names}}}.org"), "A", Options::default()).unwrap();
            let Reply::Service(service) = Reply::of_service(Service::Dns(questions)) else {
                panic!("a service")
            };
            let asking = of_one(service);
            let spread = Spread::new(&Part::equal(streams)).unwrap();
            let requests = asking.requests(&spread);
            let mut asked = std::collections::BTreeMap::new();
            // Each of as many as both have rounds in common, twice.
            for index in
                0..2 * u64::from(streams) * names * dropline_trial::divisor(u64::from(streams), names)
            {
                let mut bytes = Vec::new();
                requests.write(index, &mut bytes);
                *asked.entry((spread.stream_of(index), bytes.split_off(2))).or_insert(0) += 1;
            }
            assert_eq!(asked.len() as u64, u64::from(streams) * names, "{streams} streams, {names} names");
            let counts: std::collections::BTreeSet<u64> = asked.into_values().collect();
            assert_eq!(counts.len(), 1, "{streams} streams, {names} names: {counts:?}");
        }
    }

    proptest! {
        #[test]
        fn a_token_is_of_the_very_packet_that_carried_it(
            streams in 1u32..20, sent in 1u64..100_000, ago in 0u64..1000,
        ) {
            let spread = Spread::new(&Part::equal(streams)).unwrap();
            let asking = asking();
            let requests = asking.requests(&spread);
            let index = (sent - 1).saturating_sub(ago);
            let found = requests.find(token(&requests, index), spread.stream_of(index), sent);
            prop_assert_eq!(found, Asked::Now { index, request: requests.of(index) });
        }

        #[test]
        fn a_token_of_an_earlier_trial_is_of_none_of_this_one(
            streams in 1u32..20, first in 1u64..20_000, second in 0u64..20_000, late in 0u64..20_000,
        ) {
            let spread = Spread::new(&Part::equal(streams)).unwrap();
            let mut asking = asking();
            let index = late % first;
            let before = token(&asking.requests(&spread), index);
            asking.had_their_turn(first);
            asking.next_trial(streams as usize);
            let requests = asking.requests(&spread);
            prop_assert_eq!(requests.find(before, spread.stream_of(index), second), Asked::Before);
            let begun = requests.of(0).turn - first;
            prop_assert!((TRIALS..NEVER_TWICE).contains(&begun), "what is asked goes on too: {}", begun);
        }
    }

    #[test]
    fn a_token_that_is_wrong_by_a_bit_is_hardly_ever_that_of_a_request_under_way() {
        let spread = Spread::new(&Part::equal(4)).unwrap();
        let asking = asking();
        let requests = asking.requests(&spread);
        let is_ones = |index: u64| {
            let (token, stream) = (token(&requests, index), spread.stream_of(index));
            let found = (0..16).map(|bit| requests.find(token ^ 1 << bit, stream, 4_000));
            found.filter(|found| *found != Asked::Never).count()
        };
        // Of 65 536 tokens of a stream 1 064 are known.
        let known: usize = (0..4_000).step_by(40).map(is_ones).sum();
        assert!(known < 100, "{known} of 1600");
    }

    #[test]
    fn what_is_asked_before_the_first_trial_has_turns_that_no_trial_has() {
        let (one, four) = (Spread::new(&Part::equal(1)).unwrap(), Spread::new(&Part::equal(4)).unwrap());
        for service in [own("hex:{counter:4}"), own("text:{counter:13d}"), names("h{}.org")] {
            let asking = of_one(service);
            let probed = turns(asking.probing(&one), PROBED);
            let before = turns(asking.before(&four), ROUNDS_BEFORE * 4);
            let trial = turns(asking.requests(&four), 4);
            assert!(probed.last() < before.first() && before.last() < trial.first(), "{service:?}");
        }
        let listed = of_one(names("h{0..99}.org"));
        assert_eq!(turns(listed.probing(&one), 3), turns(listed.requests(&one), 3), "it keeps its order");
    }

    #[test]
    fn what_never_comes_twice_begins_elsewhere_in_each_measurement_and_what_is_listed_with_its_first() {
        let one = Spread::new(&Part::equal(1)).unwrap();
        let begin = |service| of_one(service).requests(&one).of(0).turn;
        for service in [names("h{}.org"), own("hex:{counter:8}"), own("text:{counter:13d}")] {
            let begun: std::collections::BTreeSet<u64> = (0..50).map(|_| begin(service)).collect();
            // Two of fifty are within a million of one another once in three thousand.
            assert!(
                begun.iter().zip(begun.iter().skip(1)).all(|(one, next)| next - one > 1_000),
                "{begun:?}"
            );
            assert_eq!(begun.len(), 50);
        }
        assert_eq!(begin(names("h{0..99}.org")), 0);
        assert_eq!(begin(own("hex:{counter:4}")), BEFORE_TRIALS, "of so few digits it has its order");
    }

    #[test]
    fn a_measurement_that_is_resumed_asks_nothing_again_where_it_need_not_and_goes_on_in_its_list() {
        let behind = |service| first_turn(service, 2, TRIALS + 7);
        let begun: std::collections::BTreeSet<u64> = (0..50).map(|_| behind(names("h{}.org"))).collect();
        assert_eq!(begun.len(), 50);
        assert!(begun.iter().all(|begun| (TRIALS..NEVER_TWICE - LEFT).contains(begun)), "{begun:?}");
        assert_eq!(first_turn(names("h{0..99}.org"), 2, 7), 7, "each has its turn as often");
        assert_eq!(first_turn(own("hex:{counter:4}"), 2, 7), 7);
    }

    #[test]
    fn generators_of_one_schedule_ask_together_what_one_would_and_none_what_another_does() {
        let (one, four) = (Spread::new(&Part::equal(1)).unwrap(), Spread::new(&Part::equal(4)).unwrap());
        for service in [names("h{}.org"), own("hex:{counter:4}"), own("hex:{counter:8}")] {
            let (mut asked, mut before) = (Vec::new(), Vec::new());
            for (index, share) in [3, 1, 2].into_iter().enumerate() {
                let mine = Share::new(index, &[3, 1, 2]).unwrap();
                mine.of(Rate::pps(600.0).unwrap());
                mine.begin_at(5_000_000_000_000);
                let arrival = Arrival::constant().shared(mine);
                let mut asking = Asking::new(service, 7, &arrival, 0);
                before.extend(turns(asking.probing(&one), PROBED));
                before.extend(turns(asking.before(&four), 8));
                asking.next_trial(4);
                asked.extend(turns(asking.requests(&four), 100 * share));
                asking.had_their_turn(100 * share);
                assert!(asking.turns().is_some_and(|turns| turns.first >= 5_000_000_000_000));
            }
            asked.sort_unstable();
            assert_eq!(asked, (5_000_000_000_000..5_000_000_000_600).collect::<Vec<_>>());
            let apart: std::collections::BTreeSet<u64> = before.iter().copied().collect();
            assert_eq!(apart.len(), before.len(), "nor before the first trial");
        }
    }

    #[test]
    fn a_tag_that_comes_round_has_a_request_in_the_turn_before() {
        let template = dropline_payload::service::template::Template::read("hex:{tag:1}", "tag").unwrap();
        let Reply::Service(service) = Reply::of_service(Service::Own(template)) else { panic!("a service") };
        let (asking, spread) = (of_one(service), Spread::new(&Part::equal(2)).unwrap());
        let requests = asking.requests(&spread);
        assert_eq!((requests.turn_before(511), requests.turn_before(513)), (None, Some(1)));
        let tag = |index: u64| {
            let mut bytes = Vec::new();
            requests.write(index, &mut bytes);
            bytes
        };
        assert_eq!(tag(1), tag(513));
    }

    #[test]
    fn what_was_recorded_is_asked_in_its_order_again_and_again_and_in_each_trial_from_its_first() {
        let recorded = vec![vec![0], vec![1], vec![2], vec![3]];
        let template = dropline_payload::service::template::Template::listed(recorded, "any").unwrap();
        let Reply::Service(service) = Reply::of_service(Service::Own(template)) else { panic!("a service") };
        let mut asking = of_one(service);
        for streams in [1, 2] {
            let spread = Spread::new(&Part::equal(streams)).unwrap();
            let sent: Vec<u8> = (0..10)
                .flat_map(|index| {
                    let mut bytes = Vec::new();
                    asking.requests(&spread).write(index, &mut bytes);
                    bytes
                })
                .collect();
            assert_eq!(sent, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1], "{streams}");
            asking.had_their_turn(10);
            asking.next_trial(streams as usize);
        }
    }

    #[test]
    fn what_was_never_sent_is_nobodys() {
        let spread = Spread::new(&Part::equal(4)).unwrap();
        let asking = asking();
        let requests = asking.requests(&spread);
        let next = token(&requests, 40);
        assert_eq!(requests.find(next, spread.stream_of(40), 40), Asked::Never);
    }
}

//! Replies that come from elsewhere than where a packet was sent: a socket that asked one address alone does not hear them,
//! and its sender would take them for lost on the way out.

use super::reading::{Heard, Reading};
use crate::packet::received_set::ReceivedSet;
use crate::sockets::connection::listening_beside;
use crate::sys::receive_drops;
use dropline_trial::Caveat;
use std::net::{SocketAddr, UdpSocket};

/// Sockets beside those of the streams, each hearing of everybody else; nothing is sent by them.
#[derive(Default)]
pub(crate) struct Elsewhere {
    sockets: Vec<UdpSocket>,
    /// What each of them had no room for by then.
    drops: Vec<u32>,
}

/// What came from elsewhere in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strayed {
    /// Packets that were answered so, and not otherwise.
    pub(crate) packets: u64,
    /// Packets that were answered so too, beside their own reply.
    pub(crate) too: u64,
    /// Where the first such answer came from.
    pub(crate) from: Option<SocketAddr>,
    /// Datagrams that these sockets had no room for.
    pub(crate) dropped: u64,
}

/// Streams that are listened beside: what answers from elsewhere does so to all.
const MOST_STREAMS: usize = 64;
/// Bytes that are looked at of a reply.
const KEPT_BYTES: usize = 2048;
/// Replies that are taken from one socket, which holds fewer.
const MOST_REPLIES: usize = 1 << 16;

impl Elsewhere {
    /// Beside these sockets, as far as the system lets.
    pub(crate) fn beside(streams: &[UdpSocket]) -> Self {
        let beside = |socket| {
            let beside = listening_beside(socket).ok()?;
            beside.set_nonblocking(true).ok().map(|()| beside)
        };
        let sockets: Vec<UdpSocket> = streams.iter().take(MOST_STREAMS).map_while(beside).collect();
        Self { drops: vec![0; sockets.len()], sockets }
    }

    /// Before a trial: what came by now is none of its replies.
    pub(crate) fn clear(&mut self) {
        for (socket, drops) in self.sockets.iter().zip(&mut self.drops) {
            replies(socket, &mut [0; 1], |_, _| {});
            *drops = receive_drops(socket).unwrap_or(0);
        }
    }

    /// After its drain, in which the packets below `sent_below` had left and those in `seen` came back.
    pub(crate) fn take(&mut self, reading: Reading<'_>, sent_below: u64, seen: &ReceivedSet) -> Strayed {
        let mut strayed = Strayed::default();
        let mut answered = ReceivedSet::default();
        let mut bytes = vec![0; KEPT_BYTES];
        for (stream, (socket, drops)) in self.sockets.iter().zip(&mut self.drops).enumerate() {
            replies(socket, &mut bytes, |reply, from| {
                let (Heard::Reply { index, .. }
                | Heard::Part { index, .. }
                | Heard::Astray { index }
                | Heard::Different { index: Some(index), .. }) =
                    // Which request one from elsewhere answers is not told by its place.
                    reading.hear(reply, stream, sent_below, u64::MAX)
                else {
                    return;
                };
                answered.insert(index);
                strayed.from.get_or_insert(from);
            });
            let now = receive_drops(socket).unwrap_or(*drops);
            strayed.dropped += u64::from(now.wrapping_sub(*drops));
            *drops = now;
        }
        strayed.packets = answered.count_without(seen);
        strayed.too = answered.count_without(&ReceivedSet::default()) - strayed.packets;
        strayed
    }
}

impl Strayed {
    /// Of so many packets that never came back, those that were answered from elsewhere: what there was no room for is taken
    /// for more of the same.
    pub(crate) fn of_missing(self, missing: u64) -> u64 {
        if self.packets == 0 { 0 } else { (self.packets + self.dropped).min(missing) }
    }

    /// Of so many packets that did come back, those that were answered from elsewhere too: what there was no room for is more of
    /// that where nothing that is missing was answered so.
    pub(crate) fn of_answered(self, forwarded: u64) -> u64 {
        let more = if self.packets == 0 { self.dropped } else { 0 };
        if self.too == 0 { 0 } else { (self.too + more).min(forwarded) }
    }

    /// The doubts about a trial of which so many packets, sent to `asked`, were answered so alone, and so many too.
    pub(crate) fn doubts(self, packets: u64, copies: u64, asked: SocketAddr) -> Vec<Caveat> {
        let Some(from) = self.from.map(|from| from.to_string()) else { return Vec::new() };
        let asked = asked.to_string();
        let missing = (packets > 0).then(|| {
            let (asked, from) = (asked.clone(), from.clone());
            Caveat::RepliesElsewhere { packets, asked, from }
        });
        let more = (copies > 0).then_some(Caveat::CopiesElsewhere { copies, asked, from });
        missing.into_iter().chain(more).collect()
    }
}

/// Takes what waits at a socket.
fn replies(socket: &UdpSocket, bytes: &mut [u8], mut heard: impl FnMut(&[u8], SocketAddr)) {
    for _ in 0..MOST_REPLIES {
        let Ok((length, from)) = socket.recv_from(bytes) else { return };
        heard(&bytes[..length], from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_was_no_room_for_is_more_of_the_same_and_no_more_than_is_missing() {
        let strayed = |packets, dropped| Strayed { packets, dropped, ..Strayed::default() }.of_missing(50);
        assert_eq!((strayed(10, 0), strayed(10, 7), strayed(10, 99), strayed(0, 99)), (10, 17, 50, 0));
        let copies = |too, packets, dropped| Strayed { too, packets, dropped, from: None }.of_answered(50);
        assert_eq!((copies(10, 0, 7), copies(10, 0, 99), copies(10, 1, 7), copies(0, 0, 7)), (17, 50, 10, 0));
    }
}

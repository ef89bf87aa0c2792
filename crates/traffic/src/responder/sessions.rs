//! The sessions of a reflector that numbers its answers itself.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The next number of each session, by its sender. Bounded: whoever makes up senders is not answered, and takes no memory.
#[derive(Debug, Default)]
pub(crate) struct Sessions(HashMap<SocketAddr, Session>);

#[derive(Debug)]
struct Session {
    next: u32,
    last: Duration,
}

/// Sessions at once.
const MOST: usize = 4096;
/// One that is silent for so long is over (RFC 8762 leaves it to the reflector; TWAMP waits as long).
const OVER_AFTER: Duration = Duration::from_secs(900);

impl Sessions {
    /// The number of a session's next answer; `None` where there are too many sessions.
    pub(crate) fn next(&mut self, sender: SocketAddr, now: Duration) -> Option<u32> {
        if self.0.len() >= MOST && !self.0.contains_key(&sender) {
            self.0.retain(|_, session| now.saturating_sub(session.last) <= OVER_AFTER);
            if self.0.len() >= MOST {
                return None;
            }
        }
        let session = self.0.entry(sender).or_insert(Session { next: 0, last: now });
        session.last = now;
        let number = session.next;
        session.next = number.wrapping_add(1);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_session_is_numbered_by_itself_and_made_up_senders_take_no_memory() {
        let mut sessions = Sessions::default();
        let sender = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let at = Duration::from_secs;
        assert_eq!([sessions.next(sender(1), at(0)), sessions.next(sender(1), at(1))], [Some(0), Some(1)]);
        let admitted = (2..10_000).filter(|&port| sessions.next(sender(port), at(2)).is_some()).count();
        assert_eq!((admitted, sessions.0.len()), (MOST - 1, MOST));
        assert_eq!(sessions.next(sender(1), at(3)), Some(2), "who is known goes on");
        assert_eq!(sessions.next(sender(20_000), at(1000)), Some(0), "those that are over make room");
    }
}

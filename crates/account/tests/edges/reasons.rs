//! What the kernel dropped packets for, where nobody saw the interfaces on the way.

use crate::unruled;
use dropline_account::{Outcome, Place, Role, Snapshot, Stack, account};

#[test]
fn an_interface_that_nobody_saw_may_have_lost_what_the_kernel_says_that_one_lost() {
    for (place, key) in [(Place::Softnet, "softnet"), (Place::LinkDown, "link_down")] {
        for devices in [None, Some(vec![])] {
            let is_unseen = devices.is_none();
            let space = unruled(Role::Far, Stack::default(), devices);
            let reasons = Some([(place, 30)].into());
            let grown = Snapshot { spaces: vec![space], reasons, ..Snapshot::default() };
            let outcome = Outcome { offered: 100, forwarded: 70, ..Outcome::default() };
            let lost_at = account(&outcome, &grown, |_| None).lost_at;
            assert_eq!(lost_at.get(key), is_unseen.then_some(&30), "{key}");
        }
    }
}

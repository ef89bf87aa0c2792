//! What the kernel dropped packets for, where nobody saw the interfaces on the way.

use dropline_account::{Outcome, Place, Role, Snapshot, Space, Stack, account};

#[test]
fn an_interface_that_nobody_saw_may_have_lost_what_the_kernel_says_that_one_lost() {
    for (place, key) in [(Place::Softnet, "softnet"), (Place::LinkDown, "link_down")] {
        for devices in [None, Some(vec![])] {
            let is_unseen = devices.is_none();
            let space = Space {
                id: 1,
                role: Role::Far,
                stack: Stack::default(),
                devices,
                hooked: Some(false),
                ruled: Some(false),
                ruled_way: None,
                drops_arriving: dropline_account::Bars::Nothing,
                drops_leaving: dropline_account::Bars::Nothing,
                source_is_own: false,
                neighbour_found: Some(true),
            };
            let reasons = Some([(place, 30)].into());
            let grown = Snapshot { spaces: vec![space], reasons, ..Snapshot::default() };
            let outcome = Outcome { offered: 100, forwarded: 70, ..Outcome::default() };
            let lost_at = account(&outcome, &grown, |_| None).lost_at;
            assert_eq!(lost_at.get(key), is_unseen.then_some(&30), "{key}");
        }
    }
}

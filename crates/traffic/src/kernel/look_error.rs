//! What an error of looking at the kernel says: that nothing is there to be seen, or that what is there is not known.

use std::io;

/// What was looked at; `None` where this user may not see it, or this kernel does not have it. Any other error says nothing
/// of what is there: no thread, no file and no memory to look with.
pub(crate) fn seen<T>(looked: io::Result<T>) -> io::Result<Option<T>> {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, PermissionDenied, Unsupported};
    const NOT_THERE: [i32; 4] = [libc::ESRCH, libc::EPROTONOSUPPORT, libc::EAFNOSUPPORT, libc::ENOPROTOOPT];
    looked.map(Some).or_else(|why| {
        let hidden =
            matches!(why.kind(), InvalidInput | NotADirectory | NotFound | PermissionDenied | Unsupported)
                || why.raw_os_error().is_some_and(|code| NOT_THERE.contains(&code));
        if hidden { Ok(None) } else { Err(why) }
    })
}

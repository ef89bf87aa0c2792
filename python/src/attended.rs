//! Work in a thread of its own, while Python's signals are attended to.

use dropline_failure::Failure;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// How long a Ctrl-C may wait to be heard.
const LOOK: Duration = Duration::from_millis(50);

/// Does the work without the lock of the interpreter. A signal whose handler raises sets `stop`; its exception is handed back
/// beside what the work then came to.
///
/// # Errors
/// If the system starts no thread.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send,
) -> Result<(T, Option<PyErr>), Failure> {
    py.detach(|| {
        thread::scope(|scope| {
            let (done, ended) = sync_channel::<()>(1);
            let worker = thread::Builder::new()
                .spawn_scoped(scope, move || {
                    let _done = done;
                    work()
                })
                .map_err(|why| Failure::thread(&why))?;
            let mut raised = None;
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if let Err(why) = Python::attach(|py| py.check_signals()) {
                    stop.store(true, Ordering::SeqCst);
                    raised = Some(why);
                }
            }
            let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((done, raised))
        })
    })
}

//! Why a laboratory could not be built.

use std::io;

/// What was built; `None` where this user may not or a program is missing, which skips a test. With `CI=true` that is a
/// failure.
///
/// # Panics
/// With `CI=true`, and if it could not be built for another reason.
pub fn built_or_skipped<T>(lab: Result<T, LabError>) -> Option<T> {
    match lab {
        Ok(lab) => Some(lab),
        Err(why @ (LabError::Permission(_) | LabError::Missing { .. })) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI cannot build a laboratory: {why}");
            eprintln!("skipped: {why}");
            None
        }
        Err(other) => panic!("{other}"),
    }
}

/// Why a laboratory could not be built, or a program not be started in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// A program that builds it is not installed: install the Debian package.
    #[error("{program} is not installed; it is in the package {package}")]
    Missing {
        /// The program.
        program: String,
        /// The package that has it.
        package: &'static str,
    },
    /// This user may not make network namespaces: root, or CAP_NET_ADMIN and CAP_SYS_ADMIN, are needed.
    #[error("this user may not build network namespaces (root, or CAP_NET_ADMIN and CAP_SYS_ADMIN): {0}")]
    Permission(String),
    /// A program refused what it was told.
    #[error("{command} failed: {said}")]
    Refused {
        /// The program and its words.
        command: String,
        /// What it printed to its error output.
        said: String,
    },
    /// A started program ended, or kept silent, before it said that it was ready.
    #[error("{program} did not say that it was ready: {why}")]
    NotReady {
        /// The program.
        program: String,
        /// Ended, or silent for how long.
        why: String,
    },
    /// The system refused something else.
    #[error("{doing} failed: {source}")]
    System {
        /// What was tried.
        doing: String,
        /// In the system's words.
        source: io::Error,
    },
}

impl LabError {
    pub(crate) fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}

//! Keys of a fleet, and the configuration of a server that lets each do what it is for and nothing else.

use dropline_failure::{Failure, quoted_path};
use nkeys::KeyPair;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::name::is_name;

/// The name of who coordinates trials.
pub const COORDINATOR: &str = "coordinator";
/// No agent is called so.
const RESERVED: [&str; 2] = [COORDINATOR, "issuer"];

/// Makes a new key for the coordinator and for each of these agents, and writes them into a new directory, with the configuration
/// of a server that knows them and listens at `listen`. Returns the files.
///
/// # Errors
/// If a name cannot be one, or a file cannot be written: none that exists is written over.
pub fn write(directory: &Path, listen: &str, agents: &[String]) -> Result<Vec<PathBuf>, Failure> {
    if let Some(wrong) = agents.iter().find(|name| !is_name(name) || RESERVED.contains(&name.as_str())) {
        return Err(Failure::usage(format!("{wrong:?} cannot be the name of an agent")).advice(
            "it has at most 32 letters, digits, - and _, and is neither \"coordinator\" nor \"issuer\"",
        ));
    }
    if let Some(twice) =
        (1..agents.len()).map(|at| &agents[at..]).zip(agents).find(|(behind, name)| behind.contains(name))
    {
        return Err(Failure::usage(format!("{:?} is named twice", twice.1))
            .advice("each agent has a name and a key of its own: name each once"));
    }
    let failed = |why: io::Error| {
        Failure::environment(format!("keys cannot be written to {}: {why}", quoted_path(directory)))
            .advice("name a directory that does not exist yet")
    };
    fs::DirBuilder::new().mode(0o700).create(directory).map_err(failed)?;
    write_in(directory, listen, agents).map_err(failed)
}

/// The same in a directory that is there.
pub(crate) fn write_in(directory: &Path, listen: &str, agents: &[String]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut users = String::new();
    let mut of_agents = String::new();
    let all = [COORDINATOR].into_iter().chain(agents.iter().map(String::as_str));
    for name in all {
        let key = KeyPair::new_user();
        users += &user(name, &key.public_key());
        if name != COORDINATOR {
            of_agents += &format!("# consenters.{} = [\"ADDRESS:PORT\"]  # {name}\n", key.public_key());
        }
        let path = key_of(directory, name);
        write_secret(&path, &(key.seed().map_err(io::Error::other)? + "\n"))?;
        files.push(path);
    }
    let issuer = KeyPair::new_account();
    let path = directory.join("issuer.nk");
    write_secret(&path, &(issuer.seed().map_err(io::Error::other)? + "\n"))?;
    files.push(path);
    let path = directory.join("agent.toml");
    write_secret(
        &path,
        &format!(
            "# Whose grants an agent obeys, and what it never exceeds.\nissuers = [{:?}]\n# Agents that are believed when they say \
             that their host consents, and for which of its addresses: whoever is named here can have this host send there.\n{of_agents}",
            issuer.public_key()
        ),
    )?;
    files.push(path);
    let path = directory.join("server.conf");
    write_secret(&path, &format!("listen: {listen:?}\nauthorization {{ users: [\n{users}] }}\n"))?;
    files.push(path);
    Ok(files)
}

/// The key in a file.
///
/// # Errors
/// If there is none.
pub fn read(path: &Path) -> Result<KeyPair, Failure> {
    let text = fs::read_to_string(path)
        .map_err(|why| Failure::environment(format!("{} cannot be read: {why}", quoted_path(path))))?;
    let key = text.lines().find_map(|line| KeyPair::from_seed(line.trim()).ok());
    key.ok_or_else(|| Failure::usage(format!("{} holds no key", quoted_path(path))))
}

/// A name that nothing else has.
pub fn id() -> String {
    KeyPair::new_user().public_key()[1..17].to_owned()
}

/// The file with the key of who has this name.
pub(crate) fn key_of(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.nk"))
}

/// A user of the server: an agent may tell results under its own name and hear what is for it or for all; who coordinates may all.
fn user(name: &str, key: &str) -> String {
    let (publish, subscribe) = match name {
        COORDINATOR => ("\">\"".to_owned(), "\">\"".to_owned()),
        agent => (
            format!("\"result.*.{agent}\""),
            format!("\"agent.{agent}.>\", \"fleet.>\", \"_INBOX.{agent}.>\""),
        ),
    };
    format!(
        "  # {name}\n  {{ nkey: {key}, permissions: {{ publish: [{publish}], subscribe: [{subscribe}], allow_responses: {{ max: 4, \
         expires: \"5m\" }} }} }}\n"
    )
}

/// Nobody else can read it.
fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn keys_are_secret_and_nothing_is_written_over() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("fleet");
        let files = write(&directory, "0.0.0.0:4222", &["a".into(), "b".into()]).unwrap();
        assert_eq!(files.len(), 6);
        for file in &files {
            let mode = fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}", file.display());
        }
        let text = fs::read_to_string(directory.join("server.conf")).unwrap();
        // What signs begins with SU; a public key may hold these letters somewhere.
        let is_secret = |word: &str| word.starts_with("SU");
        assert!(!text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_secret), "{text}");
        assert!(text.contains("publish: [\"result.*.a\"]"), "{text}");
        assert_eq!(write(&directory, "0.0.0.0:4222", &["a".into()]).unwrap_err().exit_code(), 4);
        for wrong in ["coordinator", "a.b", ">", ""] {
            let other = place.path().join("other");
            assert_eq!(write(&other, "x", &[wrong.into()]).unwrap_err().exit_code(), 2, "{wrong}");
        }
        let twice = write(&place.path().join("other"), "x", &["a".into(), "b".into(), "a".into()]);
        assert_eq!(twice.unwrap_err().exit_code(), 2);
        assert!(!place.path().join("other").exists(), "nothing is left of it");
    }
}

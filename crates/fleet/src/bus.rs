//! A connection to a NATS server, for threads that wait.

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Subscriber};
use dropline_failure::{Failure, quoted_path};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Runtime;

/// So long the first connection may take.
const CONNECT: Duration = Duration::from_secs(5);

/// So long a message may take on its way to the server.
const SAID_WITHIN: Duration = Duration::from_secs(2);

/// So long it may take from what a server says to our knowing it.
const TOLD_WITHIN: Duration = Duration::from_millis(200);

/// Who we are to a server.
#[derive(Clone)]
pub enum Login {
    /// Anybody.
    Nobody,
    /// The seed of an nkey.
    Key(String),
    /// A JWT with its key, as `nsc` writes it.
    Credentials(String),
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nobody => "Nobody",
            Self::Key(_) => "Key",
            Self::Credentials(_) => "Credentials",
        })
    }
}

impl Login {
    /// The key that it holds.
    pub(crate) fn key(&self) -> Option<nkeys::KeyPair> {
        let (Self::Key(text) | Self::Credentials(text)) = self else { return None };
        text.lines().find_map(|line| nkeys::KeyPair::from_seed(line.trim()).ok())
    }

    /// Reads a file: credentials, or the seed of an nkey.
    ///
    /// # Errors
    /// If it cannot be read, or holds neither.
    pub fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::Nobody) };
        let text = std::fs::read_to_string(path).map_err(|why| {
            Failure::environment(format!("--creds: {} cannot be read: {why}", quoted_path(path)))
        })?;
        if text.contains("BEGIN NATS USER JWT") {
            return Ok(Self::Credentials(text));
        }
        let seed = text.lines().map(str::trim).find(|line| nkeys::KeyPair::from_seed(line).is_ok());
        seed.map(|seed| Self::Key(seed.to_owned())).ok_or_else(|| {
            Failure::usage(format!("--creds: {} holds no key", quoted_path(path))).advice(
                "it is a file that  nsc generate creds  wrote, or the seed of an nkey, a line that begins with SU",
            )
        })
    }
}

/// A connection, and the threads that serve it.
pub struct Bus {
    runtime: Runtime,
    client: Client,
    /// What the server said that we may not do.
    forbidden: Arc<Mutex<Option<String>>>,
}

impl Bus {
    /// Connects; what is answered to `name` comes to an inbox of its own.
    ///
    /// # Errors
    /// If there is no server, or it does not admit us.
    pub fn connect(url: &str, login: &Login, name: &str) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("fleet")
            .enable_all()
            .build()
            .map_err(|why| Failure::thread(&why))?;
        let options = match login {
            Login::Nobody => ConnectOptions::new(),
            Login::Key(seed) => ConnectOptions::with_nkey(seed.clone()),
            Login::Credentials(text) => ConnectOptions::with_credentials(text)
                .map_err(|why| Failure::usage(format!("--creds: the credentials cannot be read: {why}")))?,
        };
        let forbidden: Arc<Mutex<Option<String>>> = Arc::default();
        let told = Arc::clone(&forbidden);
        let options = options
            .event_callback(move |event| {
                let told = Arc::clone(&told);
                async move {
                    let said = event.to_string();
                    if said.to_lowercase().contains("permissions violation") {
                        told.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(said);
                    }
                }
            })
            .name(format!("dropline {name}"))
            .custom_inbox_prefix(format!("_INBOX.{name}"))
            .connection_timeout(CONNECT)
            .ping_interval(Duration::from_secs(2))
            .reconnect_delay_callback(|attempts| Duration::from_millis(50 << attempts.min(5)));
        let connected = runtime.block_on(async { tokio::time::timeout(CONNECT, options.connect(url)).await });
        let client = match connected {
            Ok(Ok(client)) => client,
            Ok(Err(why)) => return Err(not_connected(url, &why)),
            Err(_) => return Err(not_connected(url, &"it did not answer in time")),
        };
        Ok(Self { runtime, client, forbidden })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Whether there is a connection at all.
    pub(crate) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// What the server forbids of all that was asked of it until now, in its words; `None` where nothing.
    pub(crate) fn forbidden(&self) -> Option<String> {
        let asked = async { tokio::time::timeout(SAID_WITHIN, self.client.flush()).await };
        let _ = self.runtime.block_on(asked);
        // It is told on a way of its own.
        std::thread::sleep(TOLD_WITHIN);
        self.forbidden.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn subscribe(&self, subject: String) -> Result<Subscriber, Failure> {
        self.runtime
            .block_on(self.client.subscribe(subject))
            .map_err(|why| Failure::environment(format!("cannot listen to the fleet: {why}")))
    }

    /// Says something to whoever listens.
    pub(crate) fn say(&self, subject: &str, what: &impl Serialize) -> Result<(), Failure> {
        let said = async {
            self.client
                .publish(subject.to_owned(), bytes_of(what).into())
                .await
                .map_err(|why| why.to_string())?;
            self.client.flush().await.map_err(|why| why.to_string())
        };
        self.runtime
            .block_on(async { tokio::time::timeout(SAID_WITHIN, said).await })
            .unwrap_or_else(|_| Err("the server does not take it".into()))
            .map_err(|why| Failure::environment(format!("the fleet cannot be told: {why}")))
    }
}

/// Asks one agent; `None` if it did not answer in time, or there is no server any more.
pub(crate) async fn ask<T: DeserializeOwned>(
    client: &Client,
    subject: String,
    what: Vec<u8>,
    patience: Duration,
) -> Option<T> {
    let asked = tokio::time::timeout(patience, client.request(subject, what.into()));
    tokio::select! {
        answer = asked => serde_json::from_slice(&answer.ok()?.ok()?.payload).ok(),
        () = disconnected(client) => None,
    }
}

/// Ends when there is no connection: what was asked is not answered then.
async fn disconnected(client: &Client) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if client.connection_state() != State::Connected {
            return;
        }
    }
}

pub(crate) fn bytes_of(what: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(what).expect("a message is JSON")
}

fn not_connected(url: &str, why: &dyn std::fmt::Display) -> Failure {
    let text = why.to_string();
    let lower = text.to_lowercase();
    if lower.contains("unknownissuer") || lower.contains("certificate") {
        return Failure::environment(format!("no connection to {url}: {text}")).advice(
            "this machine does not believe the server's certificate: of an authority of your own, name its certificate by the \
             variable SSL_CERT_FILE, as in  SSL_CERT_FILE=ca.pem dropline …",
        );
    }
    let is_refused = lower.contains("authorization");
    Failure::environment(format!("no connection to {url}: {text}")).advice(match is_refused {
        true => "the server does not know this key: name the file with the right one by --creds, or add its public key to the \
                 server's users",
        false => "is a nats-server running there, and is the port open?  nats-server -c keys/server.conf  starts one",
    })
}

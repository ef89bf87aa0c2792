//! The schedulers that a graph can run on.

use async_executor::Executor;
use futuresdr::runtime::dev::{Block, MaybeSend};
use futuresdr::runtime::scheduler::{FlowScheduler, Scheduler, SmolScheduler, Task};
use futuresdr::runtime::{BlockId, Error, Flowgraph, FlowgraphMessage, Runtime, channel::mpsc::Sender};
use std::future::Future;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::Builder;

/// Which scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A worker pinned to each CPU, blocks dealt out in the order of the graph.
    Flow,
    /// Work stealing by so many threads; `None`: one a CPU.
    Smol(Option<usize>),
    /// A thread for each block.
    ThreadPerBlock,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match word {
            "flow" => Ok(Self::Flow),
            "smoln" => Ok(Self::Smol(None)),
            "tpb" => Ok(Self::ThreadPerBlock),
            _ => word
                .strip_prefix("smol")
                .and_then(|threads| threads.parse().ok())
                .filter(|threads| (1..=1024).contains(threads))
                .map(|threads| Self::Smol(Some(threads)))
                .ok_or_else(|| {
                    format!("there is no scheduler {word:?}; there are flow, smol1, smol2 …, smoln, tpb")
                }),
        }
    }
}

/// Runs graphs, one after another, on threads that live as long as it does.
pub type Runner = Box<dyn Fn(Flowgraph) -> Result<Flowgraph, Error>>;

/// A runtime with this scheduler. CPUs that the process may not use are not used.
pub fn runner(choice: Choice) -> Runner {
    match choice {
        Choice::Flow => run_on(FlowScheduler::new()),
        Choice::Smol(None) => run_on(SmolScheduler::default()),
        Choice::Smol(Some(threads)) => run_on(SmolScheduler::new(threads, false)),
        Choice::ThreadPerBlock => {
            let not_started = Arc::default();
            let scheduler = ThreadPerBlock {
                control: SmolScheduler::new(1, false),
                not_started: Arc::clone(&not_started),
            };
            let run = run_on(scheduler);
            Box::new(move |graph| {
                let ran = run(graph);
                not_started.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(ran, Err)
            })
        }
    }
}

fn run_on<S: Scheduler + Sync>(scheduler: S) -> Runner {
    let runtime = Runtime::with_scheduler(scheduler);
    Box::new(move |graph| runtime.run(graph))
}

/// A thread for each block: what GNU Radio does.
#[derive(Clone, Debug)]
struct ThreadPerBlock {
    /// Runs what is no block.
    control: SmolScheduler,
    /// Why a block got no thread, until the graph's run is over.
    not_started: Arc<Mutex<Option<Error>>>,
}

impl Scheduler for ThreadPerBlock {
    fn run_flowgraph(
        &self,
        blocks: Vec<Box<dyn Block>>,
        main_channel: &Sender<FlowgraphMessage>,
    ) -> Vec<Task<(BlockId, Box<dyn Block>)>> {
        let each = |mut block: Box<dyn Block>| {
            let main_channel = main_channel.clone();
            let executor = Arc::new(Executor::new());
            let (begin, begun) = mpsc::channel::<()>();
            let ticking = Arc::clone(&executor);
            // The thread ends with the block's task.
            let run = move || {
                if begun.recv().is_ok() {
                    while !ticking.is_empty() {
                        async_io::block_on(ticking.tick());
                    }
                }
            };
            if let Err(why) = Builder::new().spawn(run) {
                let why = Error::RuntimeError(format!("a thread could not be started ({why})"));
                self.not_started.lock().unwrap_or_else(PoisonError::into_inner).replace(why);
                return self.control.spawn(async move {
                    // It ends the graph. Who does not hear it has ended.
                    let _ = main_channel.send(FlowgraphMessage::BlockError { block_id: block.id() }).await;
                    (block.id(), block)
                });
            }
            let task = executor.spawn(async move {
                block.run(main_channel).await;
                (block.id(), block)
            });
            // The thread waits for it.
            let _ = begin.send(());
            task
        };
        blocks.into_iter().map(each).collect()
    }

    fn spawn<T: MaybeSend + 'static>(
        &self,
        future: impl Future<Output = T> + MaybeSend + 'static,
    ) -> Task<T> {
        self.control.spawn(future)
    }

    fn spawn_blocking<T: MaybeSend + 'static>(
        &self,
        future: impl Future<Output = T> + MaybeSend + 'static,
    ) -> Task<T> {
        self.control.spawn_blocking(future)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedulers_are_read_by_their_names() {
        assert_eq!("flow".parse(), Ok(Choice::Flow));
        assert_eq!("smol1".parse(), Ok(Choice::Smol(Some(1))));
        assert_eq!("smoln".parse(), Ok(Choice::Smol(None)));
        assert_eq!("tpb".parse(), Ok(Choice::ThreadPerBlock));
        for wrong in ["smol", "smol0", "smol9999", "wasm", ""] {
            assert!(wrong.parse::<Choice>().is_err(), "{wrong}");
        }
    }
}

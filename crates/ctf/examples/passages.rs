//! Counts and prints the passages of a CTF trace: `passages DIR [--print]`.

use dropline_ctf::Trace;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let directory = words.next().ok_or("usage: passages DIR [--print]")?;
    let print = words.next().is_some();
    let begun = Instant::now();
    let names = [("dropline:tx", "pipe", "n"), ("dropline:rx", "pipe", "n")];
    let mut trace = Trace::open(directory.as_ref(), &names)?;
    let mut sum = 0;
    while let Some(passage) = trace.next_passage()? {
        sum ^= passage.at_ns ^ passage.n;
        if print {
            println!("{passage:?}");
        }
    }
    let counts = trace.counts();
    let seconds = begun.elapsed().as_secs_f64();
    let events = counts.wanted + counts.others;
    println!(
        "{counts:?}\n{events} events in {seconds:.3} s: {:.1} M/s ({sum:x})",
        events as f64 / seconds / 1e6
    );
    Ok(())
}

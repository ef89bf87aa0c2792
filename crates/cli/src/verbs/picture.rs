//! A plot as a picture: librsvg's program paints what was drawn.

use dropline_failure::Failure;
use std::io::{ErrorKind, Write as _};
use std::process::{Command, Stdio};

/// The program, as librsvg names it.
const PAINTER: &str = "rsvg-convert";
/// Pixels of the picture for each of the drawing's: sharp on paper and on dense screens.
const ZOOM: &str = "2";

/// The drawing as a PNG, with the mark by which it is known that it may be drawn anew.
///
/// # Errors
/// If the program is not there, or does not paint it.
pub(super) fn png(svg: &str) -> Result<Vec<u8>, Failure> {
    let mut painter = Command::new(PAINTER)
        .args(["--zoom", ZOOM, "--format", "png"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|why| match why.kind() {
            ErrorKind::NotFound => Failure::environment(format!(
                "PNG pictures are painted by the program {PAINTER}, and it is not installed"
            ))
            .advice(
                "install it: apt install librsvg2-bin, dnf install librsvg2-tools or brew install librsvg; SVG files \
                 need no other program: --svg DIR",
            ),
            _ => Failure::environment(format!("cannot run {PAINTER}: {why}")),
        })?;
    // One that ends early says why by its own words, and not by what it did not read.
    drop(painter.stdin.take().map(|mut into| into.write_all(svg.as_bytes())));
    let ended = painter
        .wait_with_output()
        .map_err(|why| Failure::environment(format!("cannot wait for {PAINTER}: {why}")))?;
    dropline_report::marked_png(&ended.stdout).filter(|_| ended.status.success()).ok_or_else(|| {
        let said = String::from_utf8_lossy(&ended.stderr);
        let said = said.lines().next().unwrap_or("it said nothing").to_owned();
        Failure::environment(format!("{PAINTER} did not paint the plot ({}): {said}", ended.status))
            .advice("write SVG files instead: --svg DIR")
    })
}

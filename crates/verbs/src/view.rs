//! The verb `view`: a history in a browser of this machine.

use crate::pages::Pages;
use dropline_failure::Failure;
use dropline_http::{Answers, Content, Gate, Http, Request, RunningHttp};
use dropline_report::{AskedRecords, COMPARED, TRENDS};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// A page that changes is asked for again no sooner.
const SOONEST: Duration = Duration::from_secs(2);
/// Nor later.
const LATEST: Duration = Duration::from_secs(60);
/// Of the time, so much goes at most to drawing it anew.
const SHARE: u32 = 20;

/// Serves the pages of a history to who knows their address, until it is dropped.
///
/// # Errors
/// If the history cannot be read, or the address is not of this machine alone.
pub fn view(directory: &Path, listen: SocketAddr) -> Result<RunningHttp, Failure> {
    let pages = RwLock::new(Pages::of(directory, true)?);
    let drawing = Mutex::new(());
    let answers: Arc<Answers> = Arc::new(move |request: &Request| answer(&pages, &drawing, request));
    Http::start(listen, Gate::with_token()?, answers)
}

/// What a path holds. Records are found by their names in the history: no path leads to another file.
fn answer(pages: &RwLock<Pages>, drawing: &Mutex<()>, request: &Request) -> Option<Content> {
    let page = request.path.strip_prefix('/')?;
    // What reads records is drawn one at a time, so that many readers take no more memory than one; the list waits for none.
    let _turn = (!page.is_empty()).then(|| drawing.lock().unwrap_or_else(PoisonError::into_inner));
    let began = Instant::now();
    // While a page is drawn, the history is as it was when that began.
    let looked = pages.try_write().map_or(Ok(()), |mut pages| pages.look_again());
    let pages = &*pages.read().unwrap_or_else(PoisonError::into_inner);
    let found = looked.and_then(|()| found(pages, page, request)).transpose()?;
    Some(match found {
        Ok((text, is_running)) => {
            let again = (began.elapsed() * SHARE).clamp(SOONEST, LATEST);
            Content { again_s: is_running.then_some(again.as_secs()), ..Content::page(text) }
        }
        Err(why) => Content { is_found: false, ..Content::page(pages.said(page, &why)) },
    })
}

/// A page, and whether it will be another one soon.
fn found(pages: &Pages, page: &str, request: &Request) -> Result<Option<(String, bool)>, Failure> {
    let said = |name: &str| request.said(name).unwrap_or_default().to_owned();
    let text = match page {
        "" => {
            let asked = AskedRecords {
                target: said("target"),
                goal: said("goal"),
                kind: said("kind"),
                since: said("since"),
                until: said("until"),
                label: said("label"),
                wrong: None,
            };
            pages.list(request.said("page").and_then(|page| page.parse().ok()).unwrap_or(1), &asked)
        }
        TRENDS => pages.trend_list()?,
        COMPARED => match request.said("a") {
            Some(a) => pages.beside(a, request.said("b"))?,
            None => {
                return Err(
                    Failure::usage("nothing says which record is A").advice("choose A and B in the list")
                );
            }
        },
        _ => {
            match (page.strip_prefix("trend/").and_then(|id| id.strip_suffix(".html")), pages.record_at(page))
            {
                (Some(id), _) => return Ok(pages.trend(id)?.map(|text| (text, false))),
                (None, Some(line)) => {
                    let still = request.said("still").is_some();
                    let shown = pages.record(line, "", still)?;
                    return Ok(Some((shown.text, shown.is_running && !still)));
                }
                (None, None) => return Ok(None),
            }
        }
    };
    Ok(Some((text, false)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_waits_for_no_page_that_is_being_drawn() {
        let directory = tempfile::tempdir().unwrap();
        let pages = RwLock::new(Pages::of(directory.path(), true).unwrap());
        let drawing = Mutex::new(());
        let _page = drawing.lock().unwrap();
        let _history = pages.read().unwrap();
        let list = Request::of("/").unwrap();
        assert!(answer(&pages, &drawing, &list).unwrap().text.contains("no record yet"));
    }
}

//! Opens a page in the browser. A failure is a note, because the page is already written.

use crate::console::warn;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Programs that open a file with the desktop's default application.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];
/// Time to wait for an opener to fail; one that still runs after that is left running.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens `page`, or prints the reason on standard error.
pub fn open(page: &Path) {
    if let Err(reason) = try_open(page) {
        warn(&format!("note: cannot open {}: {reason}", page.display()));
    }
}

fn try_open(page: &Path) -> Result<(), String> {
    let opener = OPENERS.into_iter().find_map(|name| which::which(name).ok());
    let opener = opener.ok_or_else(|| format!("none of {} is installed", OPENERS.join(", ")))?;
    let mut command = Command::new(&opener);
    command.arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = |error: io::Error| format!("{}: {error}", opener.display());
    let mut child = command.spawn().map_err(failed)?;
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        match child.try_wait().map_err(failed)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{} ended with {status}", opener.display())),
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
    Ok(())
}

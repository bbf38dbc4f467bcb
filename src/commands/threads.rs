//! Checks the number of threads that the environment requests.

use super::CommandError;

/// Variables that the thread pools read.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "POLARS_MAX_THREADS"];
/// More than the cores of the largest machine. A pool of 100,000 threads cannot start, and ends the program.
const MOST: u64 = 1024;

/// Proves that the environment does not request more threads than can start.
///
/// # Errors
/// It does; the error names the variable.
pub fn prove_bounded() -> Result<(), CommandError> {
    let asked = |name: &'static str| Some((name, std::env::var(name).ok()?.parse::<u64>().ok()?));
    match VARIABLES.into_iter().filter_map(asked).find(|(_, threads)| *threads > MOST) {
        Some((name, threads)) => {
            Err(CommandError::Usage(format!("{name} is {threads}, but the maximum is {MOST}: unset it")))
        }
        None => Ok(()),
    }
}

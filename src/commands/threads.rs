//! How many threads the environment asks for.

use super::CommandError;

/// Variables that the pools of threads believe.
const VARIABLES: [&str; 2] = ["RAYON_NUM_THREADS", "POLARS_MAX_THREADS"];
/// More than the largest machine has cores; a pool of a hundred thousand cannot be started, and ends the program.
const MOST: u64 = 1024;

/// Proves that the environment asks for no more threads than can be started.
///
/// # Errors
/// It does; the variable is named.
pub fn prove_bounded() -> Result<(), CommandError> {
    let asked = |name: &'static str| Some((name, std::env::var(name).ok()?.parse::<u64>().ok()?));
    match VARIABLES.into_iter().filter_map(asked).find(|(_, threads)| *threads > MOST) {
        Some((name, threads)) => {
            Err(CommandError::Usage(format!("{name} is {threads}; at most {MOST} threads are started: unset it")))
        }
        None => Ok(()),
    }
}

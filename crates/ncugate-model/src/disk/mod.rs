//! Files: opened without trust, and written atomically.

mod lock;
pub mod open;
mod private;
mod replace;
mod scratch;
mod turn;

pub use lock::{FileLock, LockAttempt, LockOwner};
pub use private::{private_folder, state_folder, user};
pub use replace::{Durability, is_same_file, replace, replace_with};
pub use scratch::scratch_folder;
pub use turn::{Turn, TurnOutcome};

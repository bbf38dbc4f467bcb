//! SHA-256 over named parts, as lower-case hexadecimal.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// A hash over parts. Each part is hashed with its length, so that different lists of parts cannot collide.
#[derive(Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Adds a part.
    #[must_use]
    pub fn part(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a list with its length.
    #[must_use]
    pub fn list<T: AsRef<[u8]>>(self, parts: impl ExactSizeIterator<Item = T>) -> Self {
        let counted = self.part(parts.len().to_le_bytes());
        parts.fold(counted, Self::part)
    }

    pub fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// SHA-256 of `bytes` alone.
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(Digest::default().part("ab").part("c").hex(), Digest::default().part("a").part("bc").hex());
        let list = |items: &[&str]| Digest::default().list(items.iter()).hex();
        assert_ne!(list(&["a", "b"]), list(&["a"]));
    }
}

//! The role of a buffer in a kernel.

use serde::{Deserialize, Serialize};

words! {
    name;
    /// The role of a buffer in a kernel.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// Read only: writing to it is an error of the variant.
        Input = "input",
        /// Written completely and compared with the reference.
        Output = "output",
        /// Filled, written and compared: state that a launch changes in place, restored before every launch.
        Inout = "inout",
        /// Free to use; cleared to zero before every case.
        Scratch = "scratch",
    }
}

impl Role {
    /// Whether the kernel and the reference read its content from before a launch.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Input | Self::Inout)
    }

    /// Whether the result in it is compared with the reference.
    pub const fn is_compared(self) -> bool {
        matches!(self, Self::Output | Self::Inout)
    }
}

//! The `report` stage.

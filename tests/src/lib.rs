//! What crosses crates, as tests: see `scenarios/`. The projects in `consumers/` build on their own.

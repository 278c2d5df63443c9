//! What is needed to test what keeps conversations: a store that fails as told, and a suite for stores, logs, buses
//! and carriers of commands.
//!
//! | you test | use |
//! |---|---|
//! | something that writes conversations, and what it does when the store fails, hangs or is full | [`FaultyStore`] |
//! | a store, a log, a bus or a carrier of your own | [`StoreConformance`] |

mod conformance;
mod faulty;

pub use conformance::{StoreConformance, StoreFailure, StoreReport};
pub use faulty::{Fault, FaultyStore, StoreCall};

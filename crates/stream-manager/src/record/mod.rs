//! What is stored, sent and shown: plain data.

mod id;
mod input;
mod row;
mod status;
mod terminal;
mod unknown;

pub use id::{AttemptId, IdError, Identity, InputId, NodeId, RowId, TopicId, TurnId};
pub use input::{Fate, Input, InputBody, Queue, ReturnReason, StoredInput};
pub use row::{Author, Row, RowContent, RowMessage, RowStatus, SCHEMA};
pub use status::{ActiveAttempt, TopicState, TopicStatus};
pub use terminal::Terminal;
pub use unknown::Known;

//! Conversations in hashes of JSON. Each method on a topic is one script, but a claim, which looks first and is made anew
//! where something changed since.

mod history;
mod list;
mod row;
mod scripts;

use async_trait::async_trait;
use stream_manager::port::{
    Accepted, Checkpoint, Claim, Claiming, Conversation, ConversationStore, Lease, Orphan, Page, Settlement,
    Standing, StoreError, StoreErrorKind, TopicSummary, Written, decode, encode,
};
use stream_manager::record::{
    Fate, Input, InputId, Known, ReturnReason, RowContent, RowId, RowStatus, StoredInput, TopicId,
};

use crate::error::corrupt;
use crate::server::Args;
use crate::store::RedisStore;
pub(crate) use scripts::Scripts;

/// How a row stands, as it is stored: its status, turn, attempt, and whether it has a run. Empty if it is not there.
type Stored = Vec<String>;

/// So often is a claim made anew because an input or a row changed under it: each time another call got through.
const MOST_CLAIMS: usize = 100;

impl RedisStore {
    /// The keys of the scripts, as `prelude.lua` names them.
    fn conversation_keys(&self, topic: &TopicId) -> [String; 9] {
        let group = |kind| self.keys().of_group(topic, kind);
        let own = |kind| self.keys().topic(topic, kind);
        [
            group("epochs"),
            group("topics"),
            group("open"),
            group("waiting"),
            own("topic"),
            own("rows"),
            own("inputs"),
            own("queue"),
            own("pending"),
        ]
    }

    async fn run_fenced(
        &self,
        what: &str,
        lease: &Lease,
        script: &redis::Script,
        args: Args,
    ) -> Result<i64, StoreError> {
        match self.server().run(what, script, &self.conversation_keys(&lease.topic), args).await? {
            -1 => Err(StoreError::fenced(what)),
            done => Ok(done),
        }
    }

    async fn write_row(
        &self,
        what: &str,
        lease: &Lease,
        (row, attempt): (&RowId, String),
        content: &RowContent,
        status: Option<RowStatus>,
        returned: &[(InputId, ReturnReason)],
    ) -> Result<Written, StoreError> {
        self.held().check(lease)?;
        let status = status.map(|status| encode(&status)).transpose()?.unwrap_or_default();
        let args = fenced_args(lease).text(row.as_str()).text(attempt).text(encode(content)?);
        let mut args = args.text(row::run(content)).text(status);
        for (input, why) in returned {
            args = args.text(input.as_str()).text(encode(&Fate::Returned { why: *why })?);
        }
        match self.run_fenced(what, lease, &self.scripts().conversation.write, args).await? {
            0 => Ok(Written::Gone),
            1 => Ok(Written::Already),
            _ => Ok(Written::Done),
        }
    }

    /// Makes a claim, unless an input or a row changed since it was looked at.
    async fn try_claim(&self, what: &str, lease: &Lease, claim: &Claim) -> Result<bool, StoreError> {
        let not_there = || StoreError::new(StoreErrorKind::NotFound, what);
        let keys = self.conversation_keys(&lease.topic);
        let mut args = fenced_args(lease).number(claim.inputs.len() as u64);
        let inputs = claim.inputs.iter().map(InputId::as_str);
        for id in inputs.clone().chain(claim.rows.iter().map(|row| row.id.as_str())) {
            args = args.text(id);
        }
        let standing = &self.scripts().conversation.standing;
        let (found, fates, rows): (i64, Vec<String>, Vec<Stored>) =
            self.server().run(what, standing, &keys, args).await?;
        match found {
            -1 => return Err(StoreError::fenced(what)),
            0 => return Err(not_there()),
            _ => {}
        }
        let stands = read_standing(claim, &fates, &rows)?;
        if claim.check(&lease.topic, stands.fate(), stands.row())? == Claiming::Repeated {
            return Ok(true);
        }
        let fate = Fate::Consumed { turn: claim.turn, attempt: claim.attempt };
        let mut args = fenced_args(lease).text(encode(&fate)?).number(claim.inputs.len() as u64);
        for id in inputs {
            args = args.text(id);
        }
        for (row, was) in claim.rows.iter().zip(&rows) {
            args = args.text(row.id.as_str());
            for at in 0..4 {
                args = args.text(was.get(at).map(String::as_str).unwrap_or_default());
            }
            args = row::push(args, row)?;
        }
        match self.run_fenced(what, lease, &self.scripts().conversation.claim, args).await? {
            0 => Err(not_there()),
            done => Ok(done == 2),
        }
    }
}

fn fenced_args(lease: &Lease) -> Args {
    Args::new().text(lease.topic.as_str()).number(lease.epoch)
}

/// How what a claim names stands.
struct Stands<'a> {
    fates: Vec<(&'a InputId, Option<Known<Fate>>)>,
    rows: Vec<(&'a RowId, Option<Standing>)>,
}

impl Stands<'_> {
    fn fate(&self) -> impl FnMut(&InputId) -> Option<Known<Fate>> {
        |id| self.fates.iter().find(|(known, _)| *known == id).and_then(|(_, fate)| fate.clone())
    }

    fn row(&self) -> impl FnMut(&RowId) -> Option<Standing> {
        |id| self.rows.iter().find(|(known, _)| *known == id).and_then(|(_, row)| *row)
    }
}

fn read_standing<'a>(claim: &'a Claim, fates: &[String], rows: &[Stored]) -> Result<Stands<'a>, StoreError> {
    let fate = |(id, fate): (&'a InputId, &String)| {
        Ok((id, if fate.is_empty() { None } else { Some(decode(fate)?) }))
    };
    let row = |(row, stored): (&'a stream_manager::record::Row, &Stored)| {
        let [status, turn, attempt, run] = stored.as_slice() else { return Ok((&row.id, None)) };
        let unreadable = || corrupt(format!("row {} cannot be read", row.id));
        let status: Known<RowStatus> = decode(status)?;
        let standing = Standing {
            turn: turn.parse().map_err(|_| unreadable())?,
            attempt: match attempt.as_str() {
                "" => None,
                attempt => Some(attempt.parse().map_err(|_| unreadable())?),
            },
            can_reopen: status.known().is_some_and(|status| status.is_pending()) || run == "1",
        };
        Ok((&row.id, Some(standing)))
    };
    Ok(Stands {
        fates: claim.inputs.iter().zip(fates).map(fate).collect::<Result<_, StoreError>>()?,
        rows: claim.rows.iter().zip(rows).map(row).collect::<Result<_, StoreError>>()?,
    })
}

/// An input as the scripts give it: number, input, fate, accepted at.
type RawInput = (u64, String, String, u64);

fn read_input((seq, input, fate, accepted_at): RawInput) -> Result<StoredInput, StoreError> {
    let mut stored = StoredInput::queued(seq, decode(&input)?, accepted_at);
    stored.fate = decode(&fate)?;
    Ok(stored)
}

#[async_trait]
impl ConversationStore for RedisStore {
    async fn accept(&self, topic: &TopicId, input: &Input) -> Result<Accepted, StoreError> {
        let what = format!("accepting input {} of topic {topic}", input.id);
        let args = Args::new().text(topic.as_str()).text(input.id.as_str()).text(encode(input)?);
        let args = args.text(input.title().unwrap_or_default());
        let script = &self.scripts().conversation.accept;
        let (seq, fate, duplicate): (u64, String, bool) =
            self.server().run(what, script, &self.conversation_keys(topic), args).await?;
        Ok(Accepted::new(seq, decode(&fate)?, duplicate))
    }

    async fn input(&self, topic: &TopicId, id: &InputId) -> Result<Option<StoredInput>, StoreError> {
        let what = format!("reading input {id} of topic {topic}");
        let args = Args::new().text(topic.as_str()).text(id.as_str());
        let script = &self.scripts().conversation.input;
        let found: Vec<RawInput> =
            self.server().run(what, script, &self.conversation_keys(topic), args).await?;
        found.into_iter().next().map(read_input).transpose()
    }

    async fn inbox(&self, topic: &TopicId) -> Result<Vec<StoredInput>, StoreError> {
        let what = format!("reading the inbox of topic {topic}");
        let args = Args::new().text(topic.as_str());
        let script = &self.scripts().conversation.inbox;
        let found: Vec<RawInput> =
            self.server().run(what, script, &self.conversation_keys(topic), args).await?;
        found.into_iter().map(read_input).collect()
    }

    async fn claim_and_open(&self, lease: &Lease, claim: &Claim) -> Result<(), StoreError> {
        self.held().check(lease)?;
        let what = format!("claiming inputs of topic {}", lease.topic);
        for _ in 0..MOST_CLAIMS {
            if self.try_claim(&what, lease, claim).await? {
                return Ok(());
            }
        }
        Err(crate::error::unavailable(format!("{what}: they change all the time")))
    }

    async fn checkpoint(&self, lease: &Lease, checkpoint: &Checkpoint) -> Result<Written, StoreError> {
        let what = format!("writing row {} of topic {}", checkpoint.row, lease.topic);
        let row = (&checkpoint.row, checkpoint.attempt.to_string());
        self.write_row(&what, lease, row, &checkpoint.content, None, &[]).await
    }

    async fn settle(&self, lease: &Lease, settlement: &Settlement) -> Result<Written, StoreError> {
        let what = format!("ending row {} of topic {}", settlement.row, lease.topic);
        let row = (&settlement.row, settlement.attempt.to_string());
        let status = Some(settlement.status);
        self.write_row(&what, lease, row, &settlement.content, status, &settlement.returned).await
    }

    async fn return_inputs(
        &self,
        lease: &Lease,
        inputs: &[InputId],
        why: ReturnReason,
    ) -> Result<(), StoreError> {
        self.held().check(lease)?;
        let what = format!("returning inputs of topic {}", lease.topic);
        let mut args = fenced_args(lease).text(encode(&Fate::Returned { why })?);
        for input in inputs {
            args = args.text(input.as_str());
        }
        self.run_fenced(&what, lease, &self.scripts().conversation.give_back, args).await.map(drop)
    }

    async fn history(&self, topic: &TopicId) -> Result<Option<Conversation>, StoreError> {
        self.read_history(topic).await
    }

    async fn list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        self.read_list(page).await
    }

    async fn delete(&self, lease: &Lease) -> Result<bool, StoreError> {
        self.held().check(lease)?;
        let what = format!("deleting topic {}", lease.topic);
        let done =
            self.run_fenced(&what, lease, &self.scripts().conversation.delete, fenced_args(lease)).await?;
        Ok(done == 1)
    }

    async fn orphans(&self) -> Result<Vec<Orphan>, StoreError> {
        let mut orphans = Vec::new();
        for topic in self.marked("open").await? {
            let rows = self.open_rows(&topic).await?;
            if !rows.is_empty() {
                orphans.push(Orphan::new(topic, rows));
            }
        }
        Ok(orphans)
    }

    async fn waiting(&self) -> Result<Vec<TopicId>, StoreError> {
        self.marked("waiting").await
    }
}

use stream_manager::port::{Page, StoreError, TopicSummary};
use stream_manager::record::TopicId;

use crate::keys::GROUPS;
use crate::store::RedisStore;

/// A topic and when it was last written.
type Dated = (TopicId, u64);

impl RedisStore {
    pub(super) async fn read_list(&self, page: &Page) -> Result<Vec<TopicSummary>, StoreError> {
        if page.limit == 0 {
            return Ok(Vec::new());
        }
        let mut topics = self.dated(page).await?;
        topics.sort_unstable_by(|(one, at), (other, than)| (than, other).cmp(&(at, one)));
        topics.truncate(page.limit);
        self.summaries(topics).await
    }

    /// The topics of each group behind a place in the order, at most so many of each.
    async fn dated(&self, page: &Page) -> Result<Vec<Dated>, StoreError> {
        let mut read = redis::pipe();
        for group in 0..GROUPS {
            let key = self.keys().group(group, "topics");
            let limit = i64::try_from(page.limit).unwrap_or(-1);
            let mut before = |to: String| {
                read.cmd("ZREVRANGEBYSCORE").arg(&key).arg(to).arg("-inf").arg("WITHSCORES");
                read.arg("LIMIT").arg(0).arg(limit);
            };
            match &page.after {
                None => before("+inf".to_owned()),
                Some((at, _)) => {
                    before(format!("({at}"));
                    // Those of the same millisecond: which of them come behind is a matter of their ids.
                    read.cmd("ZRANGEBYSCORE").arg(&key).arg(*at).arg(*at).arg("WITHSCORES");
                }
            }
        }
        let found: Vec<Vec<(String, u64)>> = self.server().pipe("listing topics", &read).await?;
        let dated = found.into_iter().flatten().map(|(topic, at)| (TopicId::from(topic), at));
        Ok(match &page.after {
            None => dated.collect(),
            Some(after) => dated.filter(|(topic, at)| (*at, topic) < (after.0, &after.1)).collect(),
        })
    }

    async fn summaries(&self, topics: Vec<Dated>) -> Result<Vec<TopicSummary>, StoreError> {
        if topics.is_empty() {
            return Ok(Vec::new());
        }
        let mut read = redis::pipe();
        for (topic, _) in &topics {
            read.cmd("HMGET").arg(self.keys().topic(topic, "topic")).arg(&["created", "title", "rows"]);
        }
        let found: Vec<(Option<u64>, Option<String>, Option<u64>)> =
            self.server().pipe("listing topics", &read).await?;
        let summaries = topics.into_iter().zip(found).filter_map(|((topic, at), (created, title, rows))| {
            // One that was deleted in between is not there.
            let created = created?;
            Some(TopicSummary::new(topic, title.unwrap_or_default(), rows.unwrap_or_default(), created, at))
        });
        Ok(summaries.collect())
    }

    /// The topics in a set that each group has.
    pub(super) async fn marked(&self, kind: &str) -> Result<Vec<TopicId>, StoreError> {
        let mut read = redis::pipe();
        for group in 0..GROUPS {
            read.cmd("SMEMBERS").arg(self.keys().group(group, kind));
        }
        let found: Vec<Vec<String>> =
            self.server().pipe(format!("looking for topics: {kind}"), &read).await?;
        Ok(found.into_iter().flatten().map(TopicId::from).collect())
    }
}

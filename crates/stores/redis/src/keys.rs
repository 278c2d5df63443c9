use stream_manager::record::{AttemptId, NodeId, TopicId};

/// So many groups of topics. All keys of a group have the same hash tag, so that a script may touch those of a topic and
/// the lists of its group together, in a cluster too. It is part of the layout: another number finds nothing again.
pub(crate) const GROUPS: u64 = 32;

/// The names of keys and channels.
#[derive(Debug)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// A key of a group.
    pub(crate) fn group(&self, group: u64, kind: &str) -> String {
        format!("{}:{{{group}}}:{kind}", self.prefix)
    }

    /// The list of a topic's group.
    pub(crate) fn of_group(&self, topic: &TopicId, kind: &str) -> String {
        self.group(group_of(topic), kind)
    }

    /// A key of a topic. The topic stands last, since it may hold anything.
    pub(crate) fn topic(&self, topic: &TopicId, kind: &str) -> String {
        format!("{}:{topic}", self.of_group(topic, kind))
    }

    /// A key of an attempt.
    pub(crate) fn attempt(&self, topic: &TopicId, attempt: AttemptId, kind: &str) -> String {
        format!("{}:{attempt}:{topic}", self.of_group(topic, kind))
    }

    /// Says that a node listens.
    pub(crate) fn node(&self, node: &NodeId) -> String {
        format!("{}:node:{node}", self.prefix)
    }

    pub(crate) fn channel(&self, kind: &str, name: &str) -> String {
        format!("{}:{kind}:{name}", self.prefix)
    }
}

/// FNV-1a: the same in every version and on every machine.
fn group_of(topic: &TopicId) -> u64 {
    let hash = topic.as_str().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % GROUPS
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        missing_docs,
        reason = "tests fail by panicking"
    )]

    use super::*;

    fn tag(key: &str) -> &str {
        let (_, rest) = key.split_once('{').unwrap();
        rest.split_once('}').unwrap().0
    }

    /// [ST-100]
    #[test]
    fn keys_of_a_topic_have_one_tag_whatever_its_name() {
        let keys = Keys::new("p");
        let attempt = AttemptId { epoch: 3, number: 9 };
        let mut tags = std::collections::BTreeSet::new();
        for name in ["", "t", "{a}", "}{", "a:b", "ü{1}"]
            .into_iter()
            .map(str::to_owned)
            .chain((0..400).map(|n| n.to_string()))
        {
            let topic = TopicId::from(name);
            let all = [
                keys.of_group(&topic, "topics"),
                keys.topic(&topic, "rows"),
                keys.attempt(&topic, attempt, "log"),
            ];
            assert!(all.iter().all(|key| tag(key) == tag(&all[0])), "{all:?}");
            tags.insert(tag(&all[0]).to_owned());
        }
        assert_eq!(tags.len(), usize::try_from(GROUPS).unwrap());
        assert_eq!(keys.topic(&"t".into(), "rows"), "p:{3}:rows:t", "the layout is part of what is stored");
    }
}

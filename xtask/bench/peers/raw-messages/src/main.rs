//! raw-sse for Anthropic's Messages: reqwest, eventsource-stream and serde_json into the smallest struct
//! that does the job. Text only.

use std::borrow::Cow;

use bench_peer::{API_KEY, Job, PROMPT, Peer, Result, SYSTEM, Tally};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    delta: Option<Delta<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

struct RawMessages {
    http: reqwest::Client,
    url: String,
    request: Value,
}

impl Peer for RawMessages {
    const NAME: &'static str = "raw-messages";

    fn new(job: &Job) -> Result<Self> {
        if job.uses_tools() {
            bench_peer::unsupported(Self::NAME, "it reads text alone");
        }
        Ok(Self {
            http: reqwest::Client::new(),
            url: format!("{}/messages", job.base_url),
            request: json!({
                "model": job.scenario,
                "max_tokens": 64_000,
                "stream": true,
                "system": SYSTEM,
                "messages": [{ "role": "user", "content": PROMPT }],
            }),
        })
    }

    async fn run(&self, _: &Job, tally: &mut Tally) -> Result<()> {
        let reply = self.http.post(&self.url).header("x-api-key", API_KEY).json(&self.request).send().await?;
        let mut events = reply.error_for_status()?.bytes_stream().eventsource();
        while let Some(event) = events.next().await {
            let data = event?.data;
            if let Some(text) = serde_json::from_str::<Event>(&data)?.delta.and_then(|delta| delta.text) {
                tally.text(&text);
            }
        }
        tally.step();
        Ok(())
    }
}

fn main() {
    bench_peer::main::<RawMessages>();
}

//! raw-sse for OpenAI's Responses: reqwest, eventsource-stream and serde_json into the smallest struct
//! that does the job. Text only.

use std::borrow::Cow;

use bench_peer::{API_KEY, Job, PROMPT, Peer, Result, SYSTEM, Tally};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
}

struct RawResponses {
    http: reqwest::Client,
    url: String,
    request: Value,
}

impl Peer for RawResponses {
    const NAME: &'static str = "raw-responses";

    fn new(job: &Job) -> Result<Self> {
        if job.uses_tools() {
            bench_peer::unsupported(Self::NAME, "it reads text alone");
        }
        Ok(Self {
            http: reqwest::Client::new(),
            url: format!("{}/responses", job.base_url),
            request: json!({
                "model": job.scenario,
                "stream": true,
                "instructions": SYSTEM,
                "input": [{ "role": "user", "content": PROMPT }],
            }),
        })
    }

    async fn run(&self, _: &Job, tally: &mut Tally) -> Result<()> {
        let reply = self.http.post(&self.url).bearer_auth(API_KEY).json(&self.request).send().await?;
        let mut events = reply.error_for_status()?.bytes_stream().eventsource();
        while let Some(event) = events.next().await {
            let data = event?.data;
            let event = serde_json::from_str::<Event>(&data)?;
            if event.r#type == "response.output_text.delta"
                && let Some(text) = event.delta
            {
                tally.text(&text);
            }
        }
        tally.step();
        Ok(())
    }
}

fn main() {
    bench_peer::main::<RawResponses>();
}

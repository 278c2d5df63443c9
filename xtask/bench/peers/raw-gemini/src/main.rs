//! raw-sse for Google's streamGenerateContent: reqwest, eventsource-stream and serde_json into the smallest struct
//! that does the job. Text only.

use std::borrow::Cow;

use bench_peer::{API_KEY, Job, PROMPT, Peer, Result, SYSTEM, Tally};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
}

#[derive(Deserialize)]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Content<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

struct RawGemini {
    http: reqwest::Client,
    url: String,
    request: Value,
}

impl Peer for RawGemini {
    const NAME: &'static str = "raw-gemini";

    fn new(job: &Job) -> Result<Self> {
        if job.uses_tools() {
            bench_peer::unsupported(Self::NAME, "it reads text alone");
        }
        Ok(Self {
            http: reqwest::Client::new(),
            url: format!("{}/models/{}:streamGenerateContent?alt=sse", job.base_url, job.scenario),
            request: json!({
                "systemInstruction": { "parts": [{ "text": SYSTEM }] },
                "contents": [{ "role": "user", "parts": [{ "text": PROMPT }] }],
            }),
        })
    }

    async fn run(&self, _: &Job, tally: &mut Tally) -> Result<()> {
        let reply = self.http.post(&self.url).header("x-goog-api-key", API_KEY).json(&self.request).send().await?;
        let mut events = reply.error_for_status()?.bytes_stream().eventsource();
        while let Some(event) = events.next().await {
            let data = event?.data;
            for candidate in serde_json::from_str::<Chunk>(&data)?.candidates {
                for part in candidate.content.parts {
                    if let Some(text) = part.text {
                        tally.text(&text);
                    }
                }
            }
        }
        tally.step();
        Ok(())
    }
}

fn main() {
    bench_peer::main::<RawGemini>();
}

mod chain;
mod json;
mod log;
mod prompt_tools;
mod reasoning;
mod requests;
mod smooth;
mod tool_text;

use std::sync::Arc;

use ai_core::middleware::{Middleware, wrap};
use ai_provider::{
    Assembler, AssistantPart, CallContext, IncompleteCall, LanguageModel, ModelError, Request, StreamPart,
};
use ai_testkit::{Script, ScriptedModel, check_order};
use futures_util::StreamExt;

/// A model with one middleware.
pub fn around(model: &ScriptedModel, middleware: impl Middleware) -> Arc<dyn LanguageModel> {
    wrap(Arc::new(model.clone()), [Arc::new(middleware) as Arc<dyn Middleware>])
}

/// All that a model says to a request, and the error it ends with.
pub async fn said(model: &Arc<dyn LanguageModel>, request: Request) -> (Vec<StreamPart>, Option<ModelError>) {
    let mut stream = model.stream(request, CallContext::new().with_request_id("r"));
    let (mut parts, mut error) = (Vec::new(), None);
    while let Some(item) = stream.next().await {
        assert!(error.is_none(), "an item after an error: {item:?}");
        match item {
            Ok(part) => parts.push(part),
            Err(failed) => error = Some(failed),
        }
    }
    (parts, error)
}

/// What a stream comes to, part by part, short: `R` reasoning, `T` text, `C` call.
pub fn shape(parts: &[StreamPart]) -> Vec<String> {
    assert_eq!(check_order(parts), Ok(()), "{parts:#?}");
    let mut assembler = Assembler::default();
    for part in parts {
        assembler.push(part).unwrap();
    }
    let assembled = assembler.finish();
    let mut shape: Vec<_> = assembled
        .message
        .parts
        .iter()
        .map(|part| match part {
            AssistantPart::Text(text) => format!("T:{}", text.text),
            AssistantPart::Reasoning(text) => format!("R:{}", text.text),
            AssistantPart::ToolCall(call) => format!("C:{}:{}", call.name, call.input),
            other => format!("{other:?}"),
        })
        .collect();
    shape.extend(
        assembled
            .incomplete_calls
            .iter()
            .map(|IncompleteCall { name, input, .. }| format!("half:{name}:{input}")),
    );
    shape
}

/// One text block with these deltas.
pub fn text_block<'a>(deltas: impl IntoIterator<Item = &'a str>) -> Script {
    let deltas = deltas.into_iter().map(|delta| StreamPart::text_delta("0", delta));
    Script::new().part(StreamPart::text_start("0")).parts(deltas).part(StreamPart::text_end("0"))
}

/// Cuts a text into pieces at these places, taken modulo its length in characters.
pub fn cut(text: &str, places: &[usize]) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut at: Vec<_> = places.iter().map(|place| place % (characters.len() + 1)).collect();
    at.extend([0, characters.len()]);
    at.sort_unstable();
    at.windows(2).map(|ends| characters[ends[0]..ends[1]].iter().collect()).collect()
}

/// All cuts into two, and one into single characters.
pub fn cuts(text: &str) -> Vec<Vec<String>> {
    let length = text.chars().count();
    let mut cuts: Vec<_> = (0..=length).map(|at| cut(text, &[at])).collect();
    cuts.push(cut(text, &(0..length).collect::<Vec<_>>()));
    cuts
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(future)
}

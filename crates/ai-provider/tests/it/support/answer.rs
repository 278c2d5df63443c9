//! Whole answers: blocks that interleave as they like.

use ai_provider::{
    AssistantPart, CustomPart, FileData, FilePart, Id, ReasoningPart, Source, StreamPart, TextPart, ToolCall,
    ToolOutput, ToolResult, UnifiedFinish,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::finish;

/// One block, without its id.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text(Vec<String>),
    Reasoning(Vec<String>),
    /// A call whose input is streamed.
    Call(Vec<String>),
    /// A call that comes whole.
    WholeCall(String),
    /// A part that is complete at once.
    Single(StreamPart),
}

/// A valid answer: blocks, and the order in which they take turns.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The parts as they come, from the start of the stream to its finish.
    pub(crate) parts: Vec<StreamPart>,
    /// What the message must hold.
    pub(crate) message: Vec<AssistantPart>,
    /// Whether a block began while another was open.
    pub(crate) interleaved: bool,
}

pub(crate) fn answer() -> impl Strategy<Value = Answer> {
    (vec(block(), 0..8), vec(any::<usize>(), 0..60)).prop_map(|(blocks, turns)| interleave(blocks, &turns))
}

fn block() -> impl Strategy<Value = Block> {
    let deltas = || vec(".{0,3}", 0..5);
    prop_oneof![
        3 => deltas().prop_map(Block::Text),
        3 => deltas().prop_map(Block::Reasoning),
        3 => deltas().prop_map(Block::Call),
        1 => ".{1,5}".prop_map(Block::WholeCall),
        1 => single().prop_map(Block::Single),
    ]
}

fn single() -> impl Strategy<Value = StreamPart> {
    let file = FilePart::new("image/png", FileData::bytes(vec![1, 2]));
    let result = ToolResult::new("searched", "search", ToolOutput::Text("found".into()));
    let source = Source::Url { id: "s".into(), url: "https://a.example".into(), title: None, metadata: None };
    let custom = CustomPart { kind: "x.y".into(), options: Default::default(), metadata: None };
    proptest::sample::select(vec![
        StreamPart::File(Box::new(file.clone())),
        StreamPart::ReasoningFile(Box::new(file)),
        StreamPart::ToolResult(Box::new(result)),
        StreamPart::Source(Box::new(source)),
        StreamPart::Custom(custom),
    ])
}

/// Ids count from 0 for each kind of block, so that text and reasoning share them.
fn expand(at: usize, block: &Block) -> (Vec<StreamPart>, AssistantPart) {
    let id = Id::from(at.to_string());
    match block {
        Block::Text(deltas) => {
            let deltas_of = deltas.iter().map(|delta| StreamPart::text_delta(id.clone(), delta));
            let parts = [StreamPart::text_start(id.clone())].into_iter().chain(deltas_of);
            let parts = parts.chain([StreamPart::text_end(id.clone())]).collect();
            (parts, AssistantPart::Text(TextPart::new(deltas.concat())))
        }
        Block::Reasoning(deltas) => {
            let deltas_of = deltas.iter().map(|delta| StreamPart::reasoning_delta(id.clone(), delta));
            let parts = [StreamPart::reasoning_start(id.clone())].into_iter().chain(deltas_of);
            let parts = parts.chain([StreamPart::reasoning_end(id.clone())]).collect();
            (parts, AssistantPart::Reasoning(ReasoningPart::new(deltas.concat())))
        }
        Block::Call(deltas) => {
            let call = ToolCall::new(id.clone(), "tool", deltas.concat());
            let start = StreamPart::ToolInputStart {
                id: id.clone(),
                tool_name: "tool".into(),
                provider_executed: false,
                dynamic: false,
                title: None,
            };
            let deltas_of = deltas
                .iter()
                .map(|delta| StreamPart::ToolInputDelta { id: id.clone(), delta: delta.clone() });
            let end =
                [StreamPart::ToolInputEnd { id: id.clone() }, StreamPart::ToolCall(Box::new(call.clone()))];
            ([start].into_iter().chain(deltas_of).chain(end).collect(), AssistantPart::ToolCall(call))
        }
        Block::WholeCall(input) => {
            let call = ToolCall::new(id, "tool", input.clone());
            (vec![StreamPart::ToolCall(Box::new(call.clone()))], AssistantPart::ToolCall(call))
        }
        Block::Single(part) => {
            let kept = match part.clone() {
                StreamPart::File(file) => AssistantPart::File(*file),
                StreamPart::ReasoningFile(file) => AssistantPart::ReasoningFile(*file),
                StreamPart::ToolResult(result) => AssistantPart::ToolResult(*result),
                StreamPart::Source(source) => AssistantPart::Source(*source),
                StreamPart::Custom(custom) => AssistantPart::Custom(custom),
                other => panic!("{other:?} is not complete at once"),
            };
            (vec![part.clone()], kept)
        }
    }
}

/// Takes one part after another from the block whose turn it is; the last ones go on in order.
fn interleave(blocks: Vec<Block>, turns: &[usize]) -> Answer {
    let mut next_id = [0; 3];
    let mut queues = Vec::new();
    for block in &blocks {
        let kind = match block {
            Block::Text(_) => 0,
            Block::Reasoning(_) => 1,
            _ => 2,
        };
        let (parts, kept) = expand(next_id[kind], block);
        next_id[kind] += 1;
        queues.push((parts.into_iter().peekable(), Some(kept)));
    }
    let mut answer = Answer {
        parts: vec![StreamPart::StreamStart { warnings: Vec::new() }],
        message: Vec::new(),
        interleaved: false,
    };
    let mut turns = turns.iter().copied();
    while !queues.is_empty() {
        let at = turns.next().unwrap_or(0) % queues.len();
        let open_before = queues.iter().enumerate().any(|(other, (_, kept))| other != at && kept.is_none());
        let (parts, kept) = &mut queues[at];
        if let Some(kept) = kept.take() {
            answer.message.push(kept);
            answer.interleaved |= open_before;
        }
        answer.parts.extend(parts.next());
        if parts.peek().is_none() {
            drop(queues.remove(at));
        }
    }
    answer.parts.push(finish(UnifiedFinish::Stop));
    answer
}

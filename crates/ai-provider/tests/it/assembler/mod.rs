//! Folding parts into a message.

mod empty;
mod fold;
mod limits;
mod metadata;
mod order;
mod partial;

use ai_provider::{Assembled, Assembler, AssemblyLimits, ModelError, StreamPart, ToolCall};

/// Folds all parts; the first error ends it.
fn fold(parts: &[StreamPart]) -> (Assembled, Option<ModelError>) {
    fold_within(AssemblyLimits::default(), parts)
}

fn fold_within(limits: AssemblyLimits, parts: &[StreamPart]) -> (Assembled, Option<ModelError>) {
    let mut assembler = Assembler::new(limits);
    let error = parts.iter().find_map(|part| assembler.push(part).err());
    (assembler.finish(), error)
}

fn whole(parts: &[StreamPart]) -> Assembled {
    let (assembled, error) = fold(parts);
    assert!(error.is_none(), "{error:?}");
    assembled
}

fn input_start(id: &str) -> StreamPart {
    StreamPart::ToolInputStart {
        id: id.into(),
        tool_name: "tool".into(),
        provider_executed: false,
        dynamic: false,
        title: None,
    }
}

fn input_delta(id: &str, delta: &str) -> StreamPart {
    StreamPart::ToolInputDelta { id: id.into(), delta: delta.into() }
}

fn input_end(id: &str) -> StreamPart {
    StreamPart::ToolInputEnd { id: id.into() }
}

fn call(id: &str, input: &str) -> StreamPart {
    StreamPart::ToolCall(Box::new(ToolCall::new(id, "tool", input)))
}

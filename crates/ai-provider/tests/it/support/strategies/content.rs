//! Messages and stream parts.

use ai_provider::*;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

use super::*;

fn file_data() -> impl Strategy<Value = FileData> {
    prop_oneof![
        vec(any::<u8>(), 0..20).prop_map(FileData::bytes),
        text().prop_map(|url| FileData::Url { url }),
        btree_map(text(), text(), 0..3).prop_map(|ids| FileData::Reference { ids }),
        text().prop_map(|text| FileData::Text { text }),
    ]
}

pub(crate) fn file() -> BoxedStrategy<FilePart> {
    (text(), file_data(), of(text()), options(), metadata())
        .prop_map(|(media_type, data, filename, options, metadata)| FilePart {
            media_type,
            data,
            filename,
            options,
            metadata,
        })
        .boxed()
}

fn text_part() -> BoxedStrategy<TextPart> {
    (text(), options(), metadata())
        .prop_map(|(text, options, metadata)| TextPart { text, options, metadata })
        .boxed()
}

fn reasoning_part() -> BoxedStrategy<ReasoningPart> {
    (text(), options(), metadata())
        .prop_map(|(text, options, metadata)| ReasoningPart { text, options, metadata })
        .boxed()
}

pub(crate) fn custom() -> BoxedStrategy<CustomPart> {
    (text(), options(), metadata())
        .prop_map(|(kind, options, metadata)| CustomPart { kind, options, metadata })
        .boxed()
}

pub(crate) fn source() -> BoxedStrategy<Source> {
    prop_oneof![
        (id(), text(), of(text()), metadata()).prop_map(|(id, url, title, metadata)| Source::Url {
            id,
            url,
            title,
            metadata
        }),
        (id(), text(), text(), of(text()), metadata()).prop_map(
            |(id, media_type, title, filename, metadata)| Source::Document {
                id,
                media_type,
                title,
                filename,
                metadata,
            }
        ),
    ]
    .boxed()
}

/// Input that is JSON and input that is not: a model may write anything.
pub(crate) fn call() -> BoxedStrategy<ToolCall> {
    let input = prop_oneof![json().prop_map(|value| value.to_string()), text()];
    (id(), text(), input, any::<bool>(), any::<bool>(), metadata())
        .prop_map(|(id, name, input, provider_executed, dynamic, metadata)| ToolCall {
            id,
            name,
            input,
            provider_executed,
            dynamic,
            metadata,
        })
        .boxed()
}

pub(crate) fn output() -> BoxedStrategy<ToolOutput> {
    let content = prop_oneof![
        text_part().prop_map(ToolContent::Text),
        file().prop_map(ToolContent::File),
        custom().prop_map(ToolContent::Custom),
    ];
    prop_oneof![
        text().prop_map(ToolOutput::Text),
        json().prop_map(ToolOutput::Json),
        text().prop_map(ToolOutput::ErrorText),
        json().prop_map(ToolOutput::ErrorJson),
        of(text()).prop_map(|reason| ToolOutput::ExecutionDenied { reason }),
        vec(content, 0..3).prop_map(ToolOutput::Content),
    ]
    .boxed()
}

pub(crate) fn result() -> BoxedStrategy<ToolResult> {
    (id(), text(), output(), any::<[bool; 3]>(), options(), metadata())
        .prop_map(
            |(
                tool_call_id,
                tool_name,
                output,
                [preliminary, provider_executed, dynamic],
                options,
                metadata,
            )| {
                ToolResult {
                    tool_call_id,
                    tool_name,
                    output,
                    preliminary,
                    provider_executed,
                    dynamic,
                    options,
                    metadata,
                }
            },
        )
        .boxed()
}

pub(crate) fn approval() -> impl Strategy<Value = ToolApprovalRequest> {
    (id(), id()).prop_map(|(approval_id, tool_call_id)| ToolApprovalRequest { approval_id, tool_call_id })
}

fn user_part() -> BoxedStrategy<UserPart> {
    prop_oneof![text_part().prop_map(UserPart::Text), file().prop_map(UserPart::File)].boxed()
}

fn assistant_part() -> BoxedStrategy<AssistantPart> {
    prop_oneof![
        text_part().prop_map(AssistantPart::Text),
        reasoning_part().prop_map(AssistantPart::Reasoning),
        file().prop_map(AssistantPart::ReasoningFile),
        file().prop_map(AssistantPart::File),
        source().prop_map(AssistantPart::Source),
        custom().prop_map(AssistantPart::Custom),
        call().prop_map(AssistantPart::ToolCall),
        result().prop_map(AssistantPart::ToolResult),
        approval().prop_map(AssistantPart::ToolApprovalRequest),
    ]
    .boxed()
}

fn tool_part() -> BoxedStrategy<ToolPart> {
    prop_oneof![
        result().prop_map(ToolPart::ToolResult),
        (id(), any::<bool>(), of(text())).prop_map(|(approval_id, approved, reason)| {
            ToolPart::ToolApprovalResponse(ToolApprovalResponse { approval_id, approved, reason })
        }),
    ]
    .boxed()
}

pub(crate) fn message() -> BoxedStrategy<Message> {
    prop_oneof![
        (text(), options()).prop_map(|(text, options)| Message::System(SystemMessage { text, options })),
        (vec(user_part(), 0..4), options())
            .prop_map(|(parts, options)| Message::User(UserMessage { parts, options })),
        (vec(assistant_part(), 1..9), options())
            .prop_map(|(parts, options)| Message::Assistant(AssistantMessage { parts, options })),
        (vec(tool_part(), 0..4), options())
            .prop_map(|(parts, options)| Message::Tool(ToolMessage { parts, options })),
    ]
    .boxed()
}

pub(crate) fn part() -> BoxedStrategy<StreamPart> {
    let finish = (finish_reason(), usage(), metadata()).prop_map(|(reason, usage, metadata)| {
        StreamPart::Finish(Box::new(Finish { reason, usage, metadata }))
    });
    let text_block = prop_oneof![
        (id(), metadata()).prop_map(|(id, metadata)| StreamPart::TextStart { id, metadata }),
        (id(), text(), metadata()).prop_map(|(id, delta, metadata)| StreamPart::TextDelta {
            id,
            delta,
            metadata
        }),
        (id(), metadata()).prop_map(|(id, metadata)| StreamPart::TextEnd { id, metadata }),
    ];
    let reasoning_block = prop_oneof![
        (id(), metadata()).prop_map(|(id, metadata)| StreamPart::ReasoningStart { id, metadata }),
        (id(), text(), metadata()).prop_map(|(id, delta, metadata)| StreamPart::ReasoningDelta {
            id,
            delta,
            metadata
        }),
        (id(), metadata()).prop_map(|(id, metadata)| StreamPart::ReasoningEnd { id, metadata }),
    ];
    let input_block = prop_oneof![
        (id(), text(), any::<bool>(), any::<bool>(), of(text())).prop_map(
            |(id, tool_name, provider_executed, dynamic, title)| StreamPart::ToolInputStart {
                id,
                tool_name,
                provider_executed,
                dynamic,
                title,
            }
        ),
        (id(), text()).prop_map(|(id, delta)| StreamPart::ToolInputDelta { id, delta }),
        id().prop_map(|id| StreamPart::ToolInputEnd { id }),
    ];
    prop_oneof![
        3 => text_block,
        3 => reasoning_block,
        3 => input_block,
        1 => vec(warning(), 0..3).prop_map(|warnings| StreamPart::StreamStart { warnings }),
        1 => response().prop_map(|part| StreamPart::ResponseMetadata(Box::new(part))),
        1 => call().prop_map(|part| StreamPart::ToolCall(Box::new(part))),
        1 => result().prop_map(|part| StreamPart::ToolResult(Box::new(part))),
        1 => approval().prop_map(StreamPart::ToolApprovalRequest),
        1 => source().prop_map(|part| StreamPart::Source(Box::new(part))),
        1 => file().prop_map(|part| StreamPart::File(Box::new(part))),
        1 => file().prop_map(|part| StreamPart::ReasoningFile(Box::new(part))),
        1 => custom().prop_map(StreamPart::Custom),
        1 => finish,
        1 => json().prop_map(|raw_value| StreamPart::Raw { raw_value }),
    ]
    .boxed()
}

//! What goes with a request, and what a provider lists.

use ai_provider::*;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;

use super::*;

pub(crate) fn tool() -> impl Strategy<Value = ToolDefinition> {
    prop_oneof![
        (text(), of(text()), json(), vec(json(), 0..2), of(any::<bool>()), options()).prop_map(
            |(name, description, input_schema, input_examples, strict, options)| {
                ToolDefinition::Function(FunctionTool {
                    name,
                    description,
                    input_schema,
                    input_examples,
                    strict,
                    options,
                })
            }
        ),
        (text(), text(), object()).prop_map(|(id, name, args)| ToolDefinition::Provider(ProviderTool {
            id,
            name,
            args
        })),
    ]
}

pub(crate) fn tool_choice() -> impl Strategy<Value = ToolChoice> {
    prop_oneof![
        Just(ToolChoice::Auto),
        Just(ToolChoice::None),
        Just(ToolChoice::Required),
        text().prop_map(|name| ToolChoice::Tool { name }),
    ]
}

pub(crate) const EFFORTS: [ReasoningEffort; 7] = {
    use ReasoningEffort::*;
    [ProviderDefault, None, Minimal, Low, Medium, High, XHigh]
};

pub(crate) fn effort() -> impl Strategy<Value = ReasoningEffort> {
    proptest::sample::select(EFFORTS.to_vec())
}

pub(crate) fn settings() -> impl Strategy<Value = Settings> {
    let numbers = (of(number()), of(number()), of(number()), of(number()));
    let counts = (of(any::<u64>()), of(any::<u64>()), of(any::<i64>()));
    (numbers, counts, vec(text(), 0..3), effort()).prop_map(|(numbers, counts, stop_sequences, reasoning)| {
        let mut settings = Settings::default();
        (settings.temperature, settings.top_p, settings.presence_penalty, settings.frequency_penalty) =
            numbers;
        (settings.max_output_tokens, settings.top_k, settings.seed) = counts;
        settings.stop_sequences = stop_sequences;
        settings.reasoning = reasoning;
        settings
    })
}

pub(crate) fn response_format() -> impl Strategy<Value = ResponseFormat> {
    prop_oneof![
        Just(ResponseFormat::Text),
        (of(not_null()), of(text()), of(text()))
            .prop_map(|(schema, name, description)| ResponseFormat::Json { schema, name, description }),
    ]
}

fn media() -> impl Strategy<Value = MediaSupport> {
    any::<[bool; 4]>().prop_map(|[image, audio, video, pdf]| {
        let mut media = MediaSupport::default();
        (media.image, media.audio, media.video, media.pdf) = (image, audio, video, pdf);
        media
    })
}

pub(crate) fn model_info() -> impl Strategy<Value = ModelInfo> {
    use StructuredOutput::*;
    let structured = proptest::sample::select(vec![None, JsonObject, JsonSchema]);
    let capabilities = (any::<[bool; 4]>(), structured, media(), media(), of(any::<u64>()), of(any::<u64>()))
        .prop_map(|(flags, structured, input, tool_result, window, output)| {
            let mut capabilities = Capabilities::default();
            [
                capabilities.tools,
                capabilities.parallel_tool_calls,
                capabilities.reasoning,
                capabilities.usage_in_stream,
            ] = flags;
            capabilities.structured_output = structured;
            (capabilities.input, capabilities.tool_result) = (input, tool_result);
            (capabilities.context_window, capabilities.max_output_tokens) = (window, output);
            capabilities
        });
    let kind = proptest::sample::select(vec![ModelKind::Language, ModelKind::Embedding]);
    (text(), of(text()), of(kind), of(capabilities))
        .prop_map(|(id, display_name, kind, capabilities)| ModelInfo { id, display_name, kind, capabilities })
}

pub(crate) fn embeddings() -> impl Strategy<Value = Embeddings> {
    let component = proptest::num::f32::NORMAL | proptest::num::f32::SUBNORMAL | proptest::num::f32::ZERO;
    (vec(vec(component, 0..5), 0..3), usage(), vec(warning(), 0..2))
        .prop_map(|(vectors, usage, warnings)| Embeddings { vectors, usage, warnings })
}

//! What every public type promises the compiler.

use std::fmt::Debug;
use std::hash::Hash;

use ai_provider::*;

/// Fails to compile if the type implements the trait: the call below would be ambiguous.
macro_rules! assert_not_impl {
    ($type:ty: $($bound:path),+) => {{
        trait Ambiguous<A> {
            fn call() {}
        }
        impl<T: ?Sized> Ambiguous<()> for T {}
        struct Implements;
        impl<T: ?Sized $(+ $bound)+> Ambiguous<Implements> for T {}
        <$type as Ambiguous<_>>::call()
    }};
}
pub(crate) use assert_not_impl;

const fn shared<T: ?Sized + Send + Sync>() {}
const fn value<T: Send + Sync + Clone + Debug + Unpin + 'static>() {}
const fn name<T: Send + Sync + Clone + Debug + Eq + Hash + Unpin + 'static>() {}
const fn sent<T: ?Sized + Send>() {}

macro_rules! table {
    ($check:ident: $($type:ty),+ $(,)?) => {
        const _: () = { $($check::<$type>();)+ };
    };
}

table!(name: Account, ApiKey, Delivery, ErrorClass, FinishReason, Id, KeyLabel, Keys, ModelKind, Origin,
    ReasoningEffort, RequestId, TargetId, UnifiedFinish);
table!(value: Assembled, Assembler, AssemblyLimits, AssistantMessage, AssistantPart, AttemptEnd, AttemptEvent, AttemptKind,
    CallContext, CancellationToken, Capabilities, CustomPart, DelaySource, EmbeddingRequest, Embeddings,
    ErrorRecord, Event, FileData, FilePart, Finish, FunctionTool, GenerateError, Generation, Hint,
    IncompleteCall, InputTokens, MediaSupport, Message, ModelError, ModelInfo, OutputTokens,
    ProviderMetadata, ProviderOptions, ProviderTool, ReasoningPart, Request, ResponseFormat, ResponseMetadata,
    RunScope, ScopeKey, Settings, Source, StreamPart, StructuredOutput, SystemMessage, TextPart,
    ToolApprovalRequest, ToolApprovalResponse, ToolCall, ToolChoice, ToolContent, ToolDefinition, ToolMessage,
    ToolOutput, ToolPart, ToolResult, Usage, UserMessage, UserPart, Warning);
table!(shared: dyn LanguageModel, dyn EmbeddingModel, dyn Provider, dyn KeySource, dyn EventSink);
table!(sent: ModelStream);

/// [PV-94]
#[test]
fn every_public_type_can_cross_threads() {
    // The tables above are the proof: this file compiles only if they hold.
    fn futures_too(model: &dyn LanguageModel, keys: &Keys, provider: &dyn Provider) {
        fn sent<T: Send>(_: T) {}
        sent(model.generate(Request::default(), CallContext::new()));
        sent(keys.key(0));
        sent(provider.list_models());
    }
    let _ = futures_too;
    // A stream is polled by one task at a time; asking for more would shut out most implementations.
    assert_not_impl!(ModelStream: Sync);
}

/// [PV-95]
#[test]
fn the_traits_are_object_safe() {
    fn held(
        _: Option<Box<dyn LanguageModel>>,
        _: Option<Box<dyn EmbeddingModel>>,
        _: Option<Box<dyn Provider>>,
        _: Option<Box<dyn KeySource>>,
        _: Option<Box<dyn EventSink>>,
    ) {
    }
    held(None, None, None, None, None);
}

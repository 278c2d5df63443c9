use std::sync::Arc;

use ai_core::LoopEvent;
use ai_provider::{
    CustomPart, FileData, FilePart, Origin, ProviderMetadata, ProviderOptions, Source, StreamPart, TargetId,
    TextPart, ToolApprovalRequest, ToolCall, ToolContent, ToolOutput, ToolResult,
};
use serde_json::{Value, json};

use super::super::settings::UiSettings;
use super::{Mapper, Out};
use crate::stream::AgentEvent;

fn metadata() -> Option<Box<ProviderMetadata>> {
    let values = ProviderOptions::default().with("acme", "seal", json!("SEALED"));
    let origin = Origin { target: TargetId::new("acme", "m", "https://acme.test"), account: None };
    Some(Box::new(ProviderMetadata::minted(origin, values)))
}

/// What a client is shown of these parts.
fn shown(settings: UiSettings, parts: impl IntoIterator<Item = StreamPart>) -> Vec<Value> {
    let (mut mapper, mut out) = (Mapper::new(Arc::new(settings), None), Out::new());
    for part in parts {
        mapper.event(LoopEvent::Part(part), &mut out);
    }
    let chunks = out.into_iter().map(|event| match event {
        AgentEvent::Chunk(chunk) => serde_json::to_value(chunk).unwrap(),
        other => panic!("{other:?}"),
    });
    chunks.collect()
}

fn show(parts: impl IntoIterator<Item = StreamPart>) -> Vec<Value> {
    shown(UiSettings::default(), parts)
}

fn file(media_type: &str, data: FileData) -> FilePart {
    FilePart::new(media_type, data)
}

fn reference() -> FileData {
    FileData::Reference { ids: [("acme".to_owned(), "file-1".to_owned())].into() }
}

/// [AL-14]
#[test]
fn files_are_urls() {
    let long = "image/png\" onload=x,";
    let files = [
        file("image/png", FileData::bytes(&b"png"[..])),
        file("text/plain;charset=utf-8", FileData::Text { text: "hé".to_owned() }),
        file("image/gif", FileData::Url { url: "https://example.com/a.gif".to_owned() }),
        file(long, FileData::bytes(&b"x"[..])),
        file("", FileData::bytes(&b""[..])),
        file("image/png", reference()),
    ];
    let wanted = [
        json!({"type":"file","mediaType":"image/png","url":"data:image/png;base64,cG5n"}),
        json!({"type":"file","mediaType":"text/plain;charset=utf-8","url":"data:text/plain;charset=utf-8;base64,aMOp"}),
        json!({"type":"file","mediaType":"image/gif","url":"https://example.com/a.gif"}),
        json!({"type":"file","mediaType":long,"url":"data:application/octet-stream;base64,eA=="}),
        json!({"type":"file","mediaType":"","url":"data:application/octet-stream;base64,"}),
    ];
    assert_eq!(show(files.map(|file| StreamPart::File(Box::new(file)))), wanted);
    let reasoning = StreamPart::ReasoningFile(Box::new(file("image/png", FileData::bytes(&b"png"[..]))));
    let wanted = json!({"type":"reasoning-file","mediaType":"image/png","url":"data:image/png;base64,cG5n"});
    assert_eq!(show([reasoning, StreamPart::ReasoningFile(Box::new(file("a/b", reference())))]), [wanted]);
}

/// [AL-15]
#[test]
fn sources_and_custom_parts() {
    let parts = [
        StreamPart::Source(Box::new(Source::Url {
            id: "s1".into(),
            url: "https://example.com".to_owned(),
            title: Some("Example".to_owned()),
            metadata: metadata(),
        })),
        StreamPart::Source(Box::new(Source::Document {
            id: "s2".into(),
            media_type: "application/pdf".to_owned(),
            title: "Report".to_owned(),
            filename: None,
            metadata: None,
        })),
        StreamPart::Custom(CustomPart {
            kind: "acme.note".to_owned(),
            options: ProviderOptions::default(),
            metadata: metadata(),
        }),
    ];
    let wanted = [
        json!({"type":"source-url","sourceId":"s1","url":"https://example.com","title":"Example"}),
        json!({"type":"source-document","sourceId":"s2","mediaType":"application/pdf","title":"Report"}),
        json!({"type":"custom","kind":"acme.note"}),
    ];
    assert_eq!(show(parts), wanted);
}

/// [AL-16]
#[test]
fn calls_the_provider_runs() {
    let call = ToolCall {
        provider_executed: true,
        dynamic: true,
        ..ToolCall::new("c", "search", r#"{"q":"rust"}"#)
    };
    let result = |output| ToolResult {
        provider_executed: true,
        dynamic: true,
        ..ToolResult::new("c", "search", output)
    };
    let parts = [
        StreamPart::ToolInputStart {
            id: "c".into(),
            tool_name: "search".to_owned(),
            provider_executed: true,
            dynamic: true,
            title: Some("Search".to_owned()),
        },
        StreamPart::ToolInputEnd { id: "c".into() },
        StreamPart::ToolCall(Box::new(call)),
        StreamPart::ToolApprovalRequest(ToolApprovalRequest {
            approval_id: "a".into(),
            tool_call_id: "c".into(),
        }),
        StreamPart::ToolResult(Box::new(ToolResult {
            preliminary: true,
            ..result(ToolOutput::Text("1 page".to_owned()))
        })),
        StreamPart::ToolResult(Box::new(result(ToolOutput::Json(json!({"pages": 2}))))),
        StreamPart::ToolResult(Box::new(result(ToolOutput::ErrorText("quota spent".to_owned())))),
        StreamPart::ToolResult(Box::new(result(ToolOutput::ErrorJson(json!({"code": 7}))))),
    ];
    let wanted = [
        json!({"type":"tool-input-start","toolCallId":"c","toolName":"search","title":"Search","providerExecuted":true,"dynamic":true}),
        json!({"type":"tool-input-available","toolCallId":"c","toolName":"search","title":"Search","input":{"q":"rust"},"providerExecuted":true,"dynamic":true}),
        json!({"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}),
        json!({"type":"tool-output-available","toolCallId":"c","output":"1 page","preliminary":true,"providerExecuted":true,"dynamic":true}),
        json!({"type":"tool-output-available","toolCallId":"c","output":{"pages":2},"providerExecuted":true,"dynamic":true}),
        json!({"type":"tool-output-error","toolCallId":"c","errorText":"quota spent","providerExecuted":true,"dynamic":true}),
        json!({"type":"tool-output-error","toolCallId":"c","errorText":"{\"code\":7}","providerExecuted":true,"dynamic":true}),
    ];
    assert_eq!(show(parts), wanted);
}

/// [AL-16]
#[test]
fn a_result_of_a_call_the_client_does_not_know_comes_with_a_call() {
    let result = |text: &str| {
        let result = ToolResult::new("c", "search", ToolOutput::Text(text.to_owned()));
        StreamPart::ToolResult(Box::new(ToolResult { provider_executed: true, ..result }))
    };
    let lost = StreamPart::ToolApprovalRequest(ToolApprovalRequest {
        approval_id: "a".into(),
        tool_call_id: "x".into(),
    });
    let wanted = [
        json!({"type":"tool-input-available","toolCallId":"c","toolName":"search","input":null,"providerExecuted":true}),
        json!({"type":"tool-output-available","toolCallId":"c","output":"one","providerExecuted":true}),
        json!({"type":"tool-output-available","toolCallId":"c","output":"two","providerExecuted":true}),
    ];
    assert_eq!(show([lost, result("one"), result("two")]), wanted);
}

/// [AL-13]
#[test]
fn results_as_json() {
    let mut with_name = file("text/plain", FileData::Text { text: "hi".to_owned() });
    with_name.filename = Some("hi.txt".to_owned());
    with_name.metadata = metadata();
    let custom =
        CustomPart { kind: "acme.x".to_owned(), options: ProviderOptions::default(), metadata: metadata() };
    let outputs = [
        ToolOutput::Text("plain".to_owned()),
        ToolOutput::Json(json!({"a": [1]})),
        ToolOutput::Content(vec![
            ToolContent::Text(TextPart { metadata: metadata(), ..TextPart::new("t") }),
            ToolContent::File(with_name),
            ToolContent::File(file("image/png", reference())),
            ToolContent::Custom(custom),
        ]),
        ToolOutput::Content(Vec::new()),
    ];
    let results = outputs.map(|output| StreamPart::ToolResult(Box::new(ToolResult::new("c", "t", output))));
    let outputs: Vec<_> = show(results).into_iter().skip(1).map(|mut chunk| chunk["output"].take()).collect();
    let wanted = [
        json!("plain"),
        json!({"a": [1]}),
        json!([
            {"type": "text", "text": "t"},
            {"type": "file", "mediaType": "text/plain", "url": "data:text/plain;base64,aGk=", "filename": "hi.txt"},
            {"type": "file", "mediaType": "image/png"},
            {"type": "custom", "kind": "acme.x"},
        ]),
        json!([]),
    ];
    assert_eq!(outputs, wanted);
}

/// [AL-18]
#[test]
fn what_is_not_for_clients() {
    let parts = [
        StreamPart::StreamStart { warnings: Vec::new() },
        StreamPart::ResponseMetadata(Box::default()),
        StreamPart::Raw { raw_value: json!({"secret": 1}) },
        StreamPart::text_delta("t", ""),
        StreamPart::ReasoningDelta { id: "r".into(), delta: String::new(), metadata: metadata() },
        StreamPart::ToolInputEnd { id: "c".into() },
    ];
    assert!(show(parts).is_empty());
}

/// [AL-19]
#[test]
fn provider_metadata_goes_out_on_request() {
    let result =
        ToolResult { metadata: metadata(), ..ToolResult::new("c", "t", ToolOutput::Text("r".to_owned())) };
    let failed = ToolResult {
        metadata: metadata(),
        provider_executed: true,
        ..ToolResult::new("c", "t", ToolOutput::ErrorText("no".to_owned()))
    };
    let mut picture = file("image/png", FileData::bytes(&b"png"[..]));
    picture.metadata = metadata();
    let parts = || {
        vec![
            StreamPart::TextStart { id: "t".into(), metadata: metadata() },
            StreamPart::TextDelta { id: "t".into(), delta: "x".to_owned(), metadata: metadata() },
            StreamPart::TextEnd { id: "t".into(), metadata: metadata() },
            StreamPart::ReasoningStart { id: "r".into(), metadata: metadata() },
            StreamPart::ReasoningDelta { id: "r".into(), delta: "x".to_owned(), metadata: metadata() },
            StreamPart::ReasoningEnd { id: "r".into(), metadata: metadata() },
            StreamPart::ToolCall(Box::new(ToolCall {
                metadata: metadata(),
                ..ToolCall::new("c", "t", "{}")
            })),
            StreamPart::ToolCall(Box::new(ToolCall { metadata: metadata(), ..ToolCall::new("d", "t", "{") })),
            StreamPart::ToolResult(Box::new(result.clone())),
            StreamPart::ToolResult(Box::new(failed.clone())),
            StreamPart::File(Box::new(picture.clone())),
            StreamPart::ReasoningFile(Box::new(picture.clone())),
            StreamPart::Source(Box::new(Source::Url {
                id: "s".into(),
                url: "https://example.com".to_owned(),
                title: None,
                metadata: metadata(),
            })),
            StreamPart::Source(Box::new(Source::Document {
                id: "s".into(),
                media_type: "a/b".to_owned(),
                title: "T".to_owned(),
                filename: None,
                metadata: metadata(),
            })),
            StreamPart::Custom(CustomPart {
                kind: "acme.x".to_owned(),
                options: ProviderOptions::default(),
                metadata: metadata(),
            }),
        ]
    };
    let quiet = show(parts());
    assert_eq!(quiet.len(), parts().len());
    assert!(!Value::from(quiet).to_string().contains("SEALED"));

    let asked = || UiSettings { provider_metadata: true, ..UiSettings::default() };
    let open = shown(asked(), parts());
    assert_eq!(open.len(), parts().len());
    for chunk in &open {
        assert_eq!(chunk["providerMetadata"], json!({"acme": {"seal": "SEALED"}}), "{chunk}");
        // Who minted it stays here.
        assert!(!chunk.to_string().contains("acme.test"), "{chunk}");
    }
    // A delta may be all metadata, or metadata with nothing in it.
    let signature = StreamPart::ReasoningDelta { id: "r".into(), delta: String::new(), metadata: metadata() };
    assert_eq!(shown(asked(), [signature]).len(), 1);
    let nothing = Some(Box::new(ProviderMetadata::default()));
    let nothing = StreamPart::TextEnd { id: "t".into(), metadata: nothing };
    assert_eq!(shown(asked(), [nothing]), [json!({"type":"text-end","id":"t"})]);
}

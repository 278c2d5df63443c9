//! Files a model cannot read.

use std::sync::Arc;

use ai_provider::{
    CancellationToken, Capabilities, FileData, FilePart, Message, TextPart, ToolCall, ToolContent,
    ToolOutput, ToolResult, UserMessage, UserPart,
};
use ai_testkit::{Script, ScriptedModel};

use super::support::{agent, run};
use crate::media::readable;

fn file(media_type: &str, data: &'static [u8]) -> FilePart {
    FilePart::new(media_type, FileData::bytes(data))
}

fn user(files: impl IntoIterator<Item = FilePart>) -> Arc<Message> {
    let mut message = UserMessage::default();
    message.parts.push(UserPart::Text(TextPart::new("See this.")));
    message.parts.extend(files.into_iter().map(UserPart::File));
    Arc::new(Message::User(message))
}

fn seeing(input: bool, tool_result: bool) -> Capabilities {
    let mut can = Capabilities::default();
    can.input.image = input;
    can.tool_result.image = tool_result;
    can
}

fn texts(message: &Message) -> Vec<String> {
    let json = serde_json::to_value(message).unwrap();
    let texts = json["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["text"].as_str().unwrap_or("file").to_owned());
    texts.collect()
}

/// [AL-135] [AL-136]
#[tokio::test]
async fn a_model_reads_of_a_file_that_it_cannot_read_it() {
    let mut photo = file("image/png", b"png");
    photo.filename = Some("me \"and\" you.png".to_owned());
    let history = vec![user([photo, file("application/pdf", b"pdf"), file("text/csv", b"a,b")])];
    let model = ScriptedModel::new().repeat(Script::text_reply("I cannot see it."));
    let ran = run(agent(&model).stream(history.clone(), CancellationToken::new())).await;
    assert_eq!(
        texts(&model.requests()[0].messages[0]),
        [
            "See this.",
            r#"[image "me \"and\" you.png" left out: this model cannot read it]"#,
            "[PDF document left out: this model cannot read it]",
            "file",
        ]
    );
    let end = ran.stream.run_end().unwrap();
    assert_eq!(end.snapshot.run().messages()[0], history[0], "the history stays true");

    let model = model.with_capabilities(seeing(true, false));
    run(agent(&model).stream([user([file("image/png", b"png")])], CancellationToken::new())).await;
    assert_eq!(texts(&model.requests()[1].messages[0]), ["See this.", "file"]);
    let blind = ScriptedModel::new().repeat(Script::text_reply("Well."));
    let sent = agent(&blind).with_media_placeholders(false);
    run(sent.stream(history.clone(), CancellationToken::new())).await;
    assert_eq!(blind.requests()[0].messages, history);
}

fn result(files: impl IntoIterator<Item = FilePart>) -> Arc<Message> {
    let content = files.into_iter().map(ToolContent::File).collect();
    Arc::new(Message::tool([ToolResult::new("a", "look", ToolOutput::Content(content))]))
}

/// [AL-135]
#[test]
fn files_in_results_of_tools() {
    let photo = || result([file("image/png", b"png")]);
    let shown = |message: Arc<Message>, can: &Capabilities| {
        readable(&[message], can).map(|messages| {
            let json = serde_json::to_value(&messages[0]).unwrap();
            json["parts"][0]["output"]["value"][0]["text"].as_str().unwrap().to_owned()
        })
    };
    assert_eq!(
        shown(photo(), &seeing(false, false)).as_deref(),
        Some("[image left out: this model cannot read it]")
    );
    assert_eq!(shown(photo(), &seeing(false, true)), None);
    assert_eq!(shown(photo(), &seeing(true, false)), None, "adapters move it to where the model can read it");
    let empty = result([file("image/png", b"")]);
    assert_eq!(shown(empty, &seeing(true, true)).as_deref(), Some("[image left out: it is empty]"));
}

/// [AL-135]
#[test]
fn what_is_in_order_is_shared() {
    let call = ToolCall::new("a", "look", "{}");
    let said = Message::Assistant(ai_provider::AssistantMessage {
        parts: vec![ai_provider::AssistantPart::ToolCall(call)],
        ..Default::default()
    });
    let odd = file("application/x-thing", b"?");
    let messages = [user([odd]), Arc::new(said), result([file("audio/wav", b"wav")])];
    let changed = readable(&messages, &Capabilities::default()).unwrap();
    assert!(Arc::ptr_eq(&changed[0], &messages[0]) && Arc::ptr_eq(&changed[1], &messages[1]));
    assert_ne!(changed[2], messages[2]);
    assert!(readable(&messages[..2], &Capabilities::default()).is_none());
}

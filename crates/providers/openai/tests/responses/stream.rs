//! Text and reasoning, event by event.

use ai_provider::{ErrorClass, StreamPart, UnifiedFinish};
use serde_json::{Value, json};

use crate::support::{
    added, completed, created, delta, done, event, events, finish, kept, message, parts, reasoning, stream,
    text, values, whole,
};

fn item(id: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []})
}

/// Block id, event, text: of text and reasoning alike.
fn blocks(parts: &[StreamPart]) -> Vec<(String, &'static str)> {
    let blocks = parts.iter().filter_map(|part| match part {
        StreamPart::TextStart { id, .. } => Some((id.to_string(), "text")),
        StreamPart::ReasoningStart { id, .. } => Some((id.to_string(), "reasoning")),
        _ => None,
    });
    blocks.collect()
}

/// [OA-202]
#[tokio::test]
async fn what_says_nothing_is_harmless() {
    let body = [
        ": hello\n\nretry: 3\n\ndata:\n\ndata:  \n\n".to_owned(),
        events(&[
            created(),
            json!({"type": "response.queued", "response": null}),
            json!({"type": "response.in_progress"}),
            added(0, item("m")),
            json!({"type": "response.content_part.added", "item_id": "m", "part": {"type": "output_text"}}),
            delta("output_text", 0, "m", ""),
            delta("output_text", 0, "m", "Hi"),
            json!({"type": "response.web_search_call.searching", "item_id": "x", "output_index": 9}),
            json!({"type": "response.of_the_future", "delta": {"deep": [1]}, "item_id": 7}),
            json!({"type": "keepalive", "sequence_number": 3}),
            json!({"type": "codex.rate_limits", "rate_limits": {"allowed": true}}),
            json!({"type": "response.output_item.added", "item": null}),
            done(0, message("m", "Hi")),
            completed(),
        ]),
    ];
    let parts = parts("openai", body.concat()).await;
    assert_eq!(text(&parts), "Hi");
    assert_eq!(blocks(&parts), [("m".to_owned(), "text")]);
}

/// [OA-203]
#[tokio::test]
async fn who_answers_is_told_once() {
    let body = events(&[created(), created(), completed()]);
    let parts = parts("openai", body).await;
    let told: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ResponseMetadata(metadata) => Some((**metadata).clone()),
            _ => None,
        })
        .collect();
    let [told] = told.try_into().unwrap();
    assert_eq!(
        (told.id.as_deref(), told.timestamp, told.model.as_deref()),
        (Some("resp_1"), Some(7), Some("m-1"))
    );
    assert_eq!(told.asked_model.as_deref(), Some("m"));
    assert_eq!(values(&finish(&parts).metadata, "openai")["responseId"], "resp_1");
}

/// [OA-204]
#[tokio::test]
async fn each_message_is_a_block_with_its_phase() {
    let mut first = item("m1");
    first["phase"] = "commentary".into();
    let body = events(&[
        kept(),
        added(0, first),
        delta("output_text", 0, "m1", "Let me "),
        delta("output_text", 0, "m1", "see."),
        done(0, message("m1", "Let me see.")),
        added(1, item("m1")),
        delta("output_text", 1, "m1", "Done."),
        done(1, message("m1", "Done.")),
        completed(),
    ]);
    let parts = parts("openai", body).await;
    assert_eq!(blocks(&parts), [("m1".to_owned(), "text"), ("m1:1".to_owned(), "text")]);
    let StreamPart::TextStart { metadata, .. } = &parts[2] else { panic!("{:?}", parts[2]) };
    assert_eq!(values(metadata, "openai")["phase"], "commentary");
    // It can be referred to once it is done, not before.
    assert_eq!(values(metadata, "openai").get("stored"), None);
    let StreamPart::TextEnd { metadata, .. } = &parts[5] else { panic!("{:?}", parts[5]) };
    let metadata = metadata.as_ref().unwrap();
    assert_eq!(metadata.get("openai").unwrap()["stored"], true);
    assert_eq!(metadata.get("openai").unwrap()["itemId"], "m1");
    assert_eq!(metadata.origin.as_ref().unwrap().target.model, "m");

    // Of a server that does not keep it, nothing says that it can be referred to.
    let done = done(0, message("m1", "Hi"));
    let body =
        events(&[created(), added(0, item("m1")), delta("output_text", 0, "m1", "Hi"), done, completed()]);
    let parts = self::parts("openai", body).await;
    let end = parts.iter().find_map(|part| match part {
        StreamPart::TextEnd { metadata, .. } => metadata.as_ref(),
        _ => None,
    });
    let values = end.unwrap().get("openai").unwrap();
    assert_eq!((&values["itemId"], values.get("stored")), (&json!("m1"), None));
}

/// [OA-205]
#[tokio::test]
async fn a_whole_text_counts_where_nothing_of_its_part_came() {
    let part = |content: usize, text: &str| {
        json!({"type": "response.output_text.done", "output_index": 0, "item_id": "m",
            "content_index": content, "text": text})
    };
    let mut second = delta("output_text", 0, "m", "two ");
    second["content_index"] = 1.into();
    let body = events(&[
        created(),
        added(0, item("m")),
        delta("output_text", 0, "m", "one "),
        second,
        // Longer than what came: what came counts.
        part(0, "one and a half "),
        part(2, "three "),
        part(2, "three "),
        done(
            0,
            json!({"type": "message", "id": "m", "content": [
                {"type": "output_text", "text": "one and a half "}, {"type": "output_text", "text": "two and more "},
                {"type": "output_text", "text": "three "}, {"type": "output_text", "text": "four"},
            ]}),
        ),
        completed(),
    ]);
    assert_eq!(text(&parts("openai", body).await), "one two three four");
}

/// [OA-206]
#[tokio::test]
async fn a_refusal_is_text_and_the_finish_says_so() {
    let streamed = events(&[
        created(),
        added(0, item("m")),
        delta("refusal", 0, "m", "I can"),
        delta("refusal", 0, "m", "not."),
        json!({"type": "response.refusal.done", "output_index": 0, "item_id": "m", "refusal": "I cannot."}),
        done(
            0,
            json!({"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
        ),
        completed(),
    ]);
    let late = events(&[
        created(),
        json!({"type": "response.refusal.done", "item_id": "m", "refusal": "I cannot."}),
        completed(),
    ]);
    let at_once = events(&[
        created(),
        done(
            0,
            json!({"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "I cannot."}]}),
        ),
        completed(),
    ]);
    for body in [streamed, late, at_once] {
        let parts = parts("openai", body).await;
        let finish = finish(&parts);
        assert_eq!(
            (text(&parts).as_str(), finish.reason.unified),
            ("I cannot.", UnifiedFinish::ContentFilter)
        );
        assert_eq!(values(&finish.metadata, "openai")["refusal"], true);
    }
}

/// [OA-207]
#[tokio::test]
async fn each_part_of_a_summary_is_a_block() {
    let mut second = delta("reasoning_summary_text", 0, "rs", "Then I answer.");
    second["summary_index"] = 1.into();
    let part = |index: usize| {
        json!({"type": "response.reasoning_summary_part.added", "item_id": "rs", "output_index": 0,
            "summary_index": index, "part": {"type": "summary_text", "text": ""}})
    };
    let body = events(&[
        created(),
        added(0, json!({"type": "reasoning", "id": "rs", "summary": []})),
        part(0),
        delta("reasoning_summary_text", 0, "rs", "First "),
        delta("reasoning_summary_text", 0, "rs", "I think."),
        json!({"type": "response.reasoning_summary_text.done", "item_id": "rs", "output_index": 0,
            "summary_index": 0, "text": "First I think."}),
        part(1),
        second,
        json!({"type": "response.reasoning_summary_text.done", "item_id": "rs", "output_index": 0,
            "summary_index": 2, "text": "Late."}),
        done(
            0,
            json!({"type": "reasoning", "id": "rs", "encrypted_content": "E", "summary": [
                {"type": "summary_text", "text": "First I think."}, {"type": "summary_text", "text": "x"},
                {"type": "summary_text", "text": "x"}, {"type": "summary_text", "text": "Last."},
            ]}),
        ),
        completed(),
    ]);
    let parts = parts("openai", body).await;
    let ids: Vec<_> = blocks(&parts).into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["rs:0", "rs:1", "rs:2", "rs:3"]);
    assert_eq!(reasoning(&parts), "First I think.Then I answer.Late.Last.");
    let ends: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ReasoningEnd { metadata, .. } => {
                Some(values(metadata, "openai").get("encryptedContent"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(ends, [None, None, None, Some(&json!("E"))]);
}

/// [OA-208]
#[tokio::test]
async fn a_silent_reasoning_item_is_one_block() {
    let silent = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "E"});
    for list in [
        vec![
            created(),
            added(0, json!({"type": "reasoning", "id": "rs"})),
            done(0, silent.clone()),
            completed(),
        ],
        vec![created(), done(0, silent), completed()],
    ] {
        let parts = parts("openai", events(&list)).await;
        assert_eq!(blocks(&parts), [("rs:0".to_owned(), "reasoning")]);
        assert_eq!(reasoning(&parts), "");
    }
}

/// [OA-208]
#[tokio::test]
async fn open_models_show_the_reasoning_itself() {
    let body = |kind: &str| {
        events(&[
            created(),
            added(0, json!({"type": "reasoning", "id": "rs"})),
            delta(kind, 0, "rs", "Hm."),
            done(
                0,
                json!({"type": "reasoning", "id": "rs", "summary": [],
                    "content": [{"type": "reasoning_text", "text": "Hm."}]}),
            ),
            completed(),
        ])
    };
    for kind in ["reasoning_text", "reasoning"] {
        let parts = parts("generic", body(kind)).await;
        assert_eq!(reasoning(&parts), "Hm.");
        let end = parts.iter().find_map(|part| match part {
            StreamPart::ReasoningEnd { metadata, .. } => Some(metadata),
            _ => None,
        });
        assert_eq!(values(end.unwrap(), "generic")["reasoningForm"], "content");
    }
}

/// [OA-209]
#[tokio::test]
async fn an_event_finds_its_item_by_id_by_index_or_because_there_is_one() {
    let two = |first: Value, second: Value| {
        vec![created(), added(0, item("a")), added(1, item("b")), first, second]
    };
    let bare = |text: &str| json!({"type": "response.output_text.delta", "delta": text});
    let without_index =
        |id: &str, text: &str| json!({"type": "response.output_text.delta", "item_id": id, "delta": text});
    let blocks = |parts: &[StreamPart]| -> Vec<(String, String)> {
        let deltas = parts.iter().filter_map(|part| match part {
            StreamPart::TextDelta { id, delta, .. } => Some((id.to_string(), delta.clone())),
            _ => None,
        });
        deltas.collect()
    };
    for (list, expected) in [
        // Ids that change are told by the index.
        (two(delta("output_text", 1, "x", "B"), delta("output_text", 0, "y", "A")), [("b", "B"), ("a", "A")]),
        // One index for all is told by the id.
        (two(delta("output_text", 0, "b", "B"), delta("output_text", 0, "a", "A")), [("b", "B"), ("a", "A")]),
        (two(without_index("b", "B"), without_index("a", "A")), [("b", "B"), ("a", "A")]),
        (vec![created(), added(0, item("a")), bare("A"), bare("B")], [("a", "A"), ("a", "B")]),
        // Never added.
        (vec![created(), bare("A"), bare("B")], [("0", "A"), ("0", "B")]),
        (
            vec![created(), delta("output_text", 0, "a", "A"), delta("output_text", 1, "b", "B")],
            [("a", "A"), ("b", "B")],
        ),
    ] {
        let (parts, error) = stream("openai", events(&[list, vec![completed()]].concat())).await;
        assert!(error.is_none(), "{error:?}");
        let expected = expected.map(|(id, text)| (id.to_owned(), text.to_owned()));
        assert_eq!(blocks(&parts), expected);
    }
    let (parts, error) = stream("openai", events(&two(bare("A"), completed()))).await;
    assert_eq!((text(&parts).as_str(), error.unwrap().class()), ("", ErrorClass::Protocol));
}

/// [OA-209]
#[tokio::test]
async fn a_piece_behind_the_end_of_its_item_is_not_lost() {
    let list = [
        created(),
        added(0, item("m")),
        delta("output_text", 0, "m", "Hi"),
        done(0, message("m", "Hi")),
        delta("output_text", 0, "m", " there"),
        completed(),
    ];
    let parts = parts("openai", events(&list)).await;
    assert_eq!(text(&parts), "Hi there");
    assert_eq!(blocks(&parts).len(), 2);
}

/// [OA-226]
#[tokio::test]
async fn behind_the_last_event_nothing_is_read() {
    let body = [
        events(&[created(), done(0, message("m", "Hi")), completed(), done(1, message("n", "more"))]),
        event(r#"{"type":"error","message":"late"}"#),
        "data: {oops\n\n".to_owned(),
    ];
    let parts = parts("openai", body.concat()).await;
    assert_eq!((text(&parts).as_str(), finish(&parts).reason.unified), ("Hi", UnifiedFinish::Stop));
}

/// [OA-235]
#[tokio::test]
async fn the_name_of_an_event_stands_in_for_its_type() {
    let unnamed = |json: &Value| {
        let mut bare = json.clone();
        bare.as_object_mut().unwrap().remove("type");
        format!("event: {}\ndata: {bare}\n\n", json["type"].as_str().unwrap())
    };
    let list = [created(), added(0, item("m")), delta("output_text", 0, "m", "Hi"), completed()];
    let body: String = list.iter().map(unnamed).collect();
    assert_eq!(text(&parts("openai", body).await), "Hi");
}

/// [OA-233]
#[tokio::test]
async fn a_character_cut_into_two_deltas_comes_out_whole() {
    let piece = |kind: &str, id: &str, index: usize, half: &str| {
        format!(
            "data: {{\"type\":\"response.{kind}.delta\",\"item_id\":\"{id}\",\"output_index\":{index},\"delta\":\"{half}\"}}\n\n"
        )
    };
    let body = |first: &str, second: &str| {
        [
            events(&[created(), added(0, json!({"type": "reasoning", "id": "rs"}))]),
            piece("reasoning_summary_text", "rs", 0, first),
            piece("reasoning_summary_text", "rs", 0, second),
            events(&[added(1, item("m"))]),
            piece("output_text", "m", 1, first),
            piece("output_text", "m", 1, second),
            events(&[completed()]),
        ]
        .concat()
    };
    let parts = parts("openai", body(r"a\ud83d", r"\ude42b")).await;
    assert_eq!((text(&parts).as_str(), reasoning(&parts).as_str()), ("a🙂b", "a🙂b"));
    let lost = crate::support::parts("openai", body(r"a\ud83d", "b")).await;
    assert_eq!((text(&lost).as_str(), reasoning(&lost).as_str()), ("a\u{fffd}b", "a\u{fffd}b"));
    let last = crate::support::parts("openai", body("a", r"\ud83d")).await;
    assert_eq!((text(&last).as_str(), reasoning(&last).as_str()), ("a\u{fffd}", "a\u{fffd}"));
}

/// [OA-233]
#[tokio::test]
async fn half_a_character_in_an_item_is_no_reason_not_to_read_it() {
    let item = r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","id":"m","content":[{"type":"output_text","text":"a\ud83d"}]}}"#;
    let body = [events(&[created()]), format!("{item}\n\n"), events(&[completed()])].concat();
    assert_eq!(text(&parts("openai", body).await), "a\u{fffd}");
    // A whole input with half a character is another matter: a tool would run with it.
    let call = r#"data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"c","name":"f","arguments":"{\"x\":\"\ud83d\"}"}}"#;
    let body = [events(&[created()]), format!("{call}\n\n"), events(&[completed()])].concat();
    let (parts, error) = stream("openai", body).await;
    assert_eq!(error.unwrap().class(), ErrorClass::Protocol);
    assert_eq!(crate::support::calls(&parts), []);
}

/// [OA-227]
#[tokio::test]
async fn an_answer_in_one_body_gives_the_parts_of_its_stream() {
    let items = [
        json!({"type": "reasoning", "id": "rs", "encrypted_content": "E",
            "summary": [{"type": "summary_text", "text": "Hm."}]}),
        json!({"type": "message", "id": "m", "role": "assistant", "phase": "commentary", "content": [
            {"type": "output_text", "text": "See ", "logprobs": [{"token": "See"}],
                "annotations": [{"type": "url_citation", "url": "http://a", "title": "A"}]},
            {"type": "output_text", "text": "you."}]}),
        crate::support::function_call("fc", "call_1", "f", r#"{"x":1}"#),
    ];
    let mut response = completed()["response"].clone();
    response["object"] = "response".into();
    response["created_at"] = 7.into();
    response["store"] = true.into();
    response["output"] = items.clone().into();
    let (whole_parts, error) = whole("openai", response.to_string()).await;
    assert!(error.is_none(), "{error:?}");
    let stream_of = |list: Vec<Value>| parts_of_stream(list);
    let mut list = vec![kept()];
    list.extend(items.iter().enumerate().map(|(at, item)| done(at, item.clone())));
    list.push(completed());
    assert_eq!(stream_of(list).await, whole_parts);
    // A server that gives the whole where a stream was asked for.
    let (parts, error) = stream("openai", response.to_string()).await;
    assert_eq!((parts, error.map(|error| error.record())), (whole_parts.clone(), None));
    assert_eq!(finish(&whole_parts).reason.unified, UnifiedFinish::ToolCalls);
    assert_eq!(values(&finish(&whole_parts).metadata, "openai")["logprobs"], json!([{"token": "See"}]));
}

async fn parts_of_stream(list: Vec<Value>) -> Vec<StreamPart> {
    parts("openai", events(&list)).await
}

/// [OA-228]
#[tokio::test]
async fn the_output_of_the_last_event_is_read_where_items_did_not_come_or_were_never_done() {
    let mut last = completed();
    last["response"]["output"] =
        json!([message("m", "Hi"), crate::support::function_call("fc", "call_1", "f", r#"{"x":1}"#),]);
    // Nothing came.
    let all = parts("openai", events(&[created(), last.clone()])).await;
    assert_eq!(text(&all), "Hi");
    assert_eq!(crate::support::calls(&all).len(), 1);
    // The message came, the call was begun and never done; its item has another id by now.
    let mut begun = crate::support::function_call("other", "call_1", "f", "");
    begun["status"] = "in_progress".into();
    let some = parts(
        "openai",
        events(&[created(), done(0, message("m", "Hi")), added(1, begun.clone()), last.clone()]),
    )
    .await;
    assert_eq!(text(&some), "Hi");
    assert_eq!(crate::support::calls(&some), [("call_1".into(), "f".into(), r#"{"x":1}"#.into())]);
    assert_eq!(finish(&some).reason.unified, UnifiedFinish::ToolCalls);
    // All of it came: the last event repeats it.
    let none = parts("openai", events(&[created(), done(0, message("n", "Ho")), last])).await;
    assert_eq!((text(&none).as_str(), crate::support::calls(&none)), ("Ho", Vec::new()));
}

//! Parts of an answer that are no calls.

use ai_provider::{ErrorClass, FileData, Source, StreamPart, ToolOutput};
use serde_json::json;

use crate::support::*;

/// The kinds of the parts between the start and the finish.
fn kinds(parts: &[StreamPart]) -> Vec<String> {
    let kind = |part: &StreamPart| serde_json::to_value(part).unwrap()["type"].as_str().unwrap().to_owned();
    parts[1..parts.len() - 1].iter().map(kind).collect()
}

fn signatures(parts: &[StreamPart]) -> Vec<(String, String, String)> {
    let signed = parts.iter().filter_map(|part| match part {
        StreamPart::TextDelta { id, delta, metadata }
        | StreamPart::ReasoningDelta { id, delta, metadata } => {
            Some((id.to_string(), delta.clone(), signature(metadata)?))
        }
        _ => None,
    });
    signed.collect()
}

/// [GG-15]
#[tokio::test]
async fn a_change_of_kind_ends_a_block() {
    let parts = good(
        gm(r#"[{"text":"t1","thought":true},{"text":"t2","thought":true},{"text":"a"}]"#)
            + &gm(r#"[{"text":"b"}]"#)
            + &gm(r#"[{"functionCall":{"name":"f"}},{"text":"c"}]"#)
            + &stop(),
    )
    .await;
    let expected = [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "tool-input-start",
        "tool-input-delta",
        "tool-input-end",
        "tool-call",
        "text-start",
        "text-delta",
        "text-end",
    ];
    assert_eq!(kinds(&parts), expected);
}

/// [GG-16]
#[tokio::test]
async fn a_signature_stays_with_its_block() {
    let parts = good(gm(r#"[{"text":"a"}]"#) + &end(r#"[{"text":"","thoughtSignature":"S"}]"#, "STOP")).await;
    assert_eq!(kinds(&parts), ["text-start", "text-delta", "text-delta", "text-end"]);
    assert_eq!(signatures(&parts), [("0".into(), String::new(), "S".into())]);

    // Without a block to go to, it has one of its own; so has one without a text at all.
    for part in [r#"{"text":"","thoughtSignature":"S"}"#, r#"{"thoughtSignature":"S"}"#] {
        let parts = good(gm(r#"[{"text":"t","thought":true}]"#) + &end(&format!("[{part}]"), "STOP")).await;
        assert_eq!(signatures(&parts), [("1".into(), String::new(), "S".into())]);
        assert_eq!(kinds(&parts)[3..], ["text-start", "text-delta", "text-end"]);
    }
}

/// [GG-15]
#[tokio::test]
async fn a_second_signature_does_not_take_the_place_of_the_first() {
    let parts = good(
        gm(r#"[{"text":"a","thoughtSignature":"S1"}]"#)
            + &gm(r#"[{"text":"b"}]"#)
            + &gm(r#"[{"text":"c","thoughtSignature":"S2"}]"#)
            + &stop(),
    )
    .await;
    let expected = [("0".into(), "a".into(), "S1".into()), ("1".into(), "c".into(), "S2".into())];
    assert_eq!(signatures(&parts), expected);
    assert_eq!(kinds(&parts).iter().filter(|kind| *kind == "text-start").count(), 2);
}

/// [GG-19]
#[tokio::test]
async fn sources_come_once_by_address() {
    let grounding = |chunks: &str| {
        data(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}},"groundingMetadata":{{"groundingChunks":{chunks},"webSearchQueries":["q"]}}}}]}}"#
        ))
    };
    let web = r#"{"web":{"uri":"https://a.example/1","title":"One"}}"#;
    let all = format!(
        r#"[{web},{{"web":{{"uri":"https://a.example/1","title":"Again"}}}},{{"maps":{{"uri":"https://maps.example/2","placeId":"p"}}}},{{"retrievedContext":{{"uri":"gs://bucket/doc.pdf","title":"Doc"}}}},{{"retrievedContext":{{"fileSearchStore":"fileSearchStores/s","text":"x"}}}},{{"retrievedContext":{{"fileSearchStore":"fileSearchStores/s","title":"A"}}}},{{"retrievedContext":{{"fileSearchStore":"fileSearchStores/s","title":"A","text":"y"}}}},{{"retrievedContext":{{"uri":"https://b.example","title":""}}}},{{"image":{{"sourceUri":"https://c.example","imageUri":"https://c.example/i.png"}}}},{{"web":{{}}}},{{"other":1}}]"#
    );
    let parts = good(grounding(&format!("[{web}]")) + &grounding(&all) + &grounding(&all) + &stop()).await;
    let sources: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::Source(source) => Some((**source).clone()),
            _ => None,
        })
        .map(|source| match source {
            Source::Url { url, title, .. } => (url, title),
            Source::Document { media_type, title, filename, .. } => {
                (format!("{media_type} {}", filename.unwrap_or_default()), Some(title))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let title = |title: &str| Some(title.to_owned());
    assert_eq!(
        sources,
        [
            ("https://a.example/1".into(), title("One")),
            ("https://maps.example/2".into(), None),
            ("application/pdf doc.pdf".into(), title("Doc")),
            ("application/octet-stream ".into(), title("fileSearchStores/s")),
            ("application/octet-stream ".into(), title("A")),
            ("https://b.example".into(), None),
            ("https://c.example".into(), None),
        ]
    );
    let metadata = values(&finish(&parts).metadata);
    assert_eq!(metadata["groundingMetadata"]["webSearchQueries"], json!(["q"]));
}

/// [GG-27]
#[tokio::test]
async fn sources_without_end_are_too_large() {
    let chunks: Vec<_> =
        (0..4_097).map(|at| format!(r#"{{"web":{{"uri":"https://a.example/{at}"}}}}"#)).collect();
    let frame = |chunks: &[String]| {
        data(&format!(
            r#"{{"candidates":[{{"groundingMetadata":{{"groundingChunks":[{}]}}}}]}}"#,
            chunks.join(",")
        ))
    };
    assert!(stream(frame(&chunks[1..]) + &stop()).await.1.is_none());
    assert_eq!(stream(frame(&chunks) + &stop()).await.1.unwrap().class(), ErrorClass::TooLarge);
}

/// [GG-20]
#[tokio::test]
async fn what_the_answer_says_about_itself_is_in_the_metadata_of_the_finish() {
    let body = data(
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"safetyRatings":[1]}],"promptFeedback":{"safetyRatings":[]}}"#,
    ) + &data(
        r#"{"candidates":[{"safetyRatings":[2],"citationMetadata":{"citationSources":[]},"urlContextMetadata":{"urlMetadata":[]},"avgLogprobs":-0.5,"logprobsResult":{"topCandidates":[]},"finishMessage":"because","finishReason":"STOP"}]}"#,
    );
    let metadata = values(&finish(&good(body).await).metadata);
    let expected = json!({
        "promptFeedback": {"safetyRatings": []}, "safetyRatings": [2],
        "citationMetadata": {"citationSources": []}, "urlContextMetadata": {"urlMetadata": []},
        "avgLogprobs": -0.5, "logprobsResult": {"topCandidates": []}, "finishMessage": "because",
    });
    assert_eq!(json!(metadata), expected);
}

/// [GG-22]
#[tokio::test]
async fn files_come_whole() {
    let parts = good(
        gm(r#"[{"inlineData":{"mimeType":"image/png","data":"iVBO"},"thoughtSignature":"S"}]"#)
            + &gm(r#"[{"inlineData":{"mimeType":"image/png","data":"_-8"},"thought":true}]"#)
            + &gm(r#"[{"fileData":{"fileUri":"https://f.example/x","mimeType":"video/mp4"}},{"inlineData":{"data":""}}]"#)
            + &stop(),
    )
    .await;
    assert_eq!(kinds(&parts), ["file", "reasoning-file", "file", "file"]);
    let files: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::File(file) | StreamPart::ReasoningFile(file) => Some((**file).clone()),
            _ => None,
        })
        .collect();
    assert_eq!(
        (files[0].media_type.as_str(), &files[0].data),
        ("image/png", &FileData::bytes(&[0x89, 0x50, 0x4e][..]))
    );
    assert_eq!(signature(&files[0].metadata).as_deref(), Some("S"));
    assert_eq!(files[1].data, FileData::bytes(&[0xff, 0xef][..]));
    assert_eq!(files[2].data, FileData::Url { url: "https://f.example/x".into() });
    assert_eq!(files[3].media_type, "application/octet-stream");
}

/// [GG-23]
#[tokio::test]
async fn code_that_ran_at_the_server_is_a_call_with_its_result() {
    let parts = good(
        gm(r#"[{"executableCode":{"language":"PYTHON","code":"print(1)"},"thoughtSignature":"S"}]"#)
            + &gm(r#"[{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"},"thoughtSignature":"T"}]"#)
            + &gm(r#"[{"executableCode":{"id":"c2","language":"PYTHON","code":"x"}},{"executableCode":{"id":"c3","code":"y"}}]"#)
            + &gm(r#"[{"codeExecutionResult":{"id":"c3","outcome":"OUTCOME_FAILED","output":"no"}},{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}]"#)
            + &gm(r#"[{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"lost"}}]"#)
            + &stop(),
    )
    .await;
    assert_eq!(reason(&parts).0, "stop");
    let calls = tool_calls(&parts);
    assert!(calls.iter().all(|call| call.provider_executed && call.name == "code_execution"));
    assert_eq!(calls[0].input_json().unwrap(), json!({"language": "PYTHON", "code": "print(1)"}));
    assert_eq!(signature(&calls[0].metadata).as_deref(), Some("S"));
    let ids: Vec<_> = calls.iter().map(|call| call.id.to_string()).collect();
    assert_eq!(ids[1..3], ["c2", "c3"]);
    let results: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::ToolResult(result) => Some((**result).clone()),
            _ => None,
        })
        .collect();
    assert!(results.iter().all(|result| result.provider_executed));
    let pairs: Vec<_> = results.iter().map(|result| result.tool_call_id.to_string()).collect();
    assert_eq!(pairs, [&*ids[0], "c3", "c2", &*ids[3]]);
    assert_eq!(results[0].output, ToolOutput::Json(json!({"outcome": "OUTCOME_OK", "output": "1\n"})));
    assert_eq!(signature(&results[0].metadata).as_deref(), Some("T"));
    assert!(results[1].output.is_error());
    assert_eq!(calls[3].input, "{}");
}

/// [GG-24]
#[tokio::test]
async fn other_tools_of_the_server_are_calls_with_results_too() {
    let parts = good(
        gm(r#"[{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]},"id":"t1"},"thoughtSignature":"S"}]"#)
            + &gm(r#"[{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"hits":1},"id":"t1"}}]"#)
            + &stop(),
    )
    .await;
    let [call] = tool_calls(&parts).try_into().unwrap();
    assert_eq!(
        (call.id.as_str(), call.name.as_str(), call.provider_executed, call.dynamic),
        ("t1", "server:GOOGLE_SEARCH_WEB", true, true)
    );
    assert_eq!(
        (call.input.as_str(), signature(&call.metadata).as_deref()),
        (r#"{"queries":["q"]}"#, Some("S"))
    );
    let result = parts.iter().find_map(|part| match part {
        StreamPart::ToolResult(result) => Some((**result).clone()),
        _ => None,
    });
    let result = result.unwrap();
    assert_eq!((result.tool_call_id.as_str(), result.output), ("t1", ToolOutput::Json(json!({"hits": 1}))));
    assert_eq!(reason(&parts).0, "stop");
}

/// [GG-25]
#[tokio::test]
async fn a_part_of_a_new_kind_is_kept_as_it_came() {
    let parts =
        good(gm(r#"[{"text":"a"},{"hologram":{"x":[1]},"thoughtSignature":""},{"text":"b"}]"#) + &stop())
            .await;
    assert_eq!(text(&parts), "ab");
    let custom = parts.iter().find_map(|part| match part {
        StreamPart::Custom(custom) => Some(custom.clone()),
        _ => None,
    });
    let custom = custom.unwrap();
    assert_eq!(custom.kind, "google.part");
    assert_eq!(values(&custom.metadata)["part"], json!({"hologram": {"x": [1]}, "thoughtSignature": ""}));
    assert_eq!(custom.metadata.unwrap().origin.unwrap().target.model, "gemini-3-pro-preview");
}

/// [GG-60]
#[tokio::test]
async fn later_counts_replace_earlier_ones_field_by_field() {
    let frame = |usage: &str| {
        data(&format!(
            r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}}}}],"usageMetadata":{usage}}}"#
        ))
    };
    let last = r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":15,"trafficType":"ON_DEMAND"}}"#;
    let parts = good(
        frame(r#"{"promptTokenCount":10,"candidatesTokenCount":4}"#)
            + &frame(r#"{"promptTokenCount":"10","candidatesTokenCount":"9","thoughtsTokenCount":7}"#)
            + &data(last),
    )
    .await;
    let usage = finish(&parts).usage;
    assert_eq!((usage.input.total, usage.output.total), (Some(10), Some(22)));
    assert_eq!((usage.output.text, usage.output.reasoning), (Some(15), Some(7)));
    assert_eq!(
        *usage.raw.unwrap(),
        json!({"promptTokenCount": 10, "candidatesTokenCount": 15, "trafficType": "ON_DEMAND"})
    );
}

/// [GG-61]
#[tokio::test]
async fn counts_have_one_meaning() {
    let usage = async |usage: &str| {
        let frame = format!(r#"{{"candidates":[{{"finishReason":"STOP"}}],"usageMetadata":{usage}}}"#);
        finish(&good(data(&frame)).await).usage
    };
    let cached =
        usage(r#"{"promptTokenCount":1210,"cachedContentTokenCount":1000,"candidatesTokenCount":5}"#).await;
    assert_eq!(
        (cached.input.total, cached.input.cache_read, cached.input.no_cache, cached.input.cache_write),
        (Some(1210), Some(1000), Some(210), None)
    );
    assert_eq!((cached.output.total, cached.output.text, cached.output.reasoning), (Some(5), Some(5), None));
    let thought = usage(r#"{"thoughtsTokenCount":9}"#).await;
    assert_eq!(
        (thought.output.total, thought.output.text, thought.output.reasoning),
        (Some(9), None, Some(9))
    );
    assert_eq!(thought.input.total, None);
    let odd = usage(r#"{"promptTokenCount":1,"cachedContentTokenCount":2,"candidatesTokenCount":-1,"thoughtsTokenCount":[]}"#).await;
    assert_eq!((odd.input.no_cache, odd.output.total), (Some(0), None));
    assert_eq!(finish(&good(stop()).await).usage, Default::default());
}

/// [GG-25]
#[tokio::test]
async fn many_parts_of_a_new_kind_cost_one_more_reading() {
    let odd: Vec<_> = (0..3_000).map(|at| format!(r#"{{"hologram":{at}}},{{}}"#)).collect();
    let other = r#"{"index":1,"content":{"parts":[{"hologram":"no"}]}}"#;
    let [one, two] = [&odd[..1_000], &odd[1_000..]]
        .map(|parts| format!(r#"{{"content":{{"parts":[null,{}]}}}}"#, parts.join(",")));
    let parts = good(data(&format!(r#"{{"candidates":[{other},{one},{two}]}}"#)) + &stop()).await;
    let kept: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            StreamPart::Custom(custom) => Some(values(&custom.metadata)["part"]["hologram"].clone()),
            _ => None,
        })
        .collect();
    assert_eq!(kept, (0..3_000).map(serde_json::Value::from).collect::<Vec<_>>());
}

use std::cell::Cell;

use ai_core::middleware::ExtractJson;
use ai_provider::{Message, Request, ResponseFormat, StreamPart, UnifiedFinish};
use ai_testkit::ScriptedModel;
use proptest::prelude::*;

use super::{around, block_on, cut, cuts, said, shape, text_block};

fn ask(json: bool) -> Request {
    let mut request = Request::new([Message::user("go")]);
    if json {
        request.response_format = ResponseFormat::Json { schema: None, name: None, description: None };
    }
    request
}

fn read(deltas: &[String], json: bool) -> Vec<StreamPart> {
    let script = text_block(deltas.iter().map(String::as_str)).finish(UnifiedFinish::Stop);
    let model = ScriptedModel::new().reply(script);
    block_on(said(&around(&model, ExtractJson), ask(json))).0
}

fn check(text: &str, expected: &str) {
    for deltas in cuts(text) {
        assert_eq!(shape(&read(&deltas, true)), [format!("T:{expected}")], "{deltas:?}");
    }
}

/// [AC-235]
#[test]
fn json_is_taken_out_of_its_fence() {
    check("```json\n{\"a\": 1}\n```", "{\"a\": 1}");
    check("```\n{\"a\": 1}\n```\n", "{\"a\": 1}");
    check("Here it is:\n\n```json\n[1]\n```\nI hope that helps.", "[1]");
    check("```JSON\n{\"a\": \"```\"}\n```", "{\"a\": \"```\"}");
    check("```json\n{\"a\": 1", "{\"a\": 1");
    check("```json\n```", "");
}

/// [AC-236]
#[test]
fn what_has_no_fence_stays_as_it_is() {
    for text in ["{\"a\": \"```json\\n1\"}", " [1, 2]", "no JSON at all", "``", "", "a ``` b"] {
        check(text, text);
    }
    let long = "word ".repeat(3_000);
    assert_eq!(
        shape(&read(&[long.clone(), "```\n1\n```".to_owned()], true)),
        [format!("T:{long}```\n1\n```")]
    );
}

/// [AC-236]
#[test]
fn an_answer_that_need_not_be_json_is_left_alone() {
    let text = "```json\n{}\n```";
    assert_eq!(shape(&read(&[text.to_owned()], false)), [format!("T:{text}")]);
}

/// [AC-235]
#[test]
fn the_cut_never_matters() {
    let piece = prop::sample::select(vec![
        "```",
        "```json\n",
        "\n```",
        "`",
        "\n",
        "json",
        "{",
        "}",
        "\"",
        "a",
        " ",
        "[1]",
    ]);
    let text = prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
    let (cases, fenced) = (Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(500));
    runner
        .run(&(text, prop::collection::vec(0usize..50, 0..8)), |(text, places)| {
            cases.set(cases.get() + 1);
            let whole = shape(&read(std::slice::from_ref(&text), true));
            fenced.set(fenced.get() + usize::from(whole != [format!("T:{text}")]));
            prop_assert_eq!(shape(&read(&cut(&text, &places), true)), whole, "{:?}", text);
            Ok(())
        })
        .unwrap();
    assert!(fenced.get() * 12 > cases.get(), "{} of {} had a fence", fenced.get(), cases.get());
}

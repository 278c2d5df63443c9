use std::cell::Cell;

use ai_core::middleware::ExtractReasoning;
use ai_provider::{
    ErrorClass, Message, ModelError, ProviderMetadata, ProviderOptions, Request, StreamPart, ToolCall,
    UnifiedFinish,
};
use ai_testkit::{Script, ScriptedModel};
use proptest::prelude::*;
use serde_json::json;

use super::{around, block_on, cut, cuts, said, shape, text_block};

fn think() -> ExtractReasoning {
    ExtractReasoning::new("think")
}

async fn parts_of(rules: &ExtractReasoning, script: Script) -> Vec<StreamPart> {
    let model = ScriptedModel::new().reply(script);
    let (parts, error) = said(&around(&model, rules.clone()), Request::new([Message::user("go")])).await;
    assert!(error.is_none(), "{error:?}");
    parts
}

fn read(rules: &ExtractReasoning, deltas: &[String]) -> Vec<String> {
    let script = text_block(deltas.iter().map(String::as_str)).finish(UnifiedFinish::Stop);
    shape(&block_on(parts_of(rules, script)))
}

fn check(rules: &ExtractReasoning, text: &str, expected: &[&str]) {
    for deltas in cuts(text) {
        assert_eq!(read(rules, &deltas), expected, "{deltas:?}");
    }
}

/// [AC-210]
#[test]
fn a_leading_block_is_reasoning_whatever_the_cut() {
    check(&think(), "<think>plan</think>Answer: a < b", &["R:plan", "T:Answer: a < b"]);
    check(&think(), "<think>a </thin b</think>x <think", &["R:a </thin b", "T:x <think"]);
    check(&think(), "\n <think>plan\n</think>\n\nHi", &["R:plan\n", "T:\n \n\nHi"]);
    check(&ExtractReasoning::new("思考"), "<思考>計</思考>答え", &["R:計", "T:答え"]);
}

/// [AC-211]
#[test]
fn other_tags_are_text() {
    for text in ["a <think>b</think>", "plan</think>Hi", "<thinking>x", "< think>x</think>", "<", "<think"] {
        check(&think(), text, &[&format!("T:{text}")]);
    }
    let twice = "<think>a</think>b<think>c</think>";
    check(&think(), twice, &["R:a", "T:b<think>c</think>"]);
    check(&think(), "<think>a<think>b</think>c</think>", &["R:a<think>b", "T:c</think>"]);
}

/// [AC-212]
#[test]
fn a_block_that_is_never_closed_is_reasoning_to_its_end() {
    check(&think(), "<think>plan </thi", &["R:plan </thi"]);
    let open = Script::new()
        .part(StreamPart::text_start("0"))
        .part(StreamPart::text_delta("0", "<think>plan</th"))
        .finish(UnifiedFinish::Length);
    assert_eq!(shape(&block_on(parts_of(&think(), open))), ["R:plan</th"]);

    let model = ScriptedModel::new().reply(
        Script::new()
            .part(StreamPart::text_start("0"))
            .part(StreamPart::text_delta("0", "<think>plan</th"))
            .error(ModelError::new(ErrorClass::Transport, "reset")),
    );
    let (parts, error) = block_on(said(&around(&model, think()), Request::new([Message::user("go")])));
    assert_eq!(shape(&parts), ["R:plan</th"]);
    assert_eq!(error.unwrap().message(), "reset");
}

/// [AC-213]
#[test]
fn an_empty_block_leaves_no_reasoning() {
    check(&think(), "<think></think>Hi", &["T:Hi"]);
    check(&think(), "<think>\n\n</think>Hi", &["T:Hi"]);
    check(&think(), "<think>\n x</think>Hi", &["R:\n x", "T:Hi"]);
}

/// [AC-214]
#[tokio::test]
async fn native_reasoning_leaves_tags_in_the_text() {
    let native = Script::new().reasoning("hm").text("<think>a</think>b").finish(UnifiedFinish::Stop);
    for rules in [think(), think().anywhere(), think().starts_inside()] {
        let parts = parts_of(&rules, native.clone()).await;
        assert_eq!(shape(&parts), ["R:hm", "T:<think>a</think>b"]);
    }
}

/// [AC-215]
#[tokio::test]
async fn other_parts_pass_while_a_tag_may_come_and_a_later_text_is_left_alone() {
    let call = StreamPart::ToolCall(Box::new(ToolCall::new("c", "f", "{}")));
    let script = Script::new()
        .parts([StreamPart::text_start("a"), StreamPart::text_delta("a", "\n<thi")])
        .part(call.clone())
        .parts([StreamPart::text_end("a"), StreamPart::text_start("b")])
        .parts([StreamPart::text_delta("b", "<think>x</think>"), StreamPart::text_end("b")])
        .finish(UnifiedFinish::ToolCalls);
    let parts = parts_of(&think(), script).await;
    assert_eq!(parts[1], call, "it waits for nothing");
    assert_eq!(shape(&parts), ["C:f:{}", "T:\n<thi", "T:<think>x</think>"]);
}

/// [AC-216]
#[tokio::test]
async fn what_has_no_tag_comes_out_as_it_went_in() {
    let metadata = |n: u64| {
        let values = ProviderOptions::default().with("p", "n", json!(n));
        Some(Box::new(ProviderMetadata { origin: None, values }))
    };
    let nothing = [StreamPart::text_start("0"), StreamPart::text_end("0")];
    let some = [
        StreamPart::TextStart { id: "0".into(), metadata: metadata(1) },
        StreamPart::TextDelta { id: "0".into(), delta: "Hi".into(), metadata: None },
        StreamPart::TextDelta { id: "0".into(), delta: " you".into(), metadata: metadata(2) },
        StreamPart::TextEnd { id: "0".into(), metadata: metadata(3) },
    ];
    for parts in [&nothing[..], &some[..], &[]] {
        let script = Script::new().parts(parts.iter().cloned()).finish(UnifiedFinish::Stop);
        let read = parts_of(&think(), script).await;
        assert_eq!(read[1..read.len() - 1], *parts);
    }
    let signed = [
        StreamPart::TextStart { id: "0".into(), metadata: metadata(1) },
        StreamPart::text_delta("0", "<think>all</think>"),
        StreamPart::text_end("0"),
    ];
    let read = parts_of(&think(), Script::new().parts(signed).finish(UnifiedFinish::Stop)).await;
    assert!(read.contains(&StreamPart::TextStart { id: "0".into(), metadata: metadata(1) }), "{read:?}");
}

/// [AC-217]
#[test]
fn anywhere_takes_every_block_and_keeps_the_order() {
    check(
        &think().anywhere(),
        "a<think>b</think>c<think>d</think><think>e",
        &["T:a", "R:b", "T:c", "R:d", "R:e"],
    );
    let two = Script::new().text("<think>x</think>y").text("z<think>w</think>").finish(UnifiedFinish::Stop);
    let parts = block_on(parts_of(&think().anywhere(), two));
    assert_eq!(shape(&parts), ["R:x", "T:y", "T:z", "R:w"]);
}

/// [AC-218]
#[test]
fn a_model_may_start_inside() {
    let rules = think().starts_inside();
    check(&rules, "plan</think>Hi", &["R:plan", "T:Hi"]);
    check(&rules, "<think>plan</think>Hi", &["R:plan", "T:Hi"]);
    check(&rules, " plan", &["R: plan"]);
}

/// [AC-219]
#[tokio::test]
async fn a_held_beginning_is_released_as_soon_as_it_is_no_tag() {
    let marker = || StreamPart::Raw { raw_value: json!(0) };
    let deltas = ["<thi", "nk>a </th", "e </think", ">b <", " c"];
    let script = deltas.iter().fold(Script::new().part(StreamPart::text_start("0")), |script, delta| {
        script.part(StreamPart::text_delta("0", *delta)).part(marker())
    });
    let parts = parts_of(&think(), script.part(StreamPart::text_end("0")).finish(UnifiedFinish::Stop)).await;
    let mut shown = vec![String::new()];
    for part in &parts {
        match part {
            StreamPart::Raw { .. } => shown.push(String::new()),
            StreamPart::TextDelta { delta, .. } | StreamPart::ReasoningDelta { delta, .. } => {
                shown.last_mut().unwrap().push_str(delta);
            }
            _ => {}
        }
    }
    assert_eq!(shown, ["", "a ", "</the ", "b <", " c", ""]);

    let blank = " ".repeat(10_000);
    let script = Script::new()
        .parts([StreamPart::text_start("0"), StreamPart::text_delta("0", &*blank), marker()])
        .part(StreamPart::text_end("0"))
        .finish(UnifiedFinish::Stop);
    let parts = parts_of(&think(), script).await;
    assert!(matches!(&parts[2], StreamPart::TextDelta { delta, .. } if *delta == blank), "bounded");
}

/// What the text comes to, by looking at all of it at once.
fn reference(text: &str, anywhere: bool) -> Vec<String> {
    let mut shape = Vec::new();
    let say = |kind: &str, text: &str, shape: &mut Vec<String>| {
        if !text.is_empty() {
            shape.push(format!("{kind}:{text}"));
        }
    };
    let lead = text.len() - text.trim_start().len();
    let (white, rest) = text.split_at(lead);
    let (mut white, mut rest) = (white.to_owned(), rest.to_owned());
    let mut first = true;
    loop {
        let open = match rest.find("<think>") {
            Some(at) if (at == 0 && first) || anywhere => at,
            _ => {
                say("T", &format!("{white}{rest}"), &mut shape);
                return shape;
            }
        };
        if open > 0 {
            say("T", &format!("{white}{}", &rest[..open]), &mut shape);
            white.clear();
        }
        first = false;
        let inside = &rest[open + 7..];
        let (reasoning, after) = match inside.split_once("</think>") {
            Some((reasoning, after)) => (reasoning, Some(after)),
            None => (inside, None),
        };
        if !reasoning.trim().is_empty() {
            say("R", reasoning, &mut shape);
        }
        let Some(after) = after else { return shape };
        rest = format!("{white}{after}");
        white.clear();
    }
}

/// [AC-210] [AC-217]
#[test]
fn any_text_and_any_cut_give_what_the_whole_text_says() {
    let piece = prop::sample::select(vec![
        "<think>", "</think>", "<", "/", "think>", "</th", "a", " ", "\n", "ö", "<thin", "x y",
    ]);
    let text = prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat());
    let (cases, extracted, cut_tags) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(600));
    let inputs = (text, prop::collection::vec(0usize..100, 0..8), any::<bool>());
    runner
        .run(&inputs, |(text, places, anywhere)| {
            cases.set(cases.get() + 1);
            let rules = if anywhere { think().anywhere() } else { think() };
            let deltas = cut(&text, &places);
            let expected = reference(&text, anywhere);
            let read = read(&rules, &deltas);
            let read: Vec<_> = read.into_iter().filter(|part| part != "T:").collect();
            extracted.set(extracted.get() + usize::from(expected.iter().any(|part| part.starts_with('R'))));
            let in_one = |tag| deltas.iter().filter(|delta| delta.contains(tag)).count();
            let cut = text.matches("<think>").count() > in_one("<think>");
            cut_tags.set(cut_tags.get() + usize::from(cut));
            prop_assert_eq!(read, expected, "{:?}", deltas);
            Ok(())
        })
        .unwrap();
    assert!(extracted.get() * 10 > cases.get(), "{} of {} had reasoning", extracted.get(), cases.get());
    assert!(cut_tags.get() * 20 > cases.get(), "{} of {} had a cut tag", cut_tags.get(), cases.get());
}

/// [AC-233]
#[test]
fn the_work_is_linear_in_the_length() {
    let text = "<think>a</think>b".repeat(4_900);
    assert_eq!(read(&think().anywhere(), &[text]).len(), 9_800);
    let text = format!("<think>{}</think>b", "</thin".repeat(500_000));
    assert_eq!(read(&think(), &[text]).len(), 2);
}

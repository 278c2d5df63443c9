//! What a row changes in the request.

use ai_openai::{Dialect, SystemRole};
use ai_provider::{ErrorClass, FunctionTool, Message, Request, ResponseFormat, ToolChoice, ToolDefinition};
use serde_json::{Value, json};

use crate::hi;
use crate::support::history::{assistant, call, messages, result, said};
use crate::support::{dialect, encoded};

/// [OA-126]
#[test]
fn a_choice_a_server_passes_over_is_an_error() {
    let tool = ToolDefinition::Function(FunctionTool::new("f", "", json!({"type": "object"})));
    let mut request = hi().with_tools([tool]);
    for (name, choice, wire) in [
        ("ollama", ToolChoice::Required, None),
        ("ollama", ToolChoice::Tool { name: "f".into() }, None),
        ("ollama", ToolChoice::Auto, Some(Value::Null)),
        ("lmstudio", ToolChoice::Tool { name: "f".into() }, Some(json!("required"))),
        ("vllm", ToolChoice::Required, Some(json!("required"))),
        ("openrouter", ToolChoice::Required, Some(json!("required"))),
    ] {
        request.tool_choice = choice;
        match (encoded(&dialect(name), "m", &request), wire) {
            (Ok((body, _)), Some(wire)) => {
                assert_eq!(serde_json::from_str::<Value>(&body).unwrap()["tool_choice"], wire, "{name}");
            }
            (Err(error), None) => assert_eq!(error.class(), ErrorClass::Unsupported),
            (outcome, _) => panic!("{name}: {outcome:?}"),
        }
    }
}

/// [OA-126]
#[test]
fn json_without_a_schema_is_asked_in_words_where_there_is_no_other_way() {
    let mut request = hi();
    request.response_format = ResponseFormat::Json { schema: None, name: None, description: None };
    for (name, object) in [("lmstudio", false), ("perplexity", false), ("ollama", true), ("openrouter", true)]
    {
        let (body, warnings) = encoded(&dialect(name), "m", &request).unwrap();
        assert_eq!(body.contains("json_object"), object, "{body}");
        assert_eq!(
            (body.contains("Answer with one JSON object"), warnings.is_empty()),
            (!object, object),
            "{name}"
        );
    }
}

/// [OA-130]
#[test]
fn deepseek_v4_gets_a_field_for_reasoning_in_each_message_of_the_assistant() {
    let history = || {
        [
            Message::user("Hi"),
            assistant([call("a", "f", "{}")]),
            Message::tool([result("a", "1")]),
            assistant([said("done")]),
            Message::user("more"),
        ]
    };
    let (body, _) = encoded(&dialect("deepseek"), "deepseek-v4-pro", &Request::new(history())).unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    let fields: Vec<_> = (0..5).map(|at| body["messages"][at].get("reasoning_content")).collect();
    assert_eq!(fields, [None, Some(&json!("")), None, Some(&json!("")), None]);
    let sent = messages("deepseek", history());
    assert!(!sent.to_string().contains("reasoning_content"), "{sent}");
}

/// [OA-126]
#[test]
fn names_of_the_table_are_told_apart() {
    let mut names: Vec<_> = Dialect::names().collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for name in ["azure", "openrouter", "ollama", "vllm", "llama.cpp", "lmstudio", "generic"] {
        assert!(names.contains(&name), "{name}");
    }
}

/// [OA-132]
#[test]
fn instructions_have_the_role_the_row_says() {
    let sent = |system: SystemRole, model: &str| -> (Vec<Value>, usize) {
        let mut dialect = dialect("openai");
        dialect.system = system;
        let request = Request::new([Message::system("Be brief."), Message::user("Hi")]);
        let (body, warnings) = encoded(&dialect, model, &request).unwrap();
        let messages = serde_json::from_str::<Value>(&body).unwrap()["messages"].clone();
        (messages.as_array().unwrap().iter().map(|message| message["role"].clone()).collect(), warnings.len())
    };
    for (system, model, roles) in [
        (SystemRole::ByModel, "gpt-4.1", vec!["system", "user"]),
        (SystemRole::ByModel, "o3", vec!["developer", "user"]),
        (SystemRole::System, "o3", vec!["system", "user"]),
        (SystemRole::Developer, "gpt-4.1", vec!["developer", "user"]),
        (SystemRole::User, "gpt-4.1", vec!["user", "user"]),
        (SystemRole::Absent, "gpt-4.1", vec!["user"]),
    ] {
        let warned = usize::from(system == SystemRole::Absent);
        let roles = roles.into_iter().map(Value::from).collect::<Vec<_>>();
        assert_eq!(sent(system, model), (roles, warned), "{system:?} {model}");
    }
}

/// [OA-133]
#[test]
fn options_a_reasoning_model_refuses_are_left_out() {
    let mut request = hi();
    for option in ["logprobs", "top_logprobs", "logit_bias"] {
        request.options = request.options.with("openai", option, json!(1));
    }
    for (model, sent) in [("o3", 0), ("gpt-4.1", 3)] {
        let (body, warnings) = encoded(&dialect("openai"), model, &request).unwrap();
        let body: Value = serde_json::from_str(&body).unwrap();
        let found =
            ["logprobs", "top_logprobs", "logit_bias"].iter().filter(|key| body.get(**key).is_some()).count();
        assert_eq!((found, warnings.len()), (sent, 3 - sent), "{model}");
    }
    // The extra body is the caller's own affair.
    let (body, _) = encoded(&dialect("openai"), "o3", &hi().with_extra("logprobs", json!(true))).unwrap();
    assert!(body.contains("logprobs"));
}

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ai_core::{ErrorKind, ModelRef, Registry, ToolSet, create_agent, tool_fn};
use ai_provider::{ErrorClass, LanguageModel, ModelError, Provider, TargetId};
use ai_testkit::ScriptedModel;
use proptest::prelude::*;

use crate::support::{Text, echo};

mod acme;
mod cache;
mod creation;
mod registration;
mod tools;

struct Named(&'static str);

impl Provider for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        Ok(Arc::new(ScriptedModel::new().with_target(TargetId::new(self.0, id, "memory"))))
    }
}

fn registry() -> Registry {
    Registry::new().with(Named("openai")).unwrap().with(Named("openrouter")).unwrap()
}

proptest! {
    /// [AC-1]
    #[test]
    fn a_reference_is_cut_at_its_first_colon(provider in "[a-z-]{1,12}", model in "[a-z0-9:/.-]{1,30}") {
        let text = format!("{provider}:{model}");
        let parsed: ModelRef = text.parse().unwrap();
        prop_assert_eq!(parsed.provider(), provider);
        prop_assert_eq!(parsed.model(), model);
        prop_assert_eq!(parsed.to_string(), text);
    }
}

/// [AC-1] [AC-2]
#[tokio::test]
async fn a_reference_that_cannot_be_read_is_refused_by_name() {
    for (text, problem) in [
        ("gpt-5", "no `:`"),
        (":gpt-5", "provider before the `:` is missing"),
        ("openai:", "model after the `:` is missing"),
        ("", "no `:`"),
        ("openai:a b", "white space"),
        ("openai:a\u{7}", "control character"),
    ] {
        let error = text.parse::<ModelRef>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidModelRef, "{text:?}");
        assert!(error.to_string().contains(problem), "{error}");
        assert!(error.to_string().contains("provider:model"), "{error}");
    }
    let model = registry().language_model("openrouter:meta/llama:free").await.unwrap();
    assert_eq!(model.target().model, "meta/llama:free");
}

/// [AC-3]
#[tokio::test]
async fn an_unknown_provider_is_an_error_that_helps() {
    let error = registry().language_model("opnai:gpt-5").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);
    assert!(error.to_string().contains("did you mean `openai`?"), "{error}");
    let error = registry().language_model("zzz:gpt-5").await.unwrap_err();
    assert!(error.to_string().contains("known: openai, openrouter"), "{error}");
    let error = Registry::new().language_model("zzz:gpt-5").await.unwrap_err();
    assert!(error.to_string().contains("none is registered"), "{error}");
}

/// [AC-4]
#[test]
fn a_name_is_registered_once_and_must_fit_the_grammar() {
    let error = registry().with(Named("openai")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IdCollision);
    for name in ["", "a:b", "a b"] {
        assert_eq!(Registry::new().with(Named(name)).unwrap_err().kind(), ErrorKind::InvalidExtension);
    }
    assert_eq!(registry().names().collect::<Vec<_>>(), ["openai", "openrouter"]);
}

/// [AC-5]
#[test]
fn tool_names_are_unique_and_such_that_providers_take_them() {
    assert_eq!(
        ToolSet::new().with(echo()).unwrap().with(echo()).unwrap_err().kind(),
        ErrorKind::DuplicateTool
    );
    for name in ["", "with space", "dot.ted", "ünï", &"x".repeat(65)] {
        let tool = tool_fn(name, "", |_: Text, _| async { Ok("") });
        assert_eq!(ToolSet::new().with(tool).unwrap_err().kind(), ErrorKind::InvalidToolName, "{name:?}");
    }
    let tool = tool_fn("evil\n".repeat(10_000), "", |_: Text, _| async { Ok("") });
    let said = ToolSet::new().with(tool).unwrap_err().to_string();
    assert!(said.len() < 300 && !said.contains('\n'), "{said}");
    let tool = tool_fn("x".repeat(64), "", |_: Text, _| async { Ok("") });
    assert!(ToolSet::new().with(tool).is_ok());
}

/// [AC-6]
#[tokio::test]
async fn the_wrapper_is_called_once_and_what_it_returns_is_used() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let registry = registry();
    let agent = create_agent(&registry, "openai:gpt-5")
        .wrap_model(move |model| async move {
            counted.fetch_add(1, Ordering::SeqCst);
            assert_eq!(model.target().model, "gpt-5");
            Ok(Arc::new(ScriptedModel::new().with_target(TargetId::new("w", "wrapped", "x"))) as _)
        })
        .await
        .unwrap();
    assert_eq!(agent.model().target().model, "wrapped");
    assert_eq!(calls.load(Ordering::SeqCst), 1);

    let refused = ModelError::new(ErrorClass::Unsupported, "no");
    let error = create_agent(&registry, "openai:x").wrap_model(|_| async { Err(refused) }).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    assert_eq!(error.model_error().unwrap().class(), ErrorClass::Unsupported);
}

use std::error::Error as _;
use std::sync::Arc;

use ai_core::{Error, ErrorKind, GivenSettings, NoSettings, ProviderExtension, ProviderFamily, Registry};
use ai_provider::{ErrorClass, ModelError, Provider};
use serde_json::json;

use super::acme::{Acme, AcmeSettings, Log, acme, slow};

fn registry(log: &Log) -> Registry {
    Registry::new().with_extension(acme(log)).unwrap()
}

struct AcmeFamily;

impl ProviderFamily for AcmeFamily {
    type Settings = AcmeSettings;
    const ID: &'static str = "acme";
}

struct AcmeChat;

impl ProviderFamily for AcmeChat {
    type Settings = AcmeSettings;
    const ID: &'static str = "acme-chat";
}

struct WrongType;

impl ProviderFamily for WrongType {
    type Settings = NoSettings;
    const ID: &'static str = "acme";
}

/// [AC-111] [AC-112]
#[tokio::test]
async fn settings_are_merged_deep_over_the_defaults() {
    let log = Log::default();
    let plain = acme(&log);
    let defaults =
        json!({"apiKey": "k", "timeout": 3, "headers": {"a": "1", "b": "2"}, "models": ["m", "n"]});
    let first = plain.clone().defaults(defaults).unwrap();
    let second = first.clone().defaults(json!({"timeout": 4, "headers": {"b": "3"}})).unwrap();

    let given = json!({"baseUrl": "u", "headers": {"a": "0", "c": "9"}, "models": ["o"]});
    second.create(given, None).await.unwrap();
    let mut expected = AcmeSettings {
        api_key: Some("k".to_owned()),
        base_url: Some("u".to_owned()),
        timeout: Some(4),
        headers: [("a", "0"), ("b", "3"), ("c", "9")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        models: vec!["o".to_owned()],
    };
    assert_eq!(log.last(), expected);

    first.create(json!({}), None).await.unwrap();
    expected.base_url = None;
    expected.timeout = Some(3);
    expected.headers = [("a", "1"), ("b", "2")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    expected.models = vec!["m".to_owned(), "n".to_owned()];
    assert_eq!(log.last(), expected, "the extension it was made of is as it was");
    plain.create(json!({}), None).await.unwrap();
    assert_eq!(log.last(), AcmeSettings::default());
    assert_eq!(second.declaration().defaults()["headers"], json!({"a": "1", "b": "3"}));
}

/// [AC-113]
#[tokio::test]
async fn typed_settings_are_taken_whole_and_must_be_of_the_right_type() {
    let log = Log::default();
    let extension = acme(&log).defaults(json!({"apiKey": "default"})).unwrap();
    let registry = Registry::new().with_extension(extension).unwrap();
    let mine = AcmeSettings { base_url: Some("mine".to_owned()), ..AcmeSettings::default() };
    let model = registry.resolve::<AcmeFamily>(mine.clone(), "m:1").await.unwrap();
    assert_eq!(model.target().model, "m:1");
    assert_eq!(log.last(), mine, "no default is merged in");
    let model = registry.resolve::<AcmeChat>(mine.clone(), "m").await.unwrap();
    assert_eq!(model.target().model, "chat/m");
    registry.provider_with("ac", GivenSettings::typed(mine)).await.unwrap();
    assert_eq!(log.made(), ["acme"], "all three are one provider");

    let error = registry.resolve::<WrongType>(NoSettings {}, "m").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidSettings);
    let said = error.to_string();
    assert!(said.contains("NoSettings") && said.contains("AcmeSettings"), "{said}");
    assert!(registry.get("acme").unwrap().typed::<AcmeSettings>().is_some());
    assert!(registry.get("acme").unwrap().typed::<NoSettings>().is_none());
    let error = Registry::new().resolve::<AcmeFamily>(AcmeSettings::default(), "m").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);
}

/// [AC-114] [AC-130]
#[tokio::test]
async fn settings_that_cannot_be_read_are_refused_without_what_they_hold() {
    let log = Log::default();
    let registry = registry(&log);
    for (settings, says) in [
        (json!({"timeout": "sk-CANARY"}), "at `timeout`: expected u32"),
        (json!({"headers": {"x": ["sk-CANARY"]}}), "at `headers.x`: expected a string"),
        (json!({"models": ["a", {"sk-CANARY": 1}]}), "at `models[1]`: expected a string"),
        (json!({"timeout": -5}), "at `timeout`: expected u32"),
        (json!({"apikey": "sk-CANARY"}), "unknown field `apikey`, expected one of `apiKey`"),
        (json!("sk-CANARY"), "no JSON object"),
        (json!(["sk-CANARY"]), "no JSON object"),
    ] {
        let error = registry.provider_with("ac", settings.clone()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidSettings, "{settings}");
        let said = format!("{error} {error:?}");
        assert!(said.contains(says) && said.contains("the settings of `ac`"), "{said}");
        assert!(!said.contains("CANARY"), "{said}");
    }
    assert!(log.made().is_empty());

    let secret = json!({"apiKey": "sk-CANARY"});
    let extension = acme(&log).defaults(secret.clone()).unwrap();
    let shown = format!("{extension:?} {:?} {:?}", extension.declaration(), GivenSettings::from(secret));
    let registry = Registry::new().with_extension(extension).unwrap();
    registry.provider("acme").await.unwrap();
    let typed = GivenSettings::typed(log.last());
    let shown = format!("{shown} {registry:?} {typed:?}");
    assert!(shown.contains("acme") && !shown.contains("CANARY"), "{shown}");
}

/// [AC-115] [AC-127]
#[tokio::test]
async fn ids_of_models_go_to_the_provider_as_they_are() {
    let log = Log::default();
    let registry = registry(&log);
    for id in ["gpt-4.1-mini", "org/model_v1.2:free", "a|b", "x", "模型"] {
        let model = registry.language_model(&format!("ac:{id}")).await.unwrap();
        assert_eq!((&*model.target().provider, &*model.target().model), ("acme", id));
        let model = registry.embedding_model(&format!("acme:{id}")).await.unwrap();
        assert_eq!(model.target().model, id);
    }
    let error = registry.language_model("acme:missing").await.unwrap_err();
    assert_eq!(error.model_error().unwrap().code(), Some("m1"));
    let asked = || registry.language_model("acme:same");
    let (a, b, c) = tokio::join!(asked(), asked(), asked());
    assert_eq!([a, b, c].map(|model| model.unwrap().target().model.clone()), ["same"; 3]);

    struct Bare;
    impl Provider for Bare {
        fn name(&self) -> &str {
            "bare"
        }
    }
    let bare: Arc<dyn Provider> = Arc::new(Bare);
    let registry = Registry::new().with_extension(ProviderExtension::of(Arc::clone(&bare))).unwrap();
    assert!(Arc::ptr_eq(&registry.provider("bare").await.unwrap(), &bare));
    for error in [
        registry.language_model("bare:m").await.unwrap_err(),
        registry.embedding_model("bare:m").await.unwrap_err(),
    ] {
        assert_eq!(error.model_error().unwrap().class(), ErrorClass::Unsupported);
    }
}

/// [AC-116]
#[tokio::test]
async fn a_factory_that_fails_is_named_as_asked_and_tried_again() {
    let (log, gate) = (Log::default(), ai_provider::CancellationToken::new());
    gate.cancel();
    let registry = Registry::new().with_extension(slow(&log, gate).alias("sl")).unwrap();
    for times in 1..=2 {
        let error = registry.provider("sl").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProviderCreation);
        assert!(error.to_string().contains("the provider `sl` could not be created"), "{error}");
        let cause: &ModelError = error.source().unwrap().downcast_ref().unwrap();
        assert_eq!((cause.message(), cause.code()), ("no URL", Some("e7")));
        assert_eq!(log.made().len(), times);
    }
    let flaky = std::sync::atomic::AtomicUsize::new(0);
    let flaky = ProviderExtension::new("flaky", move |settings: AcmeSettings| {
        let first = flaky.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let url = settings.base_url;
        async move {
            match first {
                true => Err(ModelError::new(ErrorClass::Transport, format!("not yet at {url:?}"))),
                false => Ok(Acme { made: "flaky" }),
            }
        }
    });
    assert!(flaky.create(json!({}), None).await.is_err());
    assert_eq!(flaky.create(json!({}), None).await.unwrap().name(), "flaky");
}

/// [AC-126]
#[tokio::test]
async fn a_factory_that_panics_has_failed() {
    let before = ProviderExtension::new("p", |settings: AcmeSettings| {
        assert!(settings.base_url.is_some(), "no URL to begin with");
        async move { Ok(Acme { made: "p" }) }
    });
    let within = ProviderExtension::new("p", |settings: AcmeSettings| async move {
        assert!(settings.base_url.is_some(), "no URL to begin with");
        Ok(Acme { made: "p" })
    });
    for extension in [before, within] {
        let error: Error = extension.create(json!({}), None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProviderCreation);
        assert!(error.to_string().contains("panicked: no URL to begin with"), "{error}");
        assert!(extension.create(json!({"baseUrl": "u"}), None).await.is_ok());
    }
}

/// [AC-117]
#[tokio::test]
async fn an_unknown_variant_is_an_error_that_lists_the_known_ones() {
    let log = Log::default();
    let error = acme(&log).create(json!({}), Some("x")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownVariant);
    assert!(
        error.to_string().contains("variant `x` of `acme` not found; available: chat, pro, plain"),
        "{error}"
    );
    let bare = ProviderExtension::new("bare", |_: AcmeSettings| async move { Ok(Acme { made: "bare" }) });
    let error = bare.create(json!({}), Some("x")).await.unwrap_err();
    assert!(error.to_string().contains("available: none"), "{error}");
    assert!(log.made().is_empty());
}

/// [AC-118] [AC-119]
#[tokio::test]
async fn variants_stand_on_one_base() {
    let log = Log::default();
    let registry = registry(&log);
    let settings = json!({"apiKey": "k"});
    let pro = registry.provider_with("acme-pro", settings.clone()).await.unwrap();
    let base = registry.provider_with("acme", settings.clone()).await.unwrap();
    let plain = registry.provider_with("acme-plain", settings.clone()).await.unwrap();
    let again = registry.provider_with("acme-pro", settings).await.unwrap();
    assert_eq!((pro.name(), base.name()), ("acme-pro", "acme"));
    assert!(Arc::ptr_eq(&base, &plain) && Arc::ptr_eq(&pro, &again));
    assert_eq!(log.made(), ["acme", "pro"]);
    assert_eq!(log.last().api_key.as_deref(), Some("k"), "the transform sees the settings");

    for (asked, provider, model) in [
        ("acme:m", "acme", "m"),
        ("acme-chat:m", "acme", "chat/m"),
        ("acme-plain:m", "acme", "m"),
        ("acme-pro:m", "acme-pro", "m"),
    ] {
        let resolved = registry.language_model(asked).await.unwrap();
        assert_eq!((&*resolved.target().provider, &*resolved.target().model), (provider, model), "{asked}");
    }
}

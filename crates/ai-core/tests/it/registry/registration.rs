use ai_core::{ErrorKind, NoSettings, ProviderExtension, Registry, ToolCapability, ToolPatch, Variant};

use super::Named;
use super::acme::{Log, acme};

type Plain = ProviderExtension<NoSettings>;

fn plain(name: &str) -> Plain {
    ProviderExtension::new(name, |NoSettings {}| async { Ok(Named("plain")) })
}

fn azure() -> Plain {
    plain("my-azure")
        .alias("az")
        .variant(Variant::new("responses").display_name("Azure, Responses"))
        .variant(Variant::new("anthropic"))
        .variant(Variant::new("a-b"))
}

fn texts<T: ToString>(ids: impl IntoIterator<Item = T>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}

/// [AC-100] [AC-101]
#[test]
fn an_extension_has_a_name_aliases_and_variants() {
    let extension = azure();
    let declared = extension.declaration();
    let ids = ["my-azure", "az", "my-azure-responses", "my-azure-anthropic", "my-azure-a-b"];
    assert_eq!(texts(declared.ids()), ids);
    assert!(ids.iter().all(|id| declared.has_id(id)));
    assert!(!declared.has_id("az-responses") && !declared.has_id("responses"));
    assert_eq!(declared.variant("responses").unwrap().display_name(), Some("Azure, Responses"));
    assert!(declared.variant("none").is_none() && plain("p").declaration().variant("x").is_none());

    let registry = Registry::new().with_extension(azure()).unwrap().with_extension(plain("other")).unwrap();
    for id in ids {
        assert!(registry.has(id));
        assert_eq!(registry.get(id).unwrap().declaration(), declared);
    }
    for id in ["az-responses", "my-azure-none", "responses", "", "other-x", "OTHER"] {
        assert!(!registry.has(id) && registry.get(id).is_none(), "{id}");
    }
    assert_eq!(texts(registry.names()), ["my-azure", "other"]);
    assert_eq!(registry.extensions().count(), 2);
    let mut known = texts(ids);
    known.push("other".to_owned());
    known.sort();
    assert_eq!(texts(registry.ids()), known);

    let mut registry = registry;
    registry.clear();
    assert_eq!((registry.ids().count(), registry.extensions().count()), (0, 0));
}

/// [AC-102]
#[test]
fn every_collision_is_refused_by_the_names_of_both() {
    let taken = || Registry::new().with_extension(azure()).unwrap();
    let newcomers = [
        (plain("my-azure"), "my-azure"),
        (plain("az"), "az"),
        (plain("my-azure-responses"), "my-azure-responses"),
        (plain("new").alias("my-azure"), "my-azure"),
        (plain("new").alias("az"), "az"),
        (plain("new").alias("my-azure-a-b"), "my-azure-a-b"),
        (plain("my").variant(Variant::new("azure")), "my-azure"),
        (plain("my").variant(Variant::new("azure-a-b")), "my-azure-a-b"),
        (plain("a").variant(Variant::new("z")).alias("az"), "az"),
    ];
    for (newcomer, id) in newcomers {
        let mut registry = taken();
        let name = newcomer.declaration().name().to_owned();
        let error = registry.register(newcomer).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IdCollision, "{id}");
        let said = error.to_string();
        let both = [format!("`{id}` is already registered for `my-azure`"), format!("`{name}`")];
        assert!(both.iter().all(|words| said.contains(words)), "{said}");
        assert_eq!(texts(registry.ids()), texts(taken().ids()), "half of {name} is registered");
    }
    for twice in [
        plain("p").alias("p"),
        plain("p").alias("q").alias("q"),
        plain("p").variant(Variant::new("v")).variant(Variant::new("v")),
        plain("p").alias("p-v").variant(Variant::new("v")),
    ] {
        let error = taken().register(twice).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidExtension);
        assert!(error.to_string().contains("`p`") && error.to_string().contains("twice"), "{error}");
    }
    let (mut registry, extension) = (Registry::new(), azure());
    registry.register(extension.clone()).unwrap();
    registry.register(extension).unwrap();
    assert_eq!(registry.extensions().count(), 1);
}

/// [AC-103]
#[test]
fn a_list_is_registered_whole_or_not_at_all() {
    let mut registry = Registry::new();
    registry.register_all([plain("a").into(), plain("b").alias("c").into(), azure().into()]).unwrap();
    assert_eq!(texts(registry.names()), ["a", "b", "my-azure"]);
    let before = texts(registry.ids());
    for last in [plain("d"), plain("c"), plain(""), plain("x").alias("d-v")] {
        let list = [plain("d").variant(Variant::new("v")).into(), last.into()];
        assert!(registry.register_all(list).is_err());
        assert_eq!(texts(registry.ids()), before);
    }
}

/// [AC-104]
#[test]
fn removing_takes_a_name_and_all_that_belongs_to_it() {
    let mut registry = Registry::new().with_extension(azure()).unwrap().with_extension(plain("b")).unwrap();
    for unknown in ["none", "az", "my-azure-responses", ""] {
        assert!(!registry.unregister(unknown), "{unknown}");
    }
    assert!(registry.unregister("my-azure"));
    assert_eq!(texts(registry.ids()), ["b"]);
    assert!(!registry.unregister("my-azure"));
    registry.register(plain("az")).unwrap();
    registry.register(plain("my-azure-responses")).unwrap();
}

/// [AC-105]
#[test]
fn names_that_no_reference_could_hold_are_refused() {
    for bad in ["", " ", "a:b", "a b", "a\u{7}"] {
        let suffix = ProviderExtension::variant(plain("p"), Variant::new(bad));
        for extension in [plain(bad), plain("p").alias(bad), suffix] {
            let error = Registry::new().register(extension).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidExtension, "{bad:?}");
        }
    }
    let nameless = ToolPatch::tool("p.web_search", "");
    for extension in [
        plain("p").tool(ToolCapability::WebSearch, nameless.clone()),
        plain("p").variant(Variant::new("v").tool(ToolCapability::WebSearch, nameless)),
    ] {
        let error = Registry::new().register(extension).unwrap_err();
        assert!(error.to_string().contains("web-search"), "{error}");
    }
    let error = plain("p").defaults(serde_json::json!([1])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidExtension);
}

/// [AC-106]
#[tokio::test]
async fn a_clone_changes_by_itself_and_shares_what_was_made() {
    let log = Log::default();
    let mut first = Registry::new().with_extension(acme(&log)).unwrap();
    let second = first.clone();
    let (a, b) = (first.provider("acme").await.unwrap(), second.provider("acme").await.unwrap());
    assert!(std::sync::Arc::ptr_eq(&a, &b));
    first.unregister("acme");
    assert!(!first.has("acme") && second.has("acme"));
    first.register(plain("acme")).unwrap();
    assert_eq!(first.provider("acme").await.unwrap().name(), "plain");
    assert_eq!(second.provider("acme").await.unwrap().name(), "acme");
}

/// [AC-107]
#[test]
fn an_id_says_which_extension_and_which_variant() {
    let registry = Registry::new().with_extension(azure()).unwrap().with_extension(plain("b")).unwrap();
    for (text, base, variant) in [
        ("my-azure", "my-azure", None),
        ("az", "my-azure", None),
        ("my-azure-responses", "my-azure", Some("responses")),
        ("my-azure-anthropic", "my-azure", Some("anthropic")),
        ("my-azure-a-b", "my-azure", Some("a-b")),
        ("b", "b", None),
    ] {
        let id = registry.id(text).unwrap();
        assert_eq!((id.base(), id.variant()), (base, variant), "{text}");
        assert_eq!(id.is_variant(), variant.is_some());
        assert_eq!(registry.id(&id.to_string()).unwrap(), id, "the written form means the same");
    }
    for unknown in ["none", "my-azure-none", "az-responses", "my", "azure", "b-responses"] {
        assert_eq!(registry.id(unknown).unwrap_err().kind(), ErrorKind::UnknownProvider, "{unknown}");
    }
}

/// [AC-108] [AC-109]
#[test]
fn variants_are_found_from_every_id_of_their_extension() {
    let registry = Registry::new().with_extension(azure()).unwrap().with_extension(plain("b")).unwrap();
    let all = ["my-azure-responses", "my-azure-anthropic", "my-azure-a-b"];
    for id in ["my-azure", "az", "my-azure-anthropic"] {
        assert_eq!(registry.variant(id, "responses").unwrap().to_string(), "my-azure-responses");
        assert!(registry.variant(id, "none").is_none() && registry.variant(id, "").is_none());
        assert_eq!(texts(registry.variants(id)), all);
    }
    assert!(registry.variant("b", "responses").is_none() && registry.variant("none", "responses").is_none());
    assert_eq!(registry.variants("b").count() + registry.variants("none").count(), 0);
}

/// [AC-110]
#[test]
fn an_unknown_id_is_compared_with_all_ids_and_shown_in_part() {
    let registry = Registry::new().with_extension(azure()).unwrap();
    let error = registry.id("my-azure-respones").unwrap_err();
    assert!(error.to_string().contains("did you mean `my-azure-responses`?"), "{error}");
    let error = registry.id("My-Azure").unwrap_err();
    assert!(
        error.to_string().contains("did you mean `my-azure`?"),
        "letters of another case are near: {error}"
    );
    let error = registry.id(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(error.len() < 400 && error.contains("known: az, my-azure"), "{error}");
    let error = format!("{}:", "é".repeat(100_000)).parse::<ai_core::ModelRef>().unwrap_err().to_string();
    assert!(error.len() < 400, "{error}");
}

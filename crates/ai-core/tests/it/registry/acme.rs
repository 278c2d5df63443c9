//! A family of providers that counts what is made of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ai_core::{ProviderExtension, Variant};
use ai_provider::{
    CallContext, CancellationToken, EmbeddingModel, EmbeddingRequest, Embeddings, ErrorClass, LanguageModel,
    ModelError, Provider, TargetId,
};
use ai_testkit::ScriptedModel;
use async_trait::async_trait;
use serde::Deserialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AcmeSettings {
    pub api_key: Option<String>,
    pub base_url: Option<String>,
    pub timeout: Option<u32>,
    pub headers: BTreeMap<String, String>,
    pub models: Vec<String>,
}

pub struct Acme {
    pub made: &'static str,
}

impl Provider for Acme {
    fn name(&self) -> &str {
        self.made
    }

    fn language_model(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        match id {
            "missing" => Err(ModelError::new(ErrorClass::NotFound, "no such model").with_code("m1")),
            _ => Ok(scripted(self.made, id)),
        }
    }

    fn embedding_model(&self, id: &str) -> Result<Arc<dyn EmbeddingModel>, ModelError> {
        Ok(Arc::new(Embedder(TargetId::new(self.made, id, "memory"))))
    }
}

pub fn scripted(provider: &str, id: &str) -> Arc<dyn LanguageModel> {
    let endpoint = "memory";
    Arc::new(ScriptedModel::new().with_target(TargetId::new(provider, id, endpoint)))
}

struct Embedder(TargetId);

#[async_trait]
impl EmbeddingModel for Embedder {
    fn target(&self) -> &TargetId {
        &self.0
    }

    fn max_batch(&self) -> Option<usize> {
        None
    }

    async fn embed(&self, _: EmbeddingRequest, _: CallContext) -> Result<Embeddings, ModelError> {
        Ok(Embeddings::default())
    }
}

/// What the factories were given, in order.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<(&'static str, AcmeSettings)>>>, Arc<AtomicUsize>);

impl Log {
    pub fn note(&self, what: &'static str, settings: &AcmeSettings) {
        self.0.lock().unwrap().push((what, settings.clone()));
    }

    pub fn made(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().iter().map(|(what, _)| *what).collect()
    }

    pub fn last(&self) -> AcmeSettings {
        self.0.lock().unwrap().last().unwrap().1.clone()
    }

    pub fn dropped(&self) -> usize {
        self.1.load(Ordering::SeqCst)
    }
}

/// `acme` (alias `ac`) with the variants `chat` (its own models), `pro` (another provider) and `plain`.
pub fn acme(log: &Log) -> ProviderExtension<AcmeSettings> {
    let (base, pro) = (log.clone(), log.clone());
    let chat = Variant::new("chat")
        .display_name("Acme Chat")
        .resolve_model(|provider, id| Ok(scripted(provider.name(), &format!("chat/{id}"))));
    let pro = Variant::new("pro").transform(move |provider: Arc<dyn Provider>, settings: AcmeSettings| {
        assert_eq!(provider.name(), "acme");
        pro.note("pro", &settings);
        async move { Ok(Acme { made: "acme-pro" }) }
    });
    ProviderExtension::new("acme", move |settings: AcmeSettings| {
        base.note("acme", &settings);
        async move { Ok(Acme { made: "acme" }) }
    })
    .alias("ac")
    .variant(chat)
    .variant(pro)
    .variant(Variant::new("plain"))
}

/// `slow`, which is made when the gate opens; it fails if the settings say no URL.
pub fn slow(log: &Log, gate: CancellationToken) -> ProviderExtension<AcmeSettings> {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let log = log.clone();
    ProviderExtension::new("slow", move |settings: AcmeSettings| {
        log.note("slow", &settings);
        let (gate, guard) = (gate.clone(), Dropped(Arc::clone(&log.1)));
        async move {
            gate.cancelled().await;
            std::mem::forget(guard);
            match settings.base_url {
                Some(_) => Ok(Acme { made: "slow" }),
                None => Err(ModelError::new(ErrorClass::InvalidRequest, "no URL").with_code("e7")),
            }
        }
    })
}

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ai_core::{BatchUsage, ErrorKind, Registry, embed_many};
use ai_provider::{
    CallContext, CancellationToken, EmbeddingModel, EmbeddingRequest, Embeddings, ErrorClass, ModelError,
    Provider, TargetId, Usage, Warning,
};
use async_trait::async_trait;

use super::recorder::{Fault, Log, hooks, plugins, recorder};

/// The texts of a call and its request id.
type Sent = (Vec<String>, String);

/// Takes two texts a call and a second for each; the vector of a text is its number.
#[derive(Clone)]
struct Embedder {
    target: TargetId,
    parallel: bool,
    calls: Arc<Mutex<Vec<Sent>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

fn embedder() -> Embedder {
    Embedder {
        target: TargetId::new("e", "m", "memory"),
        parallel: true,
        calls: Arc::default(),
        running: Arc::default(),
        most: Arc::default(),
    }
}

#[async_trait]
impl EmbeddingModel for Embedder {
    fn target(&self) -> &TargetId {
        &self.target
    }

    fn max_batch(&self) -> Option<usize> {
        Some(2)
    }

    fn parallel_batches(&self) -> bool {
        self.parallel
    }

    async fn embed(&self, request: EmbeddingRequest, ctx: CallContext) -> Result<Embeddings, ModelError> {
        self.calls.lock().unwrap().push((request.values.clone(), ctx.request_id.to_string()));
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        // The first batches take the longest, so that they end last.
        let first: u64 = request.values[0].parse().unwrap_or(99);
        tokio::time::sleep(Duration::from_secs(100 - first)).await;
        self.running.fetch_sub(1, Ordering::SeqCst);
        if request.values.iter().any(|value| value == "bad") {
            return Err(ModelError::new(ErrorClass::ContentRefused, "no"));
        }
        let mut usage = Usage::default();
        usage.input.total = Some(request.values.len() as u64);
        let vectors = request
            .values
            .iter()
            .filter(|value| *value != "lost")
            .map(|value| vec![value.parse().unwrap_or(-1.0)]);
        Ok(Embeddings { vectors: vectors.collect(), usage, warnings: vec![Warning::other("w")] })
    }
}

impl Provider for Embedder {
    fn name(&self) -> &str {
        "e"
    }

    fn embedding_model(&self, _: &str) -> Result<Arc<dyn EmbeddingModel>, ModelError> {
        Ok(Arc::new(self.clone()))
    }
}

fn ready(model: &Embedder) -> Arc<dyn EmbeddingModel> {
    Arc::new(model.clone())
}

fn texts(n: usize) -> EmbeddingRequest {
    EmbeddingRequest::new((0..n).map(|i| i.to_string()))
}

fn numbers(embeddings: &Embeddings) -> Vec<f32> {
    embeddings.vectors.iter().map(|vector| vector[0]).collect()
}

/// [AC-160] [AC-162]
#[tokio::test(start_paused = true)]
async fn texts_go_in_batches_and_come_back_in_their_order() {
    let model = embedder();
    let seen: Arc<Mutex<Vec<BatchUsage>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let registry = Registry::new().with(model.clone()).unwrap();
    let mut request = texts(5);
    request.dimensions = Some(7);
    let call = embed_many(&registry, "e:m", request).on_batch(move |batch| {
        sink.lock().unwrap().push(batch.clone());
        panic!("observers may");
    });
    let embeddings = call.await.unwrap();
    assert_eq!(numbers(&embeddings), [0.0, 1.0, 2.0, 3.0, 4.0]);
    assert_eq!(embeddings.usage.input.total, Some(5));
    assert_eq!(embeddings.warnings.len(), 1, "what all batches say is said once");
    let calls = model.calls.lock().unwrap().clone();
    assert_eq!(calls.iter().map(|(values, _)| values.len()).collect::<Vec<_>>(), [2, 2, 1]);
    let seen = seen.lock().unwrap();
    let mut by_size: Vec<_> =
        seen.iter().map(|batch| (batch.values, batch.usage.input.total, batch.elapsed.as_secs())).collect();
    by_size.sort();
    assert_eq!(by_size, [(1, Some(1), 96), (2, Some(2), 98), (2, Some(2), 100)]);
    let mut ids: Vec<_> = seen.iter().map(|batch| batch.request_id.to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 3);
    assert!(
        calls.iter().all(|(_, id)| ids.contains(id)) && seen.iter().all(|batch| batch.target.model == "m")
    );
}

/// [AC-161]
#[tokio::test(start_paused = true)]
async fn as_many_batches_run_at_once_as_are_allowed() {
    for (parallel, asked, most) in
        [(true, None, 8), (true, Some(3), 3), (true, Some(0), 1), (false, Some(5), 1)]
    {
        let model = Embedder { parallel, ..embedder() };
        let registry = Registry::new();
        let mut call = embed_many(&registry, ready(&model), texts(40));
        if let Some(asked) = asked {
            call = call.with_concurrency(asked);
        }
        assert_eq!(call.await.unwrap().vectors.len(), 40);
        assert_eq!(model.most.load(Ordering::SeqCst), most, "{parallel} {asked:?}");
    }
}

/// [AC-163]
#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_one_batch_is_wrong_with_all() {
    let (model, registry) = (embedder(), Registry::new());
    let noted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&noted);
    let bad = EmbeddingRequest::new(["bad", "1"]);
    let call = embed_many(&registry, ready(&model), bad).on_batch(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(call.await.unwrap_err().model_error().unwrap().class(), ErrorClass::ContentRefused);
    assert_eq!(noted.load(Ordering::SeqCst), 0, "a batch that failed took nothing that is known");
    let error = embed_many(&registry, ready(&model), EmbeddingRequest::new(["0", "lost"])).await.unwrap_err();
    assert_eq!(error.model_error().unwrap().class(), ErrorClass::Protocol);
    assert!(error.to_string().contains("1 vectors for 2 texts"), "{error}");
    let error = embed_many(&registry, "e:m", texts(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);

    let calls = model.calls.lock().unwrap().len();
    let none = embed_many(&registry, ready(&model), texts(0)).await.unwrap();
    assert_eq!((none, model.calls.lock().unwrap().len()), (Embeddings::default(), calls));

    let cancel = CancellationToken::new();
    let call = embed_many(&registry, ready(&model), texts(4))
        .with_context(CallContext::new().with_cancel(cancel.clone()));
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    };
    let (cancelled, ()) = tokio::join!(call.into_future(), stopping);
    assert!(cancelled.unwrap_err().model_error().unwrap().is_cancelled());
}

/// [AC-164]
#[tokio::test(start_paused = true)]
async fn plugins_take_part_in_embeddings_by_hooks_of_their_own() {
    let (log, model) = (Log::default(), embedder());
    let registry = Registry::new().with(model.clone()).unwrap();
    let list = plugins([recorder("x", &log), recorder("y", &log)]);
    let embeddings = embed_many(&registry, "e:m", texts(2)).with_plugins(&list).await.unwrap();
    assert_eq!(numbers(&embeddings), [0.0, 1.0], "each added a text and took a vector away");
    let sent: Vec<_> = model.calls.lock().unwrap().iter().flat_map(|(values, _)| values.clone()).collect();
    assert_eq!(sent, ["0", "1", "x", "y"]);
    assert_eq!(log.of("y result "), ["2"]);
    let all = [
        "configure_context",
        "on_request_start",
        "transform_embedding",
        "transform_embeddings",
        "on_request_end",
    ];
    assert_eq!(hooks(&log, "x"), all);

    for hook in ["configure_context", "transform_embedding", "transform_embeddings"] {
        let log = Log::default();
        let list = plugins([recorder("x", &log).with(hook, Fault::Fail)]);
        let error = embed_many(&registry, "e:m", texts(2)).with_plugins(&list).await.unwrap_err();
        assert_eq!(error.plugin_hook(), Some(("x", hook)));
        assert_eq!((log.count("x on_error"), log.count("x on_request_end")), (1, 0));
        assert!(log.of("x on_stream_end").is_empty(), "vectors are no stream");
    }
}

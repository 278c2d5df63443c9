use ai_http::{IdSeed, Parts};
use ai_provider::{ErrorClass, ModelError, ProviderMetadata, ProviderOptions, Source, StreamPart};
use serde_json::Value;
use serde_json::value::RawValue;

/// Sources of one answer. An answer cites some dozens.
const MAX_SOURCES: usize = 4_096;

/// The citations of an answer, as sources: one for each, since each cites another passage. The citation itself
/// stands in the source's metadata.
#[derive(Debug, Default)]
pub(super) struct Sources {
    count: usize,
}

impl Sources {
    pub(super) fn add(
        &mut self,
        citation: &RawValue,
        namespace: &str,
        ids: &IdSeed,
        out: &mut Parts,
    ) -> Result<(), ModelError> {
        let Ok(citation) = serde_json::from_str::<Value>(citation.get()) else { return Ok(()) };
        let text =
            |field: &str| citation.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let kind = text("type").unwrap_or_default();
        let id = ids.id("source", self.count);
        let values = ProviderOptions::default().with(namespace, "citation", citation.clone());
        let metadata = Some(Box::new(ProviderMetadata { origin: None, values }));
        // Search results of the caller's own name their source in their own way.
        let url = text("url").or_else(|| text("source").filter(|source| source.contains("://")));
        let source = match url {
            Some(url) => Source::Url {
                id,
                url: url.to_owned(),
                title: text("title").or_else(|| text("document_title")).map(str::to_owned),
                metadata,
            },
            None => {
                let title = ["document_title", "title", "source"].iter().find_map(|field| text(field));
                if title.is_none() && citation.get("document_index").is_none() {
                    return Ok(());
                }
                let media_type = if kind == "page_location" { "application/pdf" } else { "text/plain" };
                Source::Document {
                    id,
                    media_type: media_type.to_owned(),
                    title: title.unwrap_or("document").to_owned(),
                    filename: None,
                    metadata,
                }
            }
        };
        if self.count >= MAX_SOURCES {
            let message = format!("the answer has more than {MAX_SOURCES} sources");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        self.count += 1;
        out.push(StreamPart::Source(Box::new(source)));
        Ok(())
    }
}

//! Where the provider's options go in the body.

use ai_http::merge_field;
use ai_provider::JsonObject;
use serde_json::{Value, json};

/// Options that stand beside the settings, in `generationConfig`.
const OF_GENERATION: &[&str] = &[
    "audioTimestamp",
    "candidateCount",
    "enableAffectiveDialog",
    "enableEnhancedCivicAnswers",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "frequencyPenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "routingConfig",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

/// The categories that `threshold`, an option of ours, is set for.
const HARMS: [&str; 5] = [
    "HARM_CATEGORY_HATE_SPEECH",
    "HARM_CATEGORY_DANGEROUS_CONTENT",
    "HARM_CATEGORY_HARASSMENT",
    "HARM_CATEGORY_SEXUALLY_EXPLICIT",
    "HARM_CATEGORY_CIVIC_INTEGRITY",
];

/// The options as fields of the body: each where the API has it, those it does not name at the root.
pub(super) fn placed(options: JsonObject) -> JsonObject {
    let mut body = JsonObject::new();
    for (name, value) in options {
        let (field, value) = match name.as_str() {
            name if OF_GENERATION.contains(&name) => ("generationConfig", json!({ name: value })),
            "retrievalConfig" => ("toolConfig", json!({ "retrievalConfig": value })),
            "streamFunctionCallArguments" => {
                ("toolConfig", json!({ "functionCallingConfig": { "streamFunctionCallArguments": value } }))
            }
            "threshold" => {
                let of = |category| json!({ "category": category, "threshold": value });
                ("safetySettings", Value::from(HARMS.map(of).to_vec()))
            }
            name => (name, value),
        };
        merge_field(&mut body, field, &value);
    }
    body
}

/// How many answers a body asks for, if it says so.
pub(super) fn candidates(body: &JsonObject) -> u64 {
    let count = body.get("generationConfig").and_then(|config| config.get("candidateCount"));
    count.and_then(Value::as_u64).unwrap_or(1)
}

use ai_provider::{JsonObject, Usage};
use serde_json::Value;
use serde_json::value::RawValue;

/// Fields of a usage object that are kept. The API has about a dozen.
const MAX_FIELDS: usize = 64;

/// Takes over the fields of a later usage object: they are totals, so they replace the earlier ones. A null says
/// nothing.
pub(super) fn update(usage: &mut JsonObject, later: Option<&RawValue>) {
    let Some(Value::Object(later)) = later.and_then(|later| serde_json::from_str(later.get()).ok()) else {
        return;
    };
    for (field, value) in later {
        if !value.is_null() && (usage.len() < MAX_FIELDS || usage.contains_key(&field)) {
            usage.insert(field, value);
        }
    }
}

/// The usage of an answer, by the one meaning every adapter gives the fields. This API counts tokens read from and
/// written to the cache beside the input; both are added.
pub(super) fn read(raw: JsonObject) -> Usage {
    let mut usage = Usage::default();
    let turns = Turns::of(&raw);
    let sum = |field: &str| turns.sum(field).or_else(|| raw.get(field).and_then(count));
    let plain = sum("input_tokens");
    usage.input.no_cache = plain;
    usage.input.cache_read = sum("cache_read_input_tokens");
    usage.input.cache_write = sum("cache_creation_input_tokens");
    usage.input.total = plain.map(|plain| {
        let cached = [usage.input.cache_read, usage.input.cache_write].into_iter().flatten();
        cached.fold(plain, u64::saturating_add)
    });
    usage.output.total = sum("output_tokens");
    usage.output.reasoning =
        raw.get("output_tokens_details").and_then(|details| details.get("thinking_tokens")).and_then(count);
    if let (Some(total), Some(reasoning)) = (usage.output.total, usage.output.reasoning) {
        usage.output.text = Some(total.saturating_sub(reasoning));
    }
    usage.raw = (!raw.is_empty()).then(|| Value::Object(raw).into());
    usage
}

/// The model that answered in place of the one that was asked, if the usage names one.
pub(super) fn fallback_model(raw: &JsonObject) -> Option<&str> {
    let turns = raw.get("iterations").and_then(Value::as_array)?;
    turns.iter().rev().find(|turn| is(turn, "fallback_message"))?.get("model")?.as_str()
}

/// The turns one answer took at the server, where it says so. The totals beside them leave out what compaction
/// took; if another model answered in the end, they are what counts.
struct Turns<'a>(Vec<&'a Value>);

impl<'a> Turns<'a> {
    fn of(raw: &'a JsonObject) -> Self {
        let turns = raw.get("iterations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if turns.iter().any(|turn| is(turn, "fallback_message")) {
            return Self(Vec::new());
        }
        Self(turns.iter().filter(|turn| is(turn, "message") || is(turn, "compaction")).collect())
    }

    fn sum(&self, field: &str) -> Option<u64> {
        self.0.iter().filter_map(|turn| turn.get(field).and_then(count)).reduce(u64::saturating_add)
    }
}

fn is(turn: &Value, kind: &str) -> bool {
    turn.get("type").is_some_and(|is| is == kind)
}

/// A count, also where it came as a decimal.
fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64().filter(|number| *number >= 0.0)?;
        format!("{:.0}", number.trunc()).parse().ok()
    })
}

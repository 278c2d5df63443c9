use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use ai_provider::{
    Assembler, ErrorClass, Hint, JsonObject, Message, ModelError, ModelStream, StreamPart, ToolOutput,
    UnifiedFinish, Usage, Warning,
};
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::{Value, json};

/// Writes what a stream gives: one JSON object a line for each part as it comes, then one for the whole.
/// Returns whether it finished.
///
/// A part has its name in kebab-case under `type` and its fields in camelCase. The last line is
/// `{"message", "finishReason", "usage", "warnings"}`, or `{"error", "partial"}` with what came before the
/// failure; both messages are in the form in which a conversation is stored.
///
/// # Errors
/// Those of the writer.
pub async fn print(mut stream: ModelStream, out: &mut impl Write) -> io::Result<bool> {
    let mut assembler = Assembler::default();
    let mut failure = None;
    while let Some(item) = stream.next().await {
        let pushed = match item {
            Ok(part) => {
                write(out, &part_line(&part)?)?;
                assembler.push(&part)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = pushed {
            failure = Some(error);
            break;
        }
    }
    let assembled = assembler.finish();
    let ended = match failure {
        None => assembled.into_generation().map_err(|failed| (failed.error, *failed.partial)),
        Some(error) => Err((error, assembled)),
    };
    let finished = ended.is_ok();
    match ended {
        Ok(answer) => write(
            out,
            &Answer {
                message: Message::Assistant(answer.message),
                finish_reason: Reason { unified: answer.finish.unified, raw: answer.finish.raw },
                usage: answer.usage,
                warnings: answer.warnings,
            },
        )?,
        Err((error, partial)) => {
            write(out, &Failure { error: Said::of(&error), partial: Message::Assistant(partial.message) })?;
        }
    }
    Ok(finished)
}

/// The last line of an answer.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    message: Message,
    finish_reason: Reason,
    usage: Usage,
    warnings: Vec<Warning>,
}

#[derive(Serialize)]
struct Reason {
    unified: UnifiedFinish,
    raw: Option<String>,
}

/// The last line of a failure.
#[derive(Serialize)]
struct Failure<'a> {
    error: Said<'a>,
    partial: Message,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    class: ErrorClass,
    status: Option<u16>,
    code: Option<&'a str>,
    message: &'a str,
    retryable: bool,
    retry_after_ms: Option<u64>,
}

impl<'a> Said<'a> {
    fn of(error: &'a ModelError) -> Self {
        Self {
            class: error.class(),
            status: error.status(),
            code: error.code(),
            message: error.message(),
            retryable: error.retryable(),
            retry_after_ms: error.hint().and_then(milliseconds),
        }
    }
}

/// The line of a part: its type, then its fields.
#[derive(Serialize)]
struct PartLine {
    #[serde(rename = "type")]
    kind: Value,
    #[serde(flatten)]
    fields: JsonObject,
}

fn write(out: &mut impl Write, line: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

fn milliseconds(hint: Hint) -> Option<u64> {
    let after = match hint {
        Hint::After(after) => after,
        Hint::At(at) => at.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO),
        _ => return None,
    };
    u64::try_from(after.as_millis()).ok()
}

/// A part with the names of the AI SDK's provider specification, where ours differ in what they nest.
fn part_line(part: &StreamPart) -> io::Result<PartLine> {
    let Value::Object(mut fields) = to_json(part)? else {
        return Err(io::Error::other("a part is written as an object"));
    };
    // Who minted it belongs to our own books; the provider's values are what it sent.
    let metadata = fields.remove("providerMetadata");
    if let Some(values) = metadata.and_then(|mut metadata| metadata.get_mut("values").map(Value::take)) {
        fields.insert("providerMetadata".to_owned(), values);
    }
    match part {
        StreamPart::ToolResult(result) => {
            fields.remove("output");
            fields.insert("result".to_owned(), result_json(&result.output)?);
            if result.output.is_error() {
                fields.insert("isError".to_owned(), true.into());
            }
        }
        StreamPart::File(_) | StreamPart::ReasoningFile(_) => {
            if let Some(Value::Object(mut data)) = fields.remove("data") {
                data.remove("type");
                fields.extend(data);
            }
        }
        _ => {}
    }
    let kind = fields.remove("type").unwrap_or_default();
    Ok(PartLine { kind, fields })
}

fn result_json(output: &ToolOutput) -> io::Result<Value> {
    Ok(match output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => text.as_str().into(),
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => value.clone(),
        ToolOutput::ExecutionDenied { reason } => json!({"denied": true, "reason": reason}),
        ToolOutput::Content(content) => to_json(content)?,
        other => to_json(other)?,
    })
}

fn to_json(value: &impl Serialize) -> io::Result<Value> {
    Ok(serde_json::to_value(value)?)
}

#[cfg(test)]
mod tests;

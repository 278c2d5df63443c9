//! What came of calls, each in the form of its call.

use std::borrow::Cow;

use ai_http::Paired;
use ai_provider::{FileData, FilePart, JsonObject, ToolContent, ToolOutput};
use serde_json::{Value, json};

use super::assistant::raw_item;
use super::input::Writer;
use super::media;
use super::wire::{Item, Output, Part};
use crate::responses::minted;

/// The text of a result that has none: an empty one is refused by some servers.
const NO_OUTPUT: &str = "(no output)";
const NO_RESULT: &str = "Error: the call was interrupted and has no result.";
const DENIED: &str = "The user did not allow this call.";
const FILES_BELOW: &str = "(the files follow in the next message)";

impl<'a> Writer<'a, '_> {
    /// One output for each call, in the order of the calls.
    pub(super) fn results(&mut self, calls: &[Paired<'a>]) {
        for paired in calls {
            let item = match self.special(paired) {
                Some(item) => Item::Raw(Cow::Owned(item)),
                None => self.function_output(paired),
            };
            self.items.push(item);
        }
        let files = std::mem::take(&mut self.files);
        self.push_user(files, JsonObject::new());
    }

    fn function_output(&mut self, paired: &Paired<'a>) -> Item<'a> {
        let output = match paired.result {
            None => Output::Text(Cow::Borrowed(NO_RESULT)),
            Some(result) => self.output(&result.output, &paired.wire_id),
        };
        let custom = self.custom_input(paired.call).is_some();
        let options = paired.result.map(|result| &result.options);
        let extra =
            options.map(|options| self.scope.extra(options, &["type", "call_id", "output"], self.notes));
        Item::Output {
            r#type: if custom { "custom_tool_call_output" } else { "function_call_output" },
            call_id: paired.wire_id.clone(),
            output,
            extra: extra.unwrap_or_default(),
        }
    }

    fn output(&mut self, output: &'a ToolOutput, call_id: &str) -> Output<'a> {
        let text = match output {
            ToolOutput::Content(items) => return self.content(items, call_id),
            other => words(other).unwrap_or_else(|| {
                self.notes.unsupported("messages", "a result of an unknown kind was left out");
                Cow::Borrowed("")
            }),
        };
        Output::Text(if text.trim().is_empty() { Cow::Borrowed(NO_OUTPUT) } else { text })
    }

    fn content(&mut self, items: &'a [ToolContent], call_id: &str) -> Output<'a> {
        let mut parts = Vec::with_capacity(items.len());
        let mut has_files = false;
        for item in items {
            match item {
                ToolContent::Text(part) => parts.push(Part::text(part.text.as_str())),
                ToolContent::File(FilePart { data: FileData::Text { text }, .. }) => {
                    parts.push(Part::text(text.as_str()));
                }
                ToolContent::File(file) => {
                    match media::part(self.scope, file, self.scope.capabilities.tool_result, self.notes) {
                        Ok(part) if self.scope.dialect.result_parts => {
                            has_files = true;
                            parts.push(part);
                        }
                        Ok(part) => {
                            has_files = true;
                            self.files.extend([Part::text(format!("From tool call {call_id}:")), part]);
                        }
                        // A tool does not know which model reads its result, so its file is no demand.
                        Err(error) => {
                            self.notes.unsupported("messages", error.message());
                            let left_out = format!(
                                "(a file of type {} was left out: {})",
                                file.media_type,
                                error.message()
                            );
                            parts.push(Part::text(left_out));
                        }
                    }
                }
                _ => self.notes.unsupported("messages", "a result's part of another provider was left out"),
            }
        }
        parts.retain(|part| part.plain_text().is_none_or(|text| !text.trim().is_empty()));
        if has_files && self.scope.dialect.result_parts {
            return Output::Parts(parts);
        }
        let texts: Vec<_> = parts.iter().filter_map(Part::plain_text).collect();
        Output::Text(match texts.as_slice() {
            [] if has_files => Cow::Borrowed(FILES_BELOW),
            [] => Cow::Borrowed(NO_OUTPUT),
            texts => Cow::Owned(texts.join("\n")),
        })
    }

    /// The output of a call of one of the server's own tools that runs on this side.
    pub(super) fn special(&mut self, paired: &Paired<'a>) -> Option<Value> {
        let call = paired.call;
        if *paired.wire_id != *call.id {
            return None;
        }
        let own = minted::own(call.metadata.as_deref(), self.scope.origin)?;
        let kind = raw_item(call, Some(own))?.get("type")?.as_str()?;
        let output = paired.result.map(|result| &result.output);
        let said = || match output {
            Some(output) => words(output).unwrap_or_default(),
            None => Cow::Borrowed(NO_RESULT),
        };
        let object = match output {
            Some(ToolOutput::Json(Value::Object(fields))) => Some(fields),
            _ => None,
        };
        let failed = output.is_none_or(ToolOutput::is_error);
        let item = match kind {
            "computer_call" => {
                let image = self.screenshot(output?, object)?;
                json!({ "type": "computer_call_output", "call_id": call.id, "output": image })
            }
            "shell_call" => {
                let list = match (output, object.and_then(|fields| fields.get("output"))) {
                    (Some(ToolOutput::Json(list @ Value::Array(_))), _) => list.clone(),
                    (_, Some(list @ Value::Array(_))) => list.clone(),
                    _ => {
                        let outcome = json!({ "type": "exit", "exit_code": i32::from(failed) });
                        let (out, err) =
                            if failed { (Cow::Borrowed(""), said()) } else { (said(), Cow::Borrowed("")) };
                        json!([{ "stdout": out, "stderr": err, "outcome": outcome }])
                    }
                };
                json!({ "type": "shell_call_output", "call_id": call.id, "output": list })
            }
            "local_shell_call" => {
                let text = match object.and_then(|fields| fields.get("output")) {
                    Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                    _ => said(),
                };
                json!({ "type": "local_shell_call_output", "call_id": call.id, "output": text })
            }
            "apply_patch_call" => {
                let status = if failed { "failed" } else { "completed" };
                let text = match object.and_then(|fields| fields.get("output")) {
                    Some(Value::String(text)) => Cow::Borrowed(text.as_str()),
                    _ => said(),
                };
                json!({ "type": "apply_patch_call_output", "call_id": call.id, "status": status, "output": text })
            }
            "tool_search_call" => {
                let tools = match output {
                    Some(ToolOutput::Json(list @ Value::Array(_))) => list.clone(),
                    _ => object.and_then(|fields| fields.get("tools")).cloned().unwrap_or_else(|| json!([])),
                };
                json!({
                    "type": "tool_search_output", "call_id": call.id, "execution": "client",
                    "status": "completed", "tools": tools,
                })
            }
            "custom_tool_call" => {
                let output = match paired.result {
                    None => Output::Text(Cow::Borrowed(NO_RESULT)),
                    Some(result) => self.output(&result.output, &paired.wire_id),
                };
                let output = serde_json::to_value(output).ok()?;
                json!({ "type": "custom_tool_call_output", "call_id": call.id, "output": output })
            }
            _ => return None,
        };
        Some(item)
    }

    /// A screenshot as the output of a computer.
    fn screenshot(&mut self, output: &'a ToolOutput, object: Option<&JsonObject>) -> Option<Value> {
        if let Some(fields) = object.filter(|fields| fields.contains_key("type")) {
            return Some(fields.clone().into());
        }
        let ToolOutput::Content(items) = output else { return None };
        let file = items.iter().find_map(|item| match item {
            ToolContent::File(file) => Some(file),
            _ => None,
        })?;
        let part = media::part(self.scope, file, self.scope.capabilities.tool_result, self.notes).ok()?;
        let mut image = serde_json::to_value(part).ok()?;
        image.as_object_mut()?.insert("type".into(), "computer_screenshot".into());
        Some(image)
    }
}

/// An output that is one text.
fn words(output: &ToolOutput) -> Option<Cow<'_, str>> {
    Some(match output {
        ToolOutput::Text(text) | ToolOutput::ErrorText(text) => Cow::Borrowed(text),
        ToolOutput::Json(value) | ToolOutput::ErrorJson(value) => Cow::Owned(value.to_string()),
        ToolOutput::ExecutionDenied { reason } => Cow::Borrowed(reason.as_deref().unwrap_or(DENIED)),
        _ => return None,
    })
}

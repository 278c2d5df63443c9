use std::borrow::Cow;

use ai_http::{Notes, sniff_image};
use ai_provider::{FileData, FilePart, MediaSupport, ModelError};

use super::betas::FILES;
use super::wire::{Block, Content, Source};
use super::{NAMESPACE, Scope, invalid, unsupported};

const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";

/// A file as a block.
///
/// # Errors
/// `Unsupported` if the API or the model has no form for it, `InvalidRequest` if it is not what it says.
pub(super) fn block<'a>(
    scope: Scope<'a>,
    file: &'a FilePart,
    accepted: MediaSupport,
    notes: &mut Notes,
) -> Result<Block<'a>, ModelError> {
    let essence = file.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let kind = essence.split('/').next().unwrap_or_default();
    let is_text = kind == "text" || matches!(file.data, FileData::Text { .. });
    let image = kind == "image";
    if !is_text && (image || essence == PDF) && !accepted.accepts(&essence) {
        return Err(unsupported(format!("{} takes no files of type {}", scope.info.target, file.media_type)));
    }
    let title = file.filename.as_deref();
    let content = match &file.data {
        FileData::Reference { ids } => {
            let provider = scope.provider();
            let id = ids.get(provider).or_else(|| ids.get(NAMESPACE));
            let id = id.ok_or_else(|| unsupported(format!("a file was never uploaded to {provider}")))?;
            scope.beta(FILES);
            match () {
                () if image => {
                    Content::File { kind: "image", source: Source::File { file_id: id }, title: None }
                }
                () if is_text || essence == PDF => {
                    Content::File { kind: "document", source: Source::File { file_id: id }, title }
                }
                () => Content::Upload(id),
            }
        }
        _ if is_text => {
            let source = Source::Text { media_type: "text/plain", data: text(file)? };
            Content::File { kind: "document", source, title }
        }
        _ if image => Content::File { kind: "image", source: picture(file, &essence)?, title: None },
        _ if essence == PDF => Content::File { kind: "document", source: inline(file, PDF.into())?, title },
        _ => {
            return Err(unsupported(format!(
                "this API takes images, PDF and text, not files of type {}",
                file.media_type
            )));
        }
    };
    let mut extra = scope.options(&file.options);
    let cache_control = scope.cache_control(&mut extra, notes);
    Ok(Block { content, cache_control, extra })
}

fn text(file: &FilePart) -> Result<&str, ModelError> {
    let text = match &file.data {
        FileData::Text { text } => text.as_str(),
        FileData::Bytes { data } => std::str::from_utf8(data)
            .map_err(|error| invalid(format!("a file of type {} is not UTF-8: {error}", file.media_type)))?,
        _ => return Err(unsupported("this API reads no text files from a URL")),
    };
    if text.trim().is_empty() {
        return Err(invalid(format!("a file of type {} is empty", file.media_type)));
    }
    Ok(text)
}

fn picture<'a>(file: &'a FilePart, essence: &str) -> Result<Source<'a>, ModelError> {
    let told =
        IMAGES.iter().find(|known| **known == essence || (essence == "image/jpg" && **known == "image/jpeg"));
    let media_type = match (&file.data, told) {
        (_, Some(told)) => *told,
        (FileData::Bytes { data }, None) => sniff_image(data).ok_or_else(|| {
            unsupported(format!("this API takes images as JPEG, PNG, GIF or WebP, not {}", file.media_type))
        })?,
        _ => "",
    };
    inline(file, media_type.into())
}

/// The file itself, or where it is.
fn inline<'a>(file: &'a FilePart, media_type: Cow<'a, str>) -> Result<Source<'a>, ModelError> {
    match &file.data {
        FileData::Url { url } => match url.strip_prefix("data:") {
            None => Ok(Source::Url { url }),
            Some(_) => {
                Err(invalid("a data URL is no place the API can read from: give the bytes themselves"))
            }
        },
        data => match data.to_base64() {
            Some(data) if !data.is_empty() => Ok(Source::Base64 { media_type, data }),
            _ => Err(invalid(format!("a file of type {} is empty", file.media_type))),
        },
    }
}

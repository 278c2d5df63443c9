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
    let kind = match &file.data {
        FileData::Text { .. } => Kind::Text,
        _ => kind_of(&file.media_type),
    };
    if matches!(kind, Kind::Image | Kind::Pdf) && !accepted.accepts(&file.media_type) {
        return Err(unsupported(format!("{} takes no files of type {}", scope.info.target, file.media_type)));
    }
    let title = file.filename.as_deref();
    let content = match &file.data {
        FileData::Reference { ids } => {
            let provider = scope.provider();
            let id = ids.get(provider).or_else(|| ids.get(NAMESPACE));
            let id = id.ok_or_else(|| unsupported(format!("a file was never uploaded to {provider}")))?;
            scope.beta(FILES);
            match kind {
                Kind::Image => {
                    Content::File { kind: "image", source: Source::File { file_id: id }, title: None }
                }
                Kind::Text | Kind::Pdf => {
                    Content::File { kind: "document", source: Source::File { file_id: id }, title }
                }
                Kind::Other => Content::Upload(id),
            }
        }
        _ => match kind {
            Kind::Text => {
                let source = Source::Text { media_type: "text/plain", data: text(file)? };
                Content::File { kind: "document", source, title }
            }
            Kind::Image => Content::File { kind: "image", source: picture(file)?, title: None },
            Kind::Pdf => Content::File { kind: "document", source: inline(file, PDF.into())?, title },
            Kind::Other => {
                return Err(unsupported(format!(
                    "this API takes images, PDF and text, not files of type {}",
                    file.media_type
                )));
            }
        },
    };
    let mut extra = scope.options(&file.options);
    let cache_control = scope.cache_control(&mut extra, notes);
    Ok(Block { content, cache_control, extra })
}

/// Whether the server cannot read a file of a form it takes where it is: it fetches images and PDF alone.
pub(crate) fn must_download(file: &FilePart) -> bool {
    let FileData::Url { url } = &file.data else { return false };
    match kind_of(&file.media_type) {
        Kind::Text => true,
        Kind::Image | Kind::Pdf => url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")),
        Kind::Other => false,
    }
}

/// What the API tells apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Image,
    Pdf,
    Other,
}

fn kind_of(media_type: &str) -> Kind {
    match essence(media_type).as_str() {
        PDF => Kind::Pdf,
        text if text.split('/').next() == Some("text") => Kind::Text,
        image if image.split('/').next() == Some("image") => Kind::Image,
        _ => Kind::Other,
    }
}

/// The media type without case and parameters.
fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
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

fn picture(file: &FilePart) -> Result<Source<'_>, ModelError> {
    let essence = essence(&file.media_type);
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

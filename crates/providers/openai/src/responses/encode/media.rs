use std::borrow::Cow;

use ai_http::{Notes, data_url, sniff_image};
use ai_provider::{FileData, FilePart, MediaSupport, ModelError};

use super::wire::{File, Image, Media, Part};
use super::{Scope, invalid, unsupported};
use crate::responses::dialect::ResponsesDialect;

/// A file as a part of a user message or of a result.
///
/// # Errors
/// `Unsupported` if the API or the model has no form for it, `InvalidRequest` if it is not what it says.
pub(super) fn part<'a>(
    scope: Scope<'a>,
    file: &'a FilePart,
    accepted: MediaSupport,
    notes: &mut Notes,
) -> Result<Part<'a>, ModelError> {
    let kind = file.media_type.split('/').next().unwrap_or_default();
    let is_text = matches!(file.data, FileData::Text { .. }) || (kind == "text" && is_here(&file.data));
    if !is_text && !accepted.accepts(&file.media_type) {
        return Err(unsupported(format!("{} takes no files of type {}", scope.info.target, file.media_type)));
    }
    if must_download(scope.dialect, file) {
        return Err(unsupported(format!("{} cannot fetch a file at its URL", scope.info.target)));
    }
    let media = match kind {
        _ if is_text => text(file)?,
        "image" => image(scope, file)?,
        "audio" | "video" => {
            return Err(unsupported(format!("this API takes no files of type {}", file.media_type)));
        }
        _ => document(scope, file)?,
    };
    let taken = ["type", "text", "image_url", "file_id", "file_url", "file_data", "filename"];
    Ok(Part { media, extra: scope.extra(&file.options, &taken, notes) })
}

/// Whether a file at a URL has to be here before it can be sent: text always, since it goes out as text.
pub(in crate::responses) fn must_download(dialect: &ResponsesDialect, file: &FilePart) -> bool {
    let FileData::Url { url } = &file.data else { return false };
    let in_reach = dialect.fetches && ["http://", "https://"].iter().any(|scheme| url.starts_with(scheme));
    !in_reach || file.media_type.starts_with("text")
}

fn is_here(data: &FileData) -> bool {
    matches!(data, FileData::Bytes { .. } | FileData::Text { .. })
}

fn text(file: &FilePart) -> Result<Media<'_>, ModelError> {
    let text = match &file.data {
        FileData::Text { text } => text.as_str(),
        FileData::Bytes { data } => std::str::from_utf8(data)
            .map_err(|error| invalid(format!("a file of type {} is not UTF-8: {error}", file.media_type)))?,
        _ => return Err(unsupported("this API reads no text files by id")),
    };
    Ok(Media::Text {
        text: match &file.filename {
            Some(name) => Cow::Owned(format!("{name}:\n{text}")),
            None => Cow::Borrowed(text),
        },
    })
}

fn image<'a>(scope: Scope<'a>, file: &'a FilePart) -> Result<Media<'a>, ModelError> {
    let image = match &file.data {
        FileData::Url { url } => Image { image_url: Some(Cow::Borrowed(url)), file_id: None },
        FileData::Bytes { data } => {
            let media_type = match file.media_type.contains('/') && !file.media_type.ends_with("/*") {
                true => file.media_type.as_str(),
                false => sniff_image(data).ok_or_else(|| {
                    invalid(format!("the type of a file ({}) must be told in full", file.media_type))
                })?,
            };
            Image { image_url: Some(data_url(media_type, &file.data).into()), file_id: None }
        }
        data => Image { image_url: None, file_id: Some(uploaded(scope, data)?) },
    };
    Ok(Media::Image(image))
}

fn document<'a>(scope: Scope<'a>, file: &'a FilePart) -> Result<Media<'a>, ModelError> {
    let file = match &file.data {
        FileData::Url { url } => File { file_url: Some(url), ..File::default() },
        FileData::Bytes { .. } => File {
            filename: Some(file.filename.as_deref().unwrap_or("document.pdf")),
            file_data: Some(data_url(&file.media_type, &file.data)),
            ..File::default()
        },
        data => File { file_id: Some(uploaded(scope, data)?), ..File::default() },
    };
    Ok(Media::File(file))
}

/// The id of a file that was uploaded to this provider.
fn uploaded<'a>(scope: Scope<'_>, data: &'a FileData) -> Result<&'a str, ModelError> {
    let provider = &scope.info.target.provider;
    let id = match data {
        FileData::Reference { ids } => ids.get(provider).or_else(|| ids.get(&*scope.dialect.name)),
        _ => None,
    };
    id.map(String::as_str).ok_or_else(|| unsupported(format!("a file was never uploaded to {provider}")))
}

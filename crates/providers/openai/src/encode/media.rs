use std::borrow::Cow;

use ai_http::{data_url, sniff_image};
use ai_provider::{FileData, FilePart, MediaSupport, ModelError};

use super::wire::{File, ImageUrl, InputAudio, Media, Part, VideoUrl};
use super::{Scope, invalid, unsupported};

/// A file as a part of a user message.
///
/// # Errors
/// `Unsupported` if the API or the model has no form for it, `InvalidRequest` if it is not what it says.
pub(super) fn part<'a>(
    scope: Scope<'a>,
    file: &'a FilePart,
    accepted: MediaSupport,
) -> Result<Part<'a>, ModelError> {
    let kind = file.media_type.split('/').next().unwrap_or_default();
    let is_text = kind == "text" || matches!(file.data, FileData::Text { .. });
    if !is_text && !accepted.accepts(&file.media_type) {
        return Err(unsupported(format!("{} takes no files of type {}", scope.info.target, file.media_type)));
    }
    let (media, taken) = match kind {
        _ if is_text => (text(file)?, "text"),
        "image" => (image(scope, file)?, "image_url"),
        "video" => (Media::VideoUrl { video_url: VideoUrl { url: url(file)? } }, "video_url"),
        "audio" => (audio(file)?, "input_audio"),
        _ => (document(scope, file)?, "file"),
    };
    Ok(Part { media, extra: scope.extra(&file.options, &["type", "detail", taken]) })
}

fn text(file: &FilePart) -> Result<Media<'_>, ModelError> {
    let text = match &file.data {
        FileData::Text { text } => text.as_str(),
        FileData::Bytes { data } => std::str::from_utf8(data)
            .map_err(|error| invalid(format!("a file of type {} is not UTF-8: {error}", file.media_type)))?,
        _ => return Err(unsupported("this API reads no text files from a URL or by id")),
    };
    Ok(Media::Text {
        text: match &file.filename {
            Some(name) => Cow::Owned(format!("{name}:\n{text}")),
            None => Cow::Borrowed(text),
        },
    })
}

fn image<'a>(scope: Scope<'a>, file: &'a FilePart) -> Result<Media<'a>, ModelError> {
    let detail = scope.extra(&file.options, &[]).remove("detail");
    Ok(Media::ImageUrl { image_url: ImageUrl { url: url(file)?, detail } })
}

/// The address of a file, or the file itself as a data URL.
fn url(file: &FilePart) -> Result<Cow<'_, str>, ModelError> {
    match &file.data {
        FileData::Url { url } => Ok(Cow::Borrowed(url)),
        FileData::Bytes { data } => {
            let media_type = match file.media_type.contains('/') && !file.media_type.ends_with("/*") {
                true => file.media_type.as_str(),
                false => sniff_image(data).ok_or_else(|| {
                    invalid(format!("the type of a file ({}) must be told in full", file.media_type))
                })?,
            };
            Ok(Cow::Owned(data_url(media_type, &file.data)))
        }
        _ => {
            Err(unsupported(format!("this API takes a file of type {} as bytes or by URL", file.media_type)))
        }
    }
}

fn audio(file: &FilePart) -> Result<Media<'_>, ModelError> {
    let format = match file.media_type.as_str() {
        "audio/wav" | "audio/wave" | "audio/x-wav" => "wav",
        "audio/mp3" | "audio/mpeg" => "mp3",
        other => return Err(unsupported(format!("this API takes sound as wav or mp3, not {other}"))),
    };
    let data = file.data.to_base64().ok_or_else(|| unsupported("this API takes sound as bytes alone"))?;
    Ok(Media::InputAudio { input_audio: InputAudio { data, format } })
}

fn document<'a>(scope: Scope<'a>, file: &'a FilePart) -> Result<Media<'a>, ModelError> {
    let filename = file.filename.as_deref();
    let file = match &file.data {
        FileData::Reference { ids } => {
            let provider = &scope.info.target.provider;
            let id = ids.get(provider).or_else(|| ids.get(&*scope.dialect.name));
            let id = id.ok_or_else(|| unsupported(format!("a file was never uploaded to {provider}")))?;
            File { file_id: Some(id), ..File::default() }
        }
        FileData::Bytes { .. } => File {
            filename: Some(filename.unwrap_or("document.pdf")),
            file_data: Some(data_url(&file.media_type, &file.data)),
            ..File::default()
        },
        _ => return Err(unsupported("this API takes documents as bytes or by id, not by URL")),
    };
    Ok(Media::File { file })
}

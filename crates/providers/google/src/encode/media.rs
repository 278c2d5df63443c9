use std::borrow::Cow;

use ai_http::sniff_image;
use ai_provider::{FileData as Place, FilePart, MediaSupport, ModelError};

use super::wire::{Data, FileData, InlineData, Part};
use super::{Scope, invalid, unsupported};

/// Where the API gets files itself: its own uploads, buckets, and videos.
const FETCHED: [&str; 5] = [
    "https://generativelanguage.googleapis.com/",
    "gs://",
    "https://www.youtube.com/watch",
    "https://youtube.com/watch",
    "https://youtu.be/",
];

/// Whether the API gets a file at this URL itself. Uploads of another host than Google's are at its endpoint.
pub(crate) fn is_fetched(url: &str, endpoint: &str) -> bool {
    let url_is = |start: &str| url.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    FETCHED.into_iter().any(url_is) || (!endpoint.is_empty() && url_is(&format!("{endpoint}/files/")))
}

/// A file as a part.
///
/// # Errors
/// `Unsupported` if the API or the model has no form for it, `InvalidRequest` if it is not what it says.
pub(super) fn part<'a>(
    scope: Scope<'a>,
    file: &'a FilePart,
    accepted: MediaSupport,
) -> Result<Part<'a>, ModelError> {
    if !matches!(file.data, Place::Text { .. }) && !accepted.accepts(&file.media_type) {
        return Err(unsupported(format!("{} takes no files of type {}", scope.info.target, file.media_type)));
    }
    Ok(Part { extra: scope.options(&file.options), ..Part::from(data(scope, file)?) })
}

/// A file as it is said on the wire, whatever the model makes of it.
pub(super) fn data<'a>(scope: Scope<'a>, file: &'a FilePart) -> Result<Data<'a>, ModelError> {
    let whole_type = file.media_type.contains('/') && !file.media_type.ends_with("/*");
    match &file.data {
        Place::Bytes { data } => {
            let mime_type = match whole_type {
                true => Cow::Borrowed(file.media_type.as_str()),
                false => sniff_image(data).map(Cow::Borrowed).ok_or_else(|| {
                    invalid(format!("the type of a file ({}) must be told in full", file.media_type))
                })?,
            };
            Ok(Data::InlineData(InlineData { mime_type, data: file.data.to_base64().unwrap_or_default() }))
        }
        Place::Text { .. } => {
            let mime_type = if whole_type { file.media_type.as_str() } else { "text/plain" };
            let data = file.data.to_base64().unwrap_or_default();
            Ok(Data::InlineData(InlineData { mime_type: mime_type.into(), data }))
        }
        Place::Url { url } if is_fetched(url, &scope.info.target.endpoint) => {
            let mime_type = whole_type.then_some(Cow::Borrowed(file.media_type.as_str()));
            Ok(Data::FileData(FileData { mime_type, file_uri: url.into() }))
        }
        Place::Url { .. } => Err(unsupported(
            "Gemini gets files at URLs only from its own uploads, Cloud Storage and YouTube: give the content, or set \
             a download",
        )),
        Place::Reference { ids } => {
            let provider = &scope.info.target.provider;
            let id = ids.get(provider).or_else(|| ids.get("google"));
            let id = id.ok_or_else(|| unsupported(format!("a file was never uploaded to {provider}")))?;
            let file_uri = match id.starts_with("files/") {
                true => format!("{}/{id}", scope.info.target.endpoint).into(),
                false => Cow::Borrowed(id.as_str()),
            };
            let mime_type = whole_type.then_some(Cow::Borrowed(file.media_type.as_str()));
            Ok(Data::FileData(FileData { mime_type, file_uri }))
        }
        _ => Err(unsupported("a file of an unknown kind cannot be sent")),
    }
}

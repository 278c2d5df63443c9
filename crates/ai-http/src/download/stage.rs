//! Puts files at hand before a request is written.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use ai_provider::{
    ErrorClass, FileData, FilePart, Message, ModelError, Request, RunScope, ToolContent, ToolOutput,
    ToolPart, UserPart, Warning,
};

use super::{Downloaded, Downloads, data_url, shown};
use crate::codec::{CallInfo, Codec};
use crate::media::sniff_image;

/// Downloads at the same time. More only fight for the line.
const AT_ONCE: usize = 4;

/// Bytes one request, and one run, holds of downloaded files. They go out in one body, and no API takes more.
const MAX_BYTES: usize = 100 * 1024 * 1024;

/// What was downloaded in a run, by URL: so a file is the same in all steps and attempts.
type Got = Mutex<HashMap<String, Downloaded>>;

/// A file that is wanted.
struct Wanted {
    url: String,
    /// Whether a user gave it: a tool does not know which model reads its result, so its file is no demand.
    demanded: bool,
}

/// The request with the files its model cannot fetch, and warnings of those that could not be got.
///
/// # Errors
/// `Unsupported` if a user's file cannot be got because there is no [`Download`](super::Download), `InvalidRequest`
/// if it is not what it should be, else what the download met.
pub(crate) async fn at_hand<C: Codec>(
    codec: &C,
    mut request: Request,
    info: &CallInfo<'_>,
    downloads: Option<&Downloads>,
    scope: &RunScope,
) -> Result<(Request, Vec<Warning>), ModelError> {
    let must = |file: &FilePart| match &file.data {
        FileData::Url { url } => codec.must_download(file, info).then(|| url.clone()),
        _ => None,
    };
    let wanted = wanted(&request, must);
    if wanted.is_empty() {
        return Ok((request, Vec::new()));
    }
    let mut got = HashMap::new();
    let mut warnings = Vec::new();
    let mut total = 0;
    for few in wanted.chunks(AT_ONCE) {
        let results = all(few.iter().map(|wanted| get(&wanted.url, info, downloads, scope))).await;
        for (wanted, result) in few.iter().zip(results) {
            match result {
                Ok(file) => {
                    total += file.data.len();
                    if total > MAX_BYTES {
                        return Err(too_large());
                    }
                    got.insert(wanted.url.clone(), file);
                }
                Err(error) if wanted.demanded => return Err(error),
                // Without a download, what cannot be sent is for the codec to say.
                Err(_) if downloads.is_none() => {}
                Err(error) => warnings.push(Warning::other(error.message())),
            }
        }
    }
    for message in &mut request.messages {
        if !files(message).iter().any(|(file, _)| must(file).is_some_and(|url| got.contains_key(&url))) {
            continue;
        }
        for (file, demanded) in files_mut(Arc::make_mut(message)) {
            let Some((url, found)) = must(file).and_then(|url| got.get_key_value(&url)) else { continue };
            match media_type(&file.media_type, found) {
                Ok(media_type) => {
                    file.media_type = media_type;
                    file.data = FileData::Bytes { data: found.data.clone() };
                }
                Err(why) if demanded => return Err(wrong(url, &why)),
                Err(why) => warnings.push(Warning::other(wrong(url, &why).message())),
            }
        }
    }
    Ok((request, warnings))
}

/// Each URL once, in the order of the messages.
fn wanted(request: &Request, must: impl Fn(&FilePart) -> Option<String>) -> Vec<Wanted> {
    let mut all: Vec<Wanted> = Vec::new();
    let mut known = HashMap::new();
    for message in &request.messages {
        for (file, demanded) in files(message) {
            let Some(url) = must(file) else { continue };
            let at = *known.entry(url.clone()).or_insert_with(|| {
                all.push(Wanted { url, demanded });
                all.len() - 1
            });
            if let Some(wanted) = all.get_mut(at) {
                wanted.demanded |= demanded;
            }
        }
    }
    all
}

async fn get(
    url: &str,
    info: &CallInfo<'_>,
    downloads: Option<&Downloads>,
    scope: &RunScope,
) -> Result<Downloaded, ModelError> {
    if let Some(read) = data_url::read(url) {
        return read
            .map_err(|why| ModelError::new(ErrorClass::InvalidRequest, format!("a file is wrong: {why}")));
    }
    let Some(downloads) = downloads else {
        let message = format!(
            "{} cannot fetch the file at {}: give its bytes, or set a download",
            info.target,
            shown(url)
        );
        return Err(ModelError::new(ErrorClass::Unsupported, message));
    };
    let run: Arc<Got> = scope.get_or_insert(&downloads.key, Got::default);
    if let Some(known) = run.lock().unwrap_or_else(PoisonError::into_inner).get(url) {
        return Ok(known.clone());
    }
    let file = downloads.by.download(url).await?;
    let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
    let held: usize = run.values().map(|file| file.data.len()).sum();
    if held.saturating_add(file.data.len()) <= MAX_BYTES {
        run.insert(url.to_owned(), file.clone());
    }
    Ok(file)
}

/// The outputs of some futures that run at the same time, in their order.
async fn all<'a, T>(futures: impl Iterator<Item = impl Future<Output = T> + Send + 'a>) -> Vec<T> {
    let mut running: Vec<Pin<Box<dyn Future<Output = T> + Send + 'a>>> = Vec::new();
    futures.for_each(|future| running.push(Box::pin(future)));
    let mut outputs: Vec<Option<T>> = running.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in running.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

/// The files of a user or a tool, and whether a user gave them.
fn files(message: &Message) -> Vec<(&FilePart, bool)> {
    match message {
        Message::User(user) => user
            .parts
            .iter()
            .filter_map(|part| match part {
                UserPart::File(file) => Some((file, true)),
                _ => None,
            })
            .collect(),
        Message::Tool(tool) => tool
            .parts
            .iter()
            .filter_map(|part| match part {
                ToolPart::ToolResult(result) => match &result.output {
                    ToolOutput::Content(items) => Some(items),
                    _ => None,
                },
                _ => None,
            })
            .flatten()
            .filter_map(|item| match item {
                ToolContent::File(file) => Some((file, false)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn files_mut(message: &mut Message) -> Vec<(&mut FilePart, bool)> {
    match message {
        Message::User(user) => user
            .parts
            .iter_mut()
            .filter_map(|part| match part {
                UserPart::File(file) => Some((file, true)),
                _ => None,
            })
            .collect(),
        Message::Tool(tool) => tool
            .parts
            .iter_mut()
            .filter_map(|part| match part {
                ToolPart::ToolResult(result) => match &mut result.output {
                    ToolOutput::Content(items) => Some(items),
                    _ => None,
                },
                _ => None,
            })
            .flatten()
            .filter_map(|item| match item {
                ToolContent::File(file) => Some((file, false)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The media type of a file: by its first bytes, by what was said of it, by what its server says.
fn media_type(declared: &str, file: &Downloaded) -> Result<String, String> {
    let declared = declared.trim();
    let kind = declared.split('/').next().unwrap_or_default();
    let any = matches!(kind, "" | "*");
    let sniffed =
        sniff_image(&file.data).or_else(|| file.data.starts_with(b"%PDF-").then_some("application/pdf"));
    let served = file.media_type.as_deref().filter(|served| *served != "application/octet-stream");
    if let Some(sniffed) = sniffed.filter(|sniffed| any || sniffed.starts_with(&format!("{kind}/"))) {
        return Ok(sniffed.to_owned());
    }
    let fits = |served: &str| any || served.split('/').next() == Some(kind);
    let whole = declared.contains('/') && !declared.ends_with("/*");
    match served {
        // A page in place of a file is an error or a login, whatever it was asked as.
        Some("text/html") if kind != "text" && !any => Err(format!("it is a web page, not {declared}")),
        _ if whole && !any => Ok(declared.to_owned()),
        Some(served) if fits(served) => Ok(served.to_owned()),
        Some(served) => Err(format!("it is {served}, not {declared}")),
        None if any => Err("its type is not known: say it".to_owned()),
        None => Ok(declared.to_owned()),
    }
}

fn wrong(url: &str, why: &str) -> ModelError {
    let url = shown(url);
    ModelError::new(ErrorClass::InvalidRequest, format!("the file at {url} cannot be used: {why}"))
        .with_url(url)
}

fn too_large() -> ModelError {
    let message = format!("the files of this request are larger than {MAX_BYTES} bytes together");
    ModelError::new(ErrorClass::TooLarge, message)
}

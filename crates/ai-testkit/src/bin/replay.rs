//! Shows what an adapter makes of a recorded answer, or records one.

use std::fs::File;
use std::io::{self, ErrorKind, LineWriter};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use ai_http::{ReqwestTransport, Transport};
use ai_provider::{ApiKey, LanguageModel};
use ai_testkit::Cut;
use ai_testkit::replay::{Api, Loopback, PLACE, Recorder, Recording, Target, ask, print};
use clap::Parser;

/// Shows what an adapter makes of a recorded answer.
///
/// FILE is served from a loopback socket to the real adapter. Each part of the stream is printed as one JSON
/// object a line; the last line sums up the answer, or says how it failed: then the exit code is 1. It is 2 if
/// nothing could be tried at all.
///
/// FILE ends with .sse (a stream as it came), .chunks.txt (a stream, one JSON payload a line, which is wrapped as
/// the API wraps it) or .json (an answer in one body, or an error).
#[derive(Parser)]
#[command(name = "replay", version, after_help = EXAMPLES)]
struct Arguments {
    /// The API that FILE belongs to.
    #[arg(long)]
    api: Api,
    /// How the server speaks: the name of a row of the adapter's table of servers.
    #[arg(long, value_name = "NAME", default_value = "generic")]
    dialect: String,
    /// How the body is cut into writes: whole, event (after each blank line), a number of bytes, or random:SEED.
    /// It never changes the output.
    #[arg(long, value_name = "CUT", default_value = "whole", value_parser = cut)]
    cut: Cut,
    /// The HTTP status to serve FILE with.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u16).range(200..=599))]
    status: u16,
    /// Ask for the answer in one body, not for a stream.
    #[arg(long)]
    no_stream: bool,
    /// Ask a real server at this base URL, and write the body it answers with to FILE, secrets taken out. What the
    /// adapter makes of it is printed too.
    #[arg(long, value_name = "URL", conflicts_with_all = ["cut", "status"])]
    record: Option<String>,
    /// The id of the model.
    #[arg(long, value_name = "ID", default_value = "model")]
    model: String,
    /// What to ask.
    #[arg(long, value_name = "TEXT", default_value = "Say hello in one sentence.", requires = "record")]
    prompt: String,
    /// The environment variable that holds the key; without this, none is sent.
    #[arg(long, value_name = "VAR", requires = "record")]
    key_env: Option<String>,
    /// The recording: to be read, or with --record to be written.
    file: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  replay --api openai-chat --dialect mistral answer.sse
  replay --api openai-chat --cut random:7 answer.chunks.txt
  replay --api openai-chat --status 429 error.json
  replay --api openai-chat --no-stream answer.json
  replay --api openai-chat --record http://localhost:8080/v1 --model gemma answer.sse
  replay --api openai-chat --record https://api.example.com/v1 --key-env EXAMPLE_KEY answer.sse";

/// Nothing was tried.
const COULD_NOT: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.map_err(Failure::from).and_then(|runtime| runtime.block_on(run(arguments)));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Whoever reads has seen enough.
        Err(Failure(_, Some(ErrorKind::BrokenPipe))) => ExitCode::SUCCESS,
        Err(Failure(message, _)) => {
            eprintln!("replay: {message}");
            ExitCode::from(COULD_NOT)
        }
    }
}

/// Why nothing was tried, for the person at the terminal.
struct Failure(String, Option<ErrorKind>);

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self(error.to_string(), Some(error.kind()))
    }
}

impl From<ai_provider::ModelError> for Failure {
    fn from(error: ai_provider::ModelError) -> Self {
        Self(error.message().to_owned(), None)
    }
}

async fn run(arguments: Arguments) -> Result<bool, Failure> {
    match &arguments.record {
        Some(url) => record(&arguments, url).await,
        None => replay(&arguments).await,
    }
}

async fn replay(arguments: &Arguments) -> Result<bool, Failure> {
    let recording = Recording::read(arguments.api.name(), &arguments.file)?;
    let loopback = Loopback::start([recording.reply(arguments.status, arguments.cut.clone())])?;
    let model = model(arguments, PLACE, None, Arc::new(loopback))?;
    Ok(print(ask(&*model, &arguments.prompt, arguments.no_stream), &mut stdout()).await?)
}

async fn record(arguments: &Arguments, url: &str) -> Result<bool, Failure> {
    let key = arguments.key_env.as_deref().map(key).transpose()?;
    let secrets: Vec<String> = key.iter().map(|key| key.expose().to_owned()).chain(secrets_of(url)).collect();
    // Made before the file, so that what is wrong with the arguments leaves none behind.
    let transport: Arc<dyn Transport> = Arc::new(ReqwestTransport::new()?);
    model(arguments, url, key.clone(), Arc::clone(&transport))?;
    let file = File::create_new(&arguments.file).map_err(|error| {
        let file = arguments.file.display();
        let hint =
            if error.kind() == ErrorKind::AlreadyExists { "; recordings are not overwritten" } else { "" };
        Failure(format!("{file}: {error}{hint}"), None)
    })?;
    let recorder = Recorder::new(transport, file, secrets.iter().map(String::as_str));
    let model = model(arguments, url, key, Arc::new(recorder.clone()))?;
    let finished = print(ask(&*model, &arguments.prompt, arguments.no_stream), &mut stdout()).await?;
    let recorded = recorder.finish().await?;
    let file = arguments.file.display();
    let Some(status) = recorded.status else {
        // The empty file is ours.
        std::fs::remove_file(&arguments.file)?;
        eprintln!("replay: no answer came, nothing was recorded");
        return Ok(finished);
    };
    let kind = recorded.content_type.as_deref().unwrap_or("no content type");
    eprintln!("replay: {} bytes in {file} (HTTP {status}, {kind})", recorded.bytes);
    if let Some(how) = &recorded.broken {
        eprintln!("replay: the recording is not whole: {how}");
    }
    Ok(finished)
}

fn model(
    arguments: &Arguments,
    base_url: &str,
    key: Option<ApiKey>,
    transport: Arc<dyn Transport>,
) -> Result<Arc<dyn LanguageModel>, Failure> {
    let (dialect, model) = (arguments.dialect.clone(), arguments.model.clone());
    Ok(arguments.api.model(Target { base_url: base_url.to_owned(), dialect, model, key, transport })?)
}

fn key(variable: &str) -> Result<ApiKey, Failure> {
    let value = std::env::var(variable).map_err(|_| {
        Failure(format!("the environment variable {variable} is not set, or is no text"), None)
    })?;
    Ok(ApiKey::new(value)?)
}

/// A password and the values of a query: whatever they mean, they are not the server's to show.
fn secrets_of(url: &str) -> Vec<String> {
    let (rest, query) = url.split_once('?').unwrap_or((url, ""));
    let authority =
        rest.split_once("://").map_or(rest, |(_, rest)| rest).split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user).split(':');
    let values = query.split('&').filter_map(|pair| Some(pair.split_once('=')?.1));
    user.chain(values).filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

fn stdout() -> LineWriter<io::Stdout> {
    LineWriter::new(io::stdout())
}

fn cut(text: &str) -> Result<Cut, String> {
    let wrong = || format!("{text:?} is no cut: whole, event, a number of bytes from 1, or random:SEED");
    match (text, text.strip_prefix("random:")) {
        ("whole", _) => Ok(Cut::Whole),
        ("event", _) => Ok(Cut::Event),
        (_, Some(seed)) => seed.parse().map(Cut::Random).map_err(|_| wrong()),
        (size, None) => size.parse().ok().filter(|size| *size > 0).map(Cut::Every).ok_or_else(wrong),
    }
}

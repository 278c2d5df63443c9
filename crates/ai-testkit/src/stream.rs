use std::pin::pin;

use ai_provider::{Assembled, Assembler, ErrorClass, ModelError, StreamPart};
use futures_util::{Stream, StreamExt};

/// Polls a model's stream to its end: the parts, and the error if one came.
///
/// A stream that goes on after an error breaks the contract of
/// [`ModelStream`](ai_provider::ModelStream): the error returned is then of class `Protocol`, with the first
/// one as its source. What follows a finish is kept, for [`check_order`](crate::check_order) to find.
pub async fn collect(
    stream: impl Stream<Item = Result<StreamPart, ModelError>>,
) -> (Vec<StreamPart>, Option<ModelError>) {
    let mut stream = pin!(stream);
    let mut parts = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            Ok(part) => parts.push(part),
            Err(error) => {
                let error = match stream.next().await {
                    Some(item) => after_the_error(error, &item),
                    None => error,
                };
                return (parts, Some(error));
            }
        }
    }
    (parts, None)
}

/// Polls a model's stream to its end and folds what came into a message.
///
/// Parts that break an order rule give the assembler's error, unless the stream itself failed.
pub async fn fold(
    stream: impl Stream<Item = Result<StreamPart, ModelError>>,
) -> (Assembled, Option<ModelError>) {
    let (parts, error) = collect(stream).await;
    let mut assembler = Assembler::default();
    let broken = parts.iter().find_map(|part| assembler.push(part).err());
    (assembler.finish(), error.or(broken))
}

fn after_the_error(first: ModelError, next: &Result<StreamPart, ModelError>) -> ModelError {
    ModelError::new(ErrorClass::Protocol, format!("the stream went on after `{first}` with {next:?}"))
        .with_source(first)
}

#[cfg(test)]
mod tests;

use ai_provider::{ErrorClass, ModelError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of log probabilities: with 20 alternatives for each token, about 30,000 tokens.
const MAX_BYTES: usize = 64 << 20;

/// The log probabilities of all tokens, which come only if they were asked for.
#[derive(Debug, Default)]
pub(crate) struct Logprobs {
    /// A list of JSON without its last bracket.
    list: String,
}

#[derive(Deserialize)]
struct OfFrame<'a> {
    #[serde(borrow, default)]
    content: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    refusal: Option<Vec<&'a RawValue>>,
}

impl Logprobs {
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn add(&mut self, logprobs: &RawValue) -> Result<(), ModelError> {
        // Servers give other shapes too; those are passed on in raw parts alone.
        let Ok(OfFrame { content, refusal }) = serde_json::from_str(logprobs.get()) else { return Ok(()) };
        self.tokens(content.into_iter().chain(refusal).flatten())
    }

    /// Takes a bare list of tokens.
    pub(crate) fn add_list(&mut self, list: &RawValue) -> Result<(), ModelError> {
        self.tokens(serde_json::from_str::<Vec<&RawValue>>(list.get()).unwrap_or_default().into_iter())
    }

    /// Takes one token of a list that was read already.
    pub(crate) fn add_token(&mut self, token: &Value) -> Result<(), ModelError> {
        self.token(&token.to_string())
    }

    fn tokens<'a>(&mut self, mut tokens: impl Iterator<Item = &'a RawValue>) -> Result<(), ModelError> {
        tokens.try_for_each(|token| self.token(token.get()))
    }

    fn token(&mut self, token: &str) -> Result<(), ModelError> {
        self.list.push(if self.list.is_empty() { '[' } else { ',' });
        self.list.push_str(token);
        if self.list.len() > MAX_BYTES {
            let message = format!("the log probabilities have more than {MAX_BYTES} bytes");
            return Err(ModelError::new(ErrorClass::TooLarge, message));
        }
        Ok(())
    }

    pub(crate) fn take(&mut self) -> Option<Value> {
        let mut list = std::mem::take(&mut self.list);
        if list.is_empty() {
            return None;
        }
        list.push(']');
        serde_json::from_str(&list).ok()
    }
}

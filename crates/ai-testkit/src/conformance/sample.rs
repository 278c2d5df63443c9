use ai_provider::{Delivery, ErrorClass, Message, Request, UnifiedFinish};
use bytes::Bytes;

/// Stands in a sample for the key of the call, as a server that echoes it would have it.
pub const KEY_MARK: &str = "{{KEY}}";

/// A body that the API sends, and what it means.
///
/// ```
/// use ai_provider::{ErrorClass, UnifiedFinish};
/// use ai_testkit::conformance::Sample;
/// # let (bytes, cut, whole) = (vec![], vec![], vec![]);
/// let long = Sample::stream("long", bytes).text("To be, or not").finish(UnifiedFinish::Length);
/// let broken = Sample::stream("overloaded in mid-stream", cut).fails(ErrorClass::Overloaded);
/// let whole = Sample::whole("in one body", whole).text("Hi");
/// let refused = Sample::error("quota", 429, r#"{"error":"used up"}"#, ErrorClass::Quota);
/// ```
#[derive(Clone, Debug)]
pub struct Sample {
    pub(super) name: String,
    pub(super) body: Bytes,
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) request: Request,
    pub(super) text: Option<String>,
    pub(super) finish: Option<UnifiedFinish>,
    pub(super) fails: Option<ErrorClass>,
}

impl Sample {
    fn new(name: impl Into<String>, body: impl Into<Bytes>, delivery: Delivery) -> Self {
        let mut request = Request::new([Message::user("Hi")]);
        request.delivery = delivery;
        Self {
            name: name.into(),
            body: body.into(),
            status: 200,
            content_type: "application/json".to_owned(),
            request,
            text: None,
            finish: None,
            fails: None,
        }
    }

    /// A streamed answer, as server-sent events unless [`content_type`](Self::content_type) says otherwise. It is
    /// asked for by a stream.
    pub fn stream(name: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::new(name, body, Delivery::Stream).content_type("text/event-stream")
    }

    /// An answer in one body.
    pub fn whole(name: impl Into<String>, body: impl Into<Bytes>) -> Self {
        Self::new(name, body, Delivery::Whole)
    }

    /// The body of an error, the status it comes with and what it means. [`KEY_MARK`] in it is replaced by the
    /// key of the call.
    pub fn error(name: impl Into<String>, status: u16, body: impl Into<Bytes>, class: ErrorClass) -> Self {
        Self { status, ..Self::new(name, body, Delivery::Stream) }.fails(class)
    }

    /// Sets the content type it is served with.
    #[must_use]
    pub fn content_type(mut self, content_type: impl Into<String>) -> Self {
        self.content_type = content_type.into();
        self
    }

    /// Sets the request it answers, for an API whose answers are read by what was asked. How it is delivered
    /// stays as it is.
    #[must_use]
    pub fn asked(mut self, request: Request) -> Self {
        let delivery = self.request.delivery;
        self.request = request;
        self.request.delivery = delivery;
        self
    }

    /// Says what its text is, all blocks together.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Says how it finishes.
    #[must_use]
    pub fn finish(mut self, finish: UnifiedFinish) -> Self {
        self.finish = Some(finish);
        self
    }

    /// Says that it ends with an error of this class.
    #[must_use]
    pub fn fails(mut self, class: ErrorClass) -> Self {
        self.fails = Some(class);
        self
    }

    pub(super) fn with_key(mut self, key: &str) -> Self {
        if let Ok(text) = std::str::from_utf8(&self.body)
            && text.contains(KEY_MARK)
        {
            self.body = text.replace(KEY_MARK, key).into();
        }
        self
    }

    pub(super) fn is_error_status(&self) -> bool {
        !(200..300).contains(&self.status)
    }

    /// An answer that finishes.
    pub(super) fn finishes(&self) -> bool {
        self.fails.is_none()
    }

    pub(super) fn is_stream(&self) -> bool {
        self.request.delivery == Delivery::Stream && !self.is_error_status()
    }

    pub(super) fn is_sse(&self) -> bool {
        self.is_stream() && self.content_type.starts_with("text/event-stream")
    }
}

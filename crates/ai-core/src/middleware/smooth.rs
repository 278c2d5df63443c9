use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use ai_provider::{CallContext, Id, ModelError, ModelStream, Request, StreamPart};
use futures_core::Stream;
use tokio::time::{Instant, Sleep};

use super::{Middleware, Next};

/// Gives text and reasoning in even pieces: words or lines, a short pause apart, however the provider cuts them.
///
/// No text waits longer than the longest lag (250 ms unless set): where a model is faster than the pauses allow,
/// the pieces come faster. Anything but a delta, the end of the answer, an error and a cancel release all that is
/// held, at once and in order. The pauses are on tokio's clock.
///
/// ```
/// use ai_core::middleware::Smooth;
/// use std::time::Duration;
/// let by_line = Smooth::lines().with_delay(Duration::from_millis(50));
/// # let _ = by_line;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Smooth {
    unit: Unit,
    delay: Duration,
    lag: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Word,
    Line,
}

/// How much text may wait, in bytes. 64 KiB: no person reads that within the lag; beyond it, text comes at once.
const MOST: usize = 64 << 10;

/// Beyond a minute a reader takes the answer for dead.
const LONGEST: Duration = Duration::from_secs(60);

impl Smooth {
    /// By word, 10 ms apart. In scripts that write no spaces each character is one.
    pub fn words() -> Self {
        Self { unit: Unit::Word, delay: Duration::from_millis(10), lag: Duration::from_millis(250) }
    }

    /// By line, 10 ms apart.
    pub fn lines() -> Self {
        Self { unit: Unit::Line, ..Self::words() }
    }

    /// Sets the pause between two pieces; a minute at most.
    #[must_use]
    pub fn with_delay(mut self, delay: Duration) -> Self {
        self.delay = delay.min(LONGEST);
        self
    }

    /// Sets the longest time any text may wait; a minute at most.
    #[must_use]
    pub fn with_longest_lag(mut self, lag: Duration) -> Self {
        self.lag = lag.min(LONGEST);
        self
    }
}

impl Middleware for Smooth {
    fn name(&self) -> &str {
        "smooth"
    }

    fn wrap_stream(&self, next: Next, request: Request, ctx: CallContext) -> ModelStream {
        let stream = next.stream(request, ctx.clone());
        Box::pin(Smoothed {
            rules: *self,
            cutter: Cutter::new(self.unit),
            ctx,
            stream: Some(stream),
            tail: None,
            ready: VecDeque::new(),
            bytes: 0,
            last: None,
            next: Ahead::Nothing,
            sleep: None,
        })
    }
}

struct Smoothed {
    rules: Smooth,
    cutter: Cutter,
    ctx: CallContext,
    /// Absent once it is over.
    stream: Option<ModelStream>,
    /// Text that is no whole piece yet, and when it must go.
    tail: Option<Piece>,
    ready: VecDeque<Piece>,
    /// Bytes of `ready` and `tail`.
    bytes: usize,
    /// When the last piece was due.
    last: Option<Instant>,
    /// What comes behind all that is held, which is therefore released.
    next: Ahead,
    sleep: Option<Pin<Box<Sleep>>>,
}

enum Ahead {
    Nothing,
    Item(Result<StreamPart, ModelError>),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
}

struct Piece {
    kind: Kind,
    id: Id,
    text: String,
    due: Instant,
}

impl Piece {
    fn into_part(self) -> StreamPart {
        match self.kind {
            Kind::Text => StreamPart::text_delta(self.id, self.text),
            Kind::Reasoning => StreamPart::reasoning_delta(self.id, self.text),
        }
    }
}

impl Smoothed {
    fn take(&mut self, kind: Kind, id: Id, delta: &str, now: Instant) {
        if self.tail.as_ref().is_some_and(|tail| tail.kind != kind || tail.id != id) {
            self.cut_tail(now);
        }
        let mut left = delta;
        while let Some(end) = self.cutter.end_of_piece(left) {
            let (piece, rest) = left.split_at(end);
            self.hold(kind, &id, piece, now);
            self.cut_tail(now);
            left = rest;
        }
        self.hold(kind, &id, left, now);
        if self.bytes > MOST {
            self.cut_tail(now);
        }
    }

    fn hold(&mut self, kind: Kind, id: &Id, text: &str, now: Instant) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        let due = now + self.rules.lag;
        let new = || Piece { kind, id: id.clone(), text: String::new(), due };
        self.tail.get_or_insert_with(new).text.push_str(text);
    }

    /// The tail is a piece.
    fn cut_tail(&mut self, now: Instant) {
        self.cutter.reset();
        let Some(mut piece) = self.tail.take() else { return };
        // `due` is the latest by which it must go; the pause may let it go before.
        let last = self.last.unwrap_or(now);
        let paced = self.last.map_or(now, |last| (last + self.rules.delay).max(now));
        piece.due = paced.min(piece.due).max(last);
        self.last = Some(piece.due);
        self.ready.push_back(piece);
    }

    fn is_over_from_outside(&self, now: Instant) -> bool {
        self.ctx.cancel.is_cancelled() || self.ctx.deadline.is_some_and(|at| at <= now.into_std())
    }

    /// Waits for the next piece that is due.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let due = self.ready.front().or(self.tail.as_ref()).map(|piece| piece.due);
        let Some(due) = due else { return Poll::Pending };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(due)));
        if sleep.deadline() != due {
            sleep.as_mut().reset(due);
        }
        sleep.as_mut().poll(cx)
    }
}

impl Stream for Smoothed {
    type Item = Result<StreamPart, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            let now = Instant::now();
            let release = !matches!(this.next, Ahead::Nothing) || this.bytes > MOST;
            if this.ready.front().is_some_and(|piece| release || piece.due <= now)
                && let Some(piece) = this.ready.pop_front()
            {
                this.bytes -= piece.text.len();
                return Poll::Ready(Some(Ok(piece.into_part())));
            }
            match std::mem::replace(&mut this.next, Ahead::Nothing) {
                Ahead::Item(item) => return Poll::Ready(Some(item)),
                Ahead::End => {
                    this.stream = None;
                    return Poll::Ready(None);
                }
                Ahead::Nothing => {}
            }
            let Some(stream) = &mut this.stream else { return Poll::Ready(None) };
            match stream.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(StreamPart::TextDelta { id, delta, metadata: None }))) => {
                    this.take(Kind::Text, id, &delta, now);
                }
                Poll::Ready(Some(Ok(StreamPart::ReasoningDelta { id, delta, metadata: None }))) => {
                    this.take(Kind::Reasoning, id, &delta, now);
                }
                Poll::Ready(item) => {
                    this.cut_tail(now);
                    this.next = item.map_or(Ahead::End, Ahead::Item);
                }
                Poll::Pending if this.is_over_from_outside(now) => {
                    this.cut_tail(now);
                    match this.ready.pop_front() {
                        Some(piece) => {
                            this.bytes -= piece.text.len();
                            return Poll::Ready(Some(Ok(piece.into_part())));
                        }
                        None => return Poll::Pending,
                    }
                }
                Poll::Pending => match this.poll_due(cx) {
                    Poll::Ready(()) if this.ready.is_empty() => this.cut_tail(now),
                    Poll::Ready(()) => {}
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }
}

/// Finds the ends of pieces; looks at each character once.
#[derive(Debug)]
struct Cutter {
    unit: Unit,
    /// Whether the piece has a word, and white space after it.
    word: bool,
    space: bool,
}

impl Cutter {
    fn new(unit: Unit) -> Self {
        Self { unit, word: false, space: false }
    }

    fn reset(&mut self) {
        *self = Self::new(self.unit);
    }

    /// How much of `text` belongs to the current piece, if that ends there.
    fn end_of_piece(&mut self, text: &str) -> Option<usize> {
        match self.unit {
            Unit::Line => text.find('\n').map(|at| at + 1),
            Unit::Word => {
                for (at, c) in text.char_indices() {
                    match (c.is_whitespace(), stands_alone(c)) {
                        (true, _) => self.space = self.word,
                        (false, _) if self.space => return Some(at),
                        (false, true) => return Some(if self.word { at } else { at + c.len_utf8() }),
                        (false, false) => self.word = true,
                    }
                }
                self.space.then_some(text.len())
            }
        }
    }
}

/// Characters of scripts that put no spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0EFF | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

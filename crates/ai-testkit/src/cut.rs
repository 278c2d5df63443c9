use std::ops::Range;

use bytes::Bytes;

/// How a body is cut into the pieces in which it arrives.
///
/// A pure function of the body: the pieces are never empty, and put together they are the body again,
/// whatever the cut.
///
/// ```
/// use ai_testkit::Cut;
/// use bytes::Bytes;
/// let pieces = Cut::Every(4).cut(&Bytes::from_static(b"data: x\n\n"));
/// assert_eq!(pieces, ["data", ": x\n", "\n"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cut {
    /// In one piece.
    #[default]
    Whole,
    /// After each blank line: one piece per server-sent event. Lines end with LF, CR or CRLF.
    Event,
    /// After every so many bytes; 0 counts as 1.
    Every(usize),
    /// Into pieces of 1 byte to a quarter of the body, 4096 bytes at most, short ones far more often, drawn
    /// from this seed: the same on every machine and in every version.
    Random(u64),
    /// Before the bytes at these offsets, in any order; those outside of the body cut nothing.
    At(Vec<usize>),
}

impl Cut {
    /// The pieces, sharing the body's memory.
    pub fn cut(&self, body: &Bytes) -> Vec<Bytes> {
        self.ranges(body).into_iter().map(|range| body.slice(range)).collect()
    }

    /// Where the pieces lie in the body.
    pub fn ranges(&self, body: &[u8]) -> Vec<Range<usize>> {
        let len = body.len();
        match self {
            Self::Whole => between([], len),
            Self::Event => between(event_ends(body), len),
            Self::Every(size) => between((0..len).step_by((*size).max(1)), len),
            Self::Random(seed) => between(Steps::new(*seed, len).take_while(|at| *at < len), len),
            Self::At(offsets) => {
                let mut offsets = offsets.clone();
                offsets.sort_unstable();
                between(offsets, len)
            }
        }
    }
}

/// The ranges between sorted offsets; the offsets 0, `len`, beyond it and repeated ones cut nothing.
fn between(cuts: impl IntoIterator<Item = usize>, len: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    for to in cuts.into_iter().take_while(|at| *at < len).chain([len]) {
        if to > from {
            ranges.push(from..to);
            from = to;
        }
    }
    ranges
}

/// The offsets after each blank line.
fn event_ends(body: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut bytes = body.iter().copied().enumerate().peekable();
    let mut blank = true;
    while let Some((at, byte)) = bytes.next() {
        let mut end = at + 1;
        match byte {
            b'\r' if bytes.next_if(|(_, next)| *next == b'\n').is_some() => end += 1,
            b'\r' | b'\n' => {}
            _ => {
                blank = false;
                continue;
            }
        }
        if blank {
            ends.push(end);
        }
        blank = true;
    }
    ends
}

/// Offsets at random distances.
struct Steps {
    random: SplitMix,
    magnitudes: u64,
    at: usize,
}

impl Steps {
    fn new(seed: u64, len: usize) -> Self {
        let magnitudes = (len / 4).checked_ilog2().map_or(1, |log| log + 1).min(13);
        Self { random: SplitMix(seed), magnitudes: magnitudes.into(), at: 0 }
    }
}

impl Iterator for Steps {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        // The magnitude is drawn first, so that pieces of a few bytes and of a few lines both come often.
        let magnitude = self.random.below(self.magnitudes);
        let step = 1 + self.random.below(1 << magnitude);
        self.at = self.at.checked_add(usize::try_from(step).ok()?)?;
        Some(self.at)
    }
}

/// SplitMix64: enough randomness for cutting, in three lines and without a dependency that may change it.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

#[cfg(test)]
mod tests;

/// Watches JSON text go by, piece by piece, and knows when an object is over. Linear in the text, and no judge
/// of what is inside.
#[derive(Debug, Default)]
pub(super) struct ObjectEnd {
    depth: u64,
    in_string: bool,
    escaped: bool,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Before,
    Inside,
    Over,
    /// Not an object, or more than one.
    Other,
}

impl ObjectEnd {
    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    pub(super) fn feed(&mut self, text: &str) {
        for byte in text.bytes() {
            match self.state {
                State::Other => return,
                State::Inside => self.inside(byte),
                State::Before | State::Over if byte.is_ascii_whitespace() => {}
                State::Before if byte == b'{' => {
                    self.state = State::Inside;
                    self.depth = 1;
                }
                State::Before | State::Over => self.state = State::Other,
            }
        }
    }

    fn inside(&mut self, byte: u8) {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth == 0 {
            self.state = State::Over;
        }
    }
}

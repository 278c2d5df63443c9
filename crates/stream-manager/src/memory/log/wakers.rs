use std::task::Waker;

/// Who waits for a log to go on. A reader has one place in it for its life, so that the list is as long as there are
/// readers, and waking looks only at those that wait.
#[derive(Debug, Default)]
pub(super) struct Wakers {
    places: Vec<Option<Waker>>,
    free: Vec<usize>,
    waiting: Vec<usize>,
}

impl Wakers {
    /// A place for a reader.
    pub(super) fn join(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        })
    }

    /// The reader is gone.
    pub(super) fn leave(&mut self, place: usize) {
        if self.places.get_mut(place).is_some_and(|waker| waker.take().is_some()) {
            self.waiting.retain(|waiting| *waiting != place);
        }
        self.free.push(place);
    }

    /// The reader waits, until it is woken once.
    pub(super) fn wait(&mut self, place: usize, waker: &Waker) {
        match self.places.get_mut(place) {
            Some(Some(known)) => known.clone_from(waker),
            Some(none) => {
                *none = Some(waker.clone());
                self.waiting.push(place);
            }
            None => {}
        }
    }

    /// Moves those that wait to `out`, to be woken without the lock.
    pub(super) fn take(&mut self, out: &mut Vec<Waker>) {
        for place in self.waiting.drain(..) {
            out.extend(self.places.get_mut(place).and_then(Option::take));
        }
    }
}

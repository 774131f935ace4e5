//! Numbered slots that form two lists, of free and of used ones. Every step takes constant time.

pub(super) const NONE: u16 = u16::MAX; // slot numbers end at 65,534: there are 65,535 packet ids

/// What a message in flight waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Free,
    Puback,
    Pubrec,
    Pubcomp,
    Request,
}

#[derive(Clone, Debug)]
pub(super) struct Slot<T> {
    pub(super) message: Option<T>,
    pub(super) before: u16,
    pub(super) after: u16,
    pub(super) step: Step,
}

/// A linked list of slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) first: u16,
    pub(super) last: u16,
}

impl Chain {
    pub(super) fn append<T>(&mut self, slots: &mut [Slot<T>], at: u16) {
        let slot = &mut slots[usize::from(at)];
        (slot.before, slot.after) = (self.last, NONE);
        match self.last {
            NONE => self.first = at,
            last => slots[usize::from(last)].after = at,
        }
        self.last = at;
    }

    pub(super) fn unlink<T>(&mut self, slots: &mut [Slot<T>], at: u16) {
        let (before, after) = (slots[usize::from(at)].before, slots[usize::from(at)].after);
        match before {
            NONE => self.first = after,
            before => slots[usize::from(before)].after = after,
        }
        match after {
            NONE => self.last = before,
            after => slots[usize::from(after)].before = before,
        }
    }
}

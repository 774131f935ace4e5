//! Due messages that are not sent yet: one queue of intended times per publisher, all in one arena.
//!
//! Messages due at the same time, one after the other, share a node: a closed loop asks for thousands at once, and
//! walking that many nodes would cost a cache miss for each.

const NONE: u32 = u32::MAX;

struct Node {
    intended_ns: i64,
    messages: u32,
    next: u32,
}

/// One publisher's queue: two numbers, no memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    first: u32,
    last: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue {
            first: NONE,
            last: NONE,
        }
    }
}

impl Queue {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

/// The memory of all queues of a thread.
pub struct Arena {
    nodes: Vec<Node>,
    free: u32,
    /// Nodes that hold messages.
    used: usize,
}

impl Default for Arena {
    fn default() -> Arena {
        Arena {
            nodes: Vec::new(),
            free: NONE,
            used: 0,
        }
    }
}

impl Arena {
    /// Whether no queue has anything.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Adds a message at the end.
    #[inline]
    pub fn push(&mut self, queue: &mut Queue, intended_ns: i64) {
        if let Some(last) = self.nodes.get_mut(queue.last as usize) {
            if last.intended_ns == intended_ns && last.messages < u32::MAX {
                last.messages += 1;
                return;
            }
        }
        let at = self.allocate(intended_ns, NONE);
        match queue.last {
            NONE => queue.first = at,
            last => self.nodes[last as usize].next = at,
        }
        queue.last = at;
    }

    /// Puts a message back to the front.
    pub fn push_front(&mut self, queue: &mut Queue, intended_ns: i64) {
        let at = self.allocate(intended_ns, queue.first);
        queue.first = at;
        if queue.last == NONE {
            queue.last = at;
        }
    }

    /// The message that waits longest.
    #[inline]
    pub fn front(&self, queue: &Queue) -> Option<i64> {
        self.nodes.get(queue.first as usize).map(|node| node.intended_ns)
    }

    /// Takes the message that waits longest.
    #[inline]
    pub fn pop(&mut self, queue: &mut Queue) -> Option<i64> {
        let at = queue.first;
        let node = self.nodes.get_mut(at as usize)?;
        let intended_ns = node.intended_ns;
        node.messages -= 1;
        if node.messages == 0 {
            queue.first = node.next;
            if queue.first == NONE {
                queue.last = NONE;
            }
            self.release(at);
        }
        Some(intended_ns)
    }

    fn release(&mut self, at: u32) {
        self.nodes[at as usize].next = self.free;
        self.free = at;
        self.used -= 1;
        if self.used == 0 {
            // The free list is in the order of release; from an empty arena nodes are given out side by side again.
            self.nodes.clear();
            self.free = NONE;
        }
    }

    fn allocate(&mut self, intended_ns: i64, next: u32) -> u32 {
        self.used += 1;
        let new = Node {
            intended_ns,
            messages: 1,
            next,
        };
        match self.free {
            NONE => {
                self.nodes.push(new);
                (self.nodes.len() - 1) as u32
            }
            at => {
                let node = &mut self.nodes[at as usize];
                self.free = node.next;
                *node = new;
                at
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn many_queues_in_one_arena_behave_like_separate_ones(
            steps in proptest::collection::vec((0usize..3, 0u8..3, 0i64..3), 0..200),
        ) {
            let mut arena = Arena::default();
            let mut queues = [Queue::default(); 3];
            let mut models = vec![VecDeque::new(); 3];
            for (which, action, value) in steps {
                let (queue, model) = (&mut queues[which], &mut models[which]);
                match action {
                    0 => { arena.push(queue, value); model.push_back(value); }
                    1 => { arena.push_front(queue, value); model.push_front(value); }
                    _ => prop_assert_eq!(arena.pop(queue), model.pop_front()),
                }
                prop_assert_eq!(arena.front(queue), model.front().copied());
                prop_assert_eq!(queue.is_empty(), model.is_empty());
                prop_assert_eq!(arena.is_empty(), models.iter().all(VecDeque::is_empty));
            }
        }
    }
}

import DequeModule

/// A list that grows and shrinks at both ends, and anywhere else where it has just done so.
///
///     front           back
///     a b c d e │ f g h          what is put in or taken out goes to the split, which moves there first
///
/// To put a thousand elements in one behind the other costs the way to the first of them and a step for each: an array
/// would move half of all elements each time.
package struct SplitDeque<Element> {
    private var front: Deque<Element> = []
    /// Empty unless something was put in before the end.
    private var back: Deque<Element> = []

    package init() {}

    package mutating func append(_ element: Element) {
        if back.isEmpty { front.append(element) } else { back.append(element) }
    }

    package mutating func insert(_ element: Element, at index: Int) {
        guard index < count else { return append(element) }
        split(at: index)
        front.append(element)
    }

    @discardableResult
    package mutating func remove(at index: Int) -> Element {
        if index == 0, let first = front.popFirst() { return first }
        if index == count - 1, let last = back.popLast() { return last }
        if back.isEmpty { return front.remove(at: index) }
        split(at: index + 1)
        return front.removeLast()
    }

    private mutating func split(at index: Int) {
        while front.count > index { back.prepend(front.removeLast()) }
        while front.count < index { front.append(back.removeFirst()) }
    }
}

extension SplitDeque: Sendable where Element: Sendable {}

extension SplitDeque: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { front.count + back.count }

    package subscript(index: Int) -> Element {
        get { index < front.count ? front[index] : back[index - front.count] }
        _modify {
            if index < front.count { yield &front[index] } else { yield &back[index - front.count] }
        }
    }
}

import DequeModule

/// A list that grows and shrinks cheaply at both ends, and near the position of its last change.
///
///     front           back
///     a b c d e │ f g h          what is put in or taken out goes to the split, which moves there first
///
/// A thousand insertions, each behind the one before, cost one move of the split to the first position and then a step
/// each: an array would move half of all elements each time.
package struct SplitDeque<Element> {
    private var front: Deque<Element> = []
    /// Empty unless an element was inserted before the end.
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
        if index == 0, !front.isEmpty { return front.removeFirst() }
        if index == count - 1, !back.isEmpty { return back.removeLast() }
        if back.isEmpty { return front.remove(at: index) }
        split(at: index + 1)
        return front.removeLast()
    }

    /// Reads an element in place. A subscript would have to copy the element out of either side.
    @inline(__always)
    package func read<Result>(at index: Int, _ read: (borrowing Element) -> Result) -> Result {
        index < front.count ? read(front[index]) : read(back[index - front.count])
    }

    /// Changes an element in place. A subscript that yields an element of either side would allocate memory each time.
    @inline(__always)
    package mutating func update<Result>(at index: Int, _ change: (inout Element) -> Result) -> Result {
        index < front.count ? change(&front[index]) : change(&back[index - front.count])
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

    package subscript(index: Int) -> Element { index < front.count ? front[index] : back[index - front.count] }
}

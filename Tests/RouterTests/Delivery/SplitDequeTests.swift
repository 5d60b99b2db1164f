import Router
import RouterTesting
import Testing

@Suite("Split deque")
struct SplitDequeTests {
    @Test("It behaves like an array", arguments: 0..<20)
    func asAnArray(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var (found, expected) = (SplitDeque<Int>(), [Int]())
        for number in 0..<2000 {
            let place = Int.random(in: 0...expected.count, using: &generator)
            switch Int.random(in: 0..<8, using: &generator) {
            case 0, 1:
                found.insert(number, at: place)
                expected.insert(number, at: place)
            case 2, 3:
                found.append(number)
                expected.append(number)
            case 4 where place < expected.count:
                found.update(at: place) { $0 += 1 }
                expected[place] += 1
            case 5 where !expected.isEmpty:
                #expect(found.remove(at: 0) == expected.removeFirst())
            case 6 where !expected.isEmpty:
                #expect(found.remove(at: found.endIndex - 1) == expected.removeLast())
            case 7 where place < expected.count:
                #expect(found.remove(at: place) == expected.remove(at: place))
            default: break
            }
            #expect(found.count == expected.count && found.first == expected.first && found.last == expected.last)
        }
        #expect(Array(found) == expected)
    }

    /// Each insertion moves one element; if each moved half of all elements, this would take minutes.
    @Test("Many elements are inserted one behind the other, in front of many")
    func inOrder() {
        var found = SplitDeque<Int>()
        for number in 200_000..<400_000 { found.append(number) }
        for number in 0..<200_000 { found.insert(number, at: number) }
        #expect(found.elementsEqual(0..<400_000))
    }
}

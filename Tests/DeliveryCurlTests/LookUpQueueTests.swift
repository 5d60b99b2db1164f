import Testing

@testable import DeliveryCurl

@Suite("Names that wait to be looked up")
struct LookUpQueueTests {
    /// Takes all that may start.
    private func start(_ queue: inout LookUpQueue) -> [String] {
        var names: [String] = []
        while let name = queue.next() { names.append(name) }
        return names
    }

    @Test func noMoreThanThereAreThreads() {
        var queue = LookUpQueue(threads: 3)
        for number in 0..<9 { queue.ask("n\(number)", for: number) }
        #expect(start(&queue) == ["n0", "n1", "n2"])
        // Nobody waits for it any more, and its thread is still there.
        queue.giveUp("n0", for: 0, isLate: true)
        #expect(start(&queue).isEmpty && queue.underWay == 3)
        #expect(queue.ended("n0").isEmpty)
        #expect(start(&queue) == ["n3"])
    }

    @Test func aNameIsLookedUpOnceAtATime() {
        var queue = LookUpQueue(threads: 3)
        for slot in 0..<3 { queue.ask("one", for: slot) }
        #expect(start(&queue) == ["one"])
        queue.ask("one", for: 3)
        queue.giveUp("one", for: 1, isLate: false)
        #expect(start(&queue).isEmpty)
        #expect(queue.ended("one") == [0, 2, 3])
        #expect(queue.ended("one").isEmpty)
        queue.ask("one", for: 4)
        #expect(start(&queue) == ["one"])
    }

    @Test func whatNobodyWaitsForIsNotBegun() {
        var queue = LookUpQueue(threads: 1)
        for (slot, name) in ["a", "b", "b", "c"].enumerated() { queue.ask(name, for: slot) }
        #expect(start(&queue) == ["a"])
        queue.giveUp("b", for: 1, isLate: true)
        queue.giveUp("c", for: 3, isLate: true)
        #expect(queue.ended("a") == [0])
        #expect(start(&queue) == ["b"])
        #expect(queue.ended("b") == [2])
        #expect(start(&queue).isEmpty)
    }

    @Test func slowNamesLeaveThreadsToOthers() {
        var queue = LookUpQueue(threads: 8)
        for number in 0..<8 { queue.ask("slow\(number)", for: number) }
        #expect(start(&queue).count == 8)
        for number in 0..<8 { queue.giveUp("slow\(number)", for: number, isLate: true) }
        for number in 0..<8 { _ = queue.ended("slow\(number)") }
        for number in 0..<8 { queue.ask("slow\(number)", for: number) }
        #expect(start(&queue) == ["slow0", "slow1"])
        for number in 8..<16 { queue.ask("n\(number)", for: number) }
        #expect(start(&queue).count == 6 && queue.underWay == 8)
        // One that comes back in time is slow no more.
        #expect(queue.ended("slow0") == [0])
        #expect(start(&queue) == ["n14"])
        for number in 8..<15 { _ = queue.ended("n\(number)") }
        #expect(start(&queue) == ["n15", "slow2"])
        queue.ask("slow0", for: 0)
        #expect(start(&queue) == ["slow0"])
    }
}

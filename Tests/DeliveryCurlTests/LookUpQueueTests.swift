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

    /// Looks names up that have addresses, so that they are known.
    private func find(_ names: [String], _ queue: inout LookUpQueue) {
        for name in names {
            queue.ask(name, for: 0)
            #expect(queue.next() == name)
            #expect(queue.ended(name, isFound: true) == [0])
        }
    }

    @Test func noMoreThanThereAreThreads() {
        var queue = LookUpQueue(threads: 3)
        for number in 0..<9 { queue.ask("n\(number)", for: number) }
        #expect(start(&queue) == ["n0", "n1", "n2"])
        // Nobody waits for it any more, and its thread is still there.
        queue.giveUp("n0", for: 0, isLate: true)
        #expect(start(&queue).isEmpty && queue.underWay == 3)
        #expect(queue.ended("n0", isFound: false).isEmpty)
        #expect(start(&queue) == ["n3"])
    }

    @Test func aNameIsLookedUpOnceAtATime() {
        var queue = LookUpQueue(threads: 3)
        for slot in 0..<3 { queue.ask("one", for: slot) }
        #expect(start(&queue) == ["one"])
        queue.ask("one", for: 3)
        queue.giveUp("one", for: 1, isLate: false)
        #expect(start(&queue).isEmpty)
        #expect(queue.ended("one", isFound: true) == [0, 2, 3])
        #expect(queue.ended("one", isFound: true).isEmpty)
        queue.ask("one", for: 4)
        #expect(start(&queue) == ["one"])
    }

    @Test func whatNobodyWaitsForIsNotBegun() {
        var queue = LookUpQueue(threads: 1)
        find(["c"], &queue)
        for (slot, name) in ["a", "b", "b", "c"].enumerated() { queue.ask(name, for: slot) }
        #expect(start(&queue) == ["c"])
        #expect(queue.ended("c", isFound: true) == [3])
        #expect(start(&queue) == ["a"])
        queue.ask("c", for: 3)
        queue.giveUp("b", for: 1, isLate: true)
        queue.giveUp("c", for: 3, isLate: true)
        #expect(queue.ended("a", isFound: true) == [0])
        #expect(start(&queue) == ["b"])
        #expect(queue.ended("b", isFound: true) == [2])
        #expect(start(&queue).isEmpty)
    }

    @Test func namesNobodyKnowsLeaveThreadsToThoseThatWereFound() {
        var queue = LookUpQueue(threads: 8)
        find(["good0", "good1", "good2"], &queue)
        for number in 0..<20 { queue.ask("hung\(number)", for: number) }
        #expect(start(&queue).count == 6, "A quarter of the threads is kept.")
        queue.ask("good0", for: 20)
        queue.ask("good1", for: 21)
        queue.ask("good2", for: 22)
        #expect(start(&queue) == ["good0", "good1"])
        // One that has no addresses any more is known no more.
        #expect(queue.ended("good0", isFound: false) == [20])
        #expect(start(&queue) == ["good2"])
        queue.ask("good0", for: 20)
        #expect(start(&queue).isEmpty)
        #expect(queue.ended("good2", isFound: true) == [22])
        #expect(start(&queue).isEmpty)
        queue.giveUp("hung0", for: 0, isLate: true)
        #expect(queue.ended("hung0", isFound: false).isEmpty)
        #expect(start(&queue) == ["hung6"])
    }

    @Test func slowNamesLeaveThreadsToOthers() {
        var queue = LookUpQueue(threads: 8)
        let slow = (0..<8).map { "slow\($0)" }
        find(slow, &queue)
        for number in 0..<8 { queue.ask(slow[number], for: number) }
        #expect(start(&queue) == slow)
        for number in 0..<8 { queue.giveUp(slow[number], for: number, isLate: true) }
        // Addresses that came too late are none.
        for name in slow { #expect(queue.ended(name, isFound: true).isEmpty) }
        for number in 0..<8 { queue.ask(slow[number], for: number) }
        #expect(start(&queue) == ["slow0", "slow1"])
        for number in 8..<16 { queue.ask("n\(number)", for: number) }
        #expect(start(&queue) == ["n8", "n9", "n10", "n11"], "The last two threads are for names that were found.")
        // One that comes back in time is slow no more.
        #expect(queue.ended("slow0", isFound: true) == [0])
        #expect(start(&queue) == ["n12"])
        for number in 8..<12 { #expect(queue.ended("n\(number)", isFound: true) == [number]) }
        #expect(start(&queue) == ["n13", "n14", "n15", "slow2"])
        queue.ask("slow0", for: 0)
        #expect(start(&queue) == ["slow0"])
    }

    @Test func theOldestNamesAreForgotten() {
        var queue = LookUpQueue(threads: 4)
        find((0...CurlLimits.foundNames).map { "n\($0)" }, &queue)
        for number in 0..<5 { queue.ask("hung\(number)", for: number) }
        #expect(start(&queue) == ["hung0", "hung1", "hung2"])
        queue.ask("n0", for: 5)
        #expect(start(&queue).isEmpty)
        queue.ask("n1", for: 6)
        #expect(start(&queue) == ["n1"])
    }
}

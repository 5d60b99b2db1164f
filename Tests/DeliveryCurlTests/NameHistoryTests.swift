import RouterPlugin
import RouterTesting
import Testing

@testable import DeliveryCurl

@Suite("Names that wait to be looked up")
struct NameHistoryTests {
    /// An application that differs from all others with another number.
    private func application(_ number: Int) -> ApplicationID { ApplicationID(unchecked: "app\(number)") }

    /// Takes all that may start.
    private func start(_ queue: inout NameHistory) -> [String] {
        var names: [String] = []
        while let name = queue.next(at: 0) { names.append(name) }
        return names
    }

    /// Looks names up that have addresses, so that they are known.
    private func find(_ names: [String], _ queue: inout NameHistory) {
        for name in names {
            queue.ask(name, for: 0, of: nil)
            #expect(queue.next(at: 0) == name)
            #expect(queue.ended(name, isFound: true) == [0])
        }
    }

    /// Each for an application of its own.
    private func ask(_ names: [String], _ queue: inout NameHistory) {
        for (number, name) in names.enumerated() { queue.ask(name, for: number, of: application(number)) }
    }

    @Test func noMoreLookUpsThanThreads() {
        var queue = NameHistory(threads: 3)
        ask((0..<9).map { "n\($0)" }, &queue)
        #expect(start(&queue) == ["n0", "n1", "n2"])
        // No slot waits for the name any more, and its thread is still there.
        let hadThread = queue.giveUp("n0", for: 0, isLate: true)
        #expect(hadThread)
        #expect(start(&queue).isEmpty && queue.underWay == 3)
        #expect(queue.ended("n0", isFound: false).isEmpty)
        #expect(start(&queue) == ["n3"])
    }

    @Test func theLastNamesOfTheLargestApplicationAreTurnedAway() {
        var queue = NameHistory(threads: 2)
        find(["known"], &queue)
        queue.ask("hung", for: 0, of: application(0))
        #expect(start(&queue) == ["hung"] && queue.waiting == 0)
        for slot in 1..<9 { queue.ask("many\(slot)", for: slot, of: application(1)) }
        for slot in 9..<11 { queue.ask("few\(slot)", for: slot, of: application(2)) }
        // Several ask for one name.
        for slot in 11..<14 { queue.ask("few10", for: slot, of: application(2)) }
        #expect(queue.waiting == 13 && queue.excess(over: 13).isEmpty)
        #expect(queue.excess(over: 10) == [8, 7, 6])
        for slot in queue.excess(over: 10) { queue.giveUp("many\(slot)", for: slot, isLate: true) }
        #expect(queue.waiting == 10 && queue.excess(over: 10).isEmpty)
        #expect(Set(queue.excess(over: 0)) == Set([1, 2, 3, 4, 5, 9, 10, 11, 12, 13]))
        // A name that was found before has a thread of its own.
        queue.ask("known", for: 14, of: application(1))
        #expect(start(&queue) == ["known"] && queue.begun == 2 && queue.waiting == 10)
        #expect(queue.ended("hung", isFound: nil) == [0])
        #expect(start(&queue) == ["many1"] && queue.begun == 3 && queue.waiting == 9)
    }

    @Test func aNameIsLookedUpOnceAtATime() {
        var queue = NameHistory(threads: 3)
        for slot in 0..<3 { queue.ask("one", for: slot, of: application(slot)) }
        #expect(start(&queue) == ["one"])
        queue.ask("one", for: 3, of: application(3))
        queue.giveUp("one", for: 1, isLate: false)
        #expect(start(&queue).isEmpty)
        #expect(queue.ended("one", isFound: true) == [0, 2, 3])
        #expect(queue.ended("one", isFound: true).isEmpty)
        queue.ask("one", for: 4, of: application(4))
        #expect(start(&queue) == ["one"])
    }

    @Test func aNameWithoutWaitingSlotsIsNotBegun() {
        var queue = NameHistory(threads: 1)
        find(["c"], &queue)
        ask(["a", "b", "b", "c", "d"], &queue)
        #expect(start(&queue) == ["c"])
        #expect(queue.ended("c", isFound: true) == [3])
        #expect(start(&queue) == ["a"])
        queue.ask("c", for: 3, of: nil)
        for (slot, name) in [(1, "b"), (3, "c"), (4, "d")] {
            let hadThread = queue.giveUp(name, for: slot, isLate: true)
            #expect(!hadThread)
        }
        #expect(queue.ended("a", isFound: true) == [0])
        #expect(start(&queue) == ["b"])
        #expect(queue.ended("b", isFound: true) == [2])
        #expect(start(&queue).isEmpty)
    }

    @Test func applicationsTakeTurns() {
        var queue = NameHistory(threads: 1)
        for number in 0..<4 { queue.ask("many\(number)", for: number, of: application(0)) }
        queue.ask("one", for: 4, of: application(1))
        queue.ask("none", for: 5, of: nil)
        var order: [String] = []
        while let name = queue.next(at: 0) {
            order.append(name)
            _ = queue.ended(name, isFound: true)
        }
        #expect(order == ["many0", "one", "none", "many1", "many2", "many3"])
    }

    @Test func anApplicationWithManyNamesLeavesAsManyThreadsToOthers() {
        var queue = NameHistory(threads: 64)
        func hang(_ count: Int, of number: Int) -> Int {
            for name in 0..<count { queue.ask("\(number)-\(name)", for: 1000 * number + name, of: application(number)) }
            return start(&queue).count
        }
        // 48 are for names that were not found before.
        #expect(hang(100, of: 0) == 24)
        #expect(hang(100, of: 1) == 12)
        #expect(hang(100, of: 2) == 6)
        #expect(hang(1, of: 3) == 1)
        // A thread that comes back goes to an application that has fewer than are left.
        _ = queue.ended("0-0", isFound: false)
        #expect(start(&queue).isEmpty)
        _ = queue.ended("0-1", isFound: false)
        #expect(start(&queue) == ["2-6"])
        #expect(hang(1, of: 4) == 1)
    }

    @Test func aSharedNameIsLookedUpInTheFirstTurnOfAnyOfItsApplications() {
        var queue = NameHistory(threads: 4)
        for number in 0..<6 { queue.ask("many\(number)", for: number, of: application(0)) }
        queue.ask("shared", for: 6, of: application(0))
        #expect(start(&queue) == ["many0", "many1"])
        queue.ask("shared", for: 7, of: application(1))
        #expect(start(&queue) == ["shared"])
        #expect(queue.ended("shared", isFound: true) == [6, 7])
        // The name is in no application's queue any more.
        for name in ["many0", "many1"] { _ = queue.ended(name, isFound: true) }
        #expect(start(&queue) == ["many2", "many3"])
        queue.ask("shared", for: 7, of: application(1))
        #expect(start(&queue) == ["shared"])
        #expect(queue.ended("shared", isFound: true) == [7])
        queue.ask("other", for: 8, of: application(0))
        queue.ask("other", for: 9, of: application(2))
        for slot in [8, 9] { queue.giveUp("other", for: slot, isLate: true) }
        for name in ["many2", "many3"] { _ = queue.ended(name, isFound: true) }
        #expect(start(&queue) == ["many4", "many5"])
    }

    @Test func aLateLookUpLeavesItsPlaceToOthers() {
        var queue = NameHistory(threads: 8, more: 8)
        let late = CurlLimits.promptLookUp
        for slot in 0..<9 { queue.ask("hung\(slot)", for: slot, of: application(0)) }
        // Six are for names that were not found before, half of them for one application.
        #expect(start(&queue) == ["hung0", "hung1", "hung2"])
        #expect(queue.nextLate(after: 0) == late && !queue.hasLate(at: late - 1) && queue.hasLate(at: late))
        queue.setLate(at: late - 1)
        #expect(queue.late == 0 && queue.underWay == 3)
        // Four may be late, and so may half of them of one application.
        queue.setLate(at: late)
        #expect(queue.late == 2 && queue.underWay == 1)
        #expect(queue.next(at: late) == "hung3" && queue.next(at: late) == "hung4" && queue.next(at: late) == nil)
        #expect(queue.nextLate(after: late) == 2 * late)
        queue.setLate(at: 2 * late)
        #expect(queue.late == 2 && queue.underWay == 3 && queue.nextLate(after: 2 * late) == nil)
        queue.ask("other", for: 20, of: application(1))
        #expect(queue.next(at: 2 * late) == "other")
        queue.setLate(at: 3 * late)
        #expect(queue.late == 3 && queue.underWay == 3)
        // A thread comes back: another late look-up has its place, and a waiting name has a thread.
        #expect(queue.ended("hung0", isFound: false) == [0])
        queue.setLate(at: 3 * late)
        #expect(queue.late == 3 && queue.underWay == 2 && queue.next(at: 3 * late) == "hung5")
        for slot in 1..<6 { _ = queue.ended("hung\(slot)", isFound: false) }
        _ = queue.ended("other", isFound: false)
        #expect(queue.late == 0 && queue.underWay == 0 && start(&queue) == ["hung6", "hung7", "hung8"])
    }

    /// All names of an application that were found may fall silent at the same time.
    @Test func foundNamesHaveMoreThreads() {
        var queue = NameHistory(threads: 8, more: 24)
        let (fallen, well) = ((0..<12).map { "fallen\($0)" }, ["well0", "well1"])
        find(fallen + well, &queue)
        for slot in 0..<30 { queue.ask("stranger\(slot)", for: slot, of: application(0)) }
        for (slot, name) in (fallen + well).enumerated() { queue.ask(name, for: 100 + slot, of: application(0)) }
        // Half of all threads that are left, before other applications have any: these have three, and then six that
        // are late.
        #expect(start(&queue) == fallen + well + ["stranger0", "stranger1", "stranger2"])
        for round in 1...9 as ClosedRange<UInt64> {
            queue.setLate(at: round * CurlLimits.promptLookUp)
            while queue.next(at: round * CurlLimits.promptLookUp) != nil {}
        }
        #expect(queue.late == 6 && queue.underWay == 14 + 3)
        for name in well { #expect(queue.ended(name, isFound: true).count == 1) }
        for (slot, name) in well.enumerated() { queue.ask(name, for: 200 + slot, of: application(0)) }
        #expect(queue.next(at: 0) == nil, "it has twelve, and eleven are left")
        for name in well { queue.ask(name, for: 300, of: application(1)) }
        #expect(start(&queue) == well)
    }

    /// The counts agree with a count over all names.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func countsAreExact(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var queue = NameHistory(threads: 6, more: 10)
        var (askers, begun): ([String: Set<Int>], [String: UInt64]) = ([:], [:])
        var now: UInt64 = 0
        for slot in 0..<3_000 {
            now += UInt64.random(in: 0..<CurlLimits.promptLookUp / 4, using: &random)
            let name = "n\(Int.random(in: 0..<12, using: &random))"
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                queue.ask(name, for: slot, of: application(Int.random(in: 0..<3, using: &random)))
                askers[name, default: []].insert(slot)
            case 2:
                guard let asker = askers[name]?.min() else { continue }
                let hadThread = queue.giveUp(name, for: asker, isLate: Bool.random(using: &random))
                try #require(hadThread == (begun[name] != nil))
                askers[name]?.remove(asker)
            case 3:
                let told = queue.ended(name, isFound: [true, false, nil].randomElement(using: &random) ?? nil)
                guard begun.removeValue(forKey: name) != nil else {
                    try #require(told.isEmpty)
                    continue
                }
                try #require(Set(told) == askers.removeValue(forKey: name))
            default: queue.setLate(at: now)
            }
            while let next = queue.next(at: now) {
                try #require(begun[next] == nil && askers[next]?.isEmpty == false)
                begun[next] = now
            }
            try #require(queue.underWay + queue.late == begun.count)
            try #require(queue.underWay + queue.late <= 16 && queue.late <= 5)
            try #require(queue.waiting == askers.reduce(0) { $0 + (begun[$1.key] == nil ? $1.value.count : 0) })
        }
        for name in begun.keys { _ = queue.ended(name, isFound: true) }
        try #require(queue.underWay == 0 && queue.late == 0)
    }

    @Test func aShortageLeavesTheNameAsItWas() {
        var queue = NameHistory(threads: 4)
        find(["good"], &queue)
        queue.ask("good", for: 0, of: nil)
        #expect(start(&queue) == ["good"])
        #expect(queue.ended("good", isFound: nil) == [0])
        ask((1..<9).map { "hung\($0)" }, &queue)
        #expect(start(&queue).count == 3)
        queue.ask("good", for: 0, of: nil)
        #expect(start(&queue) == ["good"])
    }

    @Test func unknownNamesLeaveThreadsToFoundOnes() {
        var queue = NameHistory(threads: 8)
        find(["good0", "good1", "good2"], &queue)
        ask((0..<20).map { "hung\($0)" }, &queue)
        #expect(start(&queue).count == 6, "A quarter of the threads is kept.")
        for number in 0..<3 { queue.ask("good\(number)", for: 20 + number, of: application(20 + number)) }
        #expect(start(&queue) == ["good0", "good1"])
        // A name that has no addresses any more is not known any more.
        #expect(queue.ended("good0", isFound: false) == [20])
        #expect(start(&queue) == ["good2"])
        queue.ask("good0", for: 20, of: application(20))
        #expect(start(&queue).isEmpty)
        #expect(queue.ended("good2", isFound: true) == [22])
        #expect(start(&queue).isEmpty)
        queue.giveUp("hung0", for: 0, isLate: true)
        #expect(queue.ended("hung0", isFound: false).isEmpty)
        #expect(start(&queue) == ["hung6"])
    }

    @Test func slowNamesLeaveThreadsToOthers() {
        var queue = NameHistory(threads: 8)
        let slow = (0..<8).map { "slow\($0)" }
        find(slow, &queue)
        ask(slow, &queue)
        #expect(start(&queue) == slow)
        for number in 0..<8 { queue.giveUp(slow[number], for: number, isLate: true) }
        // Addresses that came too late are none.
        for name in slow { #expect(queue.ended(name, isFound: true).isEmpty) }
        ask(slow, &queue)
        #expect(start(&queue) == ["slow0", "slow1"])
        for number in 8..<16 { queue.ask("n\(number)", for: number, of: application(number)) }
        #expect(start(&queue) == ["n8", "n9", "n10", "n11"], "The last two threads are for names that were found.")
        // A name that comes back in time is not slow any more.
        #expect(queue.ended("slow0", isFound: true) == [0])
        #expect(start(&queue) == ["n12"])
        for number in 8..<12 { #expect(queue.ended("n\(number)", isFound: true) == [number]) }
        #expect(start(&queue) == ["n13", "n14", "n15", "slow2"])
        queue.ask("slow0", for: 0, of: nil)
        #expect(start(&queue) == ["slow0"])
    }

    @Test func theOldestNamesAreForgotten() {
        var queue = NameHistory(threads: 4)
        find((0...CurlLimits.foundNames).map { "n\($0)" }, &queue)
        ask((0..<5).map { "hung\($0)" }, &queue)
        #expect(start(&queue) == ["hung0", "hung1", "hung2"])
        queue.ask("n0", for: 5, of: nil)
        #expect(start(&queue).isEmpty)
        queue.ask("n1", for: 6, of: nil)
        #expect(start(&queue) == ["n1"])
    }
}

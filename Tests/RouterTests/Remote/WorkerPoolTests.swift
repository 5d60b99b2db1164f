import RouterPlugin
import Testing

@testable import Router

@Suite("WorkerPool")
struct WorkerPoolTests {
    private typealias Worker = WorkerPool.Worker
    private let start = Timestamp(milliseconds: 1000)

    private func pool(_ change: (inout WorkerPool.Limits) -> Void = { _ in }) -> WorkerPool {
        var limits = WorkerPool.Limits()
        change(&limits)
        return WorkerPool(limits)
    }

    private func at(_ milliseconds: Int64) -> Timestamp { start.advanced(byMilliseconds: milliseconds) }

    @Test func theFirstQuestionStartsAWorkerAndWaitsForIt() {
        var pool = pool()
        let first = Worker(place: 0, generation: 0)
        #expect(pool.ask(1, at: start) == [.start(first)])
        #expect(pool.state == .starting)
        #expect(pool.ready(first, at: start) == [.send(question: 1, to: first)])
        #expect(pool.answered(1, by: first, at: at(5)) == [.answer(question: 1, nil)])
        #expect(pool.nextDue == nil)
    }

    @Test func questionsAreSpreadOverTheWorkers() {
        var pool = pool { $0.workers = 2 }
        _ = pool.start(at: start)
        let (one, two) = (Worker(place: 0, generation: 0), Worker(place: 1, generation: 0))
        _ = pool.ready(one, at: start)
        _ = pool.ready(two, at: start)
        #expect(pool.ask(1, at: start) == [.send(question: 1, to: one)])
        #expect(pool.ask(2, at: start) == [.send(question: 2, to: two)])
        #expect(pool.ask(3, at: start) == [.send(question: 3, to: one)])
    }

    @Test func aLateAnswerEndsTheWorkerAndItsQuestions() {
        var pool = pool()
        let first = Worker(place: 0, generation: 0)
        _ = pool.ask(1, at: start)
        _ = pool.ready(first, at: start)
        _ = pool.ask(2, at: at(50))
        #expect(pool.nextDue == at(100))
        #expect(
            pool.passed(to: at(100)) == [
                .kill(first, .late), .answer(question: 1, .late), .answer(question: 2, .late),
            ])
        #expect(pool.phases == [.backingOff(until: at(200))])
        // The answer comes after all: no question is left for it.
        #expect(pool.answered(1, by: first, at: at(101)) == [])
        #expect(pool.passed(to: at(200)) == [.start(Worker(place: 0, generation: 1))])
    }

    @Test func aQuestionWithoutAWorkerIsLateToo() {
        var pool = pool()
        _ = pool.ask(1, at: start)
        #expect(pool.passed(to: at(100)) == [.answer(question: 1, .late)])
        #expect(pool.state == .starting)
        #expect(pool.passed(to: at(10_000)) == [.kill(Worker(place: 0, generation: 0), .unready)])
    }

    @Test func theWaitDoublesUpToALimit() throws {
        var pool = pool { $0.quarantineAfter = 100 }
        var now = start
        var waits: [Int64] = []
        _ = pool.start(at: now)
        for generation in 0..<12 {
            _ = pool.fault(.ended, of: Worker(place: 0, generation: generation), at: now)
            let due = try #require(pool.nextDue)
            waits.append(due.milliseconds - now.milliseconds)
            now = due
            _ = pool.passed(to: now)
        }
        #expect(waits == [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000])
    }

    /// A plugin that answers once and ends is not in quarantine, and is not started ten times in a second either.
    @Test func answersBetweenFaultsDoNotShortenTheWait() throws {
        var pool = pool()
        var (now, starts) = (start, 0)
        _ = pool.start(at: now)
        var question: Int64 = 0
        while now < at(60_000) {
            let worker = Worker(place: 0, generation: starts)
            _ = pool.ready(worker, at: now)
            question += 1
            _ = pool.ask(question, at: now)
            _ = pool.answered(question, by: worker, at: now)
            _ = pool.fault(.ended, of: worker, at: now)
            starts += 1
            let due = try #require(pool.nextDue)
            now = due
            _ = pool.passed(to: now)
        }
        #expect(!pool.isQuarantined)
        #expect(starts < 15)
    }

    @Test func aWorkerIsReadyOnce() {
        var pool = pool()
        let first = Worker(place: 0, generation: 0)
        _ = pool.start(at: start)
        _ = pool.ready(first, at: start)
        #expect(pool.ready(first, at: start) == [.kill(first, .malformed)])
    }

    @Test func aStoppedPoolStaysStopped() {
        var pool = pool()
        _ = pool.start(at: start)
        _ = pool.stop()
        #expect(pool.enable(at: start) == [])
        #expect(pool.ask(1, at: start) == [.answer(question: 1, .quarantined)])
    }

    @Test func tooManyFaultsQuarantineUntilItIsEnabled() {
        var pool = pool { $0.quarantineAfter = 2 }
        _ = pool.ask(1, at: start)
        _ = pool.fault(.wrongProtocol, of: Worker(place: 0, generation: 0), at: start)
        _ = pool.passed(to: at(100))
        _ = pool.ask(2, at: at(150))
        let actions = pool.fault(.ended, of: Worker(place: 0, generation: 1), at: at(160))
        #expect(actions.last == .quarantine(.ended))
        #expect(actions.contains(.answer(question: 2, .quarantined)))
        #expect(pool.state == .quarantined)
        #expect(pool.ask(3, at: at(200)) == [.answer(question: 3, .quarantined)])
        #expect(pool.nextDue == nil)
        let generation = 3
        #expect(pool.enable(at: at(300)) == [.start(Worker(place: 0, generation: generation))])
        #expect(pool.state == .starting)
    }

    @Test func aGoodAnswerForgivesFaults() {
        var pool = pool { $0.quarantineAfter = 2 }
        _ = pool.ask(1, at: start)
        _ = pool.fault(.ended, of: Worker(place: 0, generation: 0), at: start)
        _ = pool.passed(to: at(100))
        let second = Worker(place: 0, generation: 1)
        _ = pool.ask(2, at: at(110))
        _ = pool.ready(second, at: start)
        _ = pool.answered(2, by: second, at: at(120))
        #expect(pool.consecutiveFaults == 0)
    }

    @Test func anAnswerToNoQuestionIsAFault() {
        var pool = pool()
        let first = Worker(place: 0, generation: 0)
        _ = pool.start(at: start)
        _ = pool.ready(first, at: start)
        #expect(pool.answered(7, by: first, at: start) == [.kill(first, .malformed)])
    }

    @Test func noMoreQuestionsWaitThanTheLimit() {
        var pool = pool { $0.waiting = 1 }
        _ = pool.ask(1, at: start)
        #expect(pool.ask(2, at: start) == [.answer(question: 2, .overloaded)])
    }

    /// In any order of events, each question is answered exactly once, and no ended worker is asked.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func everyQuestionIsAnsweredOnce(seed: UInt64) {
        var generator = SplitMix(state: seed)
        var pool = pool {
            $0.workers = 3
            $0.quarantineAfter = 4
        }
        var (now, asked, answered): (Timestamp, Int64, Set<Int64>) = (start, 0, [])
        var (alive, sent): (Set<Worker>, [Worker: [Int64]]) = ([], [:])
        func perform(_ actions: [WorkerPool.Action]) {
            for action in actions {
                switch action {
                case .start(let worker): #expect(alive.insert(worker).inserted)
                case .kill(let worker, _): alive.remove(worker)
                case .send(let question, let worker):
                    #expect(alive.contains(worker))
                    sent[worker, default: []].append(question)
                case .answer(let question, _): #expect(answered.insert(question).inserted)
                case .quarantine: break
                }
            }
        }
        for _ in 0..<400 {
            now = now.advanced(byMilliseconds: Int64.random(in: 0...40, using: &generator))
            let worker = alive.sorted { ($0.place, $0.generation) < ($1.place, $1.generation) }
                .randomElement(using: &generator)
            switch (Int.random(in: 0..<7, using: &generator), worker) {
            case (0, _), (1, _):
                asked += 1
                perform(pool.ask(asked, at: now))
            case (2, let worker?): perform(pool.ready(worker, at: now))
            case (3, let worker?):
                guard let question = sent[worker]?.popLast(), !answered.contains(question) else { continue }
                perform(pool.answered(question, by: worker, at: now))
            case (4, let worker?): perform(pool.fault(.ended, of: worker, at: now))
            case (5, _) where pool.isQuarantined: perform(pool.enable(at: now))
            default: perform(pool.passed(to: now))
            }
        }
        perform(pool.stop())
        #expect(answered.count == Int(asked))
        #expect(alive.isEmpty)
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

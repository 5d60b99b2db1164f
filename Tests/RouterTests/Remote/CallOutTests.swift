import RouterPlugin
import Testing

@testable import Router

/// When a call-out is asked, and which of its answers are used again.
@Suite("CallOut")
struct CallOutTests {
    private let start = Timestamp(milliseconds: 1000)

    private func at(_ milliseconds: Int64) -> Timestamp { start.advanced(byMilliseconds: milliseconds) }

    // MARK: - Health

    @Test func threeFaultsLeaveItAloneAndOneQuestionTriesIt() {
        var health = CallOutHealth(quarantineAfter: 100)
        for number in 0..<3 {
            #expect(health.admit(at: at(Int64(10 * number))) == nil)
            health.failed(askedAt: at(Int64(10 * number)), at: at(Int64(10 * number + 5)))
        }
        #expect(health.admit(at: at(30)) == .unreachable)
        #expect(health.admit(at: at(225)) == nil)
        #expect(health.admit(at: at(225)) == .unreachable, "a second question beside the one that tries it")
        health.answered()
        #expect(health.admit(at: at(226)) == nil && health.admit(at: at(226)) == nil)
    }

    @Test func theWaitDoubles() {
        var health = CallOutHealth(quarantineAfter: 100)
        var (now, waits): (Int64, [Int64]) = (0, [])
        for _ in 0..<14 {
            _ = health.admit(at: at(now))
            health.failed(askedAt: at(now), at: at(now + 1))
            var wait: Int64 = 0
            while health.refusal(at: at(now + 1 + wait)) != nil { wait += 50 }
            waits.append(wait)
            now += 2 + wait
        }
        #expect(waits == [0, 0, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000, 30_000])
    }

    /// A pause of the server fails all questions that are on their way. That is one fault, and no reason for a quarantine.
    @Test func questionsThatFailTogetherAreOneFault() {
        var health = CallOutHealth(quarantineAfter: 3)
        for _ in 0..<64 { health.failed(askedAt: start, at: at(100)) }
        #expect(health.consecutiveFaults == 1 && !health.isQuarantined)
        health.failed(askedAt: at(101), at: at(200))
        health.failed(askedAt: at(201), at: at(300))
        #expect(health.isQuarantined && health.admit(at: at(100_000)) == .quarantined)
        health.enable()
        #expect(health.admit(at: at(100_001)) == nil)
    }

    // MARK: - The cache

    private func view(_ application: String = "a", content: String? = "x", priority: Priority = .high)
        -> NotificationView
    {
        NotificationView(
            application: ApplicationID(unchecked: application), device: nil,
            contentID: content.map { ContentID(unchecked: $0) }, priority: priority, payload: [])
    }

    private func candidates(_ names: String...) -> [Candidate] {
        names.map { Scene(SessionID(unchecked: $0)).candidate }
    }

    private func key(_ view: NotificationView, _ parts: [CallOutSettings.CacheKeyPart] = [.contentId]) throws
        -> CallOutCache.Key
    {
        try #require(CallOutCache.Key(view, by: parts))
    }

    @Test func nothingIsKeptWithoutADeclaration() {
        #expect(CallOutCache.Key(view(), by: []) == nil)
    }

    @Test func anAnswerIsUsedWhileItNamesEveryCandidate() throws {
        var cache = CallOutCache(limit: 100)
        let key = try key(view())
        cache.keep(["s": .veto(reason: "no"), "t": .accept], for: key, until: at(100), at: start)
        #expect(cache.answer(to: key, about: candidates("s"), at: at(99)) == ["s": .veto(reason: "no")])
        #expect(cache.answer(to: key, about: candidates("s", "u"), at: at(99)) == nil)
        #expect(cache.answer(to: key, about: candidates("s"), at: at(100)) == nil)
    }

    /// Sessions of two applications may have one id, and are others.
    @Test func applicationsShareNoAnswer() throws {
        var cache = CallOutCache(limit: 100)
        cache.keep(["s": .accept], for: try key(view("a")), until: at(100), at: start)
        #expect(cache.answer(to: try key(view("b")), about: candidates("s"), at: start) == nil)
    }

    @Test func eachDeclaredMemberTellsQuestionsApart() throws {
        #expect(try key(view(content: "x")) != key(view(content: "y")))
        #expect(try key(view(content: "x", priority: .low)) == key(view(content: "x")))
        #expect(try key(view(priority: .low), [.priority]) != key(view(priority: .high), [.priority]))
        #expect(try key(view(content: nil)) != key(view(content: "")))
    }

    @Test func thePagesOfANotificationAreKeptTogether() throws {
        var cache = CallOutCache(limit: 100)
        let key = try key(view())
        cache.keep(["s": .veto(reason: "1")], for: key, until: at(100), at: start)
        cache.keep(["t": .veto(reason: "2")], for: key, until: at(150), at: at(50))
        #expect(cache.answer(to: key, about: candidates("s", "t"), at: at(99))?.count == 2)
        #expect(cache.answer(to: key, about: candidates("t"), at: at(100)) == nil, "as old as its first page")
    }

    @Test func itNeverGrowsBeyondTwoGenerations() throws {
        var cache = CallOutCache(limit: 10)
        let often = try key(view(content: "often"))
        cache.keep(["s": .accept], for: often, until: at(1000), at: start)
        for number in 0..<200 {
            let key = try key(view(content: "\(number)"))
            cache.keep(["s": .accept, "t": .accept, "u": .accept], for: key, until: at(1000), at: start)
            #expect(cache.verdictCount <= 20)
            #expect(cache.answer(to: often, about: candidates("s"), at: start) != nil, "an answer in use is forgotten")
        }
    }
}

extension Scene {
    fileprivate var candidate: Candidate {
        Candidate(
            session: id, device: nil, role: "windowApplication", configuration: "Default", activationState: .background,
            lastActivatedAt: nil, preferenceLevel: 0, tier: .can)
    }
}

import Dispatch
import Foundation
public import RouterPlugin
import Synchronization

/// The laws that every observer must keep, whatever it does with events.
///
/// Use it from any test framework:
///
///     #expect(SceneObserverSuite.violations(of: MyObserver(), seed: 1) == [])
///
/// The suite passes an observer events of every type, with odd and hostile names, and checks that
/// 1. the name is well-formed;
/// 2. it throws at none of them: it ignores events that it does not handle;
/// 3. it returns from each event in time.
///
/// An observer that traps ends the test process, which is a finding too. An observer that does not return keeps a
/// thread.
public enum SceneObserverSuite: Sendable {
    /// The laws that the observer breaks, one sentence each; empty if it conforms.
    ///
    /// - Parameters:
    ///   - observer: The observer under test.
    ///   - seed: Selects the events.
    ///   - milliseconds: The time limit for one event; in the daemon an observer misses events after ten seconds.
    public static func violations(of observer: any SceneObserver, seed: UInt64, within milliseconds: Int = 5000)
        -> [String]
    {
        var violations = Violations()
        violations.requireWellFormed(observer.id, again: observer.id)
        let telling = Telling(events(seed: seed), to: observer)
        for event in telling.events {
            guard telling.hasReturned.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
                violations.add("time: does not return from \(event.type.rawValue)")
                return violations.list
            }
        }
        for type in telling.thrownAt.withLock(\.self) { violations.add("errors: throws at \(type.rawValue)") }
        return violations.list
    }

    /// Passes all events, one after the other, on a thread of its own, as the daemon does.
    private final class Telling: Sendable {
        let events: [RouterEvent]
        /// Signalled after each event.
        let hasReturned = DispatchSemaphore(value: 0)
        let thrownAt = Mutex<[RouterEventType]>([])

        init(_ events: [RouterEvent], to observer: any SceneObserver) {
            self.events = events
            Thread.detachNewThread {
                for event in events {
                    do { try observer.observe(event) } catch { self.thrownAt.withLock { $0.append(event.type) } }
                    self.hasReturned.signal()
                }
            }
        }
    }

    /// Events of every type, each with every member that an event may have.
    private static func events(seed: UInt64) -> [RouterEvent] {
        var generator = SeededGenerator(seed: seed)
        let words = ["a", "win-7", "é", "e\u{301}", "👩‍👩‍👧‍👦", "\u{202E}abc", "' ; --", String(repeating: "x", count: 255)]
        func word() -> String { words[Int.random(in: words.indices, using: &generator)] }
        let delivery = DeliveryView(id: NotificationID(unchecked: "ntf_1"), webhook: "scene.notification")
        let details: [RouterEventDetail] = [
            .none, .session(.foregroundActive), .disabled(reason: word()), .screen(word()),
            .gate(GateView(state: word(), responsible: SessionID(unchecked: word()), term: .max)),
            .gate(GateView(state: word(), responsible: nil, term: 0)),
            .gate(GateView(state: word(), responsible: nil, term: 1, issuer: word(), subject: word())),
            .progress(
                ProgressReport(
                    operationID: word(), step: word(), currentStepNumber: 1, totalNumberOfSteps: .max,
                    parameters: [word(), ""], defaultMessage: "")),
            .decision(delivery, tier: .undeliverable, state: word()),
            .attempt(delivery, AttemptView(number: 1, status: nil, failure: word(), milliseconds: .max)),
            .attempt(delivery, AttemptView(number: .max, status: 599, failure: nil, milliseconds: 0)),
            .settlement(delivery, reason: nil), .settlement(delivery, reason: word()),
        ]
        var events: [RouterEvent] = []
        for type in RouterEventType.allCases {
            for detail in details {
                events.append(
                    RouterEvent(
                        sequence: Int64(events.count + 1), type: type, time: Timestamp(milliseconds: 0),
                        application: ApplicationID(unchecked: "com.example.A"),
                        session: Bool.random(using: &generator) ? SessionID(unchecked: word()) : nil,
                        device: Bool.random(using: &generator) ? DeviceID(unchecked: word()) : nil, detail: detail))
            }
        }
        return events
    }
}

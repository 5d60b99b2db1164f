import Router
import RouterPlugin
import Synchronization

/// The memory of messages over streams from the start of their attempt until they are written: receivers that read nothing
/// must not take all of it, and those of one application leave a part to others.
///
/// A message that finds none is not sent, and is tried again a little later.
final class StreamMemory: Sendable {
    private struct State {
        var free: Int
        var shares: [ApplicationID: Int] = [:]
    }

    private let state: Mutex<State>

    init(bytes: Int = DaemonLimits.streamBytesHeld) { state = Mutex(State(free: bytes)) }

    var free: Int { state.withLock(\.free) }

    func take(_ bytes: Int, for application: ApplicationID) -> Bool {
        state.withLock { state in
            let share = state.shares[application, default: 0] + bytes
            guard bytes <= state.free, share <= RouterLimits.attemptsPerFreeSlot * (state.free - bytes) else {
                return false
            }
            state.free -= bytes
            state.shares[application] = share
            return true
        }
    }

    func giveBack(_ bytes: Int, of application: ApplicationID) {
        state.withLock { state in
            state.free += bytes
            let rest = state.shares[application, default: bytes] - bytes
            state.shares[application] = rest == 0 ? nil : rest
        }
    }
}

import Dispatch
import Glibc
import RouterdBench

/// The signals that end a load run in order: SIGINT, SIGTERM and SIGHUP. The third one ends the process. A signal that is
/// ignored stays so, as `nohup` has it.
struct EndingSignals {
    let stop: LoadStop
    private let sources: [any DispatchSourceSignal]

    init() {
        let stop = LoadStop()
        self.stop = stop
        sources = [SIGINT, SIGTERM, SIGHUP].compactMap { number -> (any DispatchSourceSignal)? in
            let before = signal(number, SIG_IGN)
            guard unsafeBitCast(before, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                guard stop.ask(number) > 2 else { return }
                signal(number, SIG_DFL)
                // To the process: this thread takes no signals.
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
    }

    /// The exit status of a command that was ended, as shells have it; nil if it was not.
    var status: Int32? { stop.reason.map { 128 + $0 } }
}

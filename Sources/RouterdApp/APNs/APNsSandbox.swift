import Foundation
package import Logging
package import NIOSSL
package import Plugins
import RouterPlugin
import ServiceLifecycle
import Synchronization
import UnixSignals

/// A fake APNs for tests: the daemon's listener and checks, with a script in place of the router.
package struct APNsSandbox: Sendable {
    /// A push that arrived, and the answer to it.
    package struct Record: Sendable {
        package let token: String
        package let topic: String
        /// The header fields of the push, in order.
        package let headers: [(name: String, value: String)]
        /// Empty if the push was refused before its payload was read.
        package let payload: [UInt8]
        /// Nil if the push was accepted.
        package let refusal: APNsRefusal?
    }

    private let address: ListenAddress
    private let tls: NIOSSLContext?
    private let desk: APNsDesk

    /// - Parameters:
    ///   - tls: Nil serves clear text.
    ///   - onPush: Called with each push, on any thread.
    package init(
        at address: ListenAddress, tls: NIOSSLContext?, keys: [ProviderKey], script: APNsScript,
        onPush: @escaping @Sendable (Record) -> Void
    ) {
        self.address = address
        self.tls = tls
        let script = SharedScript(script)
        let clock = SteadyClock()
        desk = APNsDesk(
            checks: APNsChecks(tokens: keys.isEmpty ? .none : .keys(keys), keepsSuffixes: true), now: { clock.wall },
            noteRefusal: { onPush(Record($0, $1)) },
            take: { push, answer in
                if let refusal = script.refusal(of: push.head, at: clock.wall) { return answer(.refused(refusal)) }
                onPush(Record(push))
                answer(.accepted(uniqueID: UUID().uuidString, session: nil))
            })
    }

    /// Serves until the process is told to end.
    package func run(logger: Logger, onListening: @escaping @Sendable (String) async -> Void) async throws {
        let scheme = tls == nil ? "http" : "https"
        let listener = APNsListener(at: address, tls: tls, desk: desk) { [address] port in
            await onListening("\(scheme)://\(address.shown(port: port))")
        }
        let group = ServiceGroupConfiguration(
            services: [.init(service: listener)], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        try await ServiceGroup(configuration: group).run()
    }
}

/// A script shared by several connections.
private final class SharedScript: Sendable {
    private let script: Mutex<APNsScript>

    init(_ script: APNsScript) { self.script = Mutex(script) }

    func refusal(of push: APNsHead, at now: Timestamp) -> APNsRefusal? {
        script.withLock { $0.refusal(of: push, at: now) }
    }
}

extension APNsSandbox.Record {
    fileprivate init(_ push: APNsPush) {
        self.init(
            token: push.head.token, topic: push.head.topic, headers: push.head.headers, payload: push.event.payload,
            refusal: nil)
    }

    fileprivate init(_ request: APNsRequest, _ refusal: APNsRefusal) {
        self.init(
            token: String(request.path.split(separator: "/").last ?? ""), topic: request.header("apns-topic") ?? "",
            headers: request.headers.filter { $0.name.hasPrefix("apns-") }, payload: [], refusal: refusal)
    }
}

import DeliveryCurl
import Testing

@testable import DaemonTesting
@testable import RouterdApp

@Suite("Open files")
struct OpenFileTests {
    /// The maximum number of files that a daemon has open.
    private static func most(_ configuration: DaemonConfiguration) -> Int {
        configuration.edge.connections + configuration.edge.connectionsTurnedAway
            + configuration.transport.files + DaemonLimits.openFilesReserved
    }

    private static func configuration(slots: Int, connections: Int?) -> DaemonConfiguration {
        var configuration = DaemonConfiguration()
        configuration.slots = slots
        configuration.connections = connections
        return configuration
    }

    @Test(arguments: [1, 9, 256, 512, 4096], [nil, 1, 600, 65_536] as [Int?])
    func nothingIsPromisedTwice(slots: Int, connections: Int?) throws {
        let wanted = Self.configuration(slots: slots, connections: connections)
        for files in DaemonLimits.openFilesLeast...6000 {
            let fitted = try wanted.fitting(openFiles: files)
            let (transport, full) = (fitted.transport, wanted.transport)
            guard Self.most(fitted) <= files, fitted.edge.connections >= 14, fitted.slots >= min(slots, 18),
                fitted.slots <= slots, transport.cachedConnections >= min(full.cachedConnections, fitted.slots),
                transport.cachedConnections <= full.cachedConnections,
                transport.furtherLookUps >= min(full.furtherLookUps, transport.lookUps / 2)
            else {
                Issue.record("\(files) files: \(fitted)")
                return
            }
        }
    }

    @Test func enoughFilesGiveAllThatIsConfigured() throws {
        let wanted = DaemonConfiguration()
        let enough = Self.most(wanted)
        let fitted = try wanted.fitting(openFiles: enough)
        #expect(fitted.transport == wanted.transport && fitted.edge == wanted.edge && fitted.slots == wanted.slots)
        #expect(try wanted.fitting(openFiles: enough - 1).edge.connections == wanted.edge.connections - 1)
    }

    @Test func theUsualLimit() throws {
        let fitted = try DaemonConfiguration().fitting(openFiles: 1024)
        #expect(fitted.slots == 256 && fitted.edge.connections == 224)
        #expect(fitted.transport.lookUps == 64 && fitted.transport.furtherLookUps == 72)
        #expect(fitted.transport.cachedConnections == 400)
        #expect(Self.most(fitted) == 1024)
    }

    @Test func withTooFewItDoesNotStart() throws {
        let directory = try TemporaryDirectory()
        var configuration = DaemonConfiguration()
        configuration.database = directory.file()
        #expect {
            try Daemon(configuration, openFiles: 127, logger: .silent)
        } throws: { error in
            "\(error)" == "The process may have 127 files open, and needs 128 at least: raise the limit (ulimit -n)."
        }
    }
}

import ArgumentParser
import Foundation
import Glibc
import Logging
import Router
import RouterPlugin
import RouterdApp

struct Serve: PluginCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the daemon; SIGTERM lets it finish and stops it.",
        discussion: """
            EXAMPLES
              routerd serve
              routerd serve --config routerd.yaml --database /var/lib/routerd/db.sqlite
              routerd serve --listen 127.0.0.1:8081 --database /tmp/trial.sqlite
            """)

    @Option(help: "A configuration file in YAML or JSON.")
    var config: String?
    @Option(help: "Where to listen: HOST:PORT; port 0 picks a free one.")
    var listen: String?
    @Option(help: "The database file; it is made if there is none.")
    var database: String?
    @Flag(help: ArgumentHelp("End as at SIGTERM when standard input ends.", visibility: .private))
    var endWithInput = false

    func run(with plugins: PluginSet) async throws {
        var flags: [String: String] = [:]
        flags["listen"] = listen
        flags["database"] = database
        let read = { @Sendable [config, flags] () throws(ConfigurationFaults) -> DaemonConfiguration in
            let file = try config.map { path throws(ConfigurationFaults) in try ConfigurationFile(path: path) }
            return try DaemonConfiguration.load(
                file: file, flags: flags, environment: ProcessInfo.processInfo.environment, plugins: plugins)
        }
        let configuration: DaemonConfiguration
        do {
            configuration = try read()
        } catch {
            Console.error("\(error)")
            throw ExitCode(1)
        }
        let logger = configuration.logFormat.logger(at: configuration.logLevel) { Console.error($0) }
        // A file that may not grow any more is an error of the write, and not the end of the process.
        signal(SIGXFSZ, SIG_IGN)
        // The daemon says in its log that it goes on; until it does, a terminal that closes must not end it either.
        signal(SIGHUP, SIG_IGN)
        if endWithInput { Self.endWithInput() }
        do {
            let daemon = try Daemon(
                configuration, plugins: plugins, rereading: config == nil ? nil : read, logger: logger)
            let environment = ProcessInfo.processInfo.environment
            try await daemon.run(
                on: try ActivationSocket(environment: environment, process: getpid()),
                supervisor: Supervisor(environment: environment, process: getpid()),
                onAPNsListening: { Self.tell("APNs listening", at: $0, configuration.logFormat, logger) }
            ) { listen in
                let address = listen.shown(port: listen.port)
                Self.tell("listening", at: "http://\(address)", configuration.logFormat, logger)
                if configuration.keys.isEmpty, configuration.logFormat == .text { Console.error(Self.hints(address)) }
            }
        } catch {
            if error is StoreError || error is TooFewOpenFiles || error is UnusableRules
                || error is SessionTokenFileError || error is ActivationSocket.Fault
            {
                Self.tell(error, configuration.logFormat, logger)
            } else if let failure = error as? ListenFailure ?? ListenFailure(error, at: configuration.listen) {
                Self.tell(failure, configuration.logFormat, logger)
            } else {
                throw error
            }
            throw ExitCode(1)
        }
    }

    /// Asks this process to end when standard input does.
    private static func endWithInput() {
        Thread.detachNewThread {
            var byte: UInt8 = 0
            var count = 1
            while count > 0 || (count < 0 && errno == EINTR) { count = read(STDIN_FILENO, &byte, 1) }
            kill(getpid(), SIGTERM)
        }
    }

    /// Tells an address: in a log for programs as a line like all others.
    private static func tell(_ message: Logger.Message, at url: String, _ format: LogFormat, _ logger: Logger) {
        switch format {
        case .text: Console.error("\(message) on \(url)")
        case .json: logger.notice(message, metadata: ["url": "\(url)"])
        }
    }

    /// Tells the reason why the daemon ends.
    private static func tell(_ error: any Error, _ format: LogFormat, _ logger: Logger) {
        switch format {
        case .text: Console.error("\(error)")
        case .json: logger.critical("the daemon cannot run", metadata: ["error": "\(error)"])
        }
    }

    /// Three calls to try, for the first start of a daemon.
    private static func hints(_ address: String) -> String {
        let application = "http://\(address)/v1/applications/com.example.Gallery"
        return """
            try it (in another terminal, `routerd receive --listen 127.0.0.1:9000` shows what comes in):
              curl -X PUT \(application) -d '{"displayName":"Gallery"}'
              curl -X PUT \(application)/sessions/win-1 -d '{"endpoint":{"url":"http://127.0.0.1:9000/hook"}}'
              curl \(application)/notifications -d '{"aps":{"alert":"Hello"},"notification-content-id":"photo/1"}'
            """
    }
}

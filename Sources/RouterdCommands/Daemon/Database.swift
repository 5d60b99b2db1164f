import ArgumentParser
import Foundation
import Router
import RouterPlugin
import RouterdApp
import StoreSQLite

struct Database: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Look after the database: begin it, check it, copy it, give back its free space.",
        discussion: """
            EXAMPLES
              routerd database check --config routerd.yaml
              routerd database backup --database routerd.sqlite backup.sqlite
            """,
        subcommands: [InitDatabase.self, CheckDatabase.self, BackUpDatabase.self, VacuumDatabase.self])
}

/// The options that name the database, found as `serve` finds it.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "A configuration file in YAML or JSON.")
    var config: String?
    @Option(help: "The database file.")
    var database: String?
    @Flag(help: "Print JSON.")
    var json = false

    /// Runs a command on the file; an obstacle is printed, and ends the command with status 1.
    func run(with plugins: PluginSet, _ body: (DatabaseFile) throws -> Void) throws {
        try run(with: plugins, at: { path in try body(try DatabaseFile(path: path)) })
    }

    /// Likewise, on a path where there may be no file.
    func run(with plugins: PluginSet, at body: (_ path: String) throws -> Void) throws {
        do {
            let file = try config.map { path throws(ConfigurationFaults) in try ConfigurationFile(path: path) }
            let configuration = try DaemonConfiguration.load(
                file: file, flags: database.map { ["database": $0] } ?? [:],
                environment: ProcessInfo.processInfo.environment, plugins: plugins)
            try body(configuration.database)
        } catch let error as ExitCode {
            throw error
        } catch {
            Console.error("\(error)")
            throw ExitCode(1)
        }
    }
}

struct InitDatabase: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "init", abstract: "Begin an empty database; there must be none.",
        discussion: """
            `serve` begins one by itself, except where a database was before and is missing now. Look for it, or restore a backup,
            before you use `--force`.

            EXAMPLES
              routerd database init --database /var/lib/routerd/routerd.sqlite
              routerd database init --force --config routerd.yaml
            """)

    @OptionGroup var options: DatabaseOptions
    @Flag(help: "Begin one although another database was there before.")
    var force = false

    func run(with plugins: PluginSet) async throws {
        try options.run(
            with: plugins,
            at: { path in
                let file = try DatabaseFile.begin(at: path, isForced: force)
                guard options.json else { return Console.print("\(file.path): an empty database") }
                Console.print(JSONWriter.object { $0.field("database", file.path) })
            })
    }
}

struct CheckDatabase: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check that the database is whole and adds up; a daemon may be using it.",
        discussion: """
            EXAMPLES
              routerd database check --config routerd.yaml
              routerd database check --database backup.sqlite --json | jq .sound
            """)

    @OptionGroup var options: DatabaseOptions

    func run(with plugins: PluginSet) async throws {
        try options.run(with: plugins) { file in
            let check = try file.check()
            if options.json {
                Console.print(JSONWriter.object { check.write(path: file.path, to: &$0) })
            } else if check.isSound {
                Console.print("\(file.path): sound (\(check.summary))")
            } else {
                for fault in check.faults { Console.error("\(file.path): \(fault.code): \(fault.detail)") }
            }
            if !check.isSound { throw ExitCode(1) }
        }
    }
}

struct BackUpDatabase: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the database to a new file and check the copy; a daemon may be using it.",
        discussion: """
            EXAMPLES
              routerd database backup --config routerd.yaml /var/backups/routerd.sqlite
            """)

    @OptionGroup var options: DatabaseOptions
    @Argument(help: "The file to make. There must be none of that name.")
    var file: String

    func run(with plugins: PluginSet) async throws {
        try options.run(with: plugins) { source in
            let signals = removingPartial()
            defer { for signal in signals { signal.cancel() } }
            let check = try source.backup(to: file)
            if options.json {
                Console.print(JSONWriter.object { check.write(path: file, to: &$0) })
            } else {
                Console.print("\(file): a backup of \(source.path) (\(check.summary))")
            }
        }
    }

    /// A signal that ends the command removes the partial file, so that no copy of the secrets is left behind. A signal
    /// that is ignored stays so, as `nohup` has it.
    private func removingPartial() -> [any DispatchSourceSignal] {
        [SIGINT, SIGTERM, SIGHUP].compactMap { [file] number in
            let before = signal(number, SIG_IGN)
            guard unsafeBitCast(before, to: Int.self) != unsafeBitCast(SIG_IGN, to: Int.self) else { return nil }
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                DatabaseFile.removePartial(of: file)
                signal(number, SIG_DFL)
                // To the process: this thread takes no signals.
                kill(getpid(), number)
            }
            source.resume()
            return source
        }
    }
}

struct VacuumDatabase: PluginCommand {
    static let configuration = CommandConfiguration(
        commandName: "vacuum",
        abstract: "Give the database's free space back to the disk; no daemon may be using it.",
        discussion: """
            EXAMPLES
              routerd database vacuum --database routerd.sqlite
            """)

    @OptionGroup var options: DatabaseOptions

    func run(with plugins: PluginSet) async throws {
        try options.run(with: plugins) { file in
            let (before, after) = try file.vacuum()
            guard options.json else { return Console.print("\(file.path): \(before) bytes before, \(after) after") }
            Console.print(
                JSONWriter.object { object in
                    object.field("database", file.path)
                    object.field("bytesBefore", Int(before))
                    object.field("bytesAfter", Int(after))
                })
        }
    }
}

extension DatabaseCheck {
    fileprivate var summary: String {
        let size = "schema \(schemaVersion), \(bytes) bytes, \(freeBytes) of them free"
        guard let census else { return "\(size); serve brings the schema up to date" }
        return "\(size); \(census.accepted) notifications accepted, \(census.forgotten) of them forgotten"
    }

    fileprivate func write(path: String, to object: inout JSONObjectWriter) {
        object.field("database", path)
        object.field("sound", isSound)
        object.field("schemaVersion", schemaVersion)
        object.field("bytes", Int(bytes))
        object.field("freeBytes", Int(freeBytes))
        object.field("accepted", census?.accepted)
        object.field("forgotten", census?.forgotten)
        object.array("faults") { array in
            for fault in faults {
                array.object { entry in
                    entry.field("code", fault.code)
                    entry.field("detail", fault.detail)
                }
            }
        }
    }
}

import ArgumentParser
import Glibc
import Plugins
public import RouterPlugin

/// The command line of routerd as a function, for programs that add plugins of their own.
///
/// The whole `main.swift` of such a program:
///
///     import RouterdCommands
///
///     await RouterdCommandLine.main(plugins: try .builtIn.adding(rules: [NoKiosks.kind]))
///
/// The program has every command of `routerd`. The commands `serve`, `check`, `plugins` and `decide` use its plugins;
/// the others talk to a daemon over HTTP.
public enum RouterdCommandLine: Sendable {
    /// Runs the command that the arguments of the process name, and returns when it has succeeded. A failure ends the
    /// process: with status 1, or with status 2 for wrong use and for plugins that cannot be used together.
    ///
    /// - Parameter plugins: The plugins that configurations and endpoints may name.
    public static func main(plugins: @autoclosure () throws -> PluginSet) async {
        do {
            let plugins = try plugins()
            var command = try await Routerd.asyncParseAsRoot()
            if let command = command as? any PluginCommand {
                try await command.run(with: plugins)
            } else if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as PluginRegistryError {
            Console.error("\(error)")
            Glibc.exit(2)
        } catch {
            // ArgumentParser ends the process with 64 for wrong use; every other command line of the project uses 2.
            guard Routerd.exitCode(for: error) == .validationFailure else { Routerd.exit(withError: error) }
            Console.error(Routerd.fullMessage(for: error))
            Glibc.exit(2)
        }
    }
}

extension PluginSet {
    /// The plugins that are part of routerd.
    public static var builtIn: PluginSet { BuiltInPlugins.all }
}

/// A command that reads or uses plugins of the program.
protocol PluginCommand: ParsableCommand {
    /// Runs the command; ``RouterdCommandLine`` calls it in place of `run()`.
    func run(with plugins: PluginSet) async throws
}

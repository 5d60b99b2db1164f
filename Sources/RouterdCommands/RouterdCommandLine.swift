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
            if let name = meant(by: CommandLine.arguments.dropFirst().first) {
                Console.error("Did you mean '\(Routerd.configuration.commandName ?? "routerd") \(name)'?")
            }
            Glibc.exit(2)
        }
    }

    /// The command whose name is nearest to a word that is no command; nil if none is near.
    static func meant(by word: String?) -> String? {
        guard let word, !word.hasPrefix("-") else { return nil }
        let names = Routerd.configuration.subcommands.map { $0._commandName }
        guard !names.contains(word) else { return nil }
        let distances = names.map { (name: $0, distance: distance(Array(word), Array($0))) }
        guard let nearest = distances.min(by: { $0.distance < $1.distance }), nearest.distance <= 2,
            nearest.distance < word.count
        else { return nil }
        return nearest.name
    }

    /// The number of characters that have to be put in, left out, exchanged or swapped with their neighbour.
    private static func distance(_ word: [Character], _ name: [Character]) -> Int {
        var rows = [Array(0...name.count)]
        for (row, letter) in word.enumerated() {
            var next = [row + 1]
            for (column, other) in name.enumerated() {
                var least = min(
                    rows[row][column] + (letter == other ? 0 : 1), rows[row][column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, letter == name[column - 1], other == word[row - 1] {
                    least = min(least, rows[row - 1][column - 1] + 1)
                }
                next.append(least)
            }
            rows.append(next)
        }
        return rows[word.count][name.count]
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

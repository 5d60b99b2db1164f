import ArgumentParser
import Foundation
import RouterPlugin
import RouterdApp

extension ListenAddress {
    /// Reads the value of an option; a value that is no address is wrong use, told in a sentence.
    init(option: String, _ text: String) throws {
        do throws(ConfigurationLoader.Unusable) {
            try self.init(text)
        } catch {
            throw ValidationError("\(option) \(error.reason); '\(text)' is not one.")
        }
    }
}

/// The environment's part of the command line.
enum Environment {
    /// The value of a variable; nil if it is unset or empty.
    static subscript(name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// The application of a command.
struct ApplicationOption: ParsableArguments {
    @Option(
        name: .customLong("application"),
        help: ArgumentHelp("The application; left out, ROUTERD_APPLICATION.", valueName: "application"))
    var given: String?

    func validate() throws {
        guard given != nil || Environment["ROUTERD_APPLICATION"] != nil else {
            throw ValidationError("Say which application: --application NAME, or the variable ROUTERD_APPLICATION.")
        }
    }

    /// The name of the application. `validate` has made sure of it.
    var application: String { given ?? Environment["ROUTERD_APPLICATION"] ?? "" }

    /// The path of the application in the API.
    var path: String { "/v1/applications/\(encoded(application))" }
}

package import RouterPlugin

/// The rules of a file with the tests beside them. The file is one of rules alone, or a configuration.
///
///     rules: [{name: night, …}, …]
///     tests: [{name: the wall waits at night, …}, …]
package struct RulesFile: Sendable {
    package let rules: [any RoutingRule]
    package let tests: [RuleTest]
    /// The list of rules as it was written, as JSON.
    package let document: [UInt8]

    /// Reads rules and tests.
    ///
    /// - Parameter kinds: The kinds that a rule may name.
    /// - Throws: All faults found, in the order of their places.
    package init(_ file: ConfigurationFile, kinds: [RoutingRuleKind]) throws(ConfigurationFaults) {
        var loader = ConfigurationLoader(file: file, flags: [:], environment: [:])
        loader.checkNames()
        rules = loader.rules(kinds)
        tests = loader.tests()
        document = file.ruleDocument
        guard loader.faults.isEmpty else { throw ConfigurationFaults(loader.orderedFaults) }
    }
}

extension RulesFile {
    /// The differences of the tests that fail, a line each; nil if all pass.
    package var failures: String? {
        let lines = tests.flatMap { test in test.differences(under: rules).map { "\(test.name): \($0)" } }
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }
}

extension ConfigurationFile {
    /// The list of rules as it was written, as JSON.
    var ruleDocument: [UInt8] {
        let rules = root["rules"] ?? .null
        return (rules == .null ? .array([]) : rules).serialized()
    }
}

extension ConfigurationLoader {
    /// The tests that stand beside the rules.
    mutating func tests() -> [RuleTest] {
        var tests: [RuleTest] = []
        for (place, value) in elements("tests") {
            var problems: [Problem] = []
            let test = RuleTest(value, at: "/tests/\(place)") { problems.append($0) }
            if let test { tests.append(test) }
            for problem in problems { report(problem) }
        }
        return tests
    }
}

import Foundation
import Testing

/// Inputs that `make fuzz` has found, or that show how its target reads them.
@Suite("Inputs of the fuzzer for templates") struct TemplateRegressionTests {
    static let inputs: [String] = Fixtures.names(in: "fuzz")

    @Test("Each input keeps the laws", arguments: inputs)
    func replays(name: String) throws {
        #expect(TemplateProbe.fault(in: try Fixtures.bytes("fuzz/\(name)")) == nil)
    }

    @Test("There are inputs") func areThere() { #expect(Self.inputs.contains { $0.hasPrefix("templates-") }) }
}

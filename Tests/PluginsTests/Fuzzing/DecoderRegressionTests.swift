import Plugins
import Testing

/// Inputs that `make fuzz` has found, or that show how its target reads them.
@Suite("Inputs of the fuzzer for sources") struct DecoderRegressionTests {
    static let inputs: [String] = (try? Fixtures.names(in: "fuzz")) ?? []

    @Test("Each input keeps the laws", arguments: inputs)
    func replays(name: String) throws {
        #expect(DecoderProbe.fault(in: try Fixtures.bytes("fuzz/\(name)")) == nil)
    }

    @Test("There are inputs, and every kind can be chosen") func areThere() {
        #expect(Self.inputs.contains { $0.hasPrefix("decoders-") })
        #expect(DecoderProbe.count == BuiltInPlugins.sourceKinds.count)
    }
}

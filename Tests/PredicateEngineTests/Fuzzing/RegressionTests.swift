import Foundation
import Testing

/// Inputs that `make fuzz` has found, or that show how its targets read them. Each stays here for good.
@Suite("Inputs of the fuzzer") struct FuzzRegressionTests {
    static let inputs: [String] = {
        let folder = try? Fixture.url("fuzz")
        let names = folder.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0.path) } ?? []
        return names.sorted()
    }()

    @Test("Each input keeps the laws", arguments: inputs)
    func replays(name: String) throws {
        let input = try [UInt8](Data(contentsOf: Fixture.url("fuzz/" + name)))
        let fault =
            switch name.prefix(while: { $0 != "-" }) {
            case "parser": ParserProbe.fault(in: input)
            case "payload": PayloadProbe.fault(in: input)
            default: IndexProbe.fault(in: input)
            }
        #expect(fault == nil)
    }

    @Test("There are inputs for each target", arguments: ["parser-", "payload-", "index-"])
    func areThere(prefix: String) { #expect(Self.inputs.contains { $0.hasPrefix(prefix) }) }
}

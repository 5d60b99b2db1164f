import PredicateEngine
import Testing

/// The vectors of `Fixtures/payload-predicates.json`, and the predicates of each of them read back.
@Suite struct PayloadVectorTests {
    @Test func everyVectorIsMet() throws {
        let vectors = try Fixture.payloadVectors()
        #expect(vectors.count >= 120)
        #expect(Set(vectors.map(\.id)).count == vectors.count)
        for vector in vectors {
            let context = "\(vector.id): \(vector.predicate): \(vector.why)"
            let arguments = try (vector.arguments ?? []).map { try $0.argument }
            do throws(PredicateError) {
                let predicate = try PayloadPredicate(format: vector.predicate, arguments: arguments)
                #expect(vector.expect == .value(predicate.evaluate(with: vector.payload.value)), "\(context)")
                let again = try PayloadPredicate(format: predicate.description)
                #expect(again == predicate && again.description == predicate.description, "\(context)")
            } catch {
                #expect(vector.expect == .error, "refused: \(error): \(context)")
                #expect(error.code.rawValue == vector.error, "\(context)")
            }
        }
    }
}

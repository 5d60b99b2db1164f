import PredicateEngine
import Testing

/// The vectors of `Fixtures/predicates.json`, soft ones included: all are met.
@Suite struct VectorTests {
    @Test func everyVectorIsMet() throws {
        let vectors = try Fixture.vectors()
        #expect(vectors.count == 301)
        for vector in vectors {
            let context = "\(vector.id): \(vector.predicate) over \(vector.subject ?? "nil"): \(vector.why)"
            switch (vector.expect, outcome(of: vector)) {
            case (.value(let expected), .success(let value)): #expect(value == expected, "\(context)")
            case (.value, .failure(let error)): Issue.record("refused: \(error): \(context)")
            case (.error, .success): Issue.record("accepted: \(context)")
            case (.error, .failure(let error)):
                #expect(error.kind.rawValue == vector.error_kind, "\(error): \(context)")
            }
        }
    }

    private func outcome(of vector: Vector) -> Result<Bool, PredicateError> {
        Result { () throws(PredicateError) in try Predicate(format: vector.predicate) }
            .map { $0.evaluate(with: vector.subject) }
    }
}

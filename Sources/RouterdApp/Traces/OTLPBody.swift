import Router
import RouterPlugin
import Tracing

/// Spans as the body of an OTLP/HTTP request in JSON.
///
/// The form is protobuf's JSON mapping with the exceptions of OTLP: ids are hexadecimal, enumerations are numbers, and
/// 64-bit numbers are texts.
package enum OTLPBody {
    /// - Parameters:
    ///   - service: The value of `service.name`.
    ///   - version: The value of `service.version`.
    package static func write(_ spans: [SpanRecord], service: String, version: String) -> [UInt8] {
        JSONWriter.object { body in
            body.array("resourceSpans") { resources in
                resources.object { resource in
                    resource.object("resource") {
                        $0.array("attributes") { attributes in
                            attributes.attribute("service.name", .string(service))
                            attributes.attribute("service.version", .string(version))
                        }
                    }
                    resource.array("scopeSpans") { scopes in
                        scopes.object { scope in
                            scope.object("scope") {
                                $0.field("name", "routerd")
                                $0.field("version", version)
                            }
                            scope.array("spans") { list in
                                for span in spans { list.object { write(span, to: &$0) } }
                            }
                        }
                    }
                }
            }
        }
    }

    /// How many spans of a batch the collector has rejected, by the body of its answer.
    package static func rejected(_ body: [UInt8]) -> Int {
        let count = (try? JSONValue(parsing: body))?["partialSuccess"]?["rejectedSpans"]
        return count?.asInt64.map(Int.init) ?? count?.asString.flatMap { Int($0) } ?? 0
    }

    private static func write(_ span: SpanRecord, to object: inout JSONObjectWriter) {
        object.field("traceId", span.trace.traceID.description)
        object.field("spanId", span.trace.spanID.description)
        if let parent = span.parent { object.field("parentSpanId", parent.description) }
        if let state = span.trace.tracestate { object.field("traceState", state) }
        object.field("flags", span.trace.isSampled ? 1 : 0)
        object.field("name", span.name)
        object.field("kind", number(of: span.kind))
        object.field("startTimeUnixNano", String(span.start))
        object.field("endTimeUnixNano", String(span.end))
        object.attributes(span.attributes)
        if !span.events.isEmpty {
            object.array("events") { events in
                for event in span.events {
                    events.object {
                        $0.field("timeUnixNano", String(event.nanosecondsSinceEpoch))
                        $0.field("name", event.name)
                        $0.attributes(event.attributes)
                    }
                }
            }
        }
        let links = span.links.compactMap { link in link.context.trace.map { ($0, link.attributes) } }
        if !links.isEmpty {
            object.array("links") { list in
                for (trace, attributes) in links {
                    list.object {
                        $0.field("traceId", trace.traceID.description)
                        $0.field("spanId", trace.spanID.description)
                        $0.attributes(attributes)
                    }
                }
            }
        }
        if let status = span.status {
            object.object("status") {
                $0.field("code", status.code == .ok ? 1 : 2)
                if let message = status.message { $0.field("message", message) }
            }
        }
    }

    private static func number(of kind: SpanKind) -> Int {
        switch kind {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}

extension JSONObjectWriter {
    fileprivate mutating func attributes(_ attributes: SpanAttributes) {
        guard !attributes.isEmpty else { return }
        var all: [(key: String, value: SpanAttribute)] = []
        attributes.forEach { all.append(($0, $1)) }
        array("attributes") { array in
            for (key, value) in all.sorted(by: { $0.key < $1.key }) { array.attribute(key, value) }
        }
    }
}

extension JSONArrayWriter {
    fileprivate mutating func attribute(_ key: String, _ value: SpanAttribute) {
        object {
            $0.field("key", key)
            $0.object("value") { $0.value(value) }
        }
    }

    private mutating func elements<Value>(_ values: [Value], _ attribute: (Value) -> SpanAttribute) {
        for value in values { object { $0.value(attribute(value)) } }
    }

    fileprivate mutating func elements(of value: SpanAttribute) {
        switch value {
        case .int32Array(let values): elements(values, SpanAttribute.int32)
        case .int64Array(let values): elements(values, SpanAttribute.int64)
        case .doubleArray(let values): elements(values, SpanAttribute.double)
        case .boolArray(let values): elements(values, SpanAttribute.bool)
        case .stringArray(let values): elements(values, SpanAttribute.string)
        case .stringConvertibleArray(let values): elements(values, SpanAttribute.stringConvertible)
        default: break
        }
    }
}

extension JSONObjectWriter {
    /// The one member of a value.
    fileprivate mutating func value(_ value: SpanAttribute) {
        switch value {
        case .int32(let number): field("intValue", String(number))
        case .int64(let number): field("intValue", String(number))
        case .double(let number): field("doubleValue", number)
        case .bool(let flag): field("boolValue", flag)
        case .string(let text): field("stringValue", Self.cut(text))
        case .stringConvertible(let value): field("stringValue", Self.cut(value.description))
        default: object("arrayValue") { $0.array("values") { $0.elements(of: value) } }
        }
    }

    private static func cut(_ text: String) -> String { String(text.prefix(DaemonLimits.spanAttributeCharacters)) }
}

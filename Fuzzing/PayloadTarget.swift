/// libFuzzer's entry: one text for the parser of payload predicates.
@_cdecl("LLVMFuzzerTestOneInput")
func payloadTarget(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let fault = PayloadProbe.fault(in: Array(UnsafeBufferPointer(start: data, count: count))) {
        fatalError(fault)
    }
    return 0
}

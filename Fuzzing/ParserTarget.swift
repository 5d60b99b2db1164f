/// libFuzzer's entry: one text for the parser.
@_cdecl("LLVMFuzzerTestOneInput")
func parserTarget(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let fault = ParserProbe.fault(in: Array(UnsafeBufferPointer(start: data, count: count))) {
        fatalError(fault)
    }
    return 0
}

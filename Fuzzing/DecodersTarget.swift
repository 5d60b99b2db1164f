/// libFuzzer's entry: one request to a source.
@_cdecl("LLVMFuzzerTestOneInput")
func decodersTarget(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let fault = DecoderProbe.fault(in: Array(UnsafeBufferPointer(start: data, count: count))) {
        fatalError(fault)
    }
    return 0
}

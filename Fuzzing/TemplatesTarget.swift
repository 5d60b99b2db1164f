/// libFuzzer's entry: one template and one event.
@_cdecl("LLVMFuzzerTestOneInput")
func templatesTarget(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let fault = TemplateProbe.fault(in: Array(UnsafeBufferPointer(start: data, count: count))) {
        fatalError(fault)
    }
    return 0
}

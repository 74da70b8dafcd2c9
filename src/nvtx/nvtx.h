// NVTX: names that a program gives to parts of what it does ("step", "layer 3"), each a range from a push to
// a pop on its thread, or from a start to an end anywhere. NVTX, which is header files in the program, loads
// the library that NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2; from then on every range
// is told to the functions here (github.com/NVIDIA/NVTX, "nvtxDetail/nvtxTypes.h"). The library that runs
// programs (src/app) and the one that captures them (src/hook) have this in them.
//
// PyTorch names its operators so (torch.autograd.profiler.emit_nvtx), with the number of the autograd node
// that an operator makes: "aten::addmm, seq = 7". Its backward runs on another thread under the same number,
// and is told as if the ranges that were open around the operator were open again: what was in "step/layer 3"
// is in "step/backward/layer 3".
#ifndef ORR_NVTX_H
#define ORR_NVTX_H

#include "base/base.h"

// The ranges that are open on this thread, from the outermost in, as "step/layer 3/aten::addmm"; NULL: none.
// The text lives as long as the process.
const char *orr_nvtx_path(void);

#endif

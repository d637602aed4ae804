/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What ONNX Runtime complains about, as a status and one sentence.
 */
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <onnxruntime_cxx_api.h>

#include "npu_mmio.h"

namespace ai0::npu {

/* Without source files, line numbers, codes and line breaks, cut to a message's length. */
std::string engine_sentence(std::string_view what);

npu_status compile_status(const Ort::Exception& error);
npu_status run_status(const Ort::Exception& error);

/* Into a message of the interface, cut to fit, NUL-terminated. */
void set_message(std::span<char> message, std::string_view text);

} // namespace ai0::npu
